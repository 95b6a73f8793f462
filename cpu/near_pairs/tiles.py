"""Tiles of near pairs: a bounded look at each pair, all of their distances, or a join."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from gpualign.core.alignment.pair_list import NearPairs, join_pairs
from gpualign.core.alignment.task import Task
from gpualign.core.alignment.tile_results import TilePairs, TileScores
from gpualign.core.common.arrays import Integers, distinct
from gpualign.core.planning.tile_plan import Tile
from gpualign.core.scoring.edit_bounds import EditBound
from gpualign.cpu.alignment._kernels import Cancel
from gpualign.cpu.alignment.tiles import Compute
from gpualign.cpu.near_pairs import _near, _neighbours
from gpualign.cpu.near_pairs.recipe import NearRecipe
from gpualign.cpu.near_pairs.records import keep_records, native_bound

_PAIR_BYTES = 25
"""Memory of a pair on its way from a kernel to the output."""


class ChosenScores:
    """The near pairs of tiles whose distances are all computed, by `whole`."""

    def __init__(self, task: Task, whole: Compute) -> None:
        self._task = task
        self._whole = whole
        self._bound, self._ambiguous = task.within_of(0), task.ambiguous if task.bounds_by_pair else None

    def __call__(self, tile: Tile, cancel: Cancel) -> TilePairs | None:
        found = self._whole(tile, cancel)
        if found is None:
            return None
        assert isinstance(found, TileScores)
        queries, targets = np.arange(tile.query_start, tile.query_stop, dtype=np.int64), tile.targets
        wanted = targets[None, :] >= tile.pairing.first_targets(queries)[:, None]
        most = self._bound.most(self._task.queries.lengths[queries][:, None], self._task.targets.lengths[targets][None, :])
        if self._ambiguous is not None:
            most += self._ambiguous.queries[queries][:, None] + self._ambiguous.targets[targets][None, :]
        rows, columns = np.nonzero(wanted & (found.scores <= most))
        pairs = NearPairs(queries[rows], targets[columns], found.scores[rows, columns].astype(np.int64))
        return TilePairs(tile, pairs, {"pairs": int(wanted.sum()), "edit distance": len(pairs)})


class NearTiles:
    """The near pairs of tiles. results: bytes of what a tile finds at a time."""

    def __init__(self, task: Task, letters: int, instruction_set: str, recipe: NearRecipe, threads: int, results: int) -> None:
        self._task = task
        self._instruction_set = instruction_set
        self._counts = recipe.steps.counts
        self._sketches = bool(recipe.steps.q)
        self._most = max(1, results // (4 * _PAIR_BYTES))
        self._queries = keep_records(task.queries, letters, recipe.steps, threads)
        self._targets = self._queries if task.targets is task.queries else keep_records(task.targets, letters, recipe.steps, threads)

    def __call__(self, tile: Tile, cancel: Cancel) -> TilePairs | None:
        queries = np.arange(tile.query_start, tile.query_stop, dtype=np.int64)
        held: list[NearPairs] = []
        steps = np.zeros(4, dtype=np.int64)
        for part in self._parts(queries, tile.pairing.first_targets(queries), tile.targets):
            found = self._find(*part, cancel)
            if found is None:
                return None
            held.append(found[0])
            steps += found[1]
        pairs = join_pairs(held)
        names = ["pairs", "lengths", *["letter counts"] * self._counts, *["q-grams"] * self._sketches]
        taken = [0, 1, *[2] * self._counts, *[3] * self._sketches]
        left = {name: int(steps[at]) for name, at in zip(names, taken, strict=True)}
        return TilePairs(tile, pairs, left | {"edit distance": len(pairs)})

    def _parts(self, queries: Integers, firsts: Integers, targets: Integers) -> Iterator[tuple[Integers, Integers, Integers, EditBound]]:
        """A tile's queries, their first targets, and targets, in parts with about as many ambiguity letters, each with its bound."""
        ambiguous = self._task.ambiguous
        if ambiguous is None or not self._task.bounds_by_pair:
            yield queries, firsts, targets, self._task.within_of(0)
            return
        for some in _alike(ambiguous.queries[queries]):
            for others in _alike(ambiguous.targets[targets]):
                letters = ambiguous.queries[queries[some]].max() + ambiguous.targets[targets[others]].max()
                yield queries[some], firsts[some], targets[others], self._task.within_of(int(letters))

    def _find(
        self, queries: Integers, firsts: Integers, targets: Integers, bound: EditBound, cancel: Cancel
    ) -> tuple[NearPairs, Integers] | None:
        """Near pairs of some queries and targets, in halves where they are more than there is room for."""
        sets, native = (self._queries, self._targets), native_bound(bound)
        found = _near.near_tile(self._instruction_set, *sets, queries, firsts, targets, native, self._counts, self._most, cancel)
        if found is None:
            return None
        if not found.overflow:
            return NearPairs(found.queries, found.targets, found.distances.astype(np.int64)), found.steps
        half = len(queries) // 2
        if half:
            parts = [self._find(queries[part], firsts[part], targets, bound, cancel) for part in (slice(half), slice(half, None))]
        else:
            middle = len(targets) // 2
            parts = [self._find(queries, firsts, targets[part], bound, cancel) for part in (slice(middle), slice(middle, None))]
        whole = [part for part in parts if part is not None]
        if len(whole) < 2:
            return None
        steps: Integers = whole[0][1] + whole[1][1]
        return join_pairs([pairs for pairs, _ in whole]), steps


def _alike(letters: Integers) -> Iterator[Integers]:
    """Places of records with about as many ambiguity letters as each other: none, 1, 2, up to 4, 8 and so on."""
    sizes = np.frexp(np.maximum(2 * letters - 1, 0))[1]
    for size in distinct(sizes).tolist():
        yield np.flatnonzero(sizes == size)


class JoinedTiles:
    """The near pairs of tiles that hold all targets of their queries, by a join of what deletions of `most` letters make. results: bytes of
    what a tile finds at a time."""

    def __init__(self, task: Task, most: int, threads: int, results: int) -> None:
        queries, targets = task.queries, None if task.targets is task.queries else task.targets
        sets = (None, None) if targets is None else (targets.codes, targets.offsets)
        self._join = _neighbours.Neighbourhoods(queries.codes, queries.offsets, most, threads, None, *sets)
        self._most = max(1, results // (4 * _PAIR_BYTES))

    def __call__(self, tile: Tile, cancel: Cancel) -> TilePairs | None:
        queries = np.arange(tile.query_start, tile.query_stop, dtype=np.int64)
        pairs = self._find(queries, tile.pairing.first_targets(queries), cancel)
        return None if pairs is None else TilePairs(tile, pairs, {"pairs": tile.cells, "edit distance": len(pairs)})

    def _find(self, queries: Integers, firsts: Integers, cancel: Cancel) -> NearPairs | None:
        """Near pairs of some queries, in halves where they are more than there is room for; those of one query always have room."""
        found = self._join.candidates(queries, firsts, self._most if len(queries) > 1 else 1 << 40, cancel, 1)
        if found is None:
            return None
        if not found.overflow:
            return NearPairs(found.queries, found.targets, found.distances.astype(np.int64))
        half = len(queries) // 2
        parts = [self._find(queries[part], firsts[part], cancel) for part in (slice(half), slice(half, None))]
        whole = [part for part in parts if part is not None]
        return join_pairs(whole) if len(whole) == 2 else None
