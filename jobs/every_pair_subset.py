"""Finds the near pairs between some of the records of a job that aligns every pair."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from gpualign.core.alignment.task import Detail
from gpualign.core.clustering.edges import Chunk
from gpualign.core.common.arrays import Integers
from gpualign.core.execution.both_strands import BothStrandsPreparedTask
from gpualign.core.execution.runner import plan_task
from gpualign.core.execution.totals import Progress
from gpualign.core.planning.tile_plan import Pairing
from gpualign.cpu.alignment.engine import CpuPreparedTask
from gpualign.jobs.every_pair import EveryPairJob

_MIN_SECONDS = 0.25
"""Estimated seconds of all pairs of some records below which these are aligned together. Each batch takes some hundredths of a second more
than its alignments."""

_MIN_BATCH, _BATCHES = 64, 8
"""Minimum number of records in a batch, which is about the number of targets that the CPU aligns together; number of batches from which
more records make the batches larger."""

_MIN_BATCHES = 2
"""Number of batches below which all pairs are aligned together."""

_SAMPLE_SIZE, _MAX_SAMPLE_FRACTION = 1024, 8
"""Maximum number of records in the sample that shows whether batches are worthwhile. It holds at most one in `_MAX_SAMPLE_FRACTION` of the
records, so that comparing it takes little of the time of comparing all."""

_MAX_COMPARED_FRACTION = 0.7
"""Fraction of all pairs below which those of batches and later records of similar length make batches worthwhile, even if no records are
near. It allows for the pairs within batches and for those that are aligned twice."""

_QUERY_PARTS = 8
"""Number of parts into which centroids are divided to be the queries of later records. A part is aligned with all records that are later
than its first one."""


class EveryPairSource:
    """Finds the near pairs of some records of a job; implements `gpualign.jobs.centroid_pairs.PairSource`.

    job: aligns every pair of one set; `compares_centroids` is true for it
    find: returns the pairs of a job that pass all thresholds, with their distances, and reports its progress
    min_length_ratio: lower bound on the length of the shorter record of a near pair, as a fraction of the length of the longer one
    """

    def __init__(self, job: EveryPairJob, find: Callable[[EveryPairJob, Progress], Iterator[Chunk]], min_length_ratio: float = 0.0) -> None:
        self._whole = job
        self._find = find
        self._min_length_ratio = min_length_ratio

    @property
    def record_count(self) -> int:
        return len(self._whole.task.queries)

    @property
    def total_work(self) -> int:
        return self._whole.total_work

    def near_chunks(self, records: Integers, others: Integers | None, progress: Progress) -> Iterator[Chunk]:
        if others is not None and not len(others := self._of_similar_length(records, others)):
            return
        # Edit distances are the same in both directions. Of equally good alignments, another one may be reported if records are swapped.
        is_symmetric = self._whole.task.detail is Detail.SCORE
        rectangles = iter([(records, others)]) if others is None or is_symmetric else self._rectangles(records, others)
        for rows, columns in rectangles:
            job = self._job(rows, columns)
            in_order = job.plan.cells
            if columns is not None and not is_symmetric:
                in_order = job.task.cost.cells(job.plan.query_lengths, job.plan.target_lengths, np.searchsorted(columns, rows))
            for i, j, distance in self._find(job, _ScaledProgress(progress, in_order / max(1, job.plan.cells))):
                queries, targets = rows[i], (rows if columns is None else columns)[j]
                if is_symmetric:
                    queries, targets = np.minimum(queries, targets), np.maximum(queries, targets)
                chosen = queries < targets
                yield queries[chosen], targets[chosen], distance[chosen]

    def _of_similar_length(self, records: Integers, others: Integers) -> Integers:
        """Return the other records whose length does not exclude that they are near one of the records."""
        lengths = self._whole.task.queries.lengths
        shortest, longest, of_others = lengths[records].min(), lengths[records].max(), lengths[others]
        similar: Integers = others[np.minimum(of_others / shortest, longest / of_others) >= self._min_length_ratio]
        return similar

    def _job(self, rows: Integers, columns: Integers | None) -> EveryPairJob:
        whole = self._whole
        prepared = whole.engine.prepare(whole.task.select(rows, columns), whole.budget)
        return replace(whole, prepared=prepared, plan=plan_task(prepared, Pairing.ABOVE if columns is None else Pairing.ALL))

    def _rectangles(self, centroids: Integers, others: Integers) -> Iterator[tuple[Integers, Integers]]:
        """Yield (queries, targets) of rectangles that contain each pair of a centroid and another record once with the earlier one as the
        query, and few pairs with the later one as the query.

        centroids, others: numbers of the records, ascending; no record is in both
        """
        for part in np.array_split(centroids, min(_QUERY_PARTS, len(centroids))):
            if len(later := others[others > part[0]]):
                yield part, later
        # Fewer targets than the CPU aligns together would take as long.
        for part in np.array_split(centroids, max(1, len(centroids) // self._whole.prepared.limits.lane_count)):
            if len(earlier := others[others < part[-1]]):
                yield earlier, part

    def batch_size(self, records: Integers, progress: Progress) -> int | None:
        count = len(records)
        if not _takes_long(self._whole, records):
            return None
        is_whole_set = count == self.record_count
        if is_whole_set and not self._excludes_pairs_by_length(records) and self._has_few_near_pairs(records, progress):
            return None
        return max(_MIN_BATCH, count // _BATCHES)

    def _excludes_pairs_by_length(self, records: Integers) -> bool:
        """Return whether lengths rule out so many pairs of batches with later records that batches save time even if none are near."""
        count, size = len(records), max(_MIN_BATCH, len(records) // _BATCHES)
        starts = range(0, count, size)
        compared = sum(size * len(self._of_similar_length(records[start : start + size], records[start + size :])) for start in starts)
        return compared < _MAX_COMPARED_FRACTION * Pairing.ABOVE.pair_count(count, count)

    def _has_few_near_pairs(self, records: Integers, progress: Progress) -> bool:
        """True if records have fewer than two near ones on average, as far as a sample shows. Most records may then be centroids. Each
        record of the sample counts once, however many are near it, because a large cluster does not make up for many single records."""
        step = max(_MAX_SAMPLE_FRACTION, -(-len(records) // _SAMPLE_SIZE))
        is_near = np.zeros(self.record_count, dtype=np.bool_)
        for i, j, _ in self.near_chunks(np.sort(records[::step]), None, progress):
            is_near[i] = is_near[j] = True
        return int(np.count_nonzero(is_near)) * step**2 < 2 * len(records)

    def close(self) -> None:
        pass


class _ScaledProgress:
    """Progress of work that counts as `scale` times as much."""

    def __init__(self, progress: Progress, scale: float) -> None:
        self._progress = progress
        self._scale = scale

    def advance(self, work: int) -> None:
        self._progress.advance(round(self._scale * work))


def compares_centroids(job: EveryPairJob) -> bool:
    """True if greedy clustering of a job's records compares only centroids with all later records, unless few records are near others."""
    return job.groups is None and _takes_long(job, np.arange(len(job.task.queries)))


def _takes_long(job: EveryPairJob, records: Integers) -> bool:
    """True if aligning all pairs of some records of a job on the CPU takes so long that batches may be worthwhile."""
    prepared = job.prepared.inner if isinstance(job.prepared, BothStrandsPreparedTask) else job.prepared
    if not isinstance(prepared, CpuPreparedTask) or len(records) < _MIN_BATCHES * _MIN_BATCH:
        return False
    lengths = job.task.queries.lengths
    return prepared.estimated_seconds * float(lengths[records].sum() / lengths.sum()) ** 2 >= _MIN_SECONDS
