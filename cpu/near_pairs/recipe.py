"""Chooses the filter steps that find the near pairs of a task, on a sample of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from gpualign.core.alignment.task import Task
from gpualign.core.common.dataclass import dataclass
from gpualign.core.common.errors import TooLittleMemory
from gpualign.core.near_pairs.filter_cascade import Costs, FilterCascade, Survivors, candidates, choose, effective_letters, joined_deletions
from gpualign.core.near_pairs.sampling import sample
from gpualign.core.planning.memory_budget import Budget
from gpualign.core.planning.tile_plan import BANDS_IN_FLIGHT, TileLimits
from gpualign.cpu.alignment._kernels import Cancel
from gpualign.cpu.near_pairs import _near, _neighbours
from gpualign.cpu.near_pairs.records import keep_records, native_bound
from gpualign.cpu.processor import pick_instruction_set

_COSTS = Costs(pair=0.5, counts=2.0, word=0.25, column=1.2, cell=1 / 160)
"""Costs on an AVX2 core (ns). Only their ratios matter, which are about the same with other instructions."""

_COVERED_COSTS = replace(_COSTS, aligned=0.3)
"""Costs with a coverage: the bound on the whole distance may be so large that it excludes no pair."""

_TILE_NANOSECONDS = 2e8
_TILE_PAIRS = 1 << 15, 1 << 24  # at least, at most
_BAND_ROWS = 512
"""Largest number of queries in a band, and so in a tile, whose targets are laid out once for all of its queries. It is limited because all
near pairs of a family of consecutive records fall into few bands, whose memory no sample can predict."""

_WORTH_A_SAMPLE = 50_000
"""Number of pairs from which a sample is worthwhile; a sample itself examines more pairs than that."""

_ENTRY_BYTES, _ENTRY_NANOSECONDS = 8, 25.0
"""Memory and time per string made by deletions."""

_JOINED_QUERIES = 1 << 16
"""Largest number of queries in a tile of a join."""

_WHOLE = 1 << 62
"""A number larger than the pairs of any tile."""

_NEAR_BYTES = 100
"""Memory of a near pair from the kernel to the output, including temporary copies."""

_WHOLE_BYTES = 64
"""Memory of each pair in a tile whose distances are all computed."""


@dataclass(frozen=True)
class NearRecipe:
    """Steps of a task, and the estimates by which they were chosen.

    steps: the steps
    nanoseconds: approximate time of a pair
    near: approximate fraction of pairs that are near; 1 if not known
    left: pairs of the sample that each step leaves; None without a sample, for a join, or if all distances are computed
    """

    steps: FilterCascade
    nanoseconds: float
    near: float = 1.0
    left: Survivors | None = None

    @property
    def kernel(self) -> str:
        return self.steps.describe() + (f"; {self.left.describe(self.steps)}" if self.left else "")


def near_instruction_set(requested: str | None) -> str:
    """Return the variant of these kernels to use: `requested`, or the fastest that this processor runs. Raises as `CpuEngine` does."""
    return pick_instruction_set([name for name, _, _, supported in _near.instruction_sets() if supported], requested)


def make_near_recipe(task: Task, letters: int, instruction_set: str, memory: int, whole: bool) -> NearRecipe:
    """Choose steps for a task with `Task.within`.

    letters: one more than the largest code in use
    memory: bytes for the data that steps keep for all records
    whole: whether all pairs may be computed instead

    Raises `TooLittleMemory` if the memory is too small for the records themselves.
    """
    bound = task.usual_within
    queries, targets = sample(task.queries, task.targets)
    lengths = queries.lengths.mean(keepdims=True).astype(np.int64), targets.lengths.mean(keepdims=True).astype(np.int64)
    max_edits = max(0, int(bound.max_edits(*lengths)[0]))
    usual = float(lengths[0][0]), float(lengths[1][0])
    near, has_sample = 1.0, len(task.queries) * len(task.targets) >= _WORTH_A_SAMPLE

    def grams(q: int) -> int:
        return max(int(bound.grams(q, *lengths)[0]), int(bound.grams(q, *lengths[::-1])[0]))

    def measure(steps: FilterCascade) -> Survivors:
        nonlocal near
        if steps.whole or not has_sample:
            return Survivors(1, 1, 1, 1)
        one = keep_records(queries, letters, steps)
        other = one if targets is queries else keep_records(targets, letters, steps)
        numbers = np.arange(len(queries), dtype=np.int64)
        firsts = numbers + 1 if targets is queries else np.zeros_like(numbers)
        places = numbers, firsts, np.argsort(targets.lengths, kind="stable").astype(np.int64)
        result = _near.near_tile(instruction_set, one, other, *places, native_bound(bound), steps.counts, _WHOLE, Cancel())
        assert result is not None  # it is never cancelled
        near = (len(result.queries) + 1) / (int(result.steps[0]) + 1)  # one more: if near pairs are few, a sample may hold none
        return Survivors(*result.steps.tolist())

    def fitting() -> Iterator[FilterCascade]:
        options = [
            FilterCascade(),
            *[FilterCascade(whole=True)] * whole,
            FilterCascade(counts=True),
            *(FilterCascade(False, q, bits) for q, bits in candidates(usual[1], effective_letters(targets.codes), grams)),
        ]
        yield options[0]
        for steps in options[1:]:
            if near_bytes(task, letters, steps) <= memory:
                yield steps

    if (needed := near_bytes(task, letters, FilterCascade())) > memory:
        raise TooLittleMemory(f"the memory budget is too small: records as bits need {needed:,} bytes, {memory:,} are left", needed)
    costs, joined = _COVERED_COSTS if bound.coverage else _COSTS, _joined(task, memory)
    if joined and joined.nanoseconds <= costs.pair:  # no steps examine a pair for less
        measure(FilterCascade())
        return replace(joined, near=near)
    steps, nanoseconds, left = choose(fitting(), measure, usual, max_edits, costs)
    every = NearRecipe(steps, nanoseconds, near, left if has_sample and not steps.whole else None)
    return replace(joined, near=near) if joined and joined.nanoseconds <= nanoseconds else every


def _joined(task: Task, memory: int) -> NearRecipe | None:
    """Return the recipe of a join, or None if none is possible or it does not fit the memory."""
    assert task.within is not None
    sets = [task.queries.lengths] if task.targets is task.queries else [task.queries.lengths, task.targets.lengths]
    if not (deletions := joined_deletions(np.concatenate(sets), task.within)):
        return None
    entries, pairs = join_entries(task, deletions), len(task.queries) * len(task.targets)
    if entries * _ENTRY_BYTES > memory:
        return None
    return NearRecipe(FilterCascade(neighbours=deletions), entries * _ENTRY_NANOSECONDS / pairs)


def join_entries(task: Task, deletions: int) -> int:
    """Return the number of strings made from the records of a task by deleting up to `deletions` letters, at most."""
    sets = [task.queries] if task.targets is task.queries else [task.queries, task.targets]
    return sum(_neighbours.entries(one.lengths, deletions) for one in sets)


def near_bytes(task: Task, letters: int, steps: FilterCascade) -> int:
    """Return the memory of the data that kernels keep for all records of a task."""
    sets = [task.queries] if task.targets is task.queries else [task.queries, task.targets]
    planes = max(1, (letters - 1).bit_length())
    record_bytes = steps.bits // 8 + 2 * letters + 8 * (planes + 3)
    return sum(len(one) * record_bytes + int(one.offsets[-1]) * planes // 8 for one in sets)


def near_limits(task: Task, recipe: NearRecipe, budget: Budget, letters: int, threads: int) -> TileLimits:
    """Return how to cut the task, so that as many near pairs as the sample predicts fit the memory for results, in bands and in tiles."""
    held = recipe.near * _NEAR_BYTES  # per pair, near or not, on average
    rows = max(1, int(budget.results / (BANDS_IN_FLIGHT * len(task.targets) * held)))
    if recipe.steps.neighbours:  # tiles of whole queries, since a join does not go through targets
        scratch = join_entries(task, recipe.steps.neighbours) * _ENTRY_BYTES
        return TileLimits(budget.results, scratch, task.item_bytes, 1, _WHOLE, band_rows=min(rows, _JOINED_QUERIES))
    pairs = int(np.clip(_TILE_NANOSECONDS / recipe.nanoseconds, *_TILE_PAIRS))
    fitting = int(budget.results / (2 * threads * (held + recipe.steps.whole * _WHOLE_BYTES)))
    pairs = max(_TILE_PAIRS[0], min(pairs, fitting))
    scratch = near_bytes(task, letters, recipe.steps)
    return TileLimits(budget.results, scratch, task.item_bytes, 64, pairs, band_rows=min(rows, _BAND_ROWS))
