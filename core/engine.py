"""What an engine is: the one interface between the work and the hardware.

An engine turns tiles into results. Two engines give the same numbers for the same task, also where alignments tie: prefer
the diagonal, then a gap in the target, then one in the query, from the end of the alignment backwards; a gap is as short as can
be.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from enum import Enum
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from gpualign.core.alphabet import DNA, Alphabet
from gpualign.core.budget import Budget
from gpualign.core.cost import ONE_A_PAIR, WHOLE_MATRIX, BothStrandsCost, Cost
from gpualign.core.dataclass import dataclass
from gpualign.core.plan import Limits, Tile
from gpualign.core.scoring import Scoring
from gpualign.core.sequences import SequenceSet

if TYPE_CHECKING:
    from gpualign.core.ambiguity import Ambiguous
    from gpualign.core.near.bounds import EditBound
    from gpualign.core.near.pairs import NearPairs
    from gpualign.core.search.readings import Readings


class Mode(Enum):
    """Global: whole sequences (Needleman-Wunsch). Local: the best pair of substrings (Smith-Waterman)."""

    GLOBAL = "global"
    LOCAL = "local"


class Detail(Enum):
    """How much of each alignment is wanted: each step includes what stands before it."""

    SCORE = "score"
    STATISTICS = "statistics"
    PATH = "path"


class EndGaps(Enum):
    """Which gaps at the ends of a global alignment cost nothing; they are not part of the alignment then.

    QUERY: gaps in the query, so that the whole query lies anywhere in the target. TARGET: the other way round. FREE: both, so
    that the sequences overlap.
    """

    PENALISED = "penalised"
    FREE = "free"
    QUERY = "query"
    TARGET = "target"

    @property
    def free_query(self) -> bool:
        return self in (EndGaps.FREE, EndGaps.QUERY)

    @property
    def free_target(self) -> bool:
        return self in (EndGaps.FREE, EndGaps.TARGET)


STATISTICS = np.dtype(
    [
        (name, np.int32)
        for name in (
            "matches",
            "mismatches",
            "gaps",
            "gap_opens",
            "end_gaps",
            "query_start",
            "query_end",
            "target_start",
            "target_end",
        )
    ]
)
"""Of one alignment: pairs of equal letters and of unequal ones, letters in gaps, gaps, letters in gaps before the first or behind
the last pair of letters, and what of the sequences is aligned (0-based, half-open)."""

Statistics: TypeAlias = npt.NDArray[np.void]


@dataclass(frozen=True)
class Runs:
    """Paths of pairs: that of pair (i, j) is data[starts[i, j] : starts[i, j] + sizes[i, j]], from the first column on.

    pieces: uint8 arrays, which are the data one behind the other; no path is in two of them. Parts of a large result come in pieces of
    their own, and to join those would take as long as to make text of them. Each byte is a run of columns,
    (length - 1) << 2 | operation, with the operations 0 equal letters, 1 unequal letters, 2 a letter of the query against a gap, 3 a letter
    of the target against a gap. A run of over 64 columns takes several bytes.
    """

    pieces: Sequence[npt.NDArray[np.uint8]] = field(repr=False)
    starts: npt.NDArray[np.int64] = field(repr=False)
    sizes: npt.NDArray[np.int32] = field(repr=False)

    @property
    def data(self) -> npt.NDArray[np.uint8]:
        """All pieces as one, copied where there are several."""
        return self.pieces[0] if len(self.pieces) == 1 else np.concatenate([np.zeros(0, dtype=np.uint8), *self.pieces])

    def part(self, which: Any) -> Runs:  # whatever indexes an array
        """Those of some of the pairs; one may come several times."""
        return Runs(self.pieces, self.starts[which], self.sizes[which])


@dataclass(frozen=True)
class Task:
    """Everything about a run that an engine needs beside the tiles. For one set, `targets is queries`."""

    queries: SequenceSet
    targets: SequenceSet
    scoring: Scoring
    mode: Mode = Mode.GLOBAL
    detail: Detail = Detail.SCORE
    end_gaps: EndGaps = EndGaps.PENALISED
    alphabet: Alphabet = DNA
    top: int | None = None
    """Of each query's targets in a tile only the best so many are wanted: a search."""
    within: EditBound | None = None
    """Only pairs whose edit distance is within this are wanted, and that distance of each (`TilePairs`); of a bound with a coverage, pairs
    that have more q-grams apart than it allows may be missing. The scoring is that of edit distances, gaps at the ends count."""

    both_strands: bool = False
    """The better strand of each pair is wanted, which core/both_strands.py computes. For DNA."""
    ambiguous: Ambiguous | None = None
    """How ambiguity letters count in statistics, where that is not as engines count them: blocks count paths again, which the detail has
    to have. `within` is then for pairs with as many of them as any has."""

    @cached_property
    def strands(self) -> Readings:
        """Both strands of the queries."""
        from gpualign.core.search.readings import BOTH, make_strands

        return make_strands(self.queries, self.alphabet, BOTH)

    def within_of(self, letters: int) -> EditBound:
        """`within` for pairs with so many ambiguity letters."""
        assert self.within is not None
        return self.within.with_ambiguous(letters, self._shortest) if self.bounds_by_pair else self.within

    @property
    def bounds_by_pair(self) -> bool:
        """Whether `within` depends on the ambiguity letters of a pair, and these are known."""
        return self.ambiguous is not None and self.within is not None and self.within.ambiguous > 0

    @property
    def usual_within(self) -> EditBound:
        """`within` for pairs with as many ambiguity letters as they have on average."""
        return self.within_of(0 if self.ambiguous is None else self.ambiguous.usual)

    @cached_property
    def _shortest(self) -> int:
        """Letters of the shortest record."""
        return int(min(self.queries.lengths.min(), self.targets.lengths.min()))

    @property
    def needs_paths(self) -> bool:
        """Whether more than the corner of the matrix is wanted."""
        return self.detail is not Detail.SCORE or self.end_gaps is not EndGaps.PENALISED

    @property
    def item_bytes(self) -> int:
        """Memory of one pair's result, apart from its runs. A search keeps none for a pair; where few pairs are wanted, no result is
        planned for."""
        if self.top is not None or self.within is not None:
            return 0
        runs = 12 if self.detail is Detail.PATH else 0
        return self.dtype.itemsize + (STATISTICS.itemsize if self.detail is not Detail.SCORE else 0) + runs

    @property
    def query_bytes(self) -> int:
        """Memory of one query's result, apart from those of its pairs."""
        return 0 if self.top is None else self.top * (self.dtype.itemsize + 8)

    @property
    def cost(self) -> Cost:
        """What pairs cost to compute."""
        one: Cost = WHOLE_MATRIX if self.within is None else ONE_A_PAIR
        return BothStrandsCost(one) if self.both_strands else one

    @property
    def letter_bytes(self) -> int:
        """Bytes of runs that a letter of a pair makes at most."""
        return 1 if self.detail is Detail.PATH else 0

    @property
    def pairs_about(self) -> float:
        """Pairs of a query and a target, of one set each once."""
        return len(self.queries) * len(self.targets) / (2 if self.targets is self.queries else 1)

    @property
    def cells_about(self) -> float:
        """Of the whole matrices of these pairs."""
        return float(self.queries.offsets[-1]) * float(self.targets.offsets[-1]) / (2 if self.targets is self.queries else 1)

    @property
    def dtype(self) -> np.dtype[np.signedinteger]:
        """Of the scores: int32, or int64 where a pair of the longest records could need it."""
        return self.scoring.dtype(self.queries.longest, self.targets.longest)


@dataclass(frozen=True)
class TileScores:
    """Scores of a tile, int32 or int64 (edit distances for unit costs): [tile queries][tile targets]. Those of unwanted pairs may be
    anything, here and in what follows. minus: with `Task.both_strands`, which pairs are of the query's reverse complement, of the same
    shape, here and in what follows."""

    tile: Tile
    scores: npt.NDArray[np.signedinteger] = field(repr=False)
    minus: npt.NDArray[np.bool_] | None = field(default=None, repr=False)


@dataclass(frozen=True)
class TileAlignments:
    """Scores, statistics and, with Detail.PATH, runs of a tile: [tile queries][tile targets]. statistics: `STATISTICS`."""

    tile: Tile
    scores: npt.NDArray[np.signedinteger] = field(repr=False)
    statistics: Statistics = field(repr=False)
    runs: Runs | None = field(default=None, repr=False)
    minus: npt.NDArray[np.bool_] | None = field(default=None, repr=False)


@dataclass(frozen=True)
class TileHits:
    """Of a search (Task.top): the best targets that a tile has for each query, [tile queries][at most `top`], in the order of
    core/search/hits.py. scores: theirs; targets: int64, their records."""

    tile: Tile
    scores: npt.NDArray[np.signedinteger] = field(repr=False)
    targets: npt.NDArray[np.int64] = field(repr=False)


@dataclass(frozen=True)
class TilePairs:
    """Of a task with `Task.within`: the pairs of a tile that are, in any order. left: how many pairs each step of the engine has left, by
    its name for people; steps stand in their order, in every tile the same."""

    tile: Tile
    pairs: NearPairs
    left: Mapping[str, int]


TileResult: TypeAlias = TileScores | TileAlignments | TileHits | TilePairs


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
