"""Finds the pairs within a threshold without aligning the other pairs, as `nw` does when thresholds bound the edit distance."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from dataclasses import field, replace
from functools import cached_property, partial
from itertools import starmap
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from gpualign.core.alignment.aligned_pairs import PairAlignments
from gpualign.core.alignment.pair_list import NearPairs, join_pairs
from gpualign.core.alignment.task import Detail, EndGaps, Mode, Task
from gpualign.core.common.dataclass import dataclass
from gpualign.core.common.iterators import closing_iterator
from gpualign.core.common.threads import map_ahead
from gpualign.core.common.units import format_bytes, format_count
from gpualign.core.execution.band_collectors import NearPairBand, NearPairCollector, bands_in_order
from gpualign.core.execution.engine import Engine, PairAligner, PreparedTask
from gpualign.core.execution.runner import plan_task
from gpualign.core.execution.totals import Progress
from gpualign.core.near_pairs.deduplication import (
    DuplicateExpansion,
    DuplicateGroups,
    copy_bytes,
    expansion_bytes,
    group_copies,
    select_distinct,
    singleton_groups,
    worth_copying,
)
from gpualign.core.near_pairs.hamming import HammingCounter
from gpualign.core.near_pairs.neighbour_counts import GroupPairs
from gpualign.core.planning.cost import UNIT_PAIR_COST
from gpualign.core.planning.group_pairs import GroupPairSelector
from gpualign.core.planning.memory_budget import Budget
from gpualign.core.planning.tile_plan import Pairing, Plan
from gpualign.core.results.near_results import NearPairResults
from gpualign.core.scoring.edit_bounds import EditBound
from gpualign.core.scoring.listed_distances import ListedDistance
from gpualign.core.scoring.scoring import ScoringOptions, make_scoring
from gpualign.cpu.alignment.engine import CpuPreparedTask
from gpualign.jobs.devices.memory import remaining_memory, sequence_bytes, text_thread_count
from gpualign.jobs.devices.resources import Resources
from gpualign.jobs.devices.selection import NearPairEngines
from gpualign.jobs.every_pair import describe_tile_count
from gpualign.jobs.job import DescriptionRows, WorkPerQuery, describe_bands
from gpualign.jobs.near_pair_totals import NearPairTotals
from gpualign.jobs.reporter import Reporter

if TYPE_CHECKING:
    from gpualign.jobs.pair_sample import SampledPairs

_MAX_EDIT_FRACTION = 0.5
"""Maximum edits as a fraction of a sequence's letters. Random DNA differs in about this fraction, so a looser bound excludes nothing."""

_MIN_PAIRS_PER_ALIGNMENT = 100_000
"""Minimum number of pairs that an engine aligns in one run, if there are enough and they fit in memory, because starting an engine takes
time."""

_LISTS_AHEAD = 2
"""Number of lists that are found and aligned on a device in advance, in addition to the one that is written."""

_LISTS_AT_ONCE = 2
"""Number of lists that are aligned at the same time: the CPU prepares or completes one while a device aligns another."""

_EDITS_PER_EDIT_BETWEEN_FREE_ENDS = 1.75
"""Number of edits in an alignment, per edit of a distance with free ends: three in four pairs of genes and of proteins have at most this
many. The free ends skip edits. Only speed depends on the number."""

_MAX_END_GAPS = 2
"""Maximum number of runs of an alignment before its first and after its last pair of letters."""

_COLUMNS_PER_RUN_BYTE = 64
"""Maximum number of columns of a run that one byte holds (`gpualign.core.alignment.tile_results.Runs`)."""

_MAX_PAIRS_PER_BATCH = 1 << 18
"""Maximum number of record pairs generated together, unless a single query has more. They take about 20 MB."""

RECORD_BYTES = 300
"""Memory for each distinct record beside its letters, in bytes, that a run may use by default: an engine keeps up to 130 bytes of a
short record, in its share of the budget, which is less than half."""


@dataclass(frozen=True)
class NearPairJob:
    """A plan for distinct records, together with everything that is needed to run it. It can be run any number of times.

    task: the user's task
    pairing: which record pairs are compared
    duplicates: groups of equal records among queries and among targets
    prepared, plan: prepared task and its plan, with only one record from each group of equal records
    aligner: aligns pairs of the task; None if the distances by which pairs are found suffice
    engines: the chosen engines
    budget: memory of each engine
    text_threads: number of threads that may format text at the same time
    max_list_pairs: maximum number of record pairs that are expanded or aligned together, so that their results fit in memory
    make_ungrouped: creates an equivalent job that does not group equal records
    groups: selects near pairs according to their records' groups; None: all pairs
    counts_neighbours: whether only the number of near pairs of each query is needed, so that pairs of groups of equal records need not be
        expanded
    work_unit: unit of `total_work`
    """

    task: Task
    pairing: Pairing
    duplicates: tuple[DuplicateGroups, DuplicateGroups]
    prepared: PreparedTask
    plan: Plan
    aligner: PairAligner | None
    engines: NearPairEngines
    budget: Budget
    text_threads: int
    max_list_pairs: int
    make_ungrouped: Callable[[], NearPairJob] = field(repr=False)
    groups: GroupPairSelector | None = None
    counts_neighbours: bool = False
    work_unit: ClassVar[str] = "pairs"
    is_joined: ClassVar[bool] = False

    @property
    def engine(self) -> Engine:
        """The engine that would compute every pair."""
        return self.engines.requested

    @property
    def total_work(self) -> int:
        """Number of pairs of distinct records, the unit of progress."""
        return self.plan.cells

    @property
    def finds_on_cpu(self) -> bool:
        """True if this process finds the near pairs on the CPU."""
        from gpualign.core.execution.both_strands import BothStrandsPreparedTask

        prepared = self.prepared.inner if isinstance(self.prepared, BothStrandsPreparedTask) else self.prepared
        return isinstance(prepared, CpuPreparedTask)

    @property
    def hardware(self) -> str:
        return self.prepared.hardware

    @property
    def kernel(self) -> str:
        return self.prepared.kernel

    @property
    def pair_count(self) -> int:
        """Number of record pairs to classify as near or not."""
        targets, (start, stop) = len(self.task.targets), self._query_range
        if self.groups is not None:
            firsts = None if self.pairing is Pairing.ALL else self.pairing.first_targets(np.arange(len(self.task.queries)))
            return int(self.groups.weight_sums(np.ones(targets, dtype=np.int64), firsts)[start:stop].sum())
        return self.pairing.pair_count(stop, targets) - self.pairing.pair_count(start, targets)

    @property
    def all_pair_count(self) -> int:
        """Number of record pairs that would have to be classified if `groups` were None."""
        return replace(self, groups=None).pair_count

    def describe(self) -> DescriptionRows:
        """Return the plan as rows, including a time estimate from a short measurement."""
        task, plan, sampled = self.task, self.plan, self.sample
        distinct = [len(duplicates) for duplicates in self.duplicates]
        one_set = task.targets is task.queries
        memory = f"sequences {format_bytes(sequence_bytes(task))}, kernels {format_bytes(plan.limits.scratch_bytes)}"
        return [
            ("sequences", f"{len(task.queries):,}" if one_set else f"{len(task.queries):,} x {len(task.targets):,}"),
            ("distinct", f"{distinct[0]:,}" if one_set else f"{distinct[0]:,} x {distinct[1]:,}"),
            ("pairs", f"{self.pair_count:,}"),
            ("scoring", task.scoring.name),
            (bounded_quantity(self.prepared.task), describe_bound(self.prepared.task)),
            ("engine", self.hardware),
            ("steps", self.prepared.kernel),
            *([("alignment", f"{self.aligner.kernel}, of pairs that are left")] if self.aligner else []),
            ("tiles", f"{describe_tile_count(plan)} in {describe_bands(plan.band_count, plan.band_rows)}"),
            ("memory", memory),
            ("estimate", f"{sampled.seconds:.1f} s, measured on {sampled.record_count:,} of {sum(distinct[: 2 - one_set]):,} records"),
        ]

    @cached_property
    def sample(self) -> SampledPairs:
        """Estimates from a sample of the pairs. Computing them takes a moment."""
        from gpualign.jobs.pair_sample import sample_near_pairs

        return sample_near_pairs(self)

    @property
    def _query_range(self) -> tuple[int, int]:
        """Range [start, stop) of the queries whose pairs are computed. A job for only some of the queries does not group equal records, so
        the numbers in its plan are record numbers."""
        return (self.plan.start, self.plan.query_stop) if self.plan.stop is not None else (0, len(self.task.queries))

    @property
    def row_work(self) -> WorkPerQuery:
        """Approximate work for each query's pairs: float64[queries]."""
        task = self.task
        firsts = None if self.pairing is Pairing.ALL else self.pairing.first_targets(np.arange(len(task.queries)))
        return UNIT_PAIR_COST.cells_by_query(task.queries.lengths, task.targets.lengths, firsts)

    def for_queries(self, start: int, stop: int) -> NearPairJob:
        """Return a job for only the pairs of queries [start, stop). This job does not group equal records, because jobs for other queries
        may need pairs from the same group."""
        job = self.ungrouped()
        return replace(job, plan=job.plan.for_queries(start, stop))

    def ungrouped(self) -> NearPairJob:
        """Return a job for the same pairs that compares equal records like others."""
        has_equal = any(duplicates.repeated_count for duplicates in self.duplicates)
        return replace(self.make_ungrouped(), groups=self.groups) if has_equal else self

    def counting_neighbours(self) -> NearPairJob:
        """Return a job whose results need only suffice to count the near pairs of each query (`NeighbourCountsSink`)."""
        queries, targets = self.duplicates
        by_groups = self.pairing is Pairing.ALL or (self.pairing is Pairing.ABOVE and queries is targets)
        repeated = queries.repeated_count + targets.repeated_count
        return replace(self, counts_neighbours=True) if by_groups and repeated and self.groups is None else self

    def run(self, progress: Progress) -> tuple[Iterator[Any], NearPairTotals]:
        """Return (the pairs that may pass the thresholds, in order, each item for some of the pairs; the totals). The pairs are classified
        as they are requested, and the totals are complete when all have been. Closing the iterator stops all work."""
        queries, targets = self.duplicates
        queries_are_targets = queries is targets or self.pairing is not Pairing.ALL
        distinct_count = len(targets) + (0 if queries_are_targets else len(queries))
        totals = NearPairTotals(self.pair_count, self.total_work, Counter(), distinct_count)
        iterate = self._iterate_group_pairs if self.counts_neighbours else self._iterate_results
        return iterate(progress, totals.survivors), totals

    def _iterate_results(self, progress: Progress, survivors: Counter[str]) -> Iterator[NearPairResults]:
        """Yield the results in order, each for some of the pairs. survivors: number of pairs that survive each step, updated in place."""
        bands = bands_in_order(self.plan, self.prepared.run(self.plan.tiles()), NearPairCollector, progress)
        with ExitStack() as resources:
            if self.aligner is not None:
                resources.enter_context(closing(self.aligner))
            yield from self.align_lists(self._expand_to_records(bands, survivors))

    def align_lists(self, records: Iterator[tuple[NearPairs, int]]) -> Iterator[NearPairResults]:
        """Yield near pairs of records with their alignments; not the pairs that `groups` exclude. records: as returned by
        `_expand_to_records`"""
        with closing_iterator(records):
            lists = self._lists_to_align(records)
            if self.aligner is not None and self.aligner.uses_device:
                yield from map_ahead(lambda item: self.align_pairs(*item), lists, _LISTS_AHEAD, self.aligner.close, _LISTS_AT_ONCE)
            else:
                yield from starmap(self.align_pairs, lists)

    def _lists_to_align(self, records: Iterator[tuple[NearPairs, int]]) -> Iterator[tuple[NearPairs, int]]:
        """Yield near pairs of records in lists long enough to be aligned together, if there are enough pairs. The items, like those of
        `records`, are as returned by `_expand_to_records`."""
        held: list[NearPairs] = []
        rows = 0
        for pairs, rows in records:
            if self.groups is not None:
                pairs = pairs.select(self.groups.selection_mask(pairs.queries, pairs.targets))
            if held and sum(map(len, held)) + len(pairs) > self.max_list_pairs:
                yield join_pairs(held), int(pairs.queries[0])
                held = []
            if len(pairs):
                held.append(pairs)
            if sum(map(len, held)) >= min(_MIN_PAIRS_PER_ALIGNMENT, self.max_list_pairs) or self.aligner is None or not held:
                yield join_pairs(held), rows
                held = []
        if held:
            yield join_pairs(held), rows

    def _iterate_group_pairs(self, progress: Progress, survivors: Counter[str]) -> Iterator[GroupPairs]:
        """Yield the near pairs of groups of equal records, in lists of limited size. survivors: updated in place, as in
        `_iterate_results`."""
        queries, targets = self.duplicates
        bands = bands_in_order(self.plan, self.prepared.run(self.plan.tiles()), NearPairCollector, progress)
        with ExitStack() as resources:
            if self.aligner is not None:
                resources.enter_context(closing(self.aligner))
            resources.enter_context(closing_iterator(bands))
            if queries is targets:
                repeated = np.flatnonzero(queries.sizes > 1)
                yield from self._compute_group_pairs(NearPairs(repeated, repeated, np.zeros(len(repeated), dtype=np.int64)))
            for band in bands:
                survivors.update(band.survivor_counts)
                yield from self._compute_group_pairs(band.pairs)

    def _compute_group_pairs(self, pairs: NearPairs) -> Iterator[GroupPairs]:
        """Yield near pairs of groups with the results for their first records. pairs: group numbers."""
        queries, targets = self.duplicates
        for start in range(0, len(pairs), self.max_list_pairs):
            some = pairs.select(slice(start, start + self.max_list_pairs)).sorted()
            turned = np.zeros(0, dtype=np.int64)
            if queries is targets and self.aligner is not None:  # edit distances are the same in both directions
                alternate = queries.last_records[some.queries] > queries.first_records[some.targets]
                turned = np.flatnonzero(alternate & (some.queries != some.targets))
            order = np.lexsort((some.queries[turned], some.targets[turned]))
            swapped = some.select(turned[order]).transposed()
            yield GroupPairs(queries, targets, some, self._first_record_results(some), turned, self._first_record_results(swapped), order)

    def _first_record_results(self, group_pairs: NearPairs) -> NearPairResults:
        """Return the results for the first records of pairs of groups, which must be sorted by query."""
        queries, targets = self.duplicates
        first = queries.first_records[group_pairs.queries], targets.first_records[group_pairs.targets]
        pairs = NearPairs(*first, group_pairs.distances)
        if self.aligner is None or not len(pairs):
            return NearPairResults(pairs, self._distance_results(pairs))
        return NearPairResults(pairs, self._align(self.aligner, pairs))

    def _align(self, aligner: PairAligner, pairs: NearPairs) -> PairAlignments:
        """Return the alignments of near pairs of records."""
        if not self.prepared.task.mean_edit_bound.coverage:
            return aligner.align_pairs(pairs)
        strands = 2 if self.task.both_strands else 1  # distances then encode the strand, too
        edits = (_EDITS_PER_EDIT_BETWEEN_FREE_ENDS * (pairs.distances // strands)).astype(np.int64)
        return aligner.align_pairs(replace(pairs, distances=strands * edits + pairs.distances % strands))

    def _expand_to_records(self, bands: Iterator[NearPairBand], survivors: Counter[str]) -> Iterator[tuple[NearPairs, int]]:
        """Expand near pairs of distinct records to near pairs of all records, in order. Each item includes the number of queries whose
        pairs have all been yielded."""
        queries, targets = self.duplicates
        shared, with_self = self.pairing is not Pairing.ALL, self.pairing is Pairing.ABOVE_OR_EQUAL
        expansion = DuplicateExpansion(queries, targets, shared, with_self, self.max_list_pairs, self.text_threads)
        (start, end), held = self._query_range, list[NearPairs]()

        def expanded(stop: int) -> Iterator[tuple[NearPairs, int]]:
            for pairs in expansion.expand_band(start, stop, join_pairs(held)):
                yield pairs, int(pairs.queries[-1]) + 1 if len(pairs) else start  # all pairs of a query come together
            yield join_pairs([]), stop

        with closing_iterator(bands):
            for band in bands:
                survivors.update(band.survivor_counts)
                held.append(band.pairs)
                if band.band.target_stop < self.plan.target_count:
                    continue  # the queries have more targets, in the bands that follow
                stop = min(end, int(queries.first_records[band.band.stop]) if band.band.stop < len(queries) else queries.record_count)
                yield from expanded(stop)
                start, held = stop, []
        if start < end:  # the last record has no later one, but equal ones may follow
            yield from expanded(end)

    def align_pairs(self, pairs: NearPairs, completed_query_count: int = 0) -> NearPairResults:
        """Return near pairs, in order, with their alignments, or only their distances if `aligner` is None.

        completed_query_count: number of queries, from the first on, whose pairs are complete once these pairs are included
        """
        if self.aligner is None or not len(pairs):
            return NearPairResults(pairs, self._distance_results(pairs), completed_query_count)
        # Equal records have equal alignments, so each pair of groups is aligned once, separately in either direction.
        queries, targets = self.duplicates
        first, second = queries.group_of[pairs.queries], targets.group_of[pairs.targets]
        repeated = (queries.sizes[first] > 1) | (targets.sizes[second] > 1)
        once, many = np.flatnonzero(~repeated), np.flatnonzero(repeated)
        _, chosen, place = np.unique(first[many] * len(targets) + second[many], return_index=True, return_inverse=True)
        aligned = np.concatenate([once, many[chosen]])
        distinct = NearPairs(queries.first_records[first[aligned]], targets.first_records[second[aligned]], pairs.distances[aligned])
        back = np.empty(len(pairs), dtype=np.int64)
        back[once], back[many] = np.arange(len(once)), len(once) + place
        return NearPairResults(pairs, self._align(self.aligner, distinct).select(back), completed_query_count)

    def _distance_results(self, pairs: NearPairs) -> PairAlignments:
        """Return the results for pairs for which only edit distances are needed."""
        if not self.task.both_strands:
            return PairAlignments(pairs.distances.astype(self.task.score_dtype), None, None)
        from gpualign.core.execution.both_strands import decode_distances

        distances, is_reverse_complement = decode_distances(pairs.distances)
        return PairAlignments(distances.astype(self.task.score_dtype), None, None, is_reverse_complement)


def bounded_quantity(task: Task) -> str:
    """Return what the bound of a task limits, as human-readable text."""
    return "edits" if task.scoring.listed_distance is None else "distance"


def describe_bound(task: Task) -> str:
    """Return the number of edits, or the distance, allowed between records, as human-readable text."""
    assert task.edit_bound is not None
    queries, targets = task.queries.lengths, task.targets.lengths
    ends = task.edit_bound.max_edits(np.array([queries.min(), queries.max()]), np.array([targets.min(), targets.max()]))
    low, high = sorted(max(0, int(edits)) for edits in ends)
    return f"at most {low:,}" if low == high else f"at most {low:,} to {high:,}, by length"


def excludes_pairs(task: Task, bound: EditBound) -> bool:
    """True if a bound excludes any pairs."""
    bound = replace(task, edit_bound=bound).mean_edit_bound
    lengths = task.queries.lengths.mean(keepdims=True).astype(np.int64), task.targets.lengths.mean(keepdims=True).astype(np.int64)
    return bound.max_different_gram_fraction(1, *lengths) < _MAX_EDIT_FRACTION  # letters, from the edits or the coverage


def _max_list_pairs(task: Task, bound: EditBound, aligner: PairAligner | None, result_bytes: int) -> int:
    """Return the maximum number of near pairs to expand or align together.

    bound: bound on the edits of pairs that pass
    result_bytes: memory for the results of all lists that are held at the same time

    The path of an alignment with e edits has at most 2 e + 1 runs of equal columns, and a byte holds up to 64 columns of a run. Most pairs
    in a list pass, so the bound is a fair estimate of the edits of all.
    """
    if aligner is None:
        return _MAX_PAIRS_PER_BATCH
    m, n = (one.lengths.mean(keepdims=True).astype(np.int64) for one in (task.queries, task.targets))
    inside = bound.max_edits_inside(m, n) if bound.coverage else bound.max_edits(m, n)
    letters = float(m[0] + n[0])
    runs = 2 * max(0, int(inside[0])) + 1 + (_MAX_END_GAPS if bound.coverage else 0)
    path_bytes = task.path_bytes_per_letter * min(letters, runs + letters / _COLUMNS_PER_RUN_BYTE)
    results = 2 if task.both_strands else 1
    lists = _LISTS_AHEAD + 2 if aligner.uses_device else 1
    return int(np.clip(result_bytes / (lists * results * (task.pair_bytes + path_bytes)), 1, _MAX_PAIRS_PER_BATCH))


def _group_duplicates(task: Task, pairing: Pairing, grouped: bool, threads: int) -> tuple[DuplicateGroups, DuplicateGroups]:
    """Return the groups of equal records among the queries and among the targets; the same object if queries and targets are one set.

    grouped: whether equal records are grouped; otherwise each record is its own group
    threads: maximum number of threads
    """
    group = partial(group_copies, v_genes=task.scoring.v_genes, threads=threads) if grouped else singleton_groups
    targets = group(task.targets)
    if task.targets is task.queries:
        return targets, targets
    return group(task.queries) if pairing is Pairing.ALL else targets.select_first(len(task.queries)), targets


def _distinct_task(task: Task, bound: EditBound, queries: DuplicateGroups, targets: DuplicateGroups, threads: int) -> Task:
    """Return the task of finding the pairs of distinct records within a bound.

    queries, targets: groups of equal records
    threads: maximum number of threads
    """
    distinct_targets = select_distinct(task.targets, targets, threads)
    finds_edits = task.scoring.listed_distance in (None, ListedDistance.HAMMING)
    return Task(
        distinct_targets if task.targets is task.queries else select_distinct(task.queries, queries, threads),
        distinct_targets,
        make_scoring(task.alphabet, ScoringOptions(edit=True)) if finds_edits else task.scoring,
        Mode.GLOBAL,
        Detail.SCORE,
        EndGaps.PENALISED,
        task.alphabet,
        edit_bound=bound,
        both_strands=task.both_strands,
        ambiguity=task.ambiguity and task.ambiguity.select(queries.first_records, targets.first_records),
    )


def prepare_near_pair_job(
    task: Task,
    bound: EditBound,
    pairing: Pairing,
    engines: NearPairEngines,
    resources: Resources,
    reporter: Reporter,
    description_prefix: str = "",
    grouped: bool = True,
) -> NearPairJob:
    """Plan the search for a task's near pairs.

    description_prefix: prefix for the reported plan
    grouped: whether equal records are compared only once, unless memory is too small for another set, of the distinct records

    Raises `RunError` if there is not enough memory.
    """
    ungrouped = partial(prepare_near_pair_job, task, bound, pairing, engines, resources, reporter, description_prefix, grouped=False)
    host_threads, one_set = resources.host_threads, task.targets is task.queries
    queries, targets = _group_duplicates(task, pairing, grouped, host_threads)
    distinct_count = len(targets) + (0 if one_set else len(queries))
    copied_bytes = copy_bytes(task.targets, targets) + (0 if one_set else copy_bytes(task.queries, queries))
    extra = distinct_count * RECORD_BYTES + copied_bytes
    held = expansion_bytes(queries, targets)
    memory = remaining_memory(task, resources.memory, held, default_extra=extra, reserved_bytes=resources.reserved_bytes)
    if not worth_copying(copied_bytes, memory):
        return ungrouped()
    memory -= copied_bytes
    distinct = _distinct_task(task, bound, queries, targets, host_threads)
    listed = task.scoring.listed_distance
    finds_distances = task.scoring.edit and listed in (None, ListedDistance.TCRDIST)  # the engine's distances are those of the output
    distance_suffices = finds_distances and task.detail is Detail.SCORE and task.end_gaps is EndGaps.PENALISED
    # Counting unequal letters needs little memory besides the list of pairs.
    aligner_bytes = 0 if distance_suffices else memory // 8 if listed is ListedDistance.HAMMING else memory // 2
    budget, aligner_budget = Budget.from_total(memory - aligner_bytes), Budget.from_total(aligner_bytes)
    prepared = engines.finder.prepare(distinct, budget)
    plan = plan_task(prepared, Pairing.ALL if pairing is Pairing.ALL else Pairing.ABOVE)
    aligner: PairAligner | None = None
    if listed is ListedDistance.HAMMING:
        aligner = HammingCounter(task)
    elif not distance_suffices:
        aligner = engines.aligner.prepare_pair_aligner(task, aligner_budget)
    repeated = targets.repeated_count + (queries.repeated_count if pairing is Pairing.ALL and not one_set else 0)
    equal = f"{format_count(repeated, 'record')} equal to earlier ones; " if repeated else ""
    reporter.detail(f"{description_prefix}{equal}{bounded_quantity(distinct)} {describe_bound(distinct)}; {prepared.kernel}")
    threads = text_thread_count(budget, host_threads)
    list_pairs = _max_list_pairs(task, distinct.mean_edit_bound, aligner, aligner_budget.result_bytes)
    return NearPairJob(task, pairing, (queries, targets), prepared, plan, aligner, engines, budget, threads, list_pairs, ungrouped)
