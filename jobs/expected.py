"""What a sample of a job's pairs says of all of them before they are computed: how long they take, how many are near, and pairs to measure
rows by. Samples are drawn from a seed, and so small that a dry run ends soon whatever the input is."""

from __future__ import annotations

import math
import time
from contextlib import closing
from dataclasses import field, replace
from random import Random  # NumPy's generators take ten times as long to load as the sample
from typing import TYPE_CHECKING, Protocol, cast

import numpy as np

from gpualign.core.alignment.aligned_pairs import Aligned
from gpualign.core.alignment.pair_list import NearPairs, join_pairs
from gpualign.core.alignment.task import Task
from gpualign.core.common.arrays import Integers
from gpualign.core.common.dataclass import dataclass
from gpualign.core.common.errors import RunError
from gpualign.core.execution.engine import Engine, Timed
from gpualign.core.execution.pipeline import Closable
from gpualign.core.execution.runner import plan_task
from gpualign.core.near_pairs.align import align_pairs
from gpualign.core.planning.tile_plan import Pairing
from gpualign.core.results.near_results import NearResults

if TYPE_CHECKING:
    from gpualign.core.execution.engine import Prepared
    from gpualign.core.near_pairs.deduplication import DuplicateGroups
    from gpualign.core.planning.group_pairs import GroupPairs
    from gpualign.core.planning.memory_budget import Budget
    from gpualign.jobs.devices.selection import Engines

_SECONDS = 0.1
"""A sample of near pairs that takes so long is large enough."""

_TINY, _FEWEST, _GROWTH = 8, 256, 4
"""Records of either side of a sample that tells how long it takes to begin, workers of a cluster included; of the first one that tells
more; times as many of the next."""

_PLACED, _PLACED_AMONG_EQUAL = 1e-7, 4e-7
"""Seconds that a near pair takes on its way to the output, and where there are equal records, about: more than finding it, where they are
many and short."""

_LETTERS, _FOUND = 1 << 24, 1 << 16
"""Letters of either side, and near pairs, of which no larger sample is drawn."""

_QUERIES, _TARGETS = 16, 32
"""Records of a sample of rows: several targets of each query, since rows of one query are packed together."""

_ALIGNED_CELLS = 4e8
"""Of the pairs of a sample that are aligned, but for one pair."""

_LONGEST_CELLS = 4e9
"""Of a pair that is aligned for a dry run."""


@dataclass(frozen=True)
class SampledPairs:
    """results: pairs that stand for those that go to the output, in its order, none where a pair takes too long to be aligned before.
    looked_at: pairs of the sample; near: how many of them were near. alike: pairs of equal records, which are near anyway.
    seconds: that all pairs of the job take, where this was measured, on so many records."""

    results: NearResults = field(repr=False)
    looked_at: int
    near: int
    alike: int = 0
    seconds: float = 0.0
    records: int = 0

    def expected(self, pairs: int, kept: int) -> float:
        """How many of so many pairs pass all thresholds, about. kept: pairs of `results` that do."""
        if not self.near or not len(self.results.pairs):
            return float(self.alike)
        return self.alike + max(0, pairs - self.alike) * self.near / self.looked_at * kept / len(self.results.pairs)


class NearWork(Protocol):
    """What a sample needs of a job that looks for near pairs (`gpualign.jobs.near_pairs.NearJob`)."""

    @property
    def task(self) -> Task: ...

    @property
    def pairing(self) -> Pairing: ...

    @property
    def groups(self) -> tuple[DuplicateGroups, DuplicateGroups]: ...

    @property
    def prepared(self) -> Prepared: ...

    @property
    def aligner(self) -> Prepared | None: ...

    @property
    def engines(self) -> Engines: ...

    @property
    def budget(self) -> Budget: ...

    @property
    def wanted(self) -> GroupPairs | None: ...

    @property
    def work(self) -> int: ...

    @property
    def pairs(self) -> int: ...

    @property
    def all_pairs(self) -> int: ...

    def aligned(self, pairs: NearPairs, /) -> NearResults: ...


def sample_every(task: Task, pairing: Pairing, groups: GroupPairs | None, engine: Engine, budget: Budget) -> SampledPairs:
    """Of a job that computes every pair. engine: aligns listed pairs. groups: whose pairs alone are wanted."""
    pairs = _aligned_within(task, _drawn_pairs(task, pairing, groups))
    found = _of_listed(task, engine, budget, pairs)
    return SampledPairs(found, len(found.pairs), len(found.pairs))


def sample_near(job: NearWork) -> SampledPairs:
    """Of a job that looks for near pairs: its own steps, taken with records at random, more of them until that takes a moment."""
    task, share = job.prepared.task, job.pairs / max(1, job.all_pairs)
    size, looked_at, seconds, found, records, to_begin = _TINY, 0, 0.0, join_pairs([]), 0, math.inf
    while True:
        rows, columns = _drawn_records(task, job.pairing, size)
        if not len(columns):
            break
        ambiguous = task.ambiguous and task.ambiguous.part(rows, columns)
        part = replace(task, queries=task.queries.select(rows), targets=task.targets.select(columns), ambiguous=ambiguous)
        prepared = job.engines.finder.prepare(part, job.budget)
        plan, start = plan_task(prepared, Pairing.ALL), time.perf_counter()
        with closing(cast("Closable", tiles := prepared.run(plan.tiles()))):
            near = join_pairs([tile.pairs for tile in tiles])  # type: ignore[union-attr]  # of near tasks all have pairs
        whole = time.perf_counter() - start
        taken, to_begin = max(0.0, whole - to_begin), min(to_begin, whole)
        looked_at, records = len(rows) * len(columns), len(rows) + len(columns)
        # Steps of a larger set may be others, and cost less with each pair: by what the engine expects of both.
        times = task.pairs_about / looked_at
        if isinstance(prepared, Timed) and isinstance(job.prepared, Timed):
            times = job.prepared.seconds / max(prepared.seconds, 1e-12)
        seconds = taken * times * job.work / max(1.0, task.pairs_about)
        found = NearPairs(rows[near.queries], columns[near.targets], near.distances)
        everything = len(rows) < size and len(columns) < size
        large = max(int(part.queries.offsets[-1]), int(part.targets.offsets[-1])) * _GROWTH > _LETTERS
        if taken >= _SECONDS or everything or large or len(found) > _FOUND:
            break
        size = max(_FEWEST, size * _GROWTH)
    pairs = _of_records(job, found)
    count, looked_at = len(pairs), max(1, round(looked_at * share))
    if not count:
        drawn = _aligned_within(job.task, _drawn_pairs(job.task, job.pairing, job.wanted))
        results = _of_listed(job.task, job.engines.aligner, job.budget, drawn)
        return SampledPairs(results, looked_at, 0, _alike(job), seconds, records)
    some = _aligned_within(job.task, pairs) if job.aligner else pairs
    start = time.perf_counter()
    sampled = SampledPairs(job.aligned(some), looked_at, count, _alike(job), seconds, records)
    if job.aligner and len(some):
        seconds += (time.perf_counter() - start) / len(some) * job.work * share * count / looked_at
    placed = _PLACED_AMONG_EQUAL if any(groups.repeated for groups in job.groups) else _PLACED
    return replace(sampled, seconds=seconds + placed * sampled.expected(job.pairs, len(some)))


def _of_records(job: NearWork, found: NearPairs) -> NearPairs:
    """Pairs of distinct records as those of the first records that have their letters, and are wanted, in order."""
    queries, targets = job.groups[0].firsts[found.queries], job.groups[1].firsts[found.targets]
    if job.pairing is not Pairing.ALL:  # a pair belongs to its earlier record
        queries, targets = np.minimum(queries, targets), np.maximum(queries, targets)
    pairs = NearPairs(queries, targets, found.distances)
    if job.wanted is not None:
        pairs = pairs.part(job.wanted.selects(queries, targets))
    return pairs.in_order() if len(pairs) else pairs


def _alike(job: NearWork) -> int:
    """Pairs of equal records that are told without being looked for."""
    if job.wanted is not None or (job.pairing is Pairing.ALL and job.task.targets is not job.task.queries):
        return 0
    queries, targets = (np.bincount(groups.of, minlength=len(job.groups[1])) for groups in job.groups)
    if job.pairing is Pairing.ALL:
        return int((queries * (targets - 1)).sum())
    selves = queries.sum() if job.pairing is Pairing.ABOVE_OR_EQUAL else 0
    return int((queries * (queries - 1) // 2 + queries * (targets - queries)).sum() + selves)


def _drawn_records(task: Task, pairing: Pairing, size: int) -> tuple[Integers, Integers]:
    """Queries and targets, up to so many of each, ascending; of one set others than the queries."""
    random, queries, targets = Random(0), len(task.queries), len(task.targets)
    shared = pairing is not Pairing.ALL or task.targets is task.queries
    most = min(size, max(1, targets // 2)) if shared else size
    rows = random.sample(range(queries), min(most, queries))
    taken = set(rows) if shared else set()
    columns = [one for one in random.sample(range(targets), min(size + len(taken), targets)) if one not in taken][:size]
    return np.array(sorted(rows), dtype=np.int64), np.array(sorted(columns), dtype=np.int64)


def _drawn_pairs(task: Task, pairing: Pairing, groups: GroupPairs | None) -> NearPairs:
    """Some wanted pairs, in order."""
    random, found = Random(0), list[NearPairs]()
    for query in sorted(random.sample(range(len(task.queries)), min(_QUERIES, len(task.queries)))):
        first = 0 if pairing is Pairing.ALL else pairing.first_target(query)
        wanted: Integers | range = range(first, len(task.targets))
        if groups is not None:
            every = np.arange(first, len(task.targets), dtype=np.int64)
            wanted = every[groups.selects(np.array([query]), every)]
        places = sorted(random.sample(range(len(wanted)), min(_TARGETS, len(wanted))))
        targets = np.array([wanted[place] for place in places], dtype=np.int64)
        found.append(NearPairs(np.full(len(targets), query, dtype=np.int64), targets, np.zeros(len(targets), dtype=np.int64)))
    return join_pairs(found)


def _aligned_within(task: Task, pairs: NearPairs) -> NearPairs:
    """Some of the pairs, which are in order, so many that aligning them takes a moment."""
    cells = task.queries.lengths[pairs.queries] * task.targets.lengths[pairs.targets]
    if not len(cells) or cells.mean() > _LONGEST_CELLS:
        return pairs.part(slice(0))
    queries = np.unique(pairs.queries, return_index=True)[0].tolist()
    Random(0).shuffle(queries)
    chosen, left = list[int](), _ALIGNED_CELLS
    for query in queries:  # all pairs of a query: they are aligned side by side
        start, stop = np.searchsorted(pairs.queries, (query, query + 1)).tolist()
        stop = min(stop, start + max(1, int(left / cells.mean())))
        chosen += range(start, stop)
        left -= float(cells[start:stop].sum())
        if left <= 0:
            break
    return pairs.part(np.array(sorted(chosen), dtype=np.int64))


def _of_listed(task: Task, engine: Engine, budget: Budget, pairs: NearPairs) -> NearResults:
    """Pairs and their alignments; none where the engine has too little memory for them."""
    nothing = NearResults(pairs.part(slice(0)), Aligned(np.zeros(0, dtype=task.dtype), None, None))
    if not len(pairs):
        return nothing
    try:
        return NearResults(pairs, align_pairs(engine.prepare(task, budget), pairs))
    except RunError:
        return nothing
