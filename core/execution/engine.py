"""Interface of engines, each of which computes tasks on one kind of hardware.

An engine turns tiles into results. All engines give the same numbers for the same task, even if alignments tie. Ties are resolved from the
end of the alignment backwards: the diagonal is preferred, then a gap in the target, then a gap in the query; gaps are as short as possible.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol, runtime_checkable

from gpualign.core.alignment.aligned_pairs import PairAlignments
from gpualign.core.alignment.pair_list import NearPairs
from gpualign.core.alignment.task import Mode, Task
from gpualign.core.alignment.tile_results import TileResult
from gpualign.core.common.arrays import Integers
from gpualign.core.common.dataclass import dataclass
from gpualign.core.planning.memory_budget import Budget
from gpualign.core.planning.tile_plan import Tile, TileLimits


@dataclass(frozen=True)
class Capabilities:
    """Modes and features that an engine supports.

    supports_paths: whether the engine computes paths, statistics and global alignments with free end gaps
    supports_near_pairs: whether it finds pairs within a bound on the edit distance
    supports_both_strands: whether it aligns queries globally on the better of their two strands
    """

    modes: frozenset[Mode]
    supports_paths: bool
    supports_near_pairs: bool = False
    supports_both_strands: bool = False

    def unsupported_reason(self, task: Task) -> str | None:
        """Return the reason why an engine with these capabilities cannot perform the task, as text for a message; None if it can."""
        if task.mode not in self.modes:
            return f"{task.mode.value} alignment is not among its modes"
        if task.needs_more_than_final_cell and task.mode is not Mode.GLOBAL:
            return f"it computes only scores of {task.mode.value} alignments"
        if task.needs_more_than_final_cell and not self.supports_paths:
            return "it computes neither paths nor free end gaps"
        if task.edit_bound is not None and not self.supports_near_pairs:
            return "it cannot select pairs within a bound"
        if task.both_strands and not self.supports_both_strands:
            return "it aligns only one strand"
        return None


class PreparedTask(Protocol):
    """Task that an engine is ready to perform: all decisions have been made and are final."""

    @property
    def task(self) -> Task: ...

    @property
    def limits(self) -> TileLimits:
        """Limits for splitting the task into tiles."""

    @property
    def kernel(self) -> str:
        """Human-readable name of the kernel."""

    @property
    def hardware(self) -> str:
        """Human-readable name of the hardware that performs the work."""

    def run(self, tiles: Iterator[Tile]) -> Iterator[TileResult]:
        """Compute tiles, and yield their results in any order. Tiles are taken from the iterator one by one, as workers become free.

        Closing the returned iterator, or an exception in its consumer, stops all work within a second and frees all resources.
        """


class Engine(Protocol):
    """Computes tasks on one kind of hardware. Can prepare any number of tasks, from any thread."""

    @property
    def capabilities(self) -> Capabilities:
        """Modes and features that the engine supports."""

    def prepare(self, task: Task, budget: Budget) -> PreparedTask:
        """Decide how to perform a task. Raises `RunError` if the budget is too small or the engine cannot perform the task."""


class PairAligner(Protocol):
    """Aligner of a task's pairs in any combination of queries and targets: all decisions have been made and are final."""

    @property
    def kernel(self) -> str:
        """Human-readable name of the kernel."""

    @property
    def uses_device(self) -> bool:
        """True if a device aligns the pairs, so that the host can prepare and write other pairs at the same time."""

    def align_pairs(self, pairs: NearPairs) -> PairAlignments:
        """Align the listed pairs. An exception stops all work within a second.

        The distances of the pairs are the numbers of edits that their alignments are expected to have. They affect only the speed.
        """

    def close(self) -> None:
        """Free what the aligner keeps between lists, such as the memory of a GPU. The aligner can be used again.

        If pairs are being aligned in another thread, that work fails with `RunError` within a second.
        """


@runtime_checkable
class PairAligningEngine(Engine, Protocol):
    """Engine that also aligns listed pairs."""

    def prepare_pair_aligner(self, task: Task, budget: Budget) -> PairAligner:
        """Decide how to align listed pairs of a task. Raises `RunError` if the budget is too small."""


class EditFinder(Protocol):
    """Finds the edit distances of a task's pairs in any combination of queries and targets, whatever the task's scoring is."""

    def find_edits(self, pairs: NearPairs) -> Integers:
        """Return the edit distance of each listed pair if it is at most the pair's `distances`, otherwise -1: int64[pairs]. An exception
        stops all work within a second."""

    def close(self) -> None:
        """Stop the calls of `find_edits` in other threads, which raise `RunError` within a second. The finder can be used again."""


@runtime_checkable
class EditFindingEngine(PairAligningEngine, Protocol):
    """Engine that also finds the edit distances of listed pairs."""

    def prepare_edit_finder(self, task: Task, budget: Budget) -> EditFinder:
        """Prepare to find the edit distances of listed pairs of a task, in the memory that an aligner may use at other times."""


@runtime_checkable
class TimedPreparedTask(PreparedTask, Protocol):
    """Prepared task with a time estimate."""

    @property
    def estimated_seconds(self) -> float:
        """Estimated time for the whole task, in seconds."""


class TimedEngine(Protocol):
    """Engine that estimates the duration of its tasks."""

    @property
    def capabilities(self) -> Capabilities: ...

    def prepare(self, task: Task, budget: Budget) -> TimedPreparedTask: ...
