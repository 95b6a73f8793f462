"""Every pair of one or two sets, aligned: what `nw` and `sw --all` have in common."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from typing import TypeAlias, cast

import numpy as np
import numpy.typing as npt

from gpualign.core.bands import BandResults
from gpualign.core.blocks import Block
from gpualign.core.budget import Budget
from gpualign.core.dataclass import dataclass
from gpualign.core.engine import Engine, Prepared, Task
from gpualign.core.plan import Pairing, Plan
from gpualign.core.road import UNMARKED, Closable, Marks, Progress, Sink, Totals
from gpualign.core.runner import estimate_rate, pair_bands, plan_task, run_plan
from gpualign.core.sinks.pairs import blocks_of
from gpualign.core.units import format_bytes
from gpualign.jobs.budget import memory_left, sequence_bytes, text_threads
from gpualign.jobs.engines import Resources
from gpualign.jobs.notes import Notes

Work: TypeAlias = npt.NDArray[np.float64]

Rows = list[tuple[str, str]]
"""What something is called, and what it is: for people."""


@dataclass(frozen=True)
class PairsJob:
    """A plan, and all that carrying it out takes. It may run any number of times. text_threads: for sinks that make text."""

    prepared: Prepared
    plan: Plan
    engine: Engine
    budget: Budget
    text_threads: int

    @property
    def task(self) -> Task:
        return self.prepared.task

    @property
    def sequences(self) -> int:
        """Records that are compared."""
        return count_sequences(self.task)

    @property
    def pairs(self) -> int:
        """Pairs that are aligned."""
        return self.plan.pairs

    @property
    def work(self) -> int:
        """DP cells, in which progress is told."""
        return self.plan.cells

    @property
    def hardware(self) -> str:
        return self.prepared.hardware

    def describe(self) -> Rows:
        """The plan, with a time estimate that takes a moment to measure."""
        return describe_plan(self.plan, self.prepared, self.engine, self.budget)

    @property
    def row_work(self) -> Work:
        """What the pairs of each query take, about: float64[queries]."""
        return self.plan.row_cells

    def part(self, start: int, stop: int) -> PairsJob:
        """The same for the pairs of queries [start, stop) alone."""
        return replace(self, plan=self.plan.part(start, stop))

    def run(self, sink: Sink[Plan, BandResults], progress: Progress, marks: Marks = UNMARKED) -> Totals:
        """Compute every pair and hand whole bands to the sink, in order."""
        return run_plan(self.plan, self.prepared, sink, progress, marks)

    def blocks(self, identity_definition: int, progress: Progress) -> Iterator[Block]:
        """The same as a stream of blocks of bounded size, in input order; closing it stops all work."""
        with closing(cast("Closable", bands := pair_bands(self.plan, self.prepared, progress))):
            for band in bands:
                yield from blocks_of(self.task, identity_definition, band, self.plan.pairing)


def prepare_pairs(task: Task, pairing: Pairing, engine: Engine, resources: Resources, notes: Notes, about: str = "") -> PairsJob:
    """Plan the pairs of a task. about: begins what is told of the plan. Raises `RunError` where memory is too small."""
    budget = Budget.of(memory_left(task, resources.memory))
    prepared = engine.prepare(task, budget)
    plan = plan_task(prepared, pairing)
    notes.detail(about + describe_work(prepared, plan))
    return PairsJob(prepared, plan, engine, budget, text_threads(budget, resources.host_threads))


def count_sequences(task: Task) -> int:
    """Records that a task compares."""
    return len(task.queries) + (len(task.targets) if task.targets is not task.queries else 0)


def describe_work(prepared: Prepared, plan: Plan) -> str:
    """Kernel and bands, in a line."""
    return f"{prepared.kernel}; {plan.band_count} bands of up to {plan.band_rows} queries"


def describe_plan(plan: Plan, prepared: Prepared, engine: Engine, budget: Budget) -> Rows:
    """For --dry-run."""
    task = prepared.task
    tiles = sum(1 for _ in plan.tiles())
    rate = estimate_rate(task, engine, budget)
    return [
        ("sequences", f"{plan.queries:,}" if task.targets is task.queries else f"{plan.queries:,} x {plan.targets:,}"),
        ("pairs", f"{plan.pairs:,}"),
        ("cells", f"{plan.cells:,}"),
        ("scoring", task.scoring.name),
        ("engine", prepared.hardware),
        ("kernel", prepared.kernel),
        ("tiles", f"{tiles:,} in {plan.band_count:,} bands of up to {plan.band_rows} queries"),
        (
            "memory",
            f"sequences {format_bytes(sequence_bytes(task))}, results {format_bytes(plan.result_bytes)}, "
            f"kernels {format_bytes(plan.limits.scratch_bytes)}",
        ),
        ("estimate", f"{plan.cells / rate:.1f} s at {rate / 1e9:.0f} GCUPS, measured on a sample"),
    ]
