"""Engine interface, between the work and the hardware.

An engine turns tiles into results. All engines give the same numbers for the same task, also if alignments tie: they prefer the diagonal,
then a gap in the target, then one in the query, from the end of the alignment backwards; a gap is as short as possible.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol, runtime_checkable

from gpualign.core.alignment.task import Mode, Task
from gpualign.core.alignment.tile_results import TileResult
from gpualign.core.common.dataclass import dataclass
from gpualign.core.planning.memory_budget import Budget
from gpualign.core.planning.tile_plan import Tile, TileLimits


@dataclass(frozen=True)
class Capabilities:
    """Modes and features that an engine supports.

    paths: paths, statistics and free end gaps of global alignments
    near: global alignments of pairs within a bound
    strands: global alignments of the better of both strands
    """

    modes: frozenset[Mode]
    paths: bool
    near: bool = False
    strands: bool = False

    def refusal(self, task: Task) -> str | None:
        """Reason why an engine with these capabilities cannot do the task, or None."""
        if task.mode not in self.modes:
            return f"{task.mode.value} alignment is not among its modes"
        if task.needs_paths and task.mode is not Mode.GLOBAL:
            return f"it computes only scores of {task.mode.value} alignments"
        if task.needs_paths and not self.paths:
            return "it computes neither paths nor free end gaps"
        if task.within is not None and not self.near:
            return "it cannot select pairs within a bound"
        if task.both_strands and not self.strands:
            return "it aligns only one strand"
        return None


class Prepared(Protocol):
    """Task that an engine is ready to do: everything has been decided, and nothing changes any more."""

    @property
    def task(self) -> Task: ...

    @property
    def limits(self) -> TileLimits:
        """Limits by which the task is cut into tiles."""

    @property
    def kernel(self) -> str:
        """Human-readable name of the kernel that runs."""

    @property
    def hardware(self) -> str:
        """Human-readable name of the hardware that does the work."""

    def run(self, tiles: Iterator[Tile]) -> Iterator[TileResult]:
        """Yield results in any order. Tiles are pulled one by one as workers become free.

        Closing the iterator, or an exception at its consumer, stops all work within a second and frees everything.
        """


class Engine(Protocol):
    """Computes tasks on one kind of hardware. It may prepare any number of tasks, from any thread."""

    @property
    def capabilities(self) -> Capabilities:
        """Modes and features that the engine supports."""

    def prepare(self, task: Task, budget: Budget) -> Prepared:
        """Decide how to do a task. Raises `RunError` if the budget is too small or the engine cannot do the task."""


@runtime_checkable
class Timed(Prepared, Protocol):
    """Prepared task with an estimate of how long it takes."""

    @property
    def seconds(self) -> float:
        """Estimated seconds for the whole task."""


class TimedEngine(Protocol):
    """Engine that estimates how long its tasks take."""

    @property
    def capabilities(self) -> Capabilities: ...

    def prepare(self, task: Task, budget: Budget) -> Timed: ...
