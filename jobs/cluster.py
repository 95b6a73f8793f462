"""Clustering: the work of `gpualign cluster` between option parsing and output, from sequences or from precomputed distances."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field, replace
from functools import cached_property
from importlib.util import find_spec

import numpy as np

from gpualign.core.alignment.ambiguity import AmbiguityRule
from gpualign.core.clustering.abundances import table_abundances
from gpualign.core.clustering.clusters import Clustering, clustering_from_centroids, clustering_from_labels
from gpualign.core.clustering.edge_builder import EdgeStorage
from gpualign.core.clustering.edges import PAIR_BYTES, EdgeList, Edges
from gpualign.core.clustering.greedy import centroid_pair_count, clustering_order, first_copies, greedy_centroids
from gpualign.core.clustering.linkage import average_linkage, complete_linkage, largest_linked_count, linkage_bytes, single_linkage
from gpualign.core.clustering.precomputed import WRITTEN_DECIMALS, ListedPairs, Threshold
from gpualign.core.clustering.spanning_forest import labels_at, spanning_forest
from gpualign.core.common.arrays import Integers
from gpualign.core.common.dataclass import dataclass
from gpualign.core.common.errors import InputError, TooLittleMemory, parameter
from gpualign.core.common.libraries import check_room_for_library
from gpualign.core.common.parameter_fractions import check_fraction, percentage_warning
from gpualign.core.common.units import format_bytes, format_count
from gpualign.core.execution.totals import ExtendableProgress
from gpualign.core.files.scratch import MakeScratch
from gpualign.core.near_pairs.deduplication import (
    DuplicateGroups,
    copy_bytes,
    group_copies,
    select_distinct,
    singleton_groups,
    split_groups,
    worth_copying,
)
from gpualign.core.planning.group_pairs import GroupPairSelector
from gpualign.core.planning.tile_plan import Pairing
from gpualign.core.scoring.listed_distances import ListedDistance
from gpualign.core.scoring.scoring import Scoring
from gpualign.core.sequences.sequence_set import SequenceSet
from gpualign.jobs import nw
from gpualign.jobs.cluster_distances import AlignmentDistances, DistanceSource, KnownDistances, PrecomputedDistances, near_pair_memory
from gpualign.jobs.devices.memory import default_memory
from gpualign.jobs.every_pair import EveryPairJob
from gpualign.jobs.every_pair_subset import compares_centroids
from gpualign.jobs.job import DescriptionRows
from gpualign.jobs.near_pairs import RECORD_BYTES, NearPairJob
from gpualign.jobs.options import NO_SIDES_IN_CLUSTERS, PairThresholds, check_distance, check_loci, check_same_columns
from gpualign.jobs.reporter import SILENT_REPORTER, Reporter
from gpualign.jobs.sequence_loading import Inputs, scoring_of
from gpualign.jobs.shared_annotations import shared_annotation_pairs

CLUSTERING_METHODS = ("single", "complete", "average", "greedy")


@dataclass(frozen=True)
class ClusterOptions:
    """Options of `cluster`, as given; None: not given.

    alignment_options: how records are aligned, and the thresholds of near pairs
    method: one of `CLUSTERING_METHODS`
    order: order in which greedy clustering visits records, one of `greedy.CLUSTERING_ORDERS`; None: by length, or input order if lengths
        are unknown
    levels: maximum distances at which clusters get names that stay, descending; the first is also the maximum distance of near pairs.
        Empty: clusters at one threshold
    previous: table of names of an earlier run
    linkage_report: file for a report on the single-linkage clusters, written in addition
    dates: table of the records' dates for this report, with the name of a column if several have dates
    colours: file for the colours of named clusters, written in addition
    verify: file with clusters to be verified; None: records are clustered
    fix: whether clusters that break the threshold are repaired
    uc: .uc file to write in addition
    representatives: FASTA file of representatives to write in addition
    """

    alignment_options: nw.NwOptions = field(default_factory=nw.NwOptions)
    method: str = "single"
    order: str | None = None
    levels: tuple[float, ...] = ()
    previous: str | None = None
    linkage_report: str | None = None
    dates: str | None = None
    colours: str | None = None
    verify: str | None = None
    fix: bool = False
    uc: str | None = None
    representatives: str | None = None

    @property
    def thresholds(self) -> PairThresholds:
        """Thresholds of near pairs, with the coverage that is required by default."""
        given = self.alignment_options
        return given.thresholds.with_cluster_coverage(given.scoring.edit, given.identity_def)

    @property
    def needs_abundances(self) -> bool:
        """True if the order of the records depends on their abundances."""
        return self.method == "greedy" and self.order != "input" and not self.alignment_options.read_options.columns.and_locus

    def check(self, aligned: bool) -> None:
        """Raise `InputError` if options contradict each other, or if scipy is needed but missing. aligned: whether distances come from
        alignments."""
        thresholds = self.alignment_options.thresholds
        if (thresholds.max_distance is None) == (thresholds.min_identity is None):
            identity, distance = parameter("min_identity", "0.97"), parameter("max_distance", 3 if aligned else 12)
            of_files = f"{distance}, or {identity} for identities"
            instance = f": say {identity}, or {parameter('edit')} with {distance}" if aligned else f": say {of_files}"
            remark = "; found both" if thresholds.max_distance is not None else instance
            raise InputError(f"cluster needs one threshold, {parameter('max_distance')} or {parameter('min_identity')}{remark}")
        if thresholds.coverage_of in ("query", "target"):
            raise InputError(f"{parameter('coverage_of', thresholds.coverage_of)}: {NO_SIDES_IN_CLUSTERS}; give both or shorter")
        self._check_verification()
        if self.levels or self.previous is not None:
            self._check_levels(aligned)
        elif self.colours is not None:
            raise InputError(f"{parameter('colours')} are those of the clusters of {parameter('levels')}; give that too")
        if self.linkage_report is not None and self.method != "single":
            report, method = parameter("linkage_report"), parameter("method", self.method)
            raise InputError(f"{report} is about clusters of single linkage; it cannot be combined with {method}")
        if self.dates is not None and self.linkage_report is None:
            raise InputError(f"{parameter('dates')} is for {parameter('linkage_report')}; give that too")
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
        joined = bool(given.read_options.columns.and_locus)
        if joined:
            check_loci(given.read_options.columns, given.scoring, given.thresholds, given.strand)
        if aligned and self.method == "average" and (given.scoring.listed_distance is not None or same or joined):
            average = f"{parameter('method', 'average')} takes the mean of all distances"
            lacking = (
                "sequences of different lengths have no Hamming distance"
                if given.scoring.listed_distance is ListedDistance.HAMMING
                else "only near pairs have one here"
            )
            raise InputError(f"{average}, and {lacking}; choose another method")
        check_method(self.method)

    def _check_levels(self, aligned: bool) -> None:
        levels, edit = parameter("levels"), self.alignment_options.scoring.edit
        if not self.levels:
            raise InputError(f"{parameter('previous')} continues the names of {levels}; give the same levels too")
        if self.method != "single":
            raise InputError(f"{levels} are levels of single linkage; they cannot be combined with {parameter('method', self.method)}")
        for name in ("uc", "representatives"):
            if getattr(self, name) is not None:
                raise InputError(
                    f"{levels} writes names of clusters, and {parameter(name)} is about clusters at one threshold; leave it out"
                )
        if aligned and not edit:
            check_fraction("levels", self.levels[0], meaning=f"a list of 1 - identity, unless {parameter('edit')} counts letters, each")
        elif aligned and (halves := [level for level in self.levels if level != int(level)]):
            raise InputError(f"{levels}: expected whole numbers; found {halves[0]:g}")

    def _check_verification(self) -> None:
        verify, fix, single = parameter("verify"), parameter("fix"), parameter("method", "single")
        if self.verify is None:
            if self.fix:
                raise InputError(f"{fix} changes the clusters of {verify}; give that too")
            return
        if self.method not in ("single", "greedy"):
            raise InputError(
                f"{verify} compares records with their representatives, or with {single} the connections of clusters; it cannot be combined"
                f" with {parameter('method', self.method)}"
            )
        if self.fix and self.method == "single":
            raise InputError(
                f"{fix} changes only clusters with representatives; for new clusters of {single}, leave out {verify} and {fix}"
            )
        not_fixed = () if self.fix else ("order", "uc", "representatives")
        for name in ("levels", "previous", "linkage_report", *not_fixed):
            if getattr(self, name):
                remark = f", unless {fix} is given" if name in not_fixed else ""
                raise InputError(f"{verify} lists problems of clusters; it cannot be combined with {parameter(name)}{remark}")
        if columns := self.alignment_options.read_options.columns.and_locus:
            raise InputError(f"{verify} is about clusters of records; it cannot be combined with {parameter('and', ','.join(columns))}")


def check_method(method: str) -> None:
    """Raise `InputError` if the method needs scipy and scipy is missing, and `RunError` if there is no room for it."""
    if method == "greedy":
        return
    if find_spec("scipy") is None:
        raise InputError(
            f"{parameter('method', method)} needs scipy: pip install 'gpualign[linkage]', or choose {parameter('method', 'greedy')}"
        )
    check_room_for_library("scipy")


@dataclass(frozen=True)
class NearPairGraph:
    """Graph of distinct records, whose edges are the near pairs.

    edges: the pairs
    copies: number of copies of each record, int64[records]
    order: numbers of the records in the order of greedy clustering, if near pairs without a centroid may be missing; None: none is missing
    """

    edges: EdgeList
    copies: Integers = field(repr=False)
    order: Integers | None = field(default=None, repr=False)

    @cached_property
    def centroids(self) -> Integers:
        """Greedy centroid of each record, int64[records], if there is an order."""
        assert self.order is not None
        return greedy_centroids(self.edges, self.order)

    @cached_property
    def count(self) -> int:
        """Number of near pairs of all copies; if there is an order, only those of a centroid with a later record."""
        if self.order is None:
            return self.edges.near_pair_count(self.copies)
        return centroid_pair_count(self.edges, self.order, self.centroids, self.copies)

    @cached_property
    def forest(self) -> Edges:
        """Minimum spanning forest of the pairs."""
        return spanning_forest(self.edges)


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
    def work_unit(self) -> str:
        """Unit of the work that is reported as progress, "cells" or "pairs"."""
        return self.distances.work_unit

    def describe(self) -> DescriptionRows:
        """Return the plan as rows, including a time estimate from a short measurement."""
        held = self.distances.near_pair_bytes(self.memory) // PAIR_BYTES
        order = None if self._first_copies is None else self._first_copies[0]
        # Batches of greedy centroids keep pairs in half of this memory.
        room = f"up to {held:,}" if order is None else f"at least {held // 2:,}"
        kept = f"{room} in memory, more in a temporary file, {PAIR_BYTES} bytes each"
        return [*self.distances.describe(order), ("method", self.method), ("near pairs", kept)]

    def run(self, progress: ExtendableProgress, scratch: MakeScratch) -> tuple[Clustering, int]:
        """Return (the clusters, the number of near pairs), as `find_pairs_to_cluster` and `cluster` do, and raise the same errors."""
        near = self.find_pairs_to_cluster(progress, scratch)
        return self.cluster(near, progress), near.count

    def find_near_pairs(self, progress: ExtendableProgress, scratch: MakeScratch) -> NearPairGraph:
        """Return all near pairs.

        scratch: creates temporary files for near pairs that do not fit into memory

        Raises `RunError` if temporary files cannot be written.
        """
        return NearPairGraph(self.distances.find_near_pairs(progress, self._storage(scratch)), self._copies)

    def find_pairs_to_cluster(self, progress: ExtendableProgress, scratch: MakeScratch) -> NearPairGraph:
        """Return the near pairs that `cluster` needs: those of greedy centroids, or all for the other methods. Parameters and errors as for
        `find_near_pairs`."""
        if self._first_copies is None:
            return self.find_near_pairs(progress, scratch)
        order, _ = self._first_copies
        return NearPairGraph(self.distances.find_centroid_pairs(order, progress, self._storage(scratch)), self._copies, order)

    def _storage(self, scratch: MakeScratch) -> EdgeStorage:
        return EdgeStorage(self.distances.near_pair_bytes(self.memory), scratch)

    @cached_property
    def _first_copies(self) -> tuple[Integers, Integers] | None:
        """(distinct records in clustering order, the copy of each that is clustered first); None for linkage methods."""
        return None if self.record_order is None else first_copies(self.record_order, self.distances.duplicates.group_of)

    @property
    def _copies(self) -> Integers:
        """Number of copies of each distinct record: int64[records]."""
        duplicates = self.distances.duplicates
        return np.bincount(duplicates.group_of, minlength=len(duplicates))

    def cluster(self, near: NearPairGraph, progress: ExtendableProgress) -> Clustering:
        """Return the clusters by `method`. Raises `TooLittleMemory` if the linkage of connected records would need more than the memory
        limit."""
        edges, duplicates = near.edges, self.distances.duplicates
        if self._first_copies is not None:
            _, leaders = self._first_copies
            return clustering_from_centroids(near.centroids, edges).expand_copies(duplicates.group_of, leaders)
        labels = single_linkage(edges) if self.method == "single" else self._linkage_labels(edges, progress)
        return clustering_from_labels(labels, edges, near.copies).expand_copies(duplicates.group_of, duplicates.first_records)

    def cluster_levels(self, near: NearPairGraph, levels: Sequence[float]) -> Integers:
        """Return the single-linkage clusters at each level: a label for each record, int64[levels][records].

        levels: maximum distances, descending; the first is the maximum distance of near pairs
        """
        limits = self.distances.distance_limits(levels)
        limits[0] = np.inf  # the exact rule of the first level has already selected the near pairs
        return labels_at(near.forest, limits)[:, self.distances.duplicates.group_of]

    def _linkage_labels(self, edges: EdgeList, progress: ExtendableProgress) -> Integers:
        group_of = self.distances.duplicates.group_of
        largest = largest_linked_count(edges, group_of)
        if largest and (needed := linkage_bytes(largest, edges)) > self.memory:
            raise TooLittleMemory(
                f"{largest:,} records are connected, and {self.method} linkage of them takes {format_bytes(needed)} of memory",
                needed,
                f"raise {parameter('memory')}, choose a nearer threshold, or {parameter('method', 'single')} or greedy",
                self.memory,
            )
        if self.method == "complete":
            return complete_linkage(edges, group_of)
        distances = self.distances
        return average_linkage(
            edges, self.max_distance, lambda groups: distances.distances_within(groups, progress), group_of, distances.rounding_error
        )


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
    records = inputs.queries
    order = _record_order(options, records.ids, records.lengths, table_abundances(records) if options.needs_abundances else None)
    scoring = o.scoring if isinstance(o.scoring, Scoring) else scoring_of(inputs, o.scoring)
    groups, selector = _group_records(records, scoring, o, reporter)
    copied = copy_bytes(records, groups)
    batches = (copied or records.nbytes) if options.method == "greedy" and options.verify is None else 0
    memory = o.resources.memory or default_memory(records.nbytes + copied + batches + 2 * RECORD_BYTES * len(groups))
    if not worth_copying(copied, memory - records.nbytes):
        groups, copied = singleton_groups(records), 0
    if not worth_copying(batches, memory - records.nbytes - copied):
        batches = 0
    if selector is not None:
        filter = replace(filter, groups=selector.select(groups.first_records))
    if groups.repeated_count:
        reporter.detail(f"{format_count(groups.repeated_count, 'record')} equal to earlier ones")
        distinct = select_distinct(records, groups, o.resources.host_threads)
        inputs = replace(inputs, queries=distinct, targets=distinct)
    original_bytes = records.nbytes if copied else 0  # kept in addition to the copy of the distinct records

    def prepare_distances(batches: int, reporter: Reporter) -> AlignmentDistances:
        near_bytes = near_pair_memory(records.nbytes + copied + batches, memory)
        resources = o.resources.with_memory(memory - near_bytes - original_bytes - batches, memory)
        given = replace(o, scoring=scoring, resources=resources)
        job = nw.prepare_filtered(inputs, given, filter, filter.detail, Pairing.ABOVE, reporter, for_centroids=batches > 0)
        task = replace(job.task, queries=records, targets=records)
        in_batches = isinstance(job, NearPairJob) or (isinstance(job, EveryPairJob) and compares_centroids(job))
        return AlignmentDistances(task, groups, inputs, job, given, filter, batches if in_batches else 0)

    try:
        alignments = prepare_distances(batches, reporter)
    except TooLittleMemory:
        if not batches:
            raise
        alignments = prepare_distances(0, SILENT_REPORTER)
    return _make_job(alignments, options, order, memory), alignments


def _group_records(
    records: SequenceSet, scoring: Scoring, o: nw.NwOptions, reporter: Reporter
) -> tuple[DuplicateGroups, GroupPairSelector | None]:
    """Return (groups of equal records at distance 0 of each other, selector of the pairs that agree in all columns in which near pairs must
    agree). The selector is None if there are no such columns."""
    # Copies that consist of ambiguity letters have no identity if columns with such letters are skipped.
    is_self_distance_zero = scoring.listed_distance is not None or scoring.self_alignment_is_gapless(records.used_codes)
    groups_equal = is_self_distance_zero and o.ambiguity_rule is not AmbiguityRule.SKIP
    groups = group_copies(records, scoring.v_genes, o.resources.host_threads) if groups_equal else singleton_groups(records)
    if not (same := o.read_options.columns.same):
        return groups, None
    selector = shared_annotation_pairs(records, records, same, o.alleles, reporter)
    numbers = np.arange(len(records))
    agrees_with_copies = selector.selection_mask(numbers, numbers)
    return split_groups(groups, np.where(agrees_with_copies, selector.queries, selector.queries.max() + 1 + numbers)), selector


def listed_pair_memory(memory: int) -> int:
    """Return the bytes for the pairs of a list: a quarter of the memory. Another quarter holds the pairs once they are sorted."""
    return memory // 4


def prepare_precomputed(
    precomputed: PrecomputedDistances,
    are_identities: bool,
    lengths: Integers | None,
    options: ClusterOptions,
    reporter: Reporter = SILENT_REPORTER,
    sizes: Sequence[int] | None = None,
) -> ClusterJob:
    """Plan the clustering of precomputed distances or identities.

    lengths: record lengths; None if unknown
    sizes: abundances of the records; None: those in the ids

    Raises `InputError` for options that contradict each other or do not apply to precomputed values.
    """
    options.check(aligned=False)
    given = options.alignment_options.thresholds
    bound = "levels" if options.levels else "max_distance"
    if are_identities:
        check_fraction(bound, given.max_distance, meaning="1 - identity,")
    for name in ("min_coverage", "coverage_of"):
        if getattr(given, name) is not None:
            raise InputError(f"{parameter(name)} is about alignments; it cannot be combined with precomputed distances")
    if given.min_identity is not None and not are_identities:
        identity, distance = parameter("min_identity"), parameter("max_distance")
        raise InputError(f"{identity} is about identities, and these are distances; give {distance}")
    order = _record_order(options, precomputed.ids, lengths, sizes)
    if given.max_distance is not None and given.max_distance > 1 and precomputed.are_fractions:
        reporter.warn(f"every distance is a fraction, and {percentage_warning(bound, given.max_distance)}")
    if given.max_distance is not None and 0 < given.max_distance < 1 and precomputed.are_counts:
        reporter.warn(f"every distance is a whole number, so {parameter(bound, f'{given.max_distance:g}')} keeps only pairs at distance 0")
    limits = [limit for limit in (given.max_distance, given.min_identity, *(options.levels or ())) if limit is not None]
    are_short = all(limit == round(limit, WRITTEN_DECIMALS[0]) for limit in limits)
    threshold = Threshold(given.max_distance, given.min_identity, are_identities, None if are_short else precomputed.decimals)
    if missing := _unknown_pair_count(precomputed):
        reporter.note(
            "1 pair has no distance, and is not near" if missing == 1 else f"{missing:,} pairs have no distance, and are not near"
        )
    memory = options.alignment_options.resources.memory or default_memory()
    return _make_job(KnownDistances(precomputed, threshold), options, order, memory)


def _unknown_pair_count(precomputed: PrecomputedDistances) -> int:
    listed = len(precomputed.pairs) if isinstance(precomputed, ListedPairs) else len(precomputed.ids) * (len(precomputed.ids) - 1) // 2
    return listed - precomputed.known_pair_count


def _record_order(o: ClusterOptions, ids: Sequence[str], lengths: Integers | None, sizes: Sequence[int] | None = None) -> Integers | None:
    if o.method != "greedy":
        return None
    return clustering_order(o.order or ("input" if lengths is None else "length"), ids, lengths, sizes)


def _make_job(distances: DistanceSource, o: ClusterOptions, order: Integers | None, memory: int) -> ClusterJob:
    given = o.alignment_options.thresholds
    cut = given.max_distance if given.max_distance is not None else 1 - (given.min_identity or 0.0)
    return ClusterJob(distances, o.method, order, cut, memory)
