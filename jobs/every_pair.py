"""Alignment of every pair within one set or between two, for `nw`, and for `sw` when it writes all scores."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import numpy.typing as npt

from gpualign.core.alignment.band_results import BandResults
from gpualign.core.alignment.task import Task
from gpualign.core.common.dataclass import dataclass
from gpualign.core.common.units import format_bytes
from gpualign.core.execution.engine import Engine, PairAligningEngine, PreparedTask, TimedPreparedTask
from gpualign.core.execution.runner import compute_pair_bands, estimate_seconds, measure_cell_rate, plan_task
from gpualign.core.execution.totals import Progress, Totals
from gpualign.core.planning.memory_budget import Budget
from gpualign.core.planning.tile_plan import Pairing, Plan
from gpualign.jobs.devices.memory import remaining_memory, sequence_bytes, text_thread_count
from gpualign.jobs.devices.resources import Resources
from gpualign.jobs.job import DescriptionRows, WorkPerQuery, describe_bands
from gpualign.jobs.reporter import Reporter

if TYPE_CHECKING:
    from gpualign.core.planning.group_pairs import GroupPairSelector
    from gpualign.jobs.pair_sample import SampledPairs

_MAX_TARGETS_TO_COUNT_TILES = 10_000_000
"""Number of targets, summed over all bands, above which work is not split into tiles merely to count the tiles."""

_MEASUREMENT_SECONDS = 0.5
"""Minimum time, in seconds, of the measurement for a time estimate, unless the whole work takes less."""

_MAPPED_MEASUREMENT_SECONDS = 2.0
"""The same for targets that are read from an index while they are searched."""

_MAX_MAPPED_LETTERS = 1 << 29
"""Maximum number of letters in the targets of this measurement if the index does not fit in memory."""

_MAX_SELECTED_FRACTION = 0.75
"""If the groups select more than this fraction of all DP cells, every pair is computed and unselected pairs are dropped."""


@dataclass(frozen=True)
class EveryPairJob:
    """A plan to compute every pair, together with everything that is needed to run it. It can be run any number of times.

    threads: number of threads of this process
    text_threads: how many of them may format text at the same time
    groups: selects pairs according to their records' groups; None: all pairs
    work_unit: unit of `total_work`
    """

    prepared: PreparedTask
    plan: Plan
    engine: Engine
    budget: Budget
    threads: int
    text_threads: int
    groups: GroupPairSelector | None = None
    work_unit: ClassVar[str] = "cells"
    is_joined: ClassVar[bool] = False

    @property
    def task(self) -> Task:
        return self.prepared.task

    @property
    def sequence_count(self) -> int:
        """Number of records compared."""
        return count_sequences(self.task)

    @property
    def pair_count(self) -> int:
        """Number of selected pairs."""
        if self.groups is None:
            return self.plan.pair_count
        return int(
            self._selected_sums(self.groups, np.ones(self.plan.target_count, dtype=np.int64))[self.plan.start : self.plan.query_stop].sum()
        )

    @property
    def total_work(self) -> int:
        """Number of DP cells to compute, the unit of progress."""
        if self._skipping_groups is None:
            return self.plan.cells
        return int(self._selected_cell_counts(self._skipping_groups)[self.plan.start : self.plan.query_stop].sum())

    @property
    def hardware(self) -> str:
        return self.prepared.hardware

    @property
    def kernel(self) -> str:
        return self.prepared.kernel

    def describe(self) -> DescriptionRows:
        """Return the plan as rows, including a time estimate from a short measurement."""
        return describe_plan(self.plan, self.prepared, self.engine, self.budget, self.pair_count, self.total_work)

    @cached_property
    def sample(self) -> SampledPairs:
        """A sample of the pairs with their alignments. Computing it takes a moment."""
        from gpualign.cpu.alignment.engine import CpuEngine
        from gpualign.jobs.pair_sample import sample_all_pairs

        aligner: PairAligningEngine = CpuEngine(self.threads)
        if self.task.both_strands:
            from gpualign.core.execution.both_strands import with_both_strands

            aligner = with_both_strands(aligner)
        return sample_all_pairs(self.task, self.plan.pairing, self.groups, aligner, self.budget)

    @property
    def row_work(self) -> WorkPerQuery:
        """Approximate work for each query's pairs: float64[queries]."""
        return (
            self.plan.row_cells if self._skipping_groups is None else self._selected_cell_counts(self._skipping_groups).astype(np.float64)
        )

    @property
    def _skipping_groups(self) -> GroupPairSelector | None:
        """The groups, if the engine skips the pairs that they exclude. None if there are no groups, or if excluded pairs are computed and
        then dropped."""
        if self.groups is None:
            return None
        from gpualign.core.execution.group_pairs import GroupedPreparedTask

        return self.groups if isinstance(self.prepared, GroupedPreparedTask) else None

    def _selected_sums(self, groups: GroupPairSelector, weights: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Return for each query the sum of the weights of the targets that are selected for it: int64[queries].

        weights: int64[targets]
        """
        pairing = self.plan.pairing
        return groups.weight_sums(weights, None if pairing is Pairing.ALL else pairing.first_targets(np.arange(self.plan.query_count)))

    def _selected_cell_counts(self, groups: GroupPairSelector) -> npt.NDArray[np.int64]:
        strands = 2 if self.task.both_strands else 1
        return strands * self.plan.query_lengths * self._selected_sums(groups, self.plan.target_lengths)

    def for_queries(self, start: int, stop: int) -> EveryPairJob:
        """Return a job for only the pairs of queries [start, stop)."""
        return replace(self, plan=self.plan.for_queries(start, stop))

    def counting_neighbours(self) -> EveryPairJob:
        """Return a job whose results need only suffice to count the near pairs of each query; here, each pair is needed."""
        return self

    def run(self, progress: Progress) -> tuple[Iterator[BandResults], Totals]:
        """Return (whole bands in order, which are computed as they are requested; the totals). Closing the iterator stops all work."""
        return compute_pair_bands(self.plan, self.prepared, progress, self.threads), Totals(self.pair_count, self.total_work)


def prepare_every_pair(
    task: Task,
    pairing: Pairing,
    engine: Engine,
    resources: Resources,
    reporter: Reporter,
    description_prefix: str = "",
    groups: GroupPairSelector | None = None,
) -> EveryPairJob:
    """Plan the pairs of a task.

    description_prefix: prefix for the reported plan
    groups: selects pairs according to their records' groups; None: all pairs

    Raises `RunError` if there is not enough memory.
    """
    budget = Budget.from_total(remaining_memory(task, resources.memory, reserved_bytes=resources.reserved_bytes))
    if groups is not None and _should_skip_unselected(task, groups):
        from gpualign.core.execution.group_pairs import prepare_group_pairs

        prepared: PreparedTask = prepare_group_pairs(engine, task, budget, groups)
    else:
        prepared = engine.prepare(task, budget)
    plan = plan_task(prepared, pairing)
    reporter.detail(description_prefix + describe_work(prepared, plan))
    threads = resources.host_threads
    return EveryPairJob(prepared, plan, engine, budget, threads, text_thread_count(budget, threads), groups)


def _should_skip_unselected(task: Task, groups: GroupPairSelector) -> bool:
    """True if the groups select so few pairs that unselected pairs should be skipped."""
    queries, targets = task.queries.lengths, task.targets.lengths
    selected = float(queries @ groups.weight_sums(targets, None))
    return selected < _MAX_SELECTED_FRACTION * float(queries.sum()) * float(targets.sum())


def count_sequences(task: Task) -> int:
    """Return the number of records that a task compares."""
    return len(task.queries) + (len(task.targets) if task.targets is not task.queries else 0)


def describe_tile_count(plan: Plan) -> str:
    """Return the number of tiles as human-readable text. For a large plan, whose tiles take long to generate, return a lower bound."""
    if plan.band_count * plan.target_count > _MAX_TARGETS_TO_COUNT_TILES:
        return f"at least {plan.band_count:,}"
    return f"{sum(1 for _ in plan.tiles()):,}"


def describe_work(prepared: PreparedTask, plan: Plan) -> str:
    """Return one line that names the kernel and describes the bands."""
    return f"{prepared.kernel}; {describe_bands(plan.band_count, plan.band_rows)}"


def describe_plan(
    plan: Plan,
    prepared: PreparedTask,
    engine: Engine,
    budget: Budget,
    pairs: int | None = None,
    cells: int | None = None,
    reading_seconds: float | None = None,
) -> DescriptionRows:
    """Return the rows that describe the plan in a dry run.

    pairs, cells: numbers of pairs and cells to compute; None: all in the plan
    reading_seconds: time for reading the targets from a disk while others are compared; None: they stay in memory
    """
    pairs, cells = plan.pair_count if pairs is None else pairs, plan.cells if cells is None else cells
    task = prepared.task
    seconds = None
    if task.targets.is_mapped and isinstance(prepared, TimedPreparedTask):
        max_letters = None if reading_seconds is None else _MAX_MAPPED_LETTERS
        seconds = estimate_seconds(plan, prepared, _MAPPED_MEASUREMENT_SECONDS, max_letters)
    rate = cells / seconds if seconds else measure_cell_rate(task, engine, budget, min_seconds=_MEASUREMENT_SECONDS)
    if reading_seconds:
        rate = min(rate, cells / reading_seconds)
    return [
        ("sequences", f"{plan.query_count:,}" if task.targets is task.queries else f"{plan.query_count:,} x {plan.target_count:,}"),
        ("pairs", f"{pairs:,}"),
        ("cells", f"{cells:,}"),
        ("scoring", task.scoring.name),
        ("engine", prepared.hardware),
        ("kernel", prepared.kernel),
        ("tiles", f"{describe_tile_count(plan)} in {describe_bands(plan.band_count, plan.band_rows)}"),
        (
            "memory",
            f"sequences {format_bytes(sequence_bytes(task))}{_describe_mapped(task)}, results {format_bytes(plan.result_bytes)}, "
            f"kernels {format_bytes(plan.limits.scratch_bytes)}",
        ),
        ("estimate", f"{cells / rate:.1f} s at {rate / 1e9:.0f} GCUPS, measured on a sample"),
    ]


def _describe_mapped(task: Task) -> str:
    """Return how many letters of the targets stay on disk, as text that follows the memory for sequences."""
    return f" ({format_bytes(task.targets.codes.nbytes)} of letters on disk)" if task.targets.is_mapped else ""
