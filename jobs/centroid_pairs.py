"""Finds the near pairs of greedy centroids without comparing all members of a cluster with each other.

Records are taken in clustering order, in batches of those that are not near a centroid yet. The centroids among a batch are compared with
all later records: also with those that have a centroid, because another one may be nearer. The centroids of a batch are found in the same
way, from smaller batches, until so few of its pairs are near that all of these are found together.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from math import log
from typing import Protocol

import numpy as np

from gpualign.core.clustering.edge_builder import EdgeListBuilder, EdgeStorage, collect_edges
from gpualign.core.clustering.edges import Chunk, EdgeList
from gpualign.core.clustering.greedy import greedy_centroids
from gpualign.core.common.arrays import Integers
from gpualign.core.execution.totals import ExtendableProgress, NullProgress, Progress
from gpualign.core.planning.tile_plan import Pairing


class PairSource(Protocol):
    """Finds the near pairs of some records of a set."""

    @property
    def record_count(self) -> int:
        """Number of records in the set."""

    @property
    def total_work(self) -> int:
        """Work for all pairs of the set, in the unit of progress."""

    def near_chunks(self, records: Integers, others: Integers | None, progress: Progress) -> Iterator[Chunk]:
        """Yield the near pairs of records with each other, or with other records, with their distances. Of each pair the earlier record
        comes first.

        records, others: numbers of the records, ascending; others None: pairs of `records` with each other
        """

    def batch_size(self, records: Integers, progress: Progress) -> int | None:
        """Return how many records a batch of these takes; None: all of them. records: in clustering order"""

    def close(self) -> None:
        """Free what is kept between calls. The source can be used again."""


_MIN_MEASURED_RECORDS = 1024
"""Minimum number of records on which an estimate is measured, unless there are fewer."""

_MEASURED_SECONDS, _SAMPLE_GROWTH = 0.1, 4
"""Minimum duration of the measurement for an estimate, in seconds (comparing all records may take less); factor by which the sample grows
until it is reached."""


def find_centroid_pairs(source: PairSource, order: Integers, storage: EdgeStorage, progress: ExtendableProgress) -> EdgeList | None:
    """Return near pairs, among them all pairs of a greedy centroid with a later record. None if there are so few near pairs that all of
    them are found as quickly.

    source: finds the near pairs of one set
    order: numbers of the records in clustering order
    storage: where the pairs are stored
    """
    with closing(source):
        search = _CentroidSearch(source, order, replace(storage, memory=storage.memory // 2), _BoundedProgress(progress))
        search.progress.expect_at_most(source.total_work)
        size = source.batch_size(order, search.progress)
        if size is None:
            search.progress.expect_at_most(0)
            return None
        search.find(order, size)
        return search.edges.finish(len(order))


def estimate_seconds(source: PairSource, order: Integers) -> tuple[float, int] | None:
    """Return (estimated seconds of `find_centroid_pairs`, number of records on which they were measured); None if that returns None.

    The time grows at least in proportion to the number of records, at most with its square; how fast is seen from samples.
    """
    with closing(source):
        ignored = _BoundedProgress(NullProgress())
        if source.batch_size(order, ignored) is None:
            return None
        count, seconds, growth = 0, 0.0, 1.0
        while count < len(order) and seconds < _MEASURED_SECONDS:
            sample = order[:: -(-len(order) // (_SAMPLE_GROWTH * count or _MIN_MEASURED_RECORDS))]
            start = time.perf_counter()
            _CentroidSearch(source, sample, None, ignored).find(sample, source.batch_size(sample, ignored))
            elapsed = time.perf_counter() - start
            if count:
                growth = min(2.0, max(1.0, log(elapsed / seconds) / log(len(sample) / count)))
            count, seconds = len(sample), elapsed
        return seconds * (len(order) / count) ** growth, count


class _BoundedProgress:
    """Progress of work for which only an upper bound is known."""

    def __init__(self, progress: ExtendableProgress) -> None:
        self._progress = progress
        self._done = self._expected = 0

    def expect_at_most(self, work: int) -> None:
        """Replace the bound on the work that is left."""
        self._progress.expect(self._done + work - self._expected)
        self._expected = self._done + work

    def advance(self, work: int) -> None:
        self._done += work
        if self._done > self._expected:
            self.expect_at_most(0)
        self._progress.advance(work)


class _CentroidSearch:
    """Search for the centroids of some records. The parameters are those of `find_centroid_pairs`, but twice the memory of the storage is
    used, and without a storage any memory.

    edges: near pairs, among them all pairs of the centroids found so far with later records
    """

    def __init__(self, source: PairSource, order: Integers, storage: EdgeStorage | None, progress: _BoundedProgress) -> None:
        count = source.record_count
        self.progress = progress
        self._source = source
        self._storage = storage
        self._rank = np.empty(count, dtype=np.int64)
        self._rank[order] = np.arange(len(order))
        self._is_waiting = np.ones(count, dtype=np.bool_)  # neither a centroid nor near one, as far as known
        self._is_in_batch = np.zeros(count, dtype=np.bool_)
        self.edges = EdgeListBuilder(storage)

    def find(self, records: Integers, size: int | None) -> Integers:
        """Return the centroids among records that are not near an earlier centroid, and add the near pairs of these centroids with later
        ones of the records to `edges`.

        records: in clustering order
        size: `PairSource.batch_size` of the records
        """
        found, waiting = [records[:0]], records
        while len(waiting):
            batch = waiting[:size]
            centroids = self._find_together(batch) if size is None else self.find(batch, self._source.batch_size(batch, self.progress))
            self._is_waiting[batch] = False
            self._compare(centroids, records, batch)
            found.append(centroids)
            waiting = waiting[self._is_waiting[waiting]]
            if len(records) == len(self._rank):  # not a batch
                self.progress.expect_at_most(self._max_work(waiting))
            size = self._source.batch_size(waiting, self.progress)
        return np.concatenate(found)

    def _max_work(self, waiting: Integers) -> int:
        """Return the work that is left if all waiting records are centroids. waiting: in clustering order"""
        if not len(waiting):
            return 0
        count, pairs = len(self._rank), Pairing.ABOVE.pair_count(len(waiting), len(waiting))
        others = count - int(self._rank[waiting[0]]) - len(waiting)  # later than the first of them
        return self._source.total_work * (pairs + len(waiting) * others) // Pairing.ABOVE.pair_count(count, count)

    def _find_together(self, batch: Integers) -> Integers:
        """Return the centroids of a batch, after adding all near pairs of its records to `edges`."""
        records = np.sort(batch)
        chunks = self._source.near_chunks(records, None, self.progress)
        numbered = ((np.searchsorted(records, i), np.searchsorted(records, j), distance) for i, j, distance in chunks)
        within = collect_edges(len(records), numbered, self._storage)
        for i, j, distance in within.chunks():
            self.edges.add(records[i], records[j], distance)
        centroids: Integers = records[greedy_centroids(within, np.searchsorted(records, batch)) == np.arange(len(records))]
        return centroids

    def _compare(self, centroids: Integers, records: Integers, batch: Integers) -> None:
        """Add the near pairs of the centroids of a batch with later records that are not in the batch to `edges`. These records wait no
        longer."""
        self._is_in_batch[batch] = True
        is_other = ~self._is_in_batch[records] & (self._rank[records] > self._rank[centroids].min())
        self._is_in_batch[batch] = False
        if not is_other.any():
            return
        for i, j, distance in self._source.near_chunks(np.sort(centroids), np.sort(records[is_other]), self.progress):
            self.edges.add(i, j, distance)
            self._is_waiting[i] = self._is_waiting[j] = False
