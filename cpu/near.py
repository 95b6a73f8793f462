"""Pairs within a bound on their edit distance: steps chosen on a sample, then tiles of pairs for the native kernels."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from gpualign.core.budget import Budget
from gpualign.core.engine import Task, TilePairs, TileScores
from gpualign.core.errors import RunError
from gpualign.core.near.bounds import EditBound
from gpualign.core.near.pairs import Integers, NearPairs, join_pairs
from gpualign.core.near.steps import Costs, Left, Steps, candidates, choose
from gpualign.core.plan import Limits, Tile
from gpualign.core.sequences import SequenceSet
from gpualign.cpu import _near
from gpualign.cpu._kernels import Cancel
from gpualign.cpu.machine import pick_instruction_set
from gpualign.cpu.tiles import Compute

_COSTS = Costs(pair=0.5, counts=2.0, word=0.25, column=1.2, cell=1 / 160)
"""Of an AVX2 core: the ratios decide, and are about the same with other instructions."""

_TILE_NANOSECONDS = 2e8
_TILE_PAIRS = 1 << 15, 1 << 24  # at least, at most
_SAMPLE_RECORDS, _SAMPLE_LETTERS = 400, 1_000_000
_WORTH_A_SAMPLE = 50_000
"""Pairs; a sample looks at more than that."""

_BUILT_AT_A_TIME = 1 << 20
"""Letters."""

_PAIR_BYTES = 20
"""Memory of a pair on its way from a kernel to the output."""


@dataclass(frozen=True)
class NearRecipe:
    """steps, and what they were chosen for. nanoseconds: what a pair takes, about."""

    steps: Steps
    nanoseconds: float

    @property
    def kernel(self) -> str:
        return self.steps.describe()


def near_instruction_set(wanted: str | None) -> str:
    """The variant of these kernels to use: `wanted`, or the fastest that this processor runs. Raises as `CpuEngine` does."""
    return pick_instruction_set([name for name, _, _, supported in _near.instruction_sets() if supported], wanted)


def make_near_recipe(task: Task, letters: int, instruction_set: str, memory: int, whole: bool) -> NearRecipe:
    """Choose steps for a task with `Task.within`. letters: codes in use are below. memory: bytes for what they keep of all records. whole:
    whether all pairs may be computed instead.

    Raises `RunError` where it does not hold the records themselves.
    """
    assert task.within is not None
    bound = task.within
    rng = np.random.default_rng(0)  # the same sample each time, so that a run can be repeated
    queries = _sample(task.queries, rng)
    targets = queries if task.targets is task.queries else _sample(task.targets, rng)
    lengths = queries.lengths.mean(keepdims=True).astype(np.int64), targets.lengths.mean(keepdims=True).astype(np.int64)
    most = max(0, int(bound.most(*lengths)[0]))
    usual = float(lengths[0][0]), float(lengths[1][0])

    def measure(steps: Steps) -> Left:
        if steps.whole or len(task.queries) * len(task.targets) < _WORTH_A_SAMPLE:
            return Left(1, 1, 1, 1)
        one = _records(queries, letters, steps)
        other = one if targets is queries else _records(targets, letters, steps)
        by_length = np.argsort(targets.lengths, kind="stable").astype(np.int64)
        numbers = np.arange(len(queries), dtype=np.int64)
        firsts = numbers + 1 if targets is queries else np.zeros_like(numbers)
        found = _near.near_tile(instruction_set, one, other, numbers, firsts, by_length, _native(bound), steps.counts, 1 << 40, Cancel())
        assert found is not None  # nobody cancels
        return Left(*found.steps.tolist())

    def fitting() -> Iterator[Steps]:
        options = [
            Steps(),
            *[Steps(whole=True)] * whole,
            Steps(counts=True),
            *(Steps(False, q, bits) for q, bits in candidates(usual[1], letters, most)),
        ]
        yield options[0]
        for steps in options[1:]:
            if near_bytes(task, letters, steps) <= memory:
                yield steps

    if (needed := near_bytes(task, letters, Steps())) > memory:
        raise RunError(f"the memory budget is too small: records as bits need {needed:,} bytes, {memory:,} are left; raise --memory")
    steps, nanoseconds = choose(fitting(), measure, usual, most, _COSTS)
    return NearRecipe(steps, nanoseconds)


def near_bytes(task: Task, letters: int, steps: Steps) -> int:
    """Memory of what the kernels keep of all records of a task."""
    sets = [task.queries] if task.targets is task.queries else [task.queries, task.targets]
    planes = max(1, (letters - 1).bit_length())
    a_record = steps.bits // 8 + 2 * letters + 8 * (planes + 3)
    return sum(len(one) * a_record + int(one.offsets[-1]) * planes // 8 for one in sets)


def near_limits(task: Task, recipe: NearRecipe, budget: Budget, letters: int) -> Limits:
    """How to cut the task."""
    pairs = int(np.clip(_TILE_NANOSECONDS / recipe.nanoseconds, *_TILE_PAIRS))
    return Limits(budget.results, near_bytes(task, letters, recipe.steps), task.item_bytes, 64, pairs)


class ChosenScores:
    """The near pairs of tiles whose distances are all computed, by `whole`."""

    def __init__(self, task: Task, whole: Compute) -> None:
        assert task.within is not None
        self._task = task
        self._bound = task.within
        self._whole = whole

    def __call__(self, tile: Tile, cancel: Cancel) -> TilePairs | None:
        found = self._whole(tile, cancel)
        if found is None:
            return None
        assert isinstance(found, TileScores)
        queries, targets = np.arange(tile.query_start, tile.query_stop, dtype=np.int64), tile.targets
        wanted = targets[None, :] >= np.array([tile.pairing.first_target(query) for query in queries.tolist()])[:, None]
        most = self._bound.most(self._task.queries.lengths[queries][:, None], self._task.targets.lengths[targets][None, :])
        rows, columns = np.nonzero(wanted & (found.scores <= most))
        pairs = NearPairs(queries[rows], targets[columns], found.scores[rows, columns].astype(np.int64))
        return TilePairs(tile, pairs, {"pairs": int(wanted.sum()), "edit distance": len(pairs)})


class NearTiles:
    """The near pairs of tiles. results: bytes of what a tile finds at a time."""

    def __init__(self, task: Task, letters: int, instruction_set: str, recipe: NearRecipe, threads: int, results: int) -> None:
        assert task.within is not None
        self._instruction_set = instruction_set
        self._bound = _native(task.within)
        self._counts = recipe.steps.counts
        self._sketches = bool(recipe.steps.q)
        self._most = max(1, results // (4 * _PAIR_BYTES))
        self._queries = _records(task.queries, letters, recipe.steps, threads)
        self._targets = self._queries if task.targets is task.queries else _records(task.targets, letters, recipe.steps, threads)

    def __call__(self, tile: Tile, cancel: Cancel) -> TilePairs | None:
        queries = np.arange(tile.query_start, tile.query_stop, dtype=np.int64)
        firsts = np.array([tile.pairing.first_target(query) for query in queries.tolist()], dtype=np.int64)
        found = self._find(queries, firsts, tile.targets, cancel)
        if found is None:
            return None
        pairs, steps = found
        names = ["pairs", "lengths", *["letter counts"] * self._counts, *["q-grams"] * self._sketches]
        taken = [0, 1, *[2] * self._counts, *[3] * self._sketches]
        left = {name: int(steps[at]) for name, at in zip(names, taken, strict=True)}
        return TilePairs(tile, pairs, left | {"edit distance": len(pairs)})

    def _find(self, queries: Integers, firsts: Integers, targets: Integers, cancel: Cancel) -> tuple[NearPairs, Integers] | None:
        """Near pairs of some queries and targets, in halves where they are more than there is room for."""
        sets = self._queries, self._targets
        found = _near.near_tile(self._instruction_set, *sets, queries, firsts, targets, self._bound, self._counts, self._most, cancel)
        if found is None:
            return None
        if not found.overflow:
            return NearPairs(found.queries, found.targets, found.distances.astype(np.int64)), found.steps
        half = len(queries) // 2
        if half:
            parts = [self._find(queries[part], firsts[part], targets, cancel) for part in (slice(half), slice(half, None))]
        else:
            middle = len(targets) // 2
            parts = [self._find(queries, firsts, targets[part], cancel) for part in (slice(middle), slice(middle, None))]
        whole = [part for part in parts if part is not None]
        if len(whole) < 2:
            return None
        steps: Integers = whole[0][1] + whole[1][1]
        return join_pairs([pairs for pairs, _ in whole]), steps


def _native(bound: EditBound) -> _near.Bound:
    return _near.Bound(bound.per_letter, bound.per_shorter, bound.constant)


def _records(sequences: SequenceSet, letters: int, steps: Steps, threads: int = 1) -> _near.Records:
    """What the kernels keep of each record."""
    records = _near.Records(sequences.codes, sequences.offsets, letters, steps.q, steps.bits)
    parts = max(1, min(len(sequences), int(sequences.offsets[-1]) // _BUILT_AT_A_TIME))
    cuts = np.linspace(0, len(sequences), parts + 1).astype(np.int64).tolist()
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(records.build, cuts[:-1], cuts[1:]))
    return records


def _sample(sequences: SequenceSet, rng: np.random.Generator) -> SequenceSet:
    """Some records, at random."""
    count = min(len(sequences), _SAMPLE_RECORDS, max(16, int(_SAMPLE_LETTERS / sequences.lengths.mean())))
    return sequences.select(np.sort(rng.choice(len(sequences), count, replace=False)))
