"""Estimates the total time and the number of near pairs of a job from a sample of its pairs, and provides pairs from which the size of rows
is measured before all pairs are computed. Samples are drawn from a fixed seed, and are small enough that a dry run is quick for any
input."""

from __future__ import annotations

import math
import time
from contextlib import closing
from dataclasses import field, replace
from random import Random  # NumPy's generators take ten times as long to load as the sample
from typing import TYPE_CHECKING, Protocol

import numpy as np

from gpualign.core.alignment.aligned_pairs import PairAlignments
from gpualign.core.alignment.pair_list import NearPairs, join_pairs
from gpualign.core.alignment.task import Task
from gpualign.core.common.arrays import Integers
from gpualign.core.common.dataclass import dataclass
from gpualign.core.common.errors import RunError
from gpualign.core.common.iterators import closing_iterator
from gpualign.core.execution.engine import PairAligningEngine, TimedPreparedTask
from gpualign.core.execution.runner import plan_task
from gpualign.core.planning.tile_plan import Pairing
from gpualign.core.results.near_results import NearPairResults

if TYPE_CHECKING:
    from gpualign.core.execution.engine import PairAligner, PreparedTask
    from gpualign.core.near_pairs.deduplication import DuplicateGroups
    from gpualign.core.planning.group_pairs import GroupPairSelector
    from gpualign.core.planning.memory_budget import Budget
    from gpualign.jobs.devices.selection import NearPairEngines

_SAMPLE_SECONDS = 0.1
"""Seconds after which a sample of near pairs is large enough."""

_FIRST_SAMPLE_SIZE, _SECOND_SAMPLE_SIZE, _SAMPLE_GROWTH_FACTOR = 8, 256, 4
"""Number of queries, and of targets, in the first sample, which measures the start-up time (including that of cluster workers), and in the
second sample; factor by which each later sample is larger than the previous one."""

_OUTPUT_SECONDS_PER_PAIR, _OUTPUT_SECONDS_AMONG_EQUAL = 1e-7, 4e-7
"""Approximate seconds that a near pair takes from being found to being written, if all records are distinct and if some are equal. For many
near pairs of short records, this takes longer than finding them."""

_MAX_SAMPLE_LETTERS, _MAX_SAMPLE_NEAR_PAIRS = 1 << 24, 1 << 16
"""Number of letters of the queries or of the targets, and number of near pairs, above which no larger sample is drawn."""

_SAMPLE_QUERY_COUNT, _TARGETS_PER_SAMPLE_QUERY = 16, 32
"""Number of queries in a sample of rows, and of targets per query: several, because rows of one query are compressed together."""

_TIMED_ALIGNMENTS = 2
"""Number of times that the sample is aligned again; the shortest time counts."""

_MAX_ALIGNED_CELLS = 4e8
"""Maximum number of DP cells of all aligned pairs in a sample; a single pair may exceed this."""

_MAX_MEAN_CELLS = 4e9
"""Mean DP cells per pair above which a dry run aligns no pairs."""


@dataclass(frozen=True)
class SampledPairs:
    """A sample of a job's pairs, with measurements.

    results: pairs that represent the output, in output order; empty if a pair takes too long to align beforehand
    examined_count: number of pairs of records in the sample, in which equal records count separately
    near_count: number of these pairs that are near
    equal_count: number of pairs of equal records in the whole job, which are always near
    seconds: estimated time for all pairs in the job; 0 if not measured
    record_count: number of records on which `seconds` was measured
    """

    results: NearPairResults = field(repr=False)
    examined_count: int
    near_count: int
    equal_count: int = 0
    seconds: float = 0.0
    record_count: int = 0

    def expected_pair_count(self, pair_count: int, passing_count: int) -> float:
        """Return approximately how many of `pair_count` pairs pass all thresholds. passing_count: how many of the
        pairs in `results` pass."""
        if not self.near_count or not len(self.results.pairs):
            return float(self.equal_count)
        return self.equal_count + max(0, pair_count - self.equal_count) * self.near_count / self.examined_count * passing_count / len(
            self.results.pairs
        )


class SampledNearPairJob(Protocol):
    """Properties that sampling needs from a job that finds near pairs (`gpualign.jobs.near_pairs.NearPairJob`)."""

    @property
    def task(self) -> Task: ...

    @property
    def pairing(self) -> Pairing: ...

    @property
    def duplicates(self) -> tuple[DuplicateGroups, DuplicateGroups]: ...

    @property
    def prepared(self) -> PreparedTask: ...

    @property
    def aligner(self) -> PairAligner | None: ...

    @property
    def engines(self) -> NearPairEngines: ...

    @property
    def budget(self) -> Budget: ...

    @property
    def groups(self) -> GroupPairSelector | None: ...

    @property
    def total_work(self) -> int: ...

    @property
    def pair_count(self) -> int: ...

    @property
    def all_pair_count(self) -> int: ...

    def align_pairs(self, pairs: NearPairs, /) -> NearPairResults: ...


def sample_all_pairs(
    task: Task, pairing: Pairing, groups: GroupPairSelector | None, engine: PairAligningEngine, budget: Budget
) -> SampledPairs:
    """Sample a job that computes every pair. engine: aligns listed pairs; groups: selects pairs according to their records' groups, None:
    all pairs."""
    pairs = _take_alignable_pairs(task, _draw_pairs(task, pairing, groups))
    results = _align_listed(task, engine, budget, pairs)
    return SampledPairs(results, len(results.pairs), len(results.pairs))


def sample_near_pairs(job: SampledNearPairJob) -> SampledPairs:
    """Sample a job that finds near pairs. Runs the job's own steps on random records, adding records until a run takes long enough to
    measure."""
    task, share = job.prepared.task, job.pair_count / max(1, job.all_pair_count)
    copies = tuple(np.bincount(duplicates.group_of) for duplicates in job.duplicates)
    size, start_up, seconds, records = _FIRST_SAMPLE_SIZE, math.inf, 0.0, 0
    distinct_pairs, distinct_count, record_pair_count = join_pairs([]), 0, 0
    while True:
        rows, columns = _draw_records(task, job.pairing, size)
        if not len(columns):
            break
        sample = task.select(rows, columns)
        prepared = job.engines.finder.prepare(sample, job.budget)
        plan, start = plan_task(prepared, Pairing.ALL), time.perf_counter()
        with closing_iterator(prepared.run(plan.tiles())) as tiles:
            near = join_pairs([tile.pairs for tile in tiles])  # type: ignore[union-attr]  # all tiles of near tasks have pairs
        elapsed = time.perf_counter() - start
        without_start_up, start_up = max(0.0, elapsed - start_up), min(start_up, elapsed)
        distinct_count, records = len(rows) * len(columns), len(rows) + len(columns)
        record_pair_count = int(copies[0][rows].sum() * copies[1][columns].sum())
        seconds = without_start_up * _time_ratio(job, prepared, distinct_count) * job.total_work / max(1.0, task.approximate_pair_count)
        distinct_pairs = NearPairs(rows[near.queries], columns[near.targets], near.distances)
        is_complete = len(rows) < size and len(columns) < size
        is_large = max(int(sample.queries.offsets[-1]), int(sample.targets.offsets[-1])) * _SAMPLE_GROWTH_FACTOR > _MAX_SAMPLE_LETTERS
        if without_start_up >= _SAMPLE_SECONDS or is_complete or is_large or len(distinct_pairs) > _MAX_SAMPLE_NEAR_PAIRS:
            break
        size = max(_SECOND_SAMPLE_SIZE, size * _SAMPLE_GROWTH_FACTOR)
    pairs = _map_to_records(job, distinct_pairs)
    near_count, distinct_count, record_pair_count = (
        len(pairs),
        max(1, round(distinct_count * share)),
        max(1, round(record_pair_count * share)),
    )
    near_record_pairs = int(
        (copies[0][job.duplicates[0].group_of[pairs.queries]] * copies[1][job.duplicates[1].group_of[pairs.targets]]).sum()
    )
    if not near_count:
        drawn = _take_alignable_pairs(job.task, _draw_pairs(job.task, job.pairing, job.groups))
        results = _align_listed(job.task, job.engines.aligner, job.budget, drawn)
        return SampledPairs(results, record_pair_count, 0, _count_equal_pairs(job), seconds, records)
    subset = _take_alignable_pairs(job.task, pairs) if job.aligner else pairs
    results = job.align_pairs(subset)  # also counts the letters of all records, once, and starts threads
    sampled = SampledPairs(results, record_pair_count, near_record_pairs, _count_equal_pairs(job), seconds, records)
    if job.aligner and len(subset):
        aligning = min(_alignment_seconds(job, subset) for _ in range(_TIMED_ALIGNMENTS))
        seconds += aligning / len(subset) * job.total_work * share * near_count / distinct_count
    seconds_per_pair = (
        _OUTPUT_SECONDS_AMONG_EQUAL if any(duplicates.repeated_count for duplicates in job.duplicates) else _OUTPUT_SECONDS_PER_PAIR
    )
    return replace(sampled, seconds=seconds + seconds_per_pair * sampled.expected_pair_count(job.pair_count, len(subset)))


def _alignment_seconds(job: SampledNearPairJob, pairs: NearPairs) -> float:
    """Return the time in which the job aligns these pairs."""
    start = time.perf_counter()
    job.align_pairs(pairs)
    return time.perf_counter() - start


def _time_ratio(job: SampledNearPairJob, sample: PreparedTask, pairs: int) -> float:
    """Return the ratio of the time for all pairs to the time for a sample. pairs: number of pairs in the sample.

    The engine estimates both times, because it may take other steps for more records, which cost less per pair. Cluster workers make no
    such estimates. In this case, they come from the CPU engine of this machine, which aligns the survivors and knows these steps too.
    """
    whole: PreparedTask = job.prepared
    if not (isinstance(whole, TimedPreparedTask) and isinstance(sample, TimedPreparedTask)):
        whole, sample = (job.engines.aligner.prepare(one.task, job.budget) for one in (whole, sample))
    if isinstance(whole, TimedPreparedTask) and isinstance(sample, TimedPreparedTask):
        return whole.estimated_seconds / max(sample.estimated_seconds, 1e-12)
    return job.prepared.task.approximate_pair_count / pairs


def _map_to_records(job: SampledNearPairJob, distinct_pairs: NearPairs) -> NearPairs:
    """Map near pairs of distinct sequences to the first record with each sequence, dropping pairs that the groups exclude. The returned
    pairs are in order."""
    queries, targets = job.duplicates[0].first_records[distinct_pairs.queries], job.duplicates[1].first_records[distinct_pairs.targets]
    if job.pairing is not Pairing.ALL:  # a pair belongs to its earlier record
        queries, targets = np.minimum(queries, targets), np.maximum(queries, targets)
    pairs = NearPairs(queries, targets, distinct_pairs.distances)
    if job.groups is not None:
        pairs = pairs.select(job.groups.selection_mask(queries, targets))
    return pairs.sorted() if len(pairs) else pairs


def _count_equal_pairs(job: SampledNearPairJob) -> int:
    """Return the number of pairs of equal records that are reported without a search."""
    if job.groups is not None or (job.pairing is Pairing.ALL and job.task.targets is not job.task.queries):
        return 0
    queries, targets = (np.bincount(duplicates.group_of, minlength=len(job.duplicates[1])) for duplicates in job.duplicates)
    if job.pairing is Pairing.ALL:
        return int((queries * (targets - 1)).sum())
    selves = queries.sum() if job.pairing is Pairing.ABOVE_OR_EQUAL else 0
    return int((queries * (queries - 1) // 2 + queries * (targets - queries)).sum() + selves)


def _draw_records(task: Task, pairing: Pairing, size: int) -> tuple[Integers, Integers]:
    """Return the numbers of random (queries, targets), in ascending order, up to `size` of each; within one set, no target is among the
    queries."""
    random, queries, targets = Random(0), len(task.queries), len(task.targets)
    shared = pairing is not Pairing.ALL or task.targets is task.queries
    max_queries = min(size, max(1, targets // 2)) if shared else size
    rows = random.sample(range(queries), min(max_queries, queries))
    taken = set(rows) if shared else set()
    columns = [one for one in random.sample(range(targets), min(size + len(taken), targets)) if one not in taken][:size]
    return np.array(sorted(rows), dtype=np.int64), np.array(sorted(columns), dtype=np.int64)


def _draw_pairs(task: Task, pairing: Pairing, groups: GroupPairSelector | None) -> NearPairs:
    """Return a random sample of the selected pairs, in order. The sample is the same in every run.

    groups: selects pairs according to their records' groups; None: all pairs
    """
    random, drawn = Random(0), list[NearPairs]()
    for query in sorted(random.sample(range(len(task.queries)), min(_SAMPLE_QUERY_COUNT, len(task.queries)))):
        first = 0 if pairing is Pairing.ALL else pairing.first_target(query)
        selected: Integers | range = range(first, len(task.targets))
        if groups is not None:
            every = np.arange(first, len(task.targets), dtype=np.int64)
            selected = every[groups.selection_mask(np.array([query]), every)]
        places = sorted(random.sample(range(len(selected)), min(_TARGETS_PER_SAMPLE_QUERY, len(selected))))
        targets = np.array([selected[place] for place in places], dtype=np.int64)
        drawn.append(NearPairs(np.full(len(targets), query, dtype=np.int64), targets, np.zeros(len(targets), dtype=np.int64)))
    return join_pairs(drawn)


def _take_alignable_pairs(task: Task, pairs: NearPairs) -> NearPairs:
    """Return a random selection of the sorted `pairs`, small enough to be aligned almost instantly."""
    cells = task.queries.lengths[pairs.queries] * task.targets.lengths[pairs.targets]
    if not len(cells) or cells.mean() > _MAX_MEAN_CELLS:
        return pairs.select(slice(0))
    queries = np.unique(pairs.queries, return_index=True)[0].tolist()
    Random(0).shuffle(queries)
    chosen, left = list[int](), _MAX_ALIGNED_CELLS
    for query in queries:  # all pairs of a query: they are aligned side by side
        start, stop = np.searchsorted(pairs.queries, (query, query + 1)).tolist()
        stop = min(stop, start + max(1, int(left / cells.mean())))
        chosen += range(start, stop)
        left -= float(cells[start:stop].sum())
        if left <= 0:
            break
    return pairs.select(np.array(sorted(chosen), dtype=np.int64))


def _align_listed(task: Task, engine: PairAligningEngine, budget: Budget, pairs: NearPairs) -> NearPairResults:
    """Return `pairs` with their alignments, or an empty result if the engine has too little memory for the alignments."""
    nothing = NearPairResults(pairs.select(slice(0)), PairAlignments(np.zeros(0, dtype=task.score_dtype), None, None))
    if not len(pairs):
        return nothing
    try:
        with closing(engine.prepare_pair_aligner(task, budget)) as aligner:
            return NearPairResults(pairs, aligner.align_pairs(pairs))
    except RunError:
        return nothing
