"""Alignments for listed pairs."""

from __future__ import annotations

from gpualign.core.alignment.tile_results import Runs, Statistics
from gpualign.core.common.arrays import Booleans, Integers, Scores
from gpualign.core.common.dataclass import dataclass


@dataclass(frozen=True)
class PairAlignments:
    """Results for listed pairs.

    scores: int32 or int64[pairs]
    statistics: `STATISTICS`[pairs] if the task's detail includes statistics, otherwise None
    runs: paths, shape [pairs], if the task's detail includes paths, otherwise None
    is_reverse_complement: with `Task.both_strands`, whether the query's reverse complement is aligned, bool[pairs]; otherwise None
    """

    scores: Scores
    statistics: Statistics | None
    runs: Runs | None
    is_reverse_complement: Booleans | None = None

    def select(self, indices: Integers) -> PairAlignments:
        """Return the results for the pairs `indices`, which may contain duplicates."""
        statistics = None if self.statistics is None else self.statistics[indices]
        flipped = None if self.is_reverse_complement is None else self.is_reverse_complement[indices]
        return PairAlignments(self.scores[indices], statistics, self.runs and self.runs.select(indices), flipped)
