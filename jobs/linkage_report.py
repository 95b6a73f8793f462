"""Report of how far single linkage has chained records together (docs/formats/linkage.md)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import field
from pathlib import Path

import numpy as np

from gpualign.core.clustering.clusters import Clustering
from gpualign.core.clustering.edges import Chunk, Edges
from gpualign.core.clustering.linkage_report import ClusterLinks, cluster_diameters, first_and_last, longest_links
from gpualign.core.clustering.linkage_writer import RecordDates, write_linkage_report
from gpualign.core.clustering.names_files import level_text
from gpualign.core.common.arrays import Integers
from gpualign.core.common.dataclass import dataclass
from gpualign.core.common.errors import InputError, parameter
from gpualign.core.execution.totals import ExtendableProgress
from gpualign.jobs.cluster import ClusterJob, NearPairGraph
from gpualign.jobs.cluster_names import NamedClusters
from gpualign.jobs.output.atomic_files import OutputFiles, output_path, translate_output_errors

WriteReport = Callable[["ReportedClusters", ClusterJob, NearPairGraph, ExtendableProgress], None]
"""Function that writes the report of some clusters, given the job and its near pairs."""


@dataclass(frozen=True)
class ReportedClusters:
    """Clusters to report on.

    ids: ids of the records
    levels: maximum distance of each level, as text
    labels: cluster of each record at each level, as it is written, int64[levels][records]; clusters of a level lie within those of the
        levels before it
    places: number, among these records, of each record that was clustered in this run
    dates: dates of the records; None: unknown
    has_all_near_pairs: whether this run has all near pairs of the clustered records. If not, the longest link is known only for clusters
        all of whose pairs are known
    """

    ids: Sequence[str] = field(repr=False)
    levels: Sequence[str]
    labels: Integers = field(repr=False)
    places: Integers = field(repr=False)
    dates: RecordDates | None = None
    has_all_near_pairs: bool = True

    def find_links(self, job: ClusterJob, near: NearPairGraph, progress: ExtendableProgress) -> list[ClusterLinks]:
        """Return the facts about the clusters of each level. near: near pairs that `job` has found.

        Raises `TooLittleMemory` if the distances within a cluster must be computed and do not fit into memory.
        """
        numbered = [np.unique(own, return_inverse=True) for own in self.labels]
        labels = [own.reshape(-1) for _, own in numbered]
        firsts = self.places[job.distances.duplicates.first_records]
        of_distinct = [own[firsts] for own in labels]
        diameters = cluster_diameters(of_distinct, _known_pairs(job, near, of_distinct[0], progress))
        forest = self._forest(job, near)
        found = []
        for (names, _), own, known in zip(numbered, labels, diameters, strict=True):
            sizes = np.bincount(own)
            diameter = np.full(len(sizes), np.nan)
            diameter[: len(known)] = known
            diameter[np.bincount(own[self.places], minlength=len(sizes)) < sizes] = np.nan
            links, ends = longest_links(own, forest)
            if not self.has_all_near_pairs:
                links[np.isnan(diameter)], ends[np.isnan(diameter)] = np.nan, -1
            dated = np.full((2, len(sizes)), -1) if self.dates is None else np.stack(first_and_last(own, self.dates.days))
            shown = sizes > 1
            found.append(ClusterLinks(names[shown], sizes[shown], diameter[shown], links[shown], ends[shown], *dated[:, shown]))
        return found

    def _forest(self, job: ClusterJob, near: NearPairGraph) -> Edges:
        """Return the minimum spanning forest of all records, in which a copy is at distance 0 from the first one."""
        duplicates, forest = job.distances.duplicates, near.forest
        firsts = self.places[duplicates.first_records][duplicates.group_of]
        copies = np.flatnonzero(firsts != self.places)
        one = np.concatenate((self.places[duplicates.first_records[forest.i]], firsts[copies]))
        other = np.concatenate((self.places[duplicates.first_records[forest.j]], self.places[copies]))
        distance = np.concatenate((forest.distance, np.zeros(len(copies))))
        return Edges(len(self.ids), np.minimum(one, other), np.maximum(one, other), distance)


def reported_names(named: NamedClusters, ids: Sequence[str], dates: RecordDates | None, has_all_near_pairs: bool) -> ReportedClusters:
    """Return named clusters as a report shows them.

    ids: ids of the records that were clustered in this run
    has_all_near_pairs: as in `ReportedClusters`
    """
    place = {name: k for k, name in enumerate(named.names.ids)}
    places = np.array([place[name] for name in ids], dtype=np.int64)
    return ReportedClusters(named.names.ids, list(map(level_text, named.levels)), named.names.codes, places, dates, has_all_near_pairs)


def reported_clustering(clustering: Clustering, max_distance: float, ids: Sequence[str], dates: RecordDates | None) -> ReportedClusters:
    """Return the clusters at one threshold, numbered from 1, as a report shows them."""
    return ReportedClusters(ids, [f"{max_distance:.10g}"], clustering.labels[None] + 1, np.arange(len(ids), dtype=np.int64), dates)


def _known_pairs(job: ClusterJob, near: NearPairGraph, labels: Integers, progress: ExtendableProgress) -> Iterator[Chunk]:
    """Yield the known distances within clusters, each pair once: near pairs, or the distances of the job's source for clusters that also
    have other pairs. labels: cluster of each distinct record at the first level, numbered from 0."""
    sizes = np.bincount(labels)
    counts = sum((np.bincount(labels[i], minlength=len(sizes)) for i, _, _ in near.edges.chunks()), np.zeros(len(sizes), dtype=np.int64))
    has_others = counts < sizes * (sizes - 1) // 2
    for i, j, distance in near.edges.chunks():
        mask = ~has_others[labels[i]]
        yield i[mask], j[mask], distance[mask]
    if not has_others.any():
        return
    groups = [np.flatnonzero(labels == k) for k in np.flatnonzero(has_others).tolist()]
    for i, j, distance in job.distances.known_pairs(groups, progress):
        mask = has_others[labels[i]] & (labels[i] == labels[j])
        yield i[mask], j[mask], distance[mask]


@contextmanager
def open_linkage_report(name: str | None, files: OutputFiles) -> Iterator[WriteReport | None]:
    """Open the report before any work is done, and yield the function that writes it. name: file; None: yield None. `files` commits the
    output."""
    if name is None:
        yield None
        return
    path = output_path(name)
    with ExitStack() as stack:
        stack.enter_context(translate_output_errors(path))
        stream = stack.enter_context(files.open_text(path))

        def write(clusters: ReportedClusters, job: ClusterJob, near: NearPairGraph, progress: ExtendableProgress) -> None:
            links = clusters.find_links(job, near, progress)
            with translate_output_errors(path):
                write_linkage_report(stream, clusters.ids, clusters.levels, links, clusters.dates)

        yield write


def report_paths(name: str | None) -> list[Path]:
    """Return the path of the report, if there is one. Raises `InputError` for standard output, to which the clusters go."""
    if name is None:
        return []
    path = output_path(name)
    if path is None:
        raise InputError(f"{parameter('linkage_report')}: name a file; standard output is for the clusters")
    return [path]
