"""Alignments of a list of pairs."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from gpualign.core.alignment.tile_results import Runs, Statistics
from gpualign.core.common.dataclass import dataclass


@dataclass(frozen=True)
class Aligned:
    """Of listed pairs: scores, int32 or int64[pairs]; statistics, `STATISTICS`[pairs], and runs of [pairs] where the task wants them, and
    with `Task.both_strands` minus, bool[pairs]."""

    scores: npt.NDArray[np.signedinteger]
    statistics: Statistics | None
    runs: Runs | None
    is_reverse_complement: npt.NDArray[np.bool_] | None = None

    def part(self, which: npt.NDArray[np.int64]) -> Aligned:
        """Those of some of the pairs; one may come several times."""
        statistics = None if self.statistics is None else self.statistics[which]
        minus = None if self.is_reverse_complement is None else self.is_reverse_complement[which]
        return Aligned(self.scores[which], statistics, self.runs and self.runs.part(which), minus)
