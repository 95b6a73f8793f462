"""Finds the near pairs between some of the records of a job."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import field
from functools import cached_property
from math import sqrt

import numpy as np

from gpualign.core.alignment.pair_list import NearPairs
from gpualign.core.alignment.task import Task
from gpualign.core.clustering.edges import Chunk
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

_SAMPLE_SIZES = 64, 256, 1024
"""Maximum numbers of records in the samples that are drawn, one after the other, to choose the size of a batch. A sample holds at most one
in `_MIN_BATCHES` of the records, so that comparing it takes little of the time of comparing all."""

_MIN_SAMPLE_PAIRS = 16
"""Number of near pairs in a sample from which no larger sample is drawn."""

_BATCH_PAIRS, _BATCH_PAIRS_PER_RECORD_ON_CPU, _BATCH_PAIRS_PER_RECORD = 1_000, 0.5, 4.0
"""Number of near pairs in a batch, and additional ones for each record from which batches are taken, if the CPU finds them and otherwise.
It takes about as long to find and align this many as to start the engine and prepare these records, which each batch does once."""

_BATCH_PAIR_LETTERS = 1_500
"""Mean length of records, in letters, up to which these numbers hold. Near pairs of longer records take more time."""

_MIN_BATCHES = 4
"""Number of batches below which all pairs are found together."""


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


class NearPairSource:
    """Finds the near pairs of some records of a job; implements `gpualign.jobs.centroid_pairs.PairSource`.

    job: finds the near pairs of one set
    find: returns the pairs of a subset that pass all thresholds, with their distances, and reports its progress
    """

    def __init__(self, job: NearPairJob, find: Callable[[NearPairSubset, Progress], Iterator[Chunk]]) -> None:
        self._whole = whole = job.ungrouped()
        self._find = find
        self._pairs_per_record = _BATCH_PAIRS_PER_RECORD_ON_CPU if whole.finds_on_cpu else _BATCH_PAIRS_PER_RECORD
        self._scale = min(1.0, _BATCH_PAIR_LETTERS / float(whole.task.queries.lengths.mean()))

    @property
    def record_count(self) -> int:
        return len(self._whole.task.queries)

    @property
    def total_work(self) -> int:
        return self._whole.total_work

    def near_chunks(self, records: Integers, others: Integers | None, progress: Progress) -> Iterator[Chunk]:
        return self._find(NearPairSubset(self._whole, records, others), progress)

    def batch_size(self, records: Integers, progress: Progress) -> int | None:
        count, sample, pairs = len(records), records, 0
        wanted = self._scale**2 * _BATCH_PAIRS + self._scale * self._pairs_per_record * count
        if _MIN_BATCHES * sqrt(2 * wanted) > count:
            return None  # even if all pairs are near
        for size in _SAMPLE_SIZES:
            sample = np.sort(records[:: max(_MIN_BATCHES, -(-count // size))])
            pairs = sum(len(i) for i, *_ in self.near_chunks(sample, None, progress))
            if pairs >= _MIN_SAMPLE_PAIRS or count <= _MIN_BATCHES * size:
                break
        batch_size = max(2, round(len(sample) * sqrt(wanted / (pairs + 1))))
        return batch_size if _MIN_BATCHES * batch_size <= count else None

    def close(self) -> None:
        if self._whole.aligner is not None:
            self._whole.aligner.close()
