"""What an engine is: the one interface between the work and the hardware.

An engine turns tiles into results. Two engines give the same numbers for the same task, also where alignments tie: prefer
the diagonal, then a gap in the target, then one in the query, from the end of the alignment backwards.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from gpualign.core.plan import Limits, Tile
from gpualign.core.scoring import Scoring
from gpualign.core.sequences import SequenceSet


class Mode(Enum):
    """Global: whole sequences (Needleman-Wunsch). Local: the best pair of substrings (Smith-Waterman)."""

    GLOBAL = "global"
    LOCAL = "local"


class Detail(Enum):
    """How much of each alignment is wanted."""

    SCORE = "score"
    ENDS = "ends"
    PATH = "path"


@dataclass(frozen=True)
class Task:
    """Everything about a run that an engine needs beside the tiles. For one set, `targets is queries`."""

    queries: SequenceSet
    targets: SequenceSet
    scoring: Scoring
    mode: Mode = Mode.GLOBAL
    detail: Detail = Detail.SCORE

    @property
    def dtype(self) -> np.dtype[np.signedinteger]:
        """Of the scores: int32, or int64 where a pair of the longest records could need it."""
        return self.scoring.dtype(int(self.queries.lengths.max()), int(self.targets.lengths.max()))


@dataclass(frozen=True)
class TileResult:
    """Results of one tile; arrays are [tile queries][tile targets], cells of unwanted pairs hold anything.

    scores: int32 or int64 (edit distances for unit costs). With Detail.ENDS also ends: int32[..., 4] (query start, query
    end, target start, target end; 0-based, half-open). With Detail.PATH also cigars: object[...] of bytes (=/X/I/D runs).
    """

    tile: Tile
    scores: npt.NDArray[np.signedinteger] = field(repr=False)
    ends: npt.NDArray[np.int32] | None = field(default=None, repr=False)
    cigars: npt.NDArray[np.object_] | None = field(default=None, repr=False)


@dataclass(frozen=True)
class Capabilities:
    """The modes and details that an engine computes."""

    modes: frozenset[Mode]
    details: frozenset[Detail]

    def refusal(self, task: Task) -> str | None:
        """Why an engine with these capabilities cannot do the task, or None."""
        if task.mode not in self.modes:
            return f"{task.mode.value} alignment is not among its modes"
        if task.detail not in self.details:
            return f"it does not compute {task.detail.value}s"
        return None


class Engine(Protocol):
    """One kind of hardware at work."""

    @property
    def name(self) -> str:
        """One word, as --device takes it."""

    @property
    def capabilities(self) -> Capabilities: ...

    def unavailable_reason(self) -> str | None:
        """Why this engine cannot run here, in one plain sentence, or None if it can."""

    def describe(self) -> str:
        """The hardware that does the work, for people."""

    def kernel(self, task: Task, memory: int) -> str:
        """The kernel that a task with this budget would run, for people."""

    def limits(self, task: Task, memory: int) -> Limits:
        """How to cut the task with this many bytes for scratch and results. Raises `RunError` if they are too few."""

    def run(self, task: Task, tiles: Iterator[Tile], memory: int) -> Iterator[TileResult]:
        """Results in any order; tiles are pulled one by one as workers become free. Closing the iterator, or an exception
        at its consumer, stops all work within a second and frees everything."""


class Progress(Protocol):
    """Told of finished work."""

    def advance(self, cells: int) -> Any: ...
