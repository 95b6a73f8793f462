"""Which steps lead to the near pairs of a task: chosen on a sample of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from gpualign.core.alignment.task import Task
from gpualign.core.common.dataclass import dataclass
from gpualign.core.common.errors import TooLittleMemory
from gpualign.core.near_pairs.filter_cascade import Costs, FilterCascade, Survivors, candidates, choose, usual_letters, worth_joining
from gpualign.core.near_pairs.sampling import sample
from gpualign.core.planning.memory_budget import Budget
from gpualign.core.planning.tile_plan import BANDS_IN_FLIGHT, Limits
from gpualign.cpu.alignment._kernels import Cancel
from gpualign.cpu.near_pairs import _near, _neighbours
from gpualign.cpu.near_pairs.records import keep_records, native_bound
from gpualign.cpu.processor import pick_instruction_set

_COSTS = Costs(pair=0.5, counts=2.0, word=0.25, column=1.2, cell=1 / 160)
"""Of an AVX2 core: the ratios decide, and are about the same with other instructions."""

_COVERED_COSTS = replace(_COSTS, aligned=0.3)
"""With a coverage: the whole distance may be so large that it leaves nothing out."""

_TILE_NANOSECONDS = 2e8
_TILE_PAIRS = 1 << 15, 1 << 24  # at least, at most
_BAND_ROWS = 512
"""Queries of a band at most, and so of a tile: what is laid out of its targets is for all of them. They are not more because all near pairs
of a family that stands together come in few bands, in memory that no sample tells of."""

_WORTH_A_SAMPLE = 50_000
"""Pairs; a sample looks at more than that."""

_ENTRY_BYTES, _ENTRY_NANOSECONDS = 8, 25.0
"""Of a string that deletions make."""

_JOINED_QUERIES = 1 << 16
"""Queries of a tile of a join, at most."""

_WHOLE = 1 << 62
"""More pairs than any tile has."""

_NEAR_BYTES = 100
"""Memory of a near pair between a kernel and the output, the copies that are made on its way included."""

_WHOLE_BYTES = 64
"""Memory of any pair of a tile whose distances are all computed."""


@dataclass(frozen=True)
class NearRecipe:
    """steps, and what they were chosen for. nanoseconds: what a pair takes, about; near: the fraction of pairs that are, about; 1 where
    that is not known. left: of the sample, where there was one and the steps look at every pair."""

    steps: FilterCascade
    nanoseconds: float
    near: float = 1.0
    left: Survivors | None = None

    @property
    def kernel(self) -> str:
        return self.steps.describe() + (f"; {self.left.describe(self.steps)}" if self.left else "")


def near_instruction_set(wanted: str | None) -> str:
    """The variant of these kernels to use: `wanted`, or the fastest that this processor runs. Raises as `CpuEngine` does."""
    return pick_instruction_set([name for name, _, _, supported in _near.instruction_sets() if supported], wanted)


def make_near_recipe(task: Task, letters: int, instruction_set: str, memory: int, whole: bool) -> NearRecipe:
    """Choose steps for a task with `Task.within`. letters: codes in use are below. memory: bytes for what they keep of all records. whole:
    whether all pairs may be computed instead.

    Raises `TooLittleMemory` where it does not hold the records themselves.
    """
    bound = task.usual_within
    queries, targets = sample(task.queries, task.targets)
    lengths = queries.lengths.mean(keepdims=True).astype(np.int64), targets.lengths.mean(keepdims=True).astype(np.int64)
    most = max(0, int(bound.most(*lengths)[0]))
    usual = float(lengths[0][0]), float(lengths[1][0])
    near, worth = 1.0, len(task.queries) * len(task.targets) >= _WORTH_A_SAMPLE

    def grams(q: int) -> int:
        return max(int(bound.grams(q, *lengths)[0]), int(bound.grams(q, *lengths[::-1])[0]))

    def measure(steps: FilterCascade) -> Survivors:
        nonlocal near
        if steps.whole or not worth:
            return Survivors(1, 1, 1, 1)
        one = keep_records(queries, letters, steps)
        other = one if targets is queries else keep_records(targets, letters, steps)
        numbers = np.arange(len(queries), dtype=np.int64)
        firsts = numbers + 1 if targets is queries else np.zeros_like(numbers)
        places = numbers, firsts, np.argsort(targets.lengths, kind="stable").astype(np.int64)
        found = _near.near_tile(instruction_set, one, other, *places, native_bound(bound), steps.counts, _WHOLE, Cancel())
        assert found is not None  # nobody cancels
        near = (len(found.queries) + 1) / (int(found.steps[0]) + 1)  # one more: a sample may hold none of few
        return Survivors(*found.steps.tolist())

    def fitting() -> Iterator[FilterCascade]:
        options = [
            FilterCascade(),
            *[FilterCascade(whole=True)] * whole,
            FilterCascade(counts=True),
            *(FilterCascade(False, q, bits) for q, bits in candidates(usual[1], usual_letters(targets.codes), grams)),
        ]
        yield options[0]
        for steps in options[1:]:
            if near_bytes(task, letters, steps) <= memory:
                yield steps

    if (needed := near_bytes(task, letters, FilterCascade())) > memory:
        raise TooLittleMemory(f"the memory budget is too small: records as bits need {needed:,} bytes, {memory:,} are left", needed)
    costs, joined = _COVERED_COSTS if bound.coverage else _COSTS, _joined(task, memory)
    if joined and joined.nanoseconds <= costs.pair:  # no steps look at a pair for less
        measure(FilterCascade())
        return replace(joined, near=near)
    steps, nanoseconds, left = choose(fitting(), measure, usual, most, costs)
    every = NearRecipe(steps, nanoseconds, near, left if worth and not steps.whole else None)
    return replace(joined, near=near) if joined and joined.nanoseconds <= nanoseconds else every


def _joined(task: Task, memory: int) -> NearRecipe | None:
    """A join, where there can be one and it fits the memory."""
    assert task.within is not None
    sets = [task.queries.lengths] if task.targets is task.queries else [task.queries.lengths, task.targets.lengths]
    if not (most := worth_joining(np.concatenate(sets), task.within)):
        return None
    entries, pairs = join_entries(task, most), len(task.queries) * len(task.targets)
    if entries * _ENTRY_BYTES > memory:
        return None
    return NearRecipe(FilterCascade(neighbours=most), entries * _ENTRY_NANOSECONDS / pairs)


def join_entries(task: Task, most: int) -> int:
    """Strings that deletions of `most` letters make of the records of a task, at most."""
    sets = [task.queries] if task.targets is task.queries else [task.queries, task.targets]
    return sum(_neighbours.entries(one.lengths, most) for one in sets)


def near_bytes(task: Task, letters: int, steps: FilterCascade) -> int:
    """Memory of what the kernels keep of all records of a task."""
    sets = [task.queries] if task.targets is task.queries else [task.queries, task.targets]
    planes = max(1, (letters - 1).bit_length())
    a_record = steps.bits // 8 + 2 * letters + 8 * (planes + 3)
    return sum(len(one) * a_record + int(one.offsets[-1]) * planes // 8 for one in sets)


def near_limits(task: Task, recipe: NearRecipe, budget: Budget, letters: int, threads: int) -> Limits:
    """How to cut the task: so that as many near pairs as the sample promises fit the results, in bands and in the tiles of the threads."""
    held = recipe.near * _NEAR_BYTES  # of any pair, on the average
    rows = max(1, int(budget.results / (BANDS_IN_FLIGHT * len(task.targets) * held)))
    if recipe.steps.neighbours:  # tiles of whole queries: a join looks at no target of its own accord
        kept = join_entries(task, recipe.steps.neighbours) * _ENTRY_BYTES
        return Limits(budget.results, kept, task.item_bytes, 1, _WHOLE, band_rows=min(rows, _JOINED_QUERIES))
    pairs = int(np.clip(_TILE_NANOSECONDS / recipe.nanoseconds, *_TILE_PAIRS))
    fitting = int(budget.results / (2 * threads * (held + recipe.steps.whole * _WHOLE_BYTES)))
    pairs = max(_TILE_PAIRS[0], min(pairs, fitting))
    kept = near_bytes(task, letters, recipe.steps)
    return Limits(budget.results, kept, task.item_bytes, 64, pairs, band_rows=min(rows, _BAND_ROWS))
