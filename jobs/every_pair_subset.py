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

_MIN_SECONDS = 0.5
"""Estimated seconds of all pairs of some records below which these are aligned together. Each batch takes some hundredths of a second more
than its alignments."""

_MIN_BATCH, _BATCHES = 64, 8
"""Minimum number of records in a batch, which is about the number of targets that the CPU aligns together; number of batches from which
more records make the batches larger."""

_MIN_BATCHES = 4
"""Number of batches below which all pairs are aligned together."""

_SAMPLE_SIZE, _MAX_SAMPLE_FRACTION = 1024, 8
"""Maximum number of records in the sample that shows whether batches are worthwhile. It holds at most one in `_MAX_SAMPLE_FRACTION` of the
records, so that comparing it takes little of the time of comparing all."""

_QUERY_PARTS = 8
"""Number of parts into which centroids are divided to be the queries of later records. A part is aligned with all records that are later
than its first one."""


class EveryPairSource:
    """Finds the near pairs of some records of a job; implements `gpualign.jobs.centroid_pairs.PairSource`.

    job: aligns every pair of one set; `compares_centroids` is true for it
    find: returns the pairs of a job that pass all thresholds, with their distances, and reports its progress
    """

    def __init__(self, job: EveryPairJob, find: Callable[[EveryPairJob, Progress], Iterator[Chunk]]) -> None:
        self._whole = job
        self._find = find

    @property
    def record_count(self) -> int:
        return len(self._whole.task.queries)

    @property
    def total_work(self) -> int:
        return self._whole.total_work

    def near_chunks(self, records: Integers, others: Integers | None, progress: Progress) -> Iterator[Chunk]:
        # Edit distances are the same in both directions. Of equally good alignments, another one may be reported if records are swapped.
        is_symmetric = self._whole.task.detail is Detail.SCORE
        rectangles = iter([(records, others)]) if others is None or is_symmetric else self._rectangles(records, others)
        for rows, columns in rectangles:
            for i, j, distance in self._find(self._job(rows, columns), progress):
                queries, targets = rows[i], (rows if columns is None else columns)[j]
                if is_symmetric:
                    queries, targets = np.minimum(queries, targets), np.maximum(queries, targets)
                in_order = queries < targets
                yield queries[in_order], targets[in_order], distance[in_order]

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
        if not _is_long(self._whole, count) or (count == self.record_count and self._has_few_near_pairs(records, progress)):
            return None
        return max(_MIN_BATCH, count // _BATCHES)

    def _has_few_near_pairs(self, records: Integers, progress: Progress) -> bool:
        """True if a sample of the records has so few near pairs that most records appear to have none."""
        step = max(_MAX_SAMPLE_FRACTION, -(-len(records) // _SAMPLE_SIZE))
        pairs = sum(len(i) for i, *_ in self.near_chunks(np.sort(records[::step]), None, progress))
        return 2 * pairs * step**2 < len(records)

    def close(self) -> None:
        pass


def compares_centroids(job: EveryPairJob) -> bool:
    """True if greedy clustering of a job's records compares only centroids with all later records, unless few records are near others."""
    return job.groups is None and _is_long(job, len(job.task.queries))


def _is_long(job: EveryPairJob, count: int) -> bool:
    """True if aligning all pairs of `count` records on the CPU takes so long that batches may be worthwhile."""
    prepared = job.prepared.inner if isinstance(job.prepared, BothStrandsPreparedTask) else job.prepared
    if not isinstance(prepared, CpuPreparedTask) or count < _MIN_BATCHES * _MIN_BATCH:
        return False
    return prepared.estimated_seconds * (count / len(job.task.queries)) ** 2 >= _MIN_SECONDS
