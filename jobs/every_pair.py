"""Every pair of one or two sets, aligned: what `nw` and the scores of `sw` have in common."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar, TypeAlias, cast

import numpy as np
import numpy.typing as npt

from gpualign.core.alignment.band_results import BandResults
from gpualign.core.alignment.task import Task
from gpualign.core.common.dataclass import dataclass
from gpualign.core.common.units import format_bytes
from gpualign.core.execution.engine import Engine, Prepared
from gpualign.core.execution.pipeline import NO_CHECKPOINTS, CheckpointListener, Closable, Progress, Sink, Totals
from gpualign.core.execution.runner import estimate_rate, pair_bands, plan_task, run_plan
from gpualign.core.output.pairs import blocks_of
from gpualign.core.planning.memory_budget import Budget
from gpualign.core.planning.tile_plan import Pairing, Plan
from gpualign.core.results.blocks import Block
from gpualign.jobs.devices.memory import memory_left, sequence_bytes, text_threads
from gpualign.jobs.devices.resources import Resources
from gpualign.jobs.reporter import Reporter

if TYPE_CHECKING:
    from gpualign.core.planning.group_pairs import GroupPairs
    from gpualign.jobs.expected import SampledPairs

_MOST_COUNTED = 10_000_000
"""Targets of all bands, of which tiles are cut only to be counted."""

_WORTH_CUTTING = 0.75
"""Of all cells: where groups want more of them, all pairs are computed, and those that nobody wants are dropped."""

Work: TypeAlias = npt.NDArray[np.float64]

Rows = list[tuple[str, str]]
"""What something is called, and what it is: for people."""


@dataclass(frozen=True)
class PairsJob:
    """A plan, and all that carrying it out takes. It may run any number of times. threads: of the host; text_threads: of them, for sinks
    that make text. groups: whose pairs alone are wanted. unit: of `work`."""

    prepared: Prepared
    plan: Plan
    engine: Engine
    budget: Budget
    threads: int
    text_threads: int
    groups: GroupPairs | None = None
    unit: ClassVar[str] = "cells"

    @property
    def task(self) -> Task:
        return self.prepared.task

    @property
    def sequences(self) -> int:
        """Records that are compared."""
        return count_sequences(self.task)

    @property
    def pairs(self) -> int:
        """Pairs that are wanted."""
        if self.groups is None:
            return self.plan.pairs
        return int(self._sums(self.groups, np.ones(self.plan.targets, dtype=np.int64))[self.plan.start : self.plan.end].sum())

    @property
    def work(self) -> int:
        """DP cells, in which progress is told."""
        if self._leaves_out is None:
            return self.plan.cells
        return int(self._cells(self._leaves_out)[self.plan.start : self.plan.end].sum())

    @property
    def hardware(self) -> str:
        return self.prepared.hardware

    def describe(self) -> Rows:
        """The plan, with a time estimate that takes a moment to measure."""
        return describe_plan(self.plan, self.prepared, self.engine, self.budget, self.pairs, self.work)

    @cached_property
    def sampled(self) -> SampledPairs:
        """Some of the pairs with their alignments, which takes a moment."""
        from gpualign.cpu.alignment.engine import CpuEngine
        from gpualign.jobs.expected import sample_every

        aligner: Engine = CpuEngine(self.threads)
        if self.task.both_strands:
            from gpualign.core.execution.both_strands import with_both_strands

            aligner = with_both_strands(aligner)
        return sample_every(self.task, self.plan.pairing, self.groups, aligner, self.budget)

    @property
    def row_work(self) -> Work:
        """What the pairs of each query take, about: float64[queries]."""
        return self.plan.row_cells if self._leaves_out is None else self._cells(self._leaves_out).astype(np.float64)

    @property
    def _leaves_out(self) -> GroupPairs | None:
        """The groups, where pairs that they do not want are not computed."""
        if self.groups is None:
            return None
        from gpualign.core.execution.group_pairs import GroupedPrepared

        return self.groups if isinstance(self.prepared, GroupedPrepared) else None

    def _sums(self, groups: GroupPairs, weights: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Of each query, the sum of the weights of targets that are wanted."""
        pairing = self.plan.pairing
        return groups.sums(weights, None if pairing is Pairing.ALL else pairing.first_targets(np.arange(self.plan.queries)))

    def _cells(self, groups: GroupPairs) -> npt.NDArray[np.int64]:
        strands = 2 if self.task.both_strands else 1
        return strands * self.plan.query_lengths * self._sums(groups, self.plan.target_lengths)

    def part(self, start: int, stop: int) -> PairsJob:
        """The same for the pairs of queries [start, stop) alone."""
        return replace(self, plan=self.plan.part(start, stop))

    def run(self, sink: Sink[Plan, BandResults], progress: Progress, marks: CheckpointListener = NO_CHECKPOINTS) -> Totals:
        """Compute every pair and hand whole bands to the sink, in order."""
        totals = run_plan(self.plan, self.prepared, sink, progress, marks, self.threads)
        return replace(totals, pairs=self.pairs, work=self.work)

    def blocks(self, identity_definition: int, progress: Progress) -> Iterator[Block]:
        """The same as a stream of blocks of bounded size, in input order; closing it stops all work."""
        with closing(cast("Closable", bands := pair_bands(self.plan, self.prepared, progress, self.threads))):
            for band in bands:
                yield from blocks_of(self.task, identity_definition, band, self.plan.pairing)


def prepare_pairs(
    task: Task, pairing: Pairing, engine: Engine, resources: Resources, notes: Reporter, about: str = "", groups: GroupPairs | None = None
) -> PairsJob:
    """Plan the pairs of a task. about: begins what is told of the plan; groups: whose pairs alone are wanted. Raises `RunError` where
    memory is too small."""
    budget = Budget.of(memory_left(task, resources.memory))
    if groups is not None and _is_worth_cutting(task, groups):
        from gpualign.core.execution.group_pairs import prepare_group_pairs

        prepared: Prepared = prepare_group_pairs(engine, task, budget, groups)
    else:
        prepared = engine.prepare(task, budget)
    plan = plan_task(prepared, pairing)
    notes.detail(about + describe_work(prepared, plan))
    threads = resources.host_threads
    return PairsJob(prepared, plan, engine, budget, threads, text_threads(budget, threads), groups)


def _is_worth_cutting(task: Task, groups: GroupPairs) -> bool:
    """Whether groups want so few pairs that the others shall not be computed."""
    queries, targets = task.queries.lengths, task.targets.lengths
    wanted = float(queries @ groups.sums(targets, None))
    return wanted < _WORTH_CUTTING * float(queries.sum()) * float(targets.sum())


def count_sequences(task: Task) -> int:
    """Records that a task compares."""
    return len(task.queries) + (len(task.targets) if task.targets is not task.queries else 0)


def count_tiles(plan: Plan) -> str:
    """How many there are, for people; of a large plan, whose tiles take long to cut, how many at least."""
    if plan.band_count * plan.targets > _MOST_COUNTED:
        return f"at least {plan.band_count:,}"
    return f"{sum(1 for _ in plan.tiles()):,}"


def describe_work(prepared: Prepared, plan: Plan) -> str:
    """Kernel and bands, in a line."""
    return f"{prepared.kernel}; {plan.band_count} bands of up to {plan.band_rows} queries"


def describe_plan(
    plan: Plan, prepared: Prepared, engine: Engine, budget: Budget, pairs: int | None = None, cells: int | None = None
) -> Rows:
    """Rows of the plan that a dry run shows. pairs, cells: that are computed, where they are not those of the plan."""
    pairs, cells = plan.pairs if pairs is None else pairs, plan.cells if cells is None else cells
    task = prepared.task
    rate = estimate_rate(task, engine, budget)
    return [
        ("sequences", f"{plan.queries:,}" if task.targets is task.queries else f"{plan.queries:,} x {plan.targets:,}"),
        ("pairs", f"{pairs:,}"),
        ("cells", f"{cells:,}"),
        ("scoring", task.scoring.name),
        ("engine", prepared.hardware),
        ("kernel", prepared.kernel),
        ("tiles", f"{count_tiles(plan)} in {plan.band_count:,} bands of up to {plan.band_rows} queries"),
        (
            "memory",
            f"sequences {format_bytes(sequence_bytes(task))}, results {format_bytes(plan.result_bytes)}, "
            f"kernels {format_bytes(plan.limits.scratch_bytes)}",
        ),
        ("estimate", f"{cells / rate:.1f} s at {rate / 1e9:.0f} GCUPS, measured on a sample"),
    ]
