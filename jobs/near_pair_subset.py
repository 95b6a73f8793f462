"""Finds the near pairs between some of the records of a job."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field
from functools import cached_property

from gpualign.core.alignment.pair_list import NearPairs
from gpualign.core.alignment.task import Task
from gpualign.core.common.arrays import Integers
from gpualign.core.common.dataclass import dataclass
from gpualign.core.common.iterators import closing_iterator
from gpualign.core.execution.band_collectors import NearPairCollector, bands_in_order
from gpualign.core.execution.engine import PreparedTask
from gpualign.core.execution.runner import plan_task
from gpualign.core.execution.totals import Progress, Totals
from gpualign.core.planning.tile_plan import Pairing, Plan
from gpualign.core.results.near_results import NearPairResults
from gpualign.jobs.near_pairs import NearPairJob


@dataclass(frozen=True)
class NearPairSubset:
    """The near pairs of some records of one set with each other, or with other records of the set. Each pair is aligned as in the whole
    job: its earlier record is the query.

    whole: a job for all pairs of the set, which does not group equal records
    records: numbers of the records, ascending, int64[records]
    others: numbers of the other records, ascending; None: pairs of `records` with each other
    """

    whole: NearPairJob
    records: Integers = field(repr=False)
    others: Integers | None = field(default=None, repr=False)

    @property
    def task(self) -> Task:
        return self.whole.task

    @cached_property
    def _prepared(self) -> PreparedTask:
        return self.whole.engines.finder.prepare(self.whole.prepared.task.select(self.records, self.others), self.whole.budget)

    @cached_property
    def plan(self) -> Plan:
        return plan_task(self._prepared, Pairing.ABOVE if self.others is None else Pairing.ALL)

    def run(self, progress: Progress) -> tuple[Iterator[NearPairResults], Totals]:
        """Return (the pairs that may pass the thresholds, in any order, each item for some of them; the totals)."""
        return self.whole.align_lists(self._find_pairs(progress)), Totals(self.plan.cells, self.plan.cells)

    def _find_pairs(self, progress: Progress) -> Iterator[tuple[NearPairs, int]]:
        rows, columns = self.records, self.records if self.others is None else self.others
        bands = bands_in_order(self.plan, self._prepared.run(self.plan.tiles()), NearPairCollector, progress)
        with closing_iterator(bands):
            for band in bands:
                pairs = NearPairs(rows[band.pairs.queries], columns[band.pairs.targets], band.pairs.distances)
                if not len(pairs):
                    continue
                pairs = pairs.earlier_first().sorted()
                for start in range(0, len(pairs), self.whole.max_list_pairs):
                    yield pairs.select(slice(start, start + self.whole.max_list_pairs)), 0
