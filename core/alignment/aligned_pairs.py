"""Alignments of a list of pairs."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from gpualign.core.alignment.tile_results import Runs, Statistics
from gpualign.core.common.dataclass import dataclass


@dataclass(frozen=True)
class PairAlignments:
    """Results of listed pairs.

    scores: int32 or int64[pairs]
    statistics: `STATISTICS`[pairs] if the detail of the task includes them
    runs: of [pairs] if the detail of the task includes paths
    is_reverse_complement: bool[pairs] with `Task.both_strands`, else None
    """

    scores: npt.NDArray[np.signedinteger]
    statistics: Statistics | None
    runs: Runs | None
    is_reverse_complement: npt.NDArray[np.bool_] | None = None

    def part(self, which: npt.NDArray[np.int64]) -> PairAlignments:
        """Return the results of the pairs `which`, in which a pair may occur several times."""
        statistics = None if self.statistics is None else self.statistics[which]
        flipped = None if self.is_reverse_complement is None else self.is_reverse_complement[which]
        return PairAlignments(self.scores[which], statistics, self.runs and self.runs.part(which), flipped)
