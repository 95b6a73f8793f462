"""The engine interface: the one between the work and the hardware.

An engine turns tiles into results. Two engines give the same numbers for the same task, also where alignments tie: prefer
the diagonal, then a gap in the target, then one in the query, from the end of the alignment backwards; a gap is as short as can
be.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol, runtime_checkable

from gpualign.core.alignment.task import Mode, Task
from gpualign.core.alignment.tile_results import TileResult
from gpualign.core.common.dataclass import dataclass
from gpualign.core.planning.memory_budget import Budget
from gpualign.core.planning.tile_plan import Limits, Tile


@dataclass(frozen=True)
class Capabilities:
    """What an engine computes: modes; for global alignments also paths, statistics and free end gaps, pairs within a bound, and the better
    of both strands."""

    modes: frozenset[Mode]
    paths: bool
    near: bool = False
    strands: bool = False

    def refusal(self, task: Task) -> str | None:
        """Why an engine with these capabilities cannot do the task, or None."""
        if task.mode not in self.modes:
            return f"{task.mode.value} alignment is not among its modes"
        if task.needs_paths and task.mode is not Mode.GLOBAL:
            return f"it computes scores only of {task.mode.value} alignments"
        if task.needs_paths and not self.paths:
            return "it computes neither paths nor free end gaps"
        if task.within is not None and not self.near:
            return "it cannot leave pairs out that are not wanted"
        if task.both_strands and not self.strands:
            return "it aligns one strand"
        return None


class Prepared(Protocol):
    """A task that an engine is ready to do: everything has been decided, and nothing changes any more."""

    @property
    def task(self) -> Task: ...

    @property
    def limits(self) -> Limits:
        """How to cut the task into tiles."""

    @property
    def kernel(self) -> str:
        """The kernel that runs, for people."""

    @property
    def hardware(self) -> str:
        """What does the work, for people."""

    def run(self, tiles: Iterator[Tile]) -> Iterator[TileResult]:
        """Results in any order; tiles are pulled one by one as workers become free. Closing the iterator, or an exception at its
        consumer, stops all work within a second and frees everything."""


class Engine(Protocol):
    """One kind of hardware at work. It may prepare any number of tasks, from any thread."""

    @property
    def capabilities(self) -> Capabilities:
        """What it computes."""

    def prepare(self, task: Task, budget: Budget) -> Prepared:
        """Decide how to do a task. Raises `RunError` where the budget is too small or the engine cannot do the task."""


@runtime_checkable
class Timed(Prepared, Protocol):
    """A prepared task of which it is known about how long it takes."""

    @property
    def seconds(self) -> float:
        """For the whole task, by estimate."""


class TimedEngine(Protocol):
    """An engine that knows about how long tasks take it."""

    @property
    def capabilities(self) -> Capabilities: ...

    def prepare(self, task: Task, budget: Budget) -> Timed: ...
