"""Finds the near pairs of greedy centroids without comparing all members of a cluster with each other.

Records are taken in clustering order, in batches of those that are not near a centroid yet. The centroids among a batch are compared with
all later records: also with those that have a centroid, because another one may be nearer. The centroids of a batch are found in the same
way, from smaller batches, until so few of its pairs are near that all of these are found together.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import closing, nullcontext
from dataclasses import replace
from math import log, sqrt

import numpy as np

from gpualign.core.clustering.edge_builder import EdgeListBuilder, EdgeStorage, collect_edges
from gpualign.core.clustering.edges import Chunk, EdgeList
from gpualign.core.clustering.greedy import greedy_centroids
from gpualign.core.common.arrays import Integers
from gpualign.core.execution.totals import ExtendableProgress, NullProgress, Progress
from gpualign.core.planning.tile_plan import Pairing
from gpualign.jobs.near_pair_subset import NearPairSubset
from gpualign.jobs.near_pairs import NearPairJob

NearChunks = Callable[[NearPairSubset, Progress], Iterator[Chunk]]
"""Function that returns the pairs of a subset that pass all thresholds, with their distances, and reports its progress."""

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

_MEASURED_SECONDS, _SAMPLE_GROWTH = 0.1, 4
"""Minimum time of the measurement for an estimate, in seconds, unless all records take less; factor by which the sample grows until it is
reached."""


def find_centroid_pairs(
    job: NearPairJob, order: Integers, near_chunks: NearChunks, storage: EdgeStorage, progress: ExtendableProgress
) -> EdgeList | None:
    """Return near pairs, among them all pairs of a greedy centroid with a later record. None if there are so few near pairs that all of
    them are found as quickly.

    job: finds the near pairs of one set
    order: numbers of the records in clustering order
    storage: where the pairs are stored
    """
    whole = job.ungrouped()
    with nullcontext() if whole.aligner is None else closing(whole.aligner):
        search = _CentroidSearch(whole, order, near_chunks, replace(storage, memory=storage.memory // 2), _BoundedProgress(progress))
        search.progress.expect_at_most(whole.total_work)
        size = search.batch_size(order)
        if size is None:
            search.progress.expect_at_most(0)
            return None
        search.find(order, size)
        return search.edges.finish(len(order))


def estimate_seconds(job: NearPairJob, order: Integers, near_chunks: NearChunks) -> tuple[float, int] | None:
    """Return (estimated seconds of `find_centroid_pairs`, number of records on which they were measured); None if that returns None.

    The time grows at least in proportion to the number of records, at most with its square; how fast is seen from samples.
    """
    whole = job.ungrouped()
    with nullcontext() if whole.aligner is None else closing(whole.aligner):
        ignored = _BoundedProgress(NullProgress())
        if _CentroidSearch(whole, order, near_chunks, None, ignored).batch_size(order) is None:
            return None
        count, seconds, growth = 0, 0.0, 1.0
        while count < len(order) and seconds < _MEASURED_SECONDS:
            sample = order[:: -(-len(order) // (_SAMPLE_GROWTH * count or _SAMPLE_SIZES[-1]))]
            start = time.perf_counter()
            search = _CentroidSearch(whole, sample, near_chunks, None, ignored)
            search.find(sample, search.batch_size(sample))
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

    def __init__(
        self, whole: NearPairJob, order: Integers, near_chunks: NearChunks, storage: EdgeStorage | None, progress: _BoundedProgress
    ) -> None:
        count = len(whole.task.queries)
        self.progress = progress
        self._whole = whole
        self._near_chunks = near_chunks
        self._storage = storage
        self._pairs_per_record = _BATCH_PAIRS_PER_RECORD_ON_CPU if whole.finds_on_cpu else _BATCH_PAIRS_PER_RECORD
        self._scale = min(1.0, _BATCH_PAIR_LETTERS / float(whole.task.queries.lengths.mean()))
        self._rank = np.empty(count, dtype=np.int64)
        self._rank[order] = np.arange(len(order))
        self._is_waiting = np.ones(count, dtype=np.bool_)  # neither a centroid nor near one, as far as known
        self._is_in_batch = np.zeros(count, dtype=np.bool_)
        self.edges = EdgeListBuilder(storage)

    def find(self, records: Integers, size: int | None) -> Integers:
        """Return the centroids among records that are not near an earlier centroid, and add the near pairs of these centroids with later
        ones of the records to `edges`.

        records: in clustering order
        size: `batch_size` of the records
        """
        found, waiting = [records[:0]], records
        while len(waiting):
            batch = waiting[:size]
            centroids = self._find_together(batch) if size is None else self.find(batch, self.batch_size(batch))
            self._is_waiting[batch] = False
            self._compare(centroids, records, batch)
            found.append(centroids)
            waiting = waiting[self._is_waiting[waiting]]
            if len(records) == len(self._rank):  # not a batch
                self.progress.expect_at_most(self._max_work(waiting))
            size = self.batch_size(waiting)
        return np.concatenate(found)

    def _max_work(self, waiting: Integers) -> int:
        """Return the work that is left if all waiting records are centroids. waiting: in clustering order"""
        if not len(waiting):
            return 0
        count, pairs = len(self._rank), Pairing.ABOVE.pair_count(len(waiting), len(waiting))
        others = count - int(self._rank[waiting[0]]) - len(waiting)  # later than the first of them
        return self._whole.total_work * (pairs + len(waiting) * others) // Pairing.ABOVE.pair_count(count, count)

    def batch_size(self, records: Integers) -> int | None:
        """Return how many records a batch of these takes; None: all of them."""
        count, sample, pairs = len(records), records, 0
        wanted = self._scale**2 * _BATCH_PAIRS + self._scale * self._pairs_per_record * count
        if _MIN_BATCHES * sqrt(2 * wanted) > count:
            return None  # even if all pairs are near
        for size in _SAMPLE_SIZES:
            sample = np.sort(records[:: max(_MIN_BATCHES, -(-count // size))])
            pairs = sum(len(i) for i, *_ in self._near_chunks(NearPairSubset(self._whole, sample), self.progress))
            if pairs >= _MIN_SAMPLE_PAIRS or count <= _MIN_BATCHES * size:
                break
        batch_size = max(2, round(len(sample) * sqrt(wanted / (pairs + 1))))
        return batch_size if _MIN_BATCHES * batch_size <= count else None

    def _find_together(self, batch: Integers) -> Integers:
        """Return the centroids of a batch, after adding all near pairs of its records to `edges`."""
        records = np.sort(batch)
        chunks = self._near_chunks(NearPairSubset(self._whole, records), self.progress)
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
        subset = NearPairSubset(self._whole, np.sort(centroids), np.sort(records[is_other]))
        for i, j, distance in self._near_chunks(subset, self.progress):
            self.edges.add(i, j, distance)
            self._is_waiting[i] = self._is_waiting[j] = False
