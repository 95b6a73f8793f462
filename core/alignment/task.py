"""Describes an alignment task: the sequences, their scoring, and how much of each alignment is asked for."""

from __future__ import annotations

from enum import Enum
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from gpualign.core.alignment.tile_results import STATISTICS
from gpualign.core.common.dataclass import dataclass
from gpualign.core.planning.cost import ONE_A_PAIR, WHOLE_MATRIX, BothStrandsCost, Cost
from gpualign.core.scoring.scoring import Scoring
from gpualign.core.sequences.alphabet import DNA, Alphabet
from gpualign.core.sequences.sequence_set import SequenceSet

if TYPE_CHECKING:
    from gpualign.core.alignment.ambiguity import Ambiguous
    from gpualign.core.scoring.edit_bounds import EditBound
    from gpualign.core.sequences.strands_frames import FrameSet


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
    """The better strand of each pair is wanted, which core/execution/both_strands.py computes. For DNA."""
    ambiguous: Ambiguous | None = None
    """How ambiguity letters count in statistics, where that is not as engines count them: blocks count paths again, which the detail has
    to have. `within` is then for pairs with as many of them as any has."""

    @cached_property
    def strands(self) -> FrameSet:
        """Both strands of the queries."""
        from gpualign.core.sequences.strands_frames import BOTH, make_strands

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
