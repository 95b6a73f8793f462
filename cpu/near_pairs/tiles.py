"""Computes tiles of near pairs: with a bounded test of each pair, from all distances, or with a join."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from gpualign.core.alignment.pair_list import NearPairs, join_pairs
from gpualign.core.alignment.task import Task
from gpualign.core.alignment.tile_results import TilePairs, TileResult, TileScores
from gpualign.core.common.arrays import Integers, distinct
from gpualign.core.planning.tile_plan import Tile
from gpualign.core.scoring.edit_bounds import EditBound
from gpualign.cpu.alignment._kernels import Cancel
from gpualign.cpu.near_pairs import _near, _neighbours
from gpualign.cpu.near_pairs.recipe import NearPairRecipe, build_records, native_bound

_BYTES_PER_PAIR = 25
"""Memory, in bytes, that a pair takes between kernel and output."""


class FullMatrixPairFinder:
    """Finds the near pairs of a tile by computing the distances of all its pairs. compute_scores: computes these distances."""

    def __init__(self, task: Task, compute_scores: Callable[[Tile, Cancel], TileResult | None]) -> None:
        self._task = task
        self._whole = compute_scores
        self._bound, self._ambiguous = task.edit_bound_for(0), task.ambiguity if task.edit_bound_varies else None

    def __call__(self, tile: Tile, cancel: Cancel) -> TilePairs | None:
        result = self._whole(tile, cancel)
        if result is None:
            return None
        assert isinstance(result, TileScores)
        queries, targets = np.arange(tile.query_start, tile.query_stop, dtype=np.int64), tile.targets
        selected = targets[None, :] >= tile.pairing.first_targets(queries)[:, None]
        max_distances = self._bound.max_edits(self._task.queries.lengths[queries][:, None], self._task.targets.lengths[targets][None, :])
        if self._ambiguous is not None:
            max_distances += self._ambiguous.query_counts[queries][:, None] + self._ambiguous.target_counts[targets][None, :]
        rows, columns = np.nonzero(selected & (result.scores <= max_distances))
        pairs = NearPairs(queries[rows], targets[columns], result.scores[rows, columns].astype(np.int64))
        return TilePairs(tile, pairs, {"pairs": int(selected.sum()), "edit distance": len(pairs)})


class CascadePairFinder:
    """Finds near pairs in tiles with a filter cascade. result_bytes: memory, in bytes, from which the maximum number of pairs per kernel
    call follows"""

    def __init__(self, task: Task, letters: int, instruction_set: str, recipe: NearPairRecipe, threads: int, result_bytes: int) -> None:
        self._task = task
        self._instruction_set = instruction_set
        self._counts = recipe.cascade.compare_counts
        self._sketches = bool(recipe.cascade.q)
        self._max_pairs = max(1, result_bytes // (4 * _BYTES_PER_PAIR))
        self._queries = build_records(task.queries, letters, recipe.cascade, threads)
        self._targets = self._queries if task.targets is task.queries else build_records(task.targets, letters, recipe.cascade, threads)

    def __call__(self, tile: Tile, cancel: Cancel) -> TilePairs | None:
        queries = np.arange(tile.query_start, tile.query_stop, dtype=np.int64)
        held: list[NearPairs] = []
        steps = np.zeros(4, dtype=np.int64)
        for piece in self._split_by_ambiguity(queries, tile.pairing.first_targets(queries), tile.targets):
            result = self._find_pairs(*piece, cancel)
            if result is None:
                return None
            held.append(result[0])
            steps += result[1]
        pairs = join_pairs(held)
        names = ["pairs", "lengths", *["letter counts"] * self._counts, *["q-grams"] * self._sketches]
        taken = [0, 1, *[2] * self._counts, *[3] * self._sketches]
        survivors = {name: int(steps[at]) for name, at in zip(names, taken, strict=True)}
        return TilePairs(tile, pairs, survivors | {"edit distance": len(pairs)})

    def _split_by_ambiguity(
        self, queries: Integers, first_targets: Integers, targets: Integers
    ) -> Iterator[tuple[Integers, Integers, Integers, EditBound]]:
        """Yield pieces of a tile: (queries, first target of each query, targets, bound). Records in a piece have similar numbers of
        ambiguity letters."""
        ambiguous = self._task.ambiguity
        if ambiguous is None or not self._task.edit_bound_varies:
            yield queries, first_targets, targets, self._task.edit_bound_for(0)
            return
        for some in _similar_ambiguity_groups(ambiguous.query_counts[queries]):
            for others in _similar_ambiguity_groups(ambiguous.target_counts[targets]):
                letters = ambiguous.query_counts[queries[some]].max() + ambiguous.target_counts[targets[others]].max()
                yield queries[some], first_targets[some], targets[others], self._task.edit_bound_for(int(letters))

    def _find_pairs(
        self, queries: Integers, first_targets: Integers, targets: Integers, bound: EditBound, cancel: Cancel
    ) -> tuple[NearPairs, Integers] | None:
        """Return the near pairs between some queries and targets, and the number of pairs that survive each step. If the pairs do not fit
        in memory, the queries or targets are halved."""
        sets, native = (self._queries, self._targets), native_bound(bound)
        result = _near.near_tile(
            self._instruction_set, *sets, queries, first_targets, targets, native, self._counts, self._max_pairs, cancel
        )
        if result is None:
            return None
        if not result.overflow:
            return NearPairs(result.queries, result.targets, result.distances.astype(np.int64)), result.steps
        half = len(queries) // 2
        if half:
            halves = [
                self._find_pairs(queries[part], first_targets[part], targets, bound, cancel) for part in (slice(half), slice(half, None))
            ]
        else:
            middle = len(targets) // 2
            halves = [
                self._find_pairs(queries, first_targets, targets[part], bound, cancel) for part in (slice(middle), slice(middle, None))
            ]
        complete = [part for part in halves if part is not None]
        if len(complete) < 2:
            return None
        steps: Integers = complete[0][1] + complete[1][1]
        return join_pairs([pairs for pairs, _ in complete]), steps


def _similar_ambiguity_groups(letters: Integers) -> Iterator[Integers]:
    """Yield groups of indices of records with similar numbers of ambiguity letters: 0, 1, 2, up to 4, up to 8 and so on. letters: number of
    ambiguity letters in each record."""
    sizes = np.frexp(np.maximum(2 * letters - 1, 0))[1]
    for size in distinct(sizes).tolist():
        yield np.flatnonzero(sizes == size)


class JoinPairFinder:
    """Finds near pairs in tiles that hold all of their queries' targets, by joining records on strings that are generated by deleting
    letters.

    max_deletions: maximum number of letters that are deleted from a record
    result_bytes: memory, in bytes, from which the maximum number of pairs per kernel call follows
    """

    def __init__(self, task: Task, max_deletions: int, threads: int, result_bytes: int) -> None:
        queries, targets = task.queries, None if task.targets is task.queries else task.targets
        sets = (None, None) if targets is None else (targets.codes, targets.offsets)
        self._join = _neighbours.Neighbourhoods(queries.codes, queries.offsets, max_deletions, threads, None, *sets)
        self._max_pairs = max(1, result_bytes // (4 * _BYTES_PER_PAIR))

    def __call__(self, tile: Tile, cancel: Cancel) -> TilePairs | None:
        queries = np.arange(tile.query_start, tile.query_stop, dtype=np.int64)
        pairs = self._find_pairs(queries, tile.pairing.first_targets(queries), cancel)
        return None if pairs is None else TilePairs(tile, pairs, {"pairs": tile.cells, "edit distance": len(pairs)})

    def _find_pairs(self, queries: Integers, first_targets: Integers, cancel: Cancel) -> NearPairs | None:
        """Return the near pairs of some queries; None if cancelled. If the pairs do not fit in memory, the queries are halved; the pairs of
        one query always fit."""
        result = self._join.candidates(queries, first_targets, self._max_pairs if len(queries) > 1 else 1 << 40, cancel, 1)
        if result is None:
            return None
        if not result.overflow:
            return NearPairs(result.queries, result.targets, result.distances.astype(np.int64))
        half = len(queries) // 2
        halves = [self._find_pairs(queries[part], first_targets[part], cancel) for part in (slice(half), slice(half, None))]
        complete = [part for part in halves if part is not None]
        return join_pairs(complete) if len(complete) == 2 else None
