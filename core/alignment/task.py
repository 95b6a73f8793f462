"""Describes an alignment task: the sequences, the scoring, and how much of each alignment is requested."""

from __future__ import annotations

from dataclasses import replace
from enum import Enum
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from gpualign.core.alignment.tile_results import STATISTICS
from gpualign.core.common.arrays import Integers
from gpualign.core.common.dataclass import dataclass
from gpualign.core.planning.cost import FULL_MATRIX_COST, UNIT_PAIR_COST, BothStrandsCost, Cost
from gpualign.core.scoring.scoring import Scoring
from gpualign.core.sequences.alphabet import DNA, Alphabet
from gpualign.core.sequences.sequence_set import SequenceSet

if TYPE_CHECKING:
    from gpualign.core.alignment.ambiguity import AmbiguityCounts
    from gpualign.core.scoring.edit_bounds import EditBound
    from gpualign.core.sequences.strands_frames import FrameSet


class Mode(Enum):
    """Scope of an alignment: whole sequences (GLOBAL, Needleman-Wunsch) or their most similar parts (LOCAL, Smith-Waterman)."""

    GLOBAL = "global"
    LOCAL = "local"


class Detail(Enum):
    """How much of each alignment is computed. Each level includes all previous levels."""

    SCORE = "score"
    STATISTICS = "statistics"
    PATH = "path"


class EndGaps(Enum):
    """Choice of the end gaps of a global alignment that are free. Free gaps are not part of the alignment.

    PENALISED: no end gaps are free
    FREE: end gaps in both sequences are free, so that the sequences may overlap
    QUERY: end gaps in the query are free, so that the whole query may lie anywhere in the target
    TARGET: end gaps in the target are free, so that the whole target may lie anywhere in the query
    """

    PENALISED = "penalised"
    FREE = "free"
    QUERY = "query"
    TARGET = "target"

    @property
    def query_gaps_are_free(self) -> bool:
        return self in (EndGaps.FREE, EndGaps.QUERY)

    @property
    def target_gaps_are_free(self) -> bool:
        return self in (EndGaps.FREE, EndGaps.TARGET)


@dataclass(frozen=True)
class Task:
    """Everything that an engine needs to know about a run, except the tiles. If a set is compared with itself, `targets is queries`.

    detail: how much of each alignment is computed
    top_count: only in a search: number of best targets to keep for each query in a tile
    edit_bound: if set, only pairs whose edit distance is within this bound are computed, with their distances (`TilePairs`). If
        `EditBound.coverage` is not 0, pairs that differ in more q-grams than the bound allows may be missing. The scoring must be edit
        distance, without free end gaps
    both_strands: whether to report the better strand of each query for each pair (core/execution/both_strands.py); only for DNA
    ambiguity: rule for counting ambiguity letters in statistics, if it differs from that of the engines. Writers then recount the
        statistics from the paths, so `detail` must include paths, and `edit_bound` allows for `ambiguity.max_letters` letters
    """

    queries: SequenceSet
    targets: SequenceSet
    scoring: Scoring
    mode: Mode = Mode.GLOBAL
    detail: Detail = Detail.SCORE
    end_gaps: EndGaps = EndGaps.PENALISED
    alphabet: Alphabet = DNA
    top_count: int | None = None
    edit_bound: EditBound | None = None
    both_strands: bool = False
    ambiguity: AmbiguityCounts | None = None

    def select(self, queries: Integers, targets: Integers | None) -> Task:
        """Return the task for some of the records.

        queries, targets: numbers of the records; targets None: those of the queries, which are of the same set as the targets
        """
        chosen = self.queries.select(queries)
        others = chosen if targets is None else self.targets.select(targets)
        ambiguity = self.ambiguity and self.ambiguity.select(queries, queries if targets is None else targets)
        return replace(self, queries=chosen, targets=others, ambiguity=ambiguity)

    @cached_property
    def strands(self) -> FrameSet:
        """Both strands of the queries."""
        from gpualign.core.sequences.strands_frames import BOTH, make_strands

        return make_strands(self.queries, self.alphabet, BOTH)

    def edit_bound_for(self, ambiguity_letters: int) -> EditBound:
        """Return `edit_bound` for pairs with `ambiguity_letters` ambiguity letters."""
        assert self.edit_bound is not None
        return self.edit_bound.with_ambiguity_letters(ambiguity_letters) if self.edit_bound_varies else self.edit_bound

    @cached_property
    def ambiguity_letter_counts(self) -> tuple[Integers, Integers]:
        """Number of ambiguity letters in each query, and in each target, that raise the bound `edit_bound.with_ambiguity_letters(0)`:
        int64[records] each. If the letters have not been counted, each record has half of the maximum number of a pair, rounded up."""
        if self.edit_bound_varies and self.ambiguity is not None:
            return self.ambiguity.query_counts, self.ambiguity.target_counts
        half = 0 if self.edit_bound is None else (self.edit_bound.ambiguous + 1) // 2
        return np.broadcast_to(np.int64(half), len(self.queries)), np.broadcast_to(np.int64(half), len(self.targets))

    @property
    def edit_bound_varies(self) -> bool:
        """True if `edit_bound` depends on the number of ambiguity letters in a pair, and these letters have been counted."""
        return self.ambiguity is not None and self.edit_bound is not None and self.edit_bound.ambiguous > 0

    @property
    def mean_edit_bound(self) -> EditBound:
        """The bound `edit_bound` for pairs with the average number of ambiguity letters."""
        return self.edit_bound_for(0 if self.ambiguity is None else self.ambiguity.mean_letters)

    @property
    def needs_more_than_final_cell(self) -> bool:
        """True if results depend on more than the final DP cell of a pair's matrix."""
        return self.detail is not Detail.SCORE or self.end_gaps is not EndGaps.PENALISED

    @property
    def pair_bytes(self) -> int:
        """Memory, in bytes, for the result of one pair without its path.

        The number is 0 in a search, which stores nothing for each pair. It is also 0 if `edit_bound` is set, because so few pairs are
        expected that no memory is planned for them.
        """
        if self.top_count is not None or self.edit_bound is not None:
            return 0
        runs = 12 if self.detail is Detail.PATH else 0
        return self.score_dtype.itemsize + (STATISTICS.itemsize if self.detail is not Detail.SCORE else 0) + runs

    @property
    def query_bytes(self) -> int:
        """Memory, in bytes, for the results of one query, in addition to `pair_bytes` for each of its pairs."""
        return 0 if self.top_count is None else self.top_count * (self.score_dtype.itemsize + 8)

    @property
    def cost(self) -> Cost:
        """Computes the cost of the task's pairs."""
        one: Cost = FULL_MATRIX_COST if self.edit_bound is None else UNIT_PAIR_COST
        return BothStrandsCost(one) if self.both_strands else one

    @property
    def path_bytes_per_letter(self) -> int:
        """Upper bound on the number of bytes of a path for each letter of its pair; 0 if no paths are computed."""
        return 1 if self.detail is Detail.PATH else 0

    @property
    def approximate_pair_count(self) -> float:
        """Approximate number of pairs. If a set is compared with itself, two records count as one pair."""
        return len(self.queries) * len(self.targets) / (2 if self.targets is self.queries else 1)

    @property
    def approximate_cell_count(self) -> float:
        """Approximate number of DP cells in the full matrices of all pairs. If a set is compared with itself, two records count as one
        pair."""
        return float(self.queries.offsets[-1]) * float(self.targets.offsets[-1]) / (2 if self.targets is self.queries else 1)

    @property
    def longest_pair_cells(self) -> float:
        """Number of DP cells in the full matrix of the longest pair. If a set of several records is compared with itself, the longest pair
        consists of its two longest records."""
        longest = float(self.queries.max_length)
        if self.targets is not self.queries or len(self.queries) == 1:
            return longest * self.targets.max_length
        return longest * float(np.partition(self.queries.lengths, -2)[-2])

    @property
    def score_dtype(self) -> np.dtype[np.signedinteger]:
        """dtype of scores: int32, or int64 if scores of the longest records might not fit in int32."""
        return self.scoring.dtype(self.queries.max_length, self.targets.max_length)
