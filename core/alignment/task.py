"""Describes an alignment task: the sequences, their scoring, and how much of each alignment is requested."""

from __future__ import annotations

from enum import Enum
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from gpualign.core.alignment.tile_results import STATISTICS
from gpualign.core.common.dataclass import dataclass
from gpualign.core.planning.cost import ONE_PER_PAIR, WHOLE_MATRIX, BothStrandsCost, Cost
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
    """How much of each alignment is computed. Each level includes those before it."""

    SCORE = "score"
    STATISTICS = "statistics"
    PATH = "path"


class EndGaps(Enum):
    """Selects the gaps at the ends of a global alignment that cost nothing; these are not part of the alignment.

    FREE: gaps in both, so that the sequences overlap
    QUERY: gaps in the query, so that the whole query lies anywhere in the target
    TARGET: gaps in the target, so that the whole target lies anywhere in the query
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
    """Everything about a run that an engine needs besides the tiles. If one set is compared with itself, `targets is queries`.

    top: search only: number of best-scoring targets to keep for each query in a tile
    within: bound on the edit distance: only pairs within it are computed, with their edit distances (`TilePairs`). If the bound has a
        coverage, pairs that differ in more q-grams than it allows may be missing. The scoring is that of edit distances, and gaps at the
        ends count
    both_strands: report the better strand of each pair, which core/execution/both_strands.py computes. DNA only
    ambiguous: how ambiguity letters count in statistics, if not as engines count them. Blocks recount the paths, so the detail must include
        paths. `within` is then valid for pairs with as many ambiguity letters as any pair has
    """

    queries: SequenceSet
    targets: SequenceSet
    scoring: Scoring
    mode: Mode = Mode.GLOBAL
    detail: Detail = Detail.SCORE
    end_gaps: EndGaps = EndGaps.PENALISED
    alphabet: Alphabet = DNA
    top: int | None = None
    within: EditBound | None = None
    both_strands: bool = False
    ambiguous: Ambiguous | None = None

    @cached_property
    def strands(self) -> FrameSet:
        """Both strands of the queries."""
        from gpualign.core.sequences.strands_frames import BOTH, make_strands

        return make_strands(self.queries, self.alphabet, BOTH)

    def within_of(self, letters: int) -> EditBound:
        """Return `within` for pairs with `letters` ambiguity letters."""
        assert self.within is not None
        return self.within.with_ambiguous(letters, self._shortest) if self.bounds_by_pair else self.within

    @property
    def bounds_by_pair(self) -> bool:
        """True if `within` depends on the ambiguity letters of a pair, and these are known."""
        return self.ambiguous is not None and self.within is not None and self.within.ambiguous > 0

    @property
    def usual_within(self) -> EditBound:
        """`within` for pairs with the average number of ambiguity letters."""
        return self.within_of(0 if self.ambiguous is None else self.ambiguous.usual)

    @cached_property
    def _shortest(self) -> int:
        """Length of the shortest record."""
        return int(min(self.queries.lengths.min(), self.targets.lengths.min()))

    @property
    def needs_paths(self) -> bool:
        """True if more than the corner of the matrix is needed."""
        return self.detail is not Detail.SCORE or self.end_gaps is not EndGaps.PENALISED

    @property
    def item_bytes(self) -> int:
        """Memory of the result of one pair without its runs, bytes. It is 0 in a search, which keeps nothing for a pair, and with `within`,
        for which no memory is planned because few pairs are expected."""
        if self.top is not None or self.within is not None:
            return 0
        runs = 12 if self.detail is Detail.PATH else 0
        return self.dtype.itemsize + (STATISTICS.itemsize if self.detail is not Detail.SCORE else 0) + runs

    @property
    def query_bytes(self) -> int:
        """Memory of the result of one query without those of its pairs, bytes."""
        return 0 if self.top is None else self.top * (self.dtype.itemsize + 8)

    @property
    def cost(self) -> Cost:
        """Cost of computing pairs."""
        one: Cost = WHOLE_MATRIX if self.within is None else ONE_PER_PAIR
        return BothStrandsCost(one) if self.both_strands else one

    @property
    def letter_bytes(self) -> int:
        """Bytes of runs per letter of a pair, at most."""
        return 1 if self.detail is Detail.PATH else 0

    @property
    def pairs_about(self) -> float:
        """Approximate number of pairs of a query and a target. If one set is compared with itself, each pair counts once."""
        return len(self.queries) * len(self.targets) / (2 if self.targets is self.queries else 1)

    @property
    def cells_about(self) -> float:
        """Approximate number of cells of the whole matrices of these pairs."""
        return float(self.queries.offsets[-1]) * float(self.targets.offsets[-1]) / (2 if self.targets is self.queries else 1)

    @property
    def dtype(self) -> np.dtype[np.signedinteger]:
        """Type of the scores: int32, or int64 if a pair of the longest records could need it."""
        return self.scoring.dtype(self.queries.longest, self.targets.longest)
