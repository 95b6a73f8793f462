"""Distances between the records of a clustering: computed by alignment, or precomputed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Protocol

import numpy as np

from gpualign.core.alignment.coverage import CoveredSequence
from gpualign.core.alignment.pair_list import NearPairs
from gpualign.core.alignment.task import Task
from gpualign.core.clustering.edge_builder import EdgeStorage, collect_edges
from gpualign.core.clustering.edges import Chunk, EdgeList, pair_distances
from gpualign.core.clustering.precomputed import ListedPairs, MatrixOfPairs, Threshold
from gpualign.core.common.arrays import Integers, Reals
from gpualign.core.common.dataclass import dataclass
from gpualign.core.common.errors import TooLittleMemory, parameter
from gpualign.core.common.units import format_bytes
from gpualign.core.execution.totals import ExtendableProgress, Progress
from gpualign.core.near_pairs.deduplication import DuplicateGroups, singleton_groups
from gpualign.core.output.matrix import CondensedSink
from gpualign.core.output.matrix_value import MatrixValueKind, ValueMatrix
from gpualign.core.output.memory import MemoryArray
from gpualign.core.planning.tile_plan import Pairing
from gpualign.core.results.filter import Filter
from gpualign.jobs import nw
from gpualign.jobs.centroid_pairs import PairSource, estimate_seconds, find_centroid_pairs
from gpualign.jobs.every_pair import EveryPairJob
from gpualign.jobs.every_pair_subset import EveryPairSource, compares_centroids
from gpualign.jobs.job import DescriptionRows, PairJob
from gpualign.jobs.near_pair_subset import NearPairSource, NearPairSubset
from gpualign.jobs.near_pairs import NearPairJob
from gpualign.jobs.output.result_writing import write_results
from gpualign.jobs.pairs_as_arrays import passing_blocks
from gpualign.jobs.reporter import SILENT_REPORTER
from gpualign.jobs.sequence_loading import Inputs

PrecomputedDistances = ListedPairs | MatrixOfPairs

_LISTED_PAIRS = 1 << 14
"""Number of listed pairs that are aligned together."""


class DistanceSource(Protocol):
    """Source of distances between distinct records."""

    @property
    def duplicates(self) -> DuplicateGroups:
        """Groups of identical records. The other methods compare one record of each group, and identify it by the number of the group."""

    @property
    def work_unit(self) -> str:
        """Unit of the work that is reported as progress, "cells" or "pairs"."""

    def near_pair_bytes(self, memory: int) -> int:
        """Return the bytes that near pairs may take in memory. memory: memory that the clustering may use, in bytes."""

    def find_near_pairs(self, progress: ExtendableProgress, storage: EdgeStorage) -> EdgeList:
        """Return the near pairs. storage: where they are stored."""

    def find_centroid_pairs(self, order: Integers, progress: ExtendableProgress, storage: EdgeStorage) -> EdgeList:
        """Return the near pairs of greedy centroids with later records, and perhaps other near pairs. order: numbers of the records in
        clustering order; storage: where the pairs are stored"""

    def distance_limits(self, levels: Sequence[float]) -> Reals:
        """Return the limit for each of several maximum distances: a pair is near if, and only if, its distance does not exceed the limit,
        which allows for rounding. float64[levels]."""

    @property
    def rounding_error(self) -> float:
        """Maximum rounding error of distances at the threshold, and so of their means."""

    def distances_within(self, groups: Sequence[Integers], progress: ExtendableProgress) -> Iterator[Reals]:
        """Yield the distances between all pairs of each group as a condensed matrix, float64[pairs].

        groups: numbers of the records of each group, ascending; no record is in two groups
        """

    def distances_of(self, i: Integers, j: Integers, progress: ExtendableProgress) -> Reals:
        """Return the distances of listed pairs of records, i < j: float64[pairs], NaN for pairs whose distance is unknown."""

    def known_pairs(self, groups: Sequence[Integers], progress: ExtendableProgress) -> Iterator[Chunk]:
        """Yield known distances, each pair once, including those of all pairs within the groups. Pairs without a distance are left out.
        Yields nothing if only near pairs have distances.

        groups: as for `distances_within`
        """

    def describe(self, order: Integers | None) -> DescriptionRows:
        """Return the rows that describe the plan in a dry run. order: as for `find_centroid_pairs`, if that is called; otherwise None"""


def near_pair_memory(sequence_bytes: int, memory: int) -> int:
    """Return the bytes for near pairs: half of the memory that remains after the sequences. The other half is used first to find the pairs,
    then to process them."""
    return max(0, memory - sequence_bytes) // 2


@dataclass(frozen=True)
class AlignmentDistances:
    """Computes distances by alignment.

    task: the alignment of all records
    duplicates: groups of equal records
    distinct_inputs: one record from each group
    job: aligns `distinct_inputs`
    options: options of the alignments
    filter: conditions that a near pair must meet
    batch_bytes: memory for copies of records that are compared in batches, in bytes; 0: all pairs are compared together
    """

    task: Task
    duplicates: DuplicateGroups
    distinct_inputs: Inputs
    job: PairJob
    options: nw.NwOptions
    filter: Filter
    batch_bytes: int = 0

    @property
    def work_unit(self) -> str:
        return self.job.work_unit

    @property
    def pair_count(self) -> int:
        """Number of record pairs, including pairs of identical records."""
        return Pairing.ABOVE.pair_count(self.duplicates.record_count, self.duplicates.record_count)

    def near_pair_bytes(self, memory: int) -> int:
        return near_pair_memory(self.sequence_bytes + self.batch_bytes, memory)

    @property
    def sequence_bytes(self) -> int:
        """Size of the records and, if some are equal, of the copy of the distinct ones, in bytes."""
        records, distinct = self.task.queries, self.distinct_inputs.queries
        return records.nbytes + (0 if distinct is records else distinct.nbytes)

    def find_near_pairs(self, progress: ExtendableProgress, storage: EdgeStorage) -> EdgeList:
        progress.expect(self.job.total_work)
        return collect_edges(len(self.duplicates), self._near_chunks(self.job, progress), storage)

    def find_centroid_pairs(self, order: Integers, progress: ExtendableProgress, storage: EdgeStorage) -> EdgeList:
        source = self._pair_source()
        pairs = None if source is None else find_centroid_pairs(source, order, storage, progress)
        return self.find_near_pairs(progress, storage) if pairs is None else pairs

    def _pair_source(self) -> PairSource | None:
        """Return the source of near pairs for batches of records; None: all pairs are compared together."""
        if not self.batch_bytes:
            return None
        if isinstance(self.job, NearPairJob):
            return NearPairSource(self.job, self._near_chunks)
        if isinstance(self.job, EveryPairJob) and compares_centroids(self.job):
            # An alignment pairs at most the letters of the shorter record.
            ratio = self.filter.min_coverage if self.filter.coverage_of is CoveredSequence.BOTH else None
            return EveryPairSource(self.job, self._near_chunks, ratio or 0.0)
        return None

    def _near_chunks(self, job: PairJob | NearPairSubset, progress: Progress) -> Iterator[Chunk]:
        for i, j, values in passing_blocks(job, self.filter, self.options.identity_def, progress):
            if len(i):
                yield i, j, 1 - values if self.filter.min_identity is not None else values.astype(np.float64)

    def distance_limits(self, levels: Sequence[float]) -> Reals:
        return np.array(levels, dtype=np.float64)

    @property
    def rounding_error(self) -> float:
        return 0.0

    def distances_within(self, groups: Sequence[Integers], progress: ExtendableProgress) -> Iterator[Reals]:
        return (self._distances_among(members, progress) for members in groups)

    def known_pairs(self, groups: Sequence[Integers], progress: ExtendableProgress) -> Iterator[Chunk]:
        if self.has_only_near_distances:
            return
        largest, memory = max(map(len, groups)), self.options.resources.memory
        if memory is not None and (needed := 8 * (largest * (largest - 1) // 2)) > memory:
            raise TooLittleMemory(
                f"the distances between {largest:,} connected records take {format_bytes(needed)} of memory",
                needed,
                f"raise {parameter('memory')}, choose a nearer threshold, or leave out {parameter('linkage_report')}",
                memory,
            )
        for members, condensed in zip(groups, self.distances_within(groups, progress), strict=True):
            start = 0
            for place in range(len(members) - 1):
                others = members[place + 1 :]
                yield np.full(len(others), members[place]), others, condensed[start : start + len(others)]
                start += len(others)

    def distances_of(self, i: Integers, j: Integers, progress: ExtendableProgress) -> Reals:
        distances = np.full(len(i), np.nan)
        if self.has_only_near_distances:
            return distances
        lengths, unknown = self.job.task.queries.lengths, np.zeros(len(i), dtype=np.int64)
        progress.expect(int((lengths[i] * lengths[j]).sum()))
        parts = [slice(start, start + _LISTED_PAIRS) for start in range(0, len(i), _LISTED_PAIRS)]
        lists = [NearPairs(i[part], j[part], unknown[part]) for part in parts]
        for part, block in zip(parts, nw.align_listed_pairs(self.job.task, lists, self.options, progress), strict=True):
            if self.filter.lowest_identity is None:
                distances[part] = block.scores
            else:
                distances[part] = block.identity_distance if self.filter.max_distance is not None else 1 - block.identity_fraction
        return distances

    @property
    def has_only_near_distances(self) -> bool:
        """True if only near pairs have a distance, or if no other distances are computed."""
        return self.options.scoring.listed_distance is not None or bool(self.options.read_options.columns.same)

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

    def describe(self, order: Integers | None) -> DescriptionRows:
        """Return the rows that describe the job's plan, which covers distinct records only. order: as in `DistanceSource`"""
        rows = dict(self.job.describe())
        counts = {
            "sequences": f"{self.duplicates.record_count:,}",
            "distinct": f"{len(self.duplicates):,}",
            "pairs": f"{self.pair_count:,}",
        }
        if not self.duplicates.repeated_count:
            del counts["distinct"]
        source = None if order is None else self._pair_source()
        if isinstance(source, EveryPairSource):
            rows["estimate"] = f"at most {rows['estimate']}"
        elif source is not None and order is not None and (estimate := estimate_seconds(source, order)) is not None:
            rows["estimate"] = f"{estimate[0]:.1f} s, measured on {estimate[1]:,} of {len(order):,} records"
        return list({**counts, **rows, **counts}.items())


@dataclass(frozen=True)
class KnownDistances:
    """Source of precomputed distances.

    precomputed: the distances or identities
    threshold: threshold of near pairs
    """

    precomputed: PrecomputedDistances
    threshold: Threshold

    @property
    def duplicates(self) -> DuplicateGroups:
        """One group per record, because only the distances between records are known."""
        return singleton_groups(self.precomputed.ids)

    @property
    def work_unit(self) -> str:
        return "cells"

    def near_pair_bytes(self, memory: int) -> int:
        return memory // 2

    def find_near_pairs(self, progress: ExtendableProgress, storage: EdgeStorage) -> EdgeList:
        if isinstance(self.precomputed, ListedPairs) and self.precomputed.are_near_distances(self.threshold):
            return self.precomputed.pairs
        return collect_edges(len(self.precomputed.ids), self.precomputed.near_chunks(self.threshold), storage)

    def find_centroid_pairs(self, order: Integers, progress: ExtendableProgress, storage: EdgeStorage) -> EdgeList:
        return self.find_near_pairs(progress, storage)

    def distance_limits(self, levels: Sequence[float]) -> Reals:
        at = [replace(self.threshold, max_distance=level, min_identity=None) for level in levels]
        return np.array([threshold.distance_limit(self.precomputed.dtype) for threshold in at])

    @property
    def rounding_error(self) -> float:
        return self.threshold.rounding_error(self.precomputed.dtype)

    def distances_within(self, groups: Sequence[Integers], progress: ExtendableProgress) -> Iterator[Reals]:
        reason = f"{parameter('method', 'average')} (not single and complete) takes the mean of all distances"
        return map(self.threshold.distances, self.precomputed.condensed_values_of_groups(groups, reason))

    def distances_of(self, i: Integers, j: Integers, progress: ExtendableProgress) -> Reals:
        return pair_distances(i, j, len(self.precomputed.ids), self.known_pairs((), progress))

    def known_pairs(self, groups: Sequence[Integers], progress: ExtendableProgress) -> Iterator[Chunk]:
        for i, j, values in self.precomputed.chunks():
            known = ~np.isnan(values)
            yield i[known], j[known], self.threshold.distances(values[known])

    def describe(self, order: Integers | None) -> DescriptionRows:
        return [("records", f"{len(self.precomputed.ids):,}"), ("pairs", f"{self.precomputed.known_pair_count:,} known")]
