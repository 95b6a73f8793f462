"""Finds the clusters of a run, their names, or the problems of given clusters, and writes them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import field
from typing import TYPE_CHECKING

from gpualign.core.clustering.clusters import Clustering
from gpualign.core.clustering.problem_writer import write_problems
from gpualign.core.clustering.verification import Problems
from gpualign.core.common.dataclass import dataclass
from gpualign.core.execution.totals import ExtendableProgress
from gpualign.jobs.cluster import ClusterOptions, NearPairGraph
from gpualign.jobs.cluster_sources import ClusterSource
from gpualign.jobs.linkage_report import open_linkage_report, reported_clustering, reported_names
from gpualign.jobs.member_alignments import align_members
from gpualign.jobs.output.atomic_files import OutputFiles, translate_output_errors
from gpualign.jobs.output.clusters import ClusteredRecords, ClusterSpec, are_integers, open_cluster_outputs
from gpualign.jobs.output.run_reporter import RunReporter

if TYPE_CHECKING:
    from gpualign.core.clustering.linkage_writer import RecordDates
    from gpualign.jobs.cluster_names import EarlierNames, NamedClusters, NamesFiles
    from gpualign.jobs.cluster_verification import ClusterCheck


@dataclass(frozen=True)
class ClusterRun:
    """A run that is ready to find near pairs.

    source: the records
    options: options of the command
    spec: the outputs
    dates: dates of the records; None: unknown
    files: commits the outputs
    reporter: receives progress
    """

    source: ClusterSource
    options: ClusterOptions
    spec: ClusterSpec
    dates: RecordDates | None = field(repr=False)
    files: OutputFiles
    reporter: RunReporter

    @contextmanager
    def _near_pairs(self, to_cluster: bool = False) -> Iterator[tuple[NearPairGraph, ExtendableProgress]]:
        """Find all near pairs, or only those that the method needs to cluster the records."""
        job = self.source.job
        with self.reporter.progress(0, self.spec.path, job.work_unit) as progress:
            find = job.find_pairs_to_cluster if to_cluster else job.find_near_pairs
            yield find(progress, self.files.new_scratch), progress

    def write_names(self, names: NamesFiles, earlier: EarlierNames, has_all_near_pairs: bool) -> tuple[NamedClusters, NearPairGraph]:
        """Name the clusters at several thresholds, write the names, and return (names, near pairs).

        names: files of the names
        earlier: names of earlier runs
        has_all_near_pairs: whether the run has all near pairs of all records, those of earlier runs included
        """
        levels, job, ids = self.options.levels, self.source.job, self.source.ids
        with names.open(self.files) as write, open_linkage_report(self.options.linkage_report, self.files) as write_report:
            with self._near_pairs() as (near, progress):
                named = earlier.extend(levels, ids, job.cluster_levels(near, levels))
                if write_report is not None:
                    write_report(reported_names(named, ids, self.dates, has_all_near_pairs), job, near, progress)
            write(named)
        return named, near

    def write_clusters(self, check: ClusterCheck | None = None) -> tuple[Clustering, NearPairGraph, int | None]:
        """Cluster the records, write the clusters, and return (clusters, near pairs, how many records were changed, if given clusters are
        fixed). check: given clusters to fix; None: there are none"""
        source, job, changed = self.source, self.source.job, None
        with (
            open_cluster_outputs(self.spec, self.files) as write,
            open_linkage_report(self.options.linkage_report, self.files) as write_report,
        ):
            with self._near_pairs(to_cluster=check is None) as (near, progress):
                if check is None:
                    clustering = job.cluster(near, progress)
                else:
                    clustering, changed = check.fix(near, self.files.new_scratch)
                if write_report is not None:
                    write_report(reported_clustering(clustering, job.max_distance, source.ids, self.dates), job, near, progress)
                members, alignment = None, self.options.alignment_options
                if source.alignments is not None and self.spec.writes_uc:
                    task, duplicates = source.alignments.task, source.alignments.duplicates
                    members = align_members(task, duplicates, clustering, alignment.identity_def, alignment.resources.memory)
            threads = alignment.resources.host_threads
            write(ClusteredRecords(source.ids, clustering, source.inputs, members, source.are_identities, threads, source.cells))
        return clustering, near, changed

    def write_problems(self, check: ClusterCheck) -> tuple[Problems, NearPairGraph]:
        """Write the problems of given clusters, and return (problems, near pairs)."""
        path = self.spec.path
        with translate_output_errors(path), self.files.open_text(path) as stream:
            with self._near_pairs() as (near, progress):
                problems = check.find_problems(near, progress, self.files.new_scratch)
            are_counts = not self.source.are_identities and all(are_integers(distances) for *_, distances in problems.chunks())
            write_problems(stream, self.source.ids, check.given, problems, are_counts)
        return problems, near
