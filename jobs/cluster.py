"""Clustering: the work of `gpualign cluster` between option parsing and output, from sequences or from precomputed distances."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import field, replace
from importlib.util import find_spec
from typing import Protocol

import numpy as np

from gpualign.core.alignment.ambiguity import AmbiguityRule
from gpualign.core.alignment.task import Task
from gpualign.core.clustering.clusters import Clustering, clustering_from_centroids, clustering_from_labels
from gpualign.core.clustering.edge_builder import EdgeListBuilder, EdgeStorage, collect_edges
from gpualign.core.clustering.edges import PAIR_BYTES, EdgeList
from gpualign.core.clustering.greedy import clustering_order, first_copies, greedy_centroids
from gpualign.core.clustering.linkage import average_linkage, complete_linkage, largest_linked_count, linkage_bytes, single_linkage
from gpualign.core.clustering.precomputed import ListedPairs, MatrixOfPairs, Threshold
from gpualign.core.common.arrays import Integers, Reals
from gpualign.core.common.dataclass import dataclass
from gpualign.core.common.errors import InputError, TooLittleMemory, parameter
from gpualign.core.common.parameter_fractions import check_fraction, percentage_warning
from gpualign.core.common.units import format_bytes
from gpualign.core.execution.totals import ExtendableProgress
from gpualign.core.files.scratch import MakeScratch
from gpualign.core.near_pairs.deduplication import DuplicateGroups, group_equal, singleton_groups, split_groups
from gpualign.core.output.matrix import CondensedSink
from gpualign.core.output.matrix_value import MatrixValueKind, ValueMatrix
from gpualign.core.output.memory import MemoryArray
from gpualign.core.planning.tile_plan import Pairing
from gpualign.core.results.filter import Filter
from gpualign.core.scoring.scoring import Scoring
from gpualign.core.sequences.sequence_set import SequenceSet
from gpualign.jobs import nw
from gpualign.jobs.devices.memory import default_memory
from gpualign.jobs.job import DescriptionRows, PairJob
from gpualign.jobs.options import NO_SIDES_IN_CLUSTERS, PairThresholds, check_distance, check_same_columns
from gpualign.jobs.output.result_writing import write_results
from gpualign.jobs.pairs_as_arrays import passing_blocks
from gpualign.jobs.reporter import SILENT_REPORTER, Reporter
from gpualign.jobs.sequence_loading import Inputs, scoring_of
from gpualign.jobs.shared_annotations import shared_annotation_pairs

CLUSTERING_METHODS = ("single", "complete", "average", "greedy")

PrecomputedDistances = ListedPairs | MatrixOfPairs


@dataclass(frozen=True)
class ClusterOptions:
    """Options of `cluster`, as given; None: not given.

    alignment_options: how records are aligned, and the thresholds of near pairs
    method: one of `CLUSTERING_METHODS`
    order: order in which greedy clustering visits records, one of `greedy.CLUSTERING_ORDERS`; None: by length, or input order if lengths
        are unknown
    uc: name of a .uc file to write in addition
    representatives: name of a FASTA file of representatives to write in addition
    """

    alignment_options: nw.NwOptions = field(default_factory=nw.NwOptions)
    method: str = "single"
    order: str | None = None
    uc: str | None = None
    representatives: str | None = None

    @property
    def thresholds(self) -> PairThresholds:
        """Thresholds of near pairs, with the coverage that is required by default."""
        given = self.alignment_options
        return given.thresholds.with_cluster_coverage(given.scoring.edit, given.identity_def)

    def check(self, aligned: bool) -> None:
        """Raise `InputError` if options contradict each other, or if scipy is needed but missing. aligned: whether distances come from
        alignments."""
        thresholds = self.alignment_options.thresholds
        if (thresholds.max_distance is None) == (thresholds.min_identity is None):
            edits = f"{parameter('edit')} with {parameter('max_distance', 3)}"
            instance = f": say {parameter('min_identity', '0.97')}, or {edits}"
            remark = "; found both" if thresholds.max_distance is not None else instance
            raise InputError(f"cluster needs one threshold, {parameter('max_distance')} or {parameter('min_identity')}{remark}")
        if thresholds.coverage_of in ("query", "target"):
            raise InputError(f"{parameter('coverage_of', thresholds.coverage_of)}: {NO_SIDES_IN_CLUSTERS}; give both or shorter")
        if aligned:
            replace(self.alignment_options, thresholds=self.thresholds).make_filter()
        else:
            thresholds.check_fractions()
            check_distance(thresholds.max_distance)
        if self.order is not None and self.method != "greedy":
            order, method = parameter("order"), parameter("method", self.method)
            raise InputError(f"{order} is for greedy centroids; it cannot be combined with {method}")
        given, same = self.alignment_options, self.alignment_options.read_options.columns.same
        check_same_columns(same, given.alleles, has_groups=False)
        if aligned and self.method == "average" and (given.scoring.hamming or given.scoring.tcrdist or same):
            average = f"{parameter('method', 'average')} takes the mean of all distances"
            lacking = (
                "sequences of different lengths have no Hamming distance" if given.scoring.hamming else "only near pairs have one here"
            )
            raise InputError(f"{average}, and {lacking}; choose another method")
        check_method(self.method)


def check_method(method: str) -> None:
    """Raise `InputError` if the method needs scipy and scipy is missing."""
    if method != "greedy" and find_spec("scipy") is None:
        raise InputError(
            f"{parameter('method', method)} needs scipy: pip install 'gpualign[linkage]', or choose {parameter('method', 'greedy')}"
        )


class DistanceSource(Protocol):
    """Source of distances between distinct records."""

    @property
    def duplicates(self) -> DuplicateGroups:
        """Groups of identical records. The other methods compare one record of each group, and identify it by the number of the group."""

    @property
    def total_work(self) -> int:
        """Work needed to find the near pairs, in units of `work_unit`."""

    @property
    def work_unit(self) -> str:
        """Unit of `work`, "cells" or "pairs"."""

    def near_pair_bytes(self, memory: int) -> int:
        """Return the bytes that near pairs may take in memory. memory: memory that the clustering may use, in bytes."""

    def find_near_pairs(self, progress: ExtendableProgress, storage: EdgeStorage) -> EdgeList:
        """Return the near pairs. storage: place of the pairs."""

    def distances_within(self, groups: Sequence[Integers], progress: ExtendableProgress) -> Iterator[Reals]:
        """Yield the distances between all pairs of each group of records, given in ascending order, as a condensed matrix. No record is in
        two groups."""

    def describe(self) -> DescriptionRows:
        """Return the rows that describe the plan in a dry run."""


@dataclass(frozen=True)
class ClusterJob:
    """A clustering that is ready to run.

    distances: source of the distances
    method: one of `CLUSTERING_METHODS`
    record_order: order in which greedy clustering visits the records; None for linkage methods
    max_distance: maximum distance of a near pair
    memory: memory limit, in bytes
    """

    distances: DistanceSource
    method: str
    record_order: Integers | None
    max_distance: float
    memory: int

    @property
    def total_work(self) -> int:
        """Amount of total_work known so far, in units of `work_unit`; `run` may add to it."""
        return self.distances.total_work

    @property
    def work_unit(self) -> str:
        """Unit of `work`, "cells" or "pairs"."""
        return self.distances.work_unit

    def describe(self) -> DescriptionRows:
        """Return the plan as rows, including a time estimate from a short measurement."""
        held = self.distances.near_pair_bytes(self.memory) // PAIR_BYTES
        kept = f"up to {held:,} in memory, more in a temporary file, {PAIR_BYTES} bytes each"
        return [*self.distances.describe(), ("method", self.method), ("near pairs", kept)]

    def run(self, progress: ExtendableProgress, scratch: MakeScratch) -> tuple[Clustering, int]:
        """Return (the clusters, the number of near pairs).

        scratch: creates temporary files for near pairs that do not fit into memory

        Raises `TooLittleMemory` if the linkage of connected records would need more than the memory limit, and `RunError` if temporary
        files cannot be written.
        """
        storage = EdgeStorage(self.distances.near_pair_bytes(self.memory), scratch)
        edges, duplicates = self.distances.find_near_pairs(progress, storage), self.distances.duplicates
        copies = np.bincount(duplicates.group_of, minlength=len(duplicates))
        near = edges.near_pair_count(copies)
        if self.record_order is not None:
            order, leaders = first_copies(self.record_order, duplicates.group_of)
            return clustering_from_centroids(greedy_centroids(edges, order), edges).expand_copies(duplicates.group_of, leaders), near
        labels = single_linkage(edges) if self.method == "single" else self._linkage_labels(edges, progress)
        return clustering_from_labels(labels, edges, copies).expand_copies(duplicates.group_of, duplicates.first_records), near

    def _linkage_labels(self, edges: EdgeList, progress: ExtendableProgress) -> Integers:
        group_of = self.distances.duplicates.group_of
        largest = largest_linked_count(edges, group_of)
        if largest and (needed := linkage_bytes(largest, edges)) > self.memory:
            raise TooLittleMemory(
                f"{largest:,} records are connected, and {self.method} linkage of them takes {format_bytes(needed)} of memory",
                needed,
                f"raise {parameter('memory')}, choose a nearer threshold, or {parameter('method', 'single')} or greedy",
            )
        if self.method == "complete":
            return complete_linkage(edges, group_of)
        return average_linkage(edges, self.max_distance, lambda groups: self.distances.distances_within(groups, progress), group_of)


def prepare(inputs: Inputs, options: ClusterOptions, reporter: Reporter = SILENT_REPORTER) -> tuple[ClusterJob, AlignmentDistances]:
    """Return (the job, the source of its distances) for the records of one set. Raises the same errors as `nw.prepare`, and `InputError`
    for contradictory options."""
    options.check(aligned=True)
    given, thresholds = options.alignment_options, options.thresholds
    if thresholds.min_coverage is not None and given.thresholds.min_coverage is None:
        covered = (
            "the shorter sequence is aligned with the longer"
            if thresholds.coverage_of == "shorter"
            else "each sequence is aligned with the other, so that fragments do not join clusters"
        )
        reporter.note(f"in near pairs at least {thresholds.min_coverage:g} of {covered}; {parameter('min_coverage', 0)} takes any")
    o = replace(given, thresholds=thresholds)
    filter = o.make_filter()
    records, memory = inputs.queries, o.resources.memory or default_memory(inputs.queries.nbytes)
    order = _record_order(options, records.ids, records.lengths)
    scoring = o.scoring if isinstance(o.scoring, Scoring) else scoring_of(inputs, o.scoring)
    # Copies that consist of ambiguity letters have no identity if columns with such letters are skipped.
    groups_equal = scoring.self_alignment_is_gapless(records.used_codes) and o.ambiguity_rule is not AmbiguityRule.SKIP
    threads = o.resources.host_threads
    groups = group_equal(records, threads) if groups_equal else singleton_groups(records)
    if same := o.read_options.columns.same:
        selector = shared_annotation_pairs(records, records, same, o.alleles, reporter)
        numbers = np.arange(len(records))
        agrees_with_copies = selector.selection_mask(numbers, numbers)
        groups = split_groups(groups, np.where(agrees_with_copies, selector.queries, selector.queries.max() + 1 + numbers))
        filter = replace(filter, groups=selector.select(groups.first_records))
    if groups.repeated_count:
        reporter.detail(f"{groups.repeated_count:,} records equal to earlier ones")
        distinct = inputs.queries.select(groups.first_records, threads)
        inputs = replace(inputs, queries=distinct, targets=distinct)
    resources = replace(o.resources, memory=memory - near_pair_memory(records, memory))
    o = replace(o, scoring=scoring, resources=resources)
    job = nw.prepare_filtered(inputs, o, filter, filter.detail, Pairing.ABOVE, reporter)
    alignments = AlignmentDistances(replace(job.task, queries=records, targets=records), groups, inputs, job, o, filter)
    return _make_job(alignments, options, order, memory), alignments


def near_pair_memory(records: SequenceSet, memory: int) -> int:
    """Return the bytes for near pairs: half of the memory that remains after the sequences. The other half is used first to find the pairs,
    then to process them."""
    return max(0, memory - records.nbytes) // 2


def listed_pair_memory(memory: int) -> int:
    """Return the bytes for the pairs of a list: a quarter of the memory. Another quarter holds the pairs once they are sorted."""
    return memory // 4


def prepare_precomputed(
    precomputed: PrecomputedDistances,
    are_identities: bool,
    lengths: Integers | None,
    options: ClusterOptions,
    reporter: Reporter = SILENT_REPORTER,
) -> ClusterJob:
    """Plan the clustering of precomputed distances or identities. lengths: record lengths; None if unknown.

    Raises `InputError` for options that contradict each other or do not apply to precomputed values.
    """
    options.check(aligned=False)
    given = options.alignment_options.thresholds
    if are_identities:
        check_fraction("max_distance", given.max_distance, meaning="1 - identity,")
    for name in ("min_coverage", "coverage_of"):
        if getattr(given, name) is not None:
            raise InputError(f"{parameter(name)} is about alignments; it cannot be combined with precomputed distances")
    if given.min_identity is not None and not are_identities:
        identity, distance = parameter("min_identity"), parameter("max_distance")
        raise InputError(f"{identity} is about identities, and these are distances; give {distance}")
    order = _record_order(options, precomputed.ids, lengths)
    if given.max_distance is not None and given.max_distance > 1 and precomputed.are_fractions:
        reporter.warn(f"every distance is a fraction, and {percentage_warning('max_distance', given.max_distance)}")
    threshold = Threshold(given.max_distance, given.min_identity, are_identities)
    if missing := _unknown_pair_count(precomputed):
        reporter.note(
            "1 pair has no distance, and is not near" if missing == 1 else f"{missing:,} pairs have no distance, and are not near"
        )
    memory = options.alignment_options.resources.memory or default_memory()
    return _make_job(_PrecomputedSource(precomputed, threshold), options, order, memory)


def _unknown_pair_count(precomputed: PrecomputedDistances) -> int:
    listed = len(precomputed.pairs) if isinstance(precomputed, ListedPairs) else len(precomputed.ids) * (len(precomputed.ids) - 1) // 2
    return listed - precomputed.known_pair_count


def _record_order(o: ClusterOptions, ids: Sequence[str], lengths: Integers | None) -> Integers | None:
    if o.method != "greedy":
        return None
    return clustering_order(o.order or ("input" if lengths is None else "length"), ids, lengths)


def _make_job(distances: DistanceSource, o: ClusterOptions, order: Integers | None, memory: int) -> ClusterJob:
    given = o.alignment_options.thresholds
    cut = given.max_distance if given.max_distance is not None else 1 - (given.min_identity or 0.0)
    return ClusterJob(distances, o.method, order, cut, memory)


@dataclass(frozen=True)
class AlignmentDistances:
    """Computes distances by alignment.

    task: the alignment of all records
    duplicates: groups of equal records
    distinct_inputs: one record from each group
    job: aligns `distinct_inputs`
    options: options of the alignments
    filter: conditions that a near pair must meet
    """

    task: Task
    duplicates: DuplicateGroups
    distinct_inputs: Inputs
    job: PairJob
    options: nw.NwOptions
    filter: Filter

    @property
    def total_work(self) -> int:
        return self.job.total_work

    @property
    def work_unit(self) -> str:
        return self.job.work_unit

    @property
    def pair_count(self) -> int:
        """Number of record pairs, including pairs of identical records."""
        return Pairing.ABOVE.pair_count(self.duplicates.record_count, self.duplicates.record_count)

    def near_pair_bytes(self, memory: int) -> int:
        return near_pair_memory(self.task.queries, memory)

    def find_near_pairs(self, progress: ExtendableProgress, storage: EdgeStorage) -> EdgeList:
        edges = EdgeListBuilder(storage)
        for i, j, values in passing_blocks(self.job, self.filter, self.options.identity_def, progress):
            if len(i):
                edges.add(i, j, 1 - values if self.filter.min_identity is not None else values.astype(np.float64))
        return edges.finish(len(self.duplicates))

    def distances_within(self, groups: Sequence[Integers], progress: ExtendableProgress) -> Iterator[Reals]:
        return (self._distances_among(members, progress) for members in groups)

    def _distances_among(self, members: Integers, progress: ExtendableProgress) -> Reals:
        subset = self.distinct_inputs.queries.select(members)
        inputs = replace(self.distinct_inputs, queries=subset, targets=subset)
        job = nw.prepare(inputs, self.options, self.filter.detail, Pairing.ABOVE, SILENT_REPORTER, self.job.engine)
        progress.expect(job.plan.cells)
        of_edits = self.filter.max_score is not None or not self.filter.needs_statistics
        value = MatrixValueKind("score" if of_edits else "distance", self.options.identity_def)
        sink = CondensedSink(ValueMatrix(job.task, value), [MemoryArray])
        write_results(sink, job.plan, job.run(progress)[0])
        return sink.arrays[0].values.astype(np.float64)

    def describe(self) -> DescriptionRows:
        """Return the rows that describe the job's plan, which covers distinct records only."""
        rows = dict(self.job.describe())
        counts = {
            "sequences": f"{self.duplicates.record_count:,}",
            "distinct": f"{len(self.duplicates):,}",
            "pairs": f"{self.pair_count:,}",
        }
        if not self.duplicates.repeated_count:
            del counts["distinct"]
        return list({**counts, **rows, **counts}.items())


@dataclass(frozen=True)
class _PrecomputedSource:
    """Source of precomputed distances."""

    precomputed: PrecomputedDistances
    threshold: Threshold

    @property
    def duplicates(self) -> DuplicateGroups:
        """One group per record, because only the distances between records are known."""
        return singleton_groups(self.precomputed.ids)

    @property
    def total_work(self) -> int:
        return 0

    @property
    def work_unit(self) -> str:
        return "cells"

    def near_pair_bytes(self, memory: int) -> int:
        return memory // 2

    def find_near_pairs(self, progress: ExtendableProgress, storage: EdgeStorage) -> EdgeList:
        if isinstance(self.precomputed, ListedPairs) and self.precomputed.are_near_distances(self.threshold):
            return self.precomputed.pairs
        return collect_edges(len(self.precomputed.ids), self.precomputed.near_chunks(self.threshold), storage)

    def distances_within(self, groups: Sequence[Integers], progress: ExtendableProgress) -> Iterator[Reals]:
        reason = f"{parameter('method', 'average')} (not single and complete) takes the mean of all distances"
        return map(self.threshold.distances, self.precomputed.condensed_values_of_groups(groups, reason))

    def describe(self) -> DescriptionRows:
        return [("records", f"{len(self.precomputed.ids):,}"), ("pairs", f"{self.precomputed.known_pair_count:,} known")]
