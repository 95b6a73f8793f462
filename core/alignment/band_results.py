"""Results for a band, that is, for a range of queries with all their targets."""

from __future__ import annotations

from dataclasses import replace

from gpualign.core.alignment.tile_results import Runs, Statistics
from gpualign.core.common.arrays import Booleans, Scores
from gpualign.core.common.dataclass import dataclass
from gpualign.core.planning.tile_plan import Band


@dataclass(frozen=True)
class BandResults:
    """All results for a band. Each array has the shape [band queries][targets from band.first_target on], in record order.

    scores: int32 or int64; edit distances if the scoring is edit distance
    statistics: `STATISTICS`; None if the task's detail does not include statistics
    runs: paths; None if the task's detail does not include paths
    is_reverse_complement: with `Task.both_strands`, whether the query's reverse complement is aligned, bool; otherwise None
    completed_query_count: number of a query; once this band has been delivered, all pairs of the queries before it have been, and no other
        pairs. 0 if the last query has more targets in the next band
    """

    band: Band
    scores: Scores
    statistics: Statistics | None
    runs: Runs | None
    is_reverse_complement: Booleans | None = None
    completed_query_count: int = 0

    def select(self, rows: slice, columns: slice) -> BandResults:
        """Return the results for some queries and targets, as a smaller band.

        rows, columns: positions of these queries and targets within this band
        """
        band, index = self.band, (rows, columns)
        band = replace(
            band,
            start=band.start + rows.start,
            stop=band.start + rows.stop,
            first_target=band.first_target + columns.start,
            target_stop=band.first_target + columns.stop,
        )
        statistics = None if self.statistics is None else self.statistics[index]
        flipped = None if self.is_reverse_complement is None else self.is_reverse_complement[index]
        return BandResults(band, self.scores[index], statistics, self.runs and self.runs.select(index), flipped)
