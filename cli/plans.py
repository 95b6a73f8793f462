"""What a command is about to do: its memory, and the plan that --dry-run prints."""

from __future__ import annotations

from dataclasses import dataclass

import click

from gpualign.cli.messages import Messages
from gpualign.cli.sizes import default_budget, format_bytes
from gpualign.core.distance.engine import DistanceEngine
from gpualign.core.distance.plan import DistancePlan
from gpualign.core.distance.runner import Prepared
from gpualign.core.engine import Engine, Task
from gpualign.core.errors import RunError
from gpualign.core.plan import Plan
from gpualign.core.runner import estimate_rate


@dataclass(frozen=True)
class Run:
    """How the work is done. threads, memory: None is the default."""

    engine: Engine
    threads: int | None
    memory: int | None
    dry_run: bool
    messages: Messages


def sequence_bytes(task: Task) -> int:
    """Memory of a task's sequences."""
    return task.queries.nbytes + (task.targets.nbytes if task.targets is not task.queries else 0)


def budget_left(task: Task, memory: int | None) -> int:
    """Memory beside the sequences. Raises `RunError` if there is none."""
    budget = memory or default_budget()
    left = budget - sequence_bytes(task)
    if left <= 0:
        raise RunError(
            f"the memory budget is too small: the sequences alone take {sequence_bytes(task):,} bytes of {budget:,}; raise --memory"
        )
    return left


def count_sequences(task: Task) -> int:
    """Records that a task compares."""
    return len(task.queries) + (len(task.targets) if task.targets is not task.queries else 0)


def print_plan(plan: Plan, task: Task, engine: Engine, memory: int) -> None:
    """For --dry-run; memory: beside the sequences."""
    tiles = sum(1 for _ in plan.tiles())
    rate = estimate_rate(task, engine, memory)
    rows = [
        ("sequences", f"{plan.queries:,}" if task.targets is task.queries else f"{plan.queries:,} x {plan.targets:,}"),
        ("pairs", f"{plan.pairs:,}"),
        ("cells", f"{plan.cells:,}"),
        ("scoring", task.scoring.name),
        ("engine", engine.describe()),
        ("kernel", engine.kernel(task, memory)),
        ("tiles", f"{tiles:,} in {plan.band_count:,} bands of up to {plan.band_rows} queries"),
        (
            "memory",
            f"sequences {format_bytes(sequence_bytes(task))}, results {format_bytes(plan.result_bytes)}, "
            f"kernels {format_bytes(plan.limits.scratch_bytes)}",
        ),
        ("estimate", f"{plan.cells / rate:.1f} s at {rate / 1e9:.0f} GCUPS, measured on a sample"),
    ]
    _print_rows(rows)


def print_distance_plan(prepared: Prepared, plan: DistancePlan, engine: DistanceEngine) -> None:
    """For --dry-run of distances."""
    from gpualign.core.distance.runner import estimate_seconds

    samples = prepared.samples
    rows = [
        ("samples", f"{len(samples.queries):,}" if samples.one_set else f"{len(samples.queries):,} x {len(samples.targets):,}"),
        ("sites", f"{prepared.sites:,}, {prepared.panel_sites:,} of them looked at"),
        ("pairs", f"{samples.pairs:,}"),
        ("metric", f"{prepared.task.metric.name}, missing calls: {prepared.task.missing.value}"),
        ("engine", engine.describe()),
        ("kernel", engine.kernel()),
        ("bands", f"{plan.count:,} of up to {plan.rows:,} samples, {len(prepared.panels):,} panels of sites"),
        ("memory", f"bit planes {format_bytes(prepared.held)}, counts {format_bytes(plan.bytes)}"),
        ("estimate", f"{estimate_seconds(prepared, plan, engine):.1f} s, measured on a sample"),
    ]
    _print_rows(rows)


def _print_rows(rows: list[tuple[str, str]]) -> None:
    for name, value in rows:
        click.echo(f"{name:<10} {value}")
