"""Finds the clusters of a run, their names, or the problems of given clusters, and writes them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import field
from typing import TYPE_CHECKING

from gpualign.core.clustering.clusters import Clustering
from gpualign.core.clustering.problem_writer import write_problems
from gpualign.core.clustering.verification import Problems
from gpualign.core.common.dataclass import dataclass
from gpualign.core.execution.totals import ExtendableProgress
from gpualign.jobs.cluster import ClusterJob, ClusterOptions, NearPairs
from gpualign.jobs.linkage_report import open_linkage_report, reported_clustering, reported_names
from gpualign.jobs.member_alignments import align_members
from gpualign.jobs.output.atomic_files import OutputFiles, translate_output_errors
from gpualign.jobs.output.clusters import ClusteredRecords, ClusterSpec, are_integers, open_cluster_outputs
from gpualign.jobs.output.run_reporter import RunReporter
from gpualign.jobs.sequence_loading import Inputs

if TYPE_CHECKING:
    from gpualign.core.clustering.linkage_writer import RecordDates
    from gpualign.core.sequences.cells import Cells
    from gpualign.jobs.cell_clusters import CellDistances
    from gpualign.jobs.cluster_distances import AlignmentDistances
    from gpualign.jobs.cluster_names import EarlierNames, NamedClusters, NamesFiles
    from gpualign.jobs.cluster_verification import ClusterCheck


@dataclass(frozen=True)
class ClusterRun:
    """A run that is ready to find near pairs.

    job: the job
    ids: ids of the records
    inputs: their sequences; None: only the ids are known
    alignments: source of distances, if records are aligned
    are_identities: whether the distances are 1 - identity
    cells: the records, if they are cells of the sequences
    options: options of the command
    spec: the outputs
    dates: dates of the records; None: unknown
    files: commits the outputs
    reporter: receives progress
    """

    job: ClusterJob
    ids: Sequence[str] = field(repr=False)
    inputs: Inputs | None = field(repr=False)
    alignments: AlignmentDistances | CellDistances | None = field(repr=False)
    are_identities: bool
    cells: Cells | None = field(repr=False)
    options: ClusterOptions
    spec: ClusterSpec
    dates: RecordDates | None = field(repr=False)
    files: OutputFiles
    reporter: RunReporter

    @contextmanager
    def _near_pairs(self) -> Iterator[tuple[NearPairs, ExtendableProgress]]:
        with self.reporter.progress(self.job.total_work, self.spec.path, self.job.work_unit) as progress:
            yield self.job.find_near_pairs(progress, self.files.new_scratch), progress

    def write_names(self, names: NamesFiles, earlier: EarlierNames, has_all_near_pairs: bool) -> tuple[NamedClusters, NearPairs]:
        """Name the clusters at several thresholds, write the names, and return (names, near pairs).

        names: files of the names
        earlier: names of earlier runs
        has_all_near_pairs: whether the run has all near pairs of all records, those of earlier runs included
        """
        levels = self.options.levels
        with names.open(self.files) as write, open_linkage_report(self.options.linkage_report, self.files) as write_report:
            with self._near_pairs() as (near, progress):
                named = earlier.extend(levels, self.ids, self.job.cluster_levels(near, levels))
                if write_report is not None:
                    write_report(reported_names(named, self.ids, self.dates, has_all_near_pairs), self.job, near, progress)
            write(named)
        return named, near

    def write_clusters(self, check: ClusterCheck | None = None) -> tuple[Clustering, NearPairs, int | None]:
        """Cluster the records, write the clusters, and return (clusters, near pairs, how many records were changed, if given clusters are
        fixed). check: given clusters to fix; None: there are none"""
        changed = None
        with (
            open_cluster_outputs(self.spec, self.files) as write,
            open_linkage_report(self.options.linkage_report, self.files) as write_report,
        ):
            with self._near_pairs() as (near, progress):
                if check is None:
                    clustering = self.job.cluster(near, progress)
                else:
                    clustering, changed = check.fix(near, self.files.new_scratch)
                if write_report is not None:
                    write_report(reported_clustering(clustering, self.job.max_distance, self.ids, self.dates), self.job, near, progress)
                members, alignment = None, self.options.alignment_options
                if self.alignments is not None and self.spec.writes_uc:
                    task, duplicates = self.alignments.task, self.alignments.duplicates
                    members = align_members(task, duplicates, clustering, alignment.identity_def, alignment.resources.memory)
            threads = alignment.resources.host_threads
            write(ClusteredRecords(self.ids, clustering, self.inputs, members, self.are_identities, threads, self.cells))
        return clustering, near, changed

    def write_problems(self, check: ClusterCheck) -> tuple[Problems, NearPairs]:
        """Write the problems of given clusters, and return (problems, near pairs)."""
        path = self.spec.path
        with translate_output_errors(path), self.files.open_text(path) as stream:
            with self._near_pairs() as (near, progress):
                problems = check.find_problems(near, progress, self.files.new_scratch)
            are_counts = not self.are_identities and all(are_integers(distances) for *_, distances in problems.chunks())
            write_problems(stream, self.ids, check.given, problems, are_counts)
        return problems, near
