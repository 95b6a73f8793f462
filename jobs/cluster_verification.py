"""Verification of clusters from a file: the work of `gpualign cluster` when it is given clusters."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from gpualign.core.clustering.cluster_files import ClusterFileKind, ListedClusters, read_clusters
from gpualign.core.clustering.clusters import Clustering, renumber_labels
from gpualign.core.clustering.edge_builder import EdgeStorage
from gpualign.core.clustering.given_clusters import GivenClusters, match_records
from gpualign.core.clustering.linkage import single_linkage
from gpualign.core.clustering.repair import repair_representatives
from gpualign.core.clustering.verification import Problems, find_connection_problems, find_representative_problems, member_distances
from gpualign.core.common.dataclass import dataclass
from gpualign.core.common.errors import InputError, parameter
from gpualign.core.execution.totals import ExtendableProgress
from gpualign.core.files.paths import open_input
from gpualign.core.files.scratch import MakeScratch
from gpualign.jobs.cluster import ClusterJob, NearPairGraph

_STORED_FRACTION = 0.25
"""Fraction of the memory for near pairs that pairs of representatives may take beside them."""


def read_listed_clusters(path: str) -> ListedClusters:
    """Read the clusters in a file; "-" is standard input. Raises `InputError` as `read_clusters` does."""
    with open_input(path) as (stream, source):
        return read_clusters(stream, source)


def method_of(listed: ListedClusters) -> str:
    """Return the method by which clusters are verified unless the user chooses another: single linkage for a table, because it is the
    default of `cluster`, which writes tables; greedy for the files of programs that choose representatives."""
    return "single" if listed.kind is ClusterFileKind.TABLE else "greedy"


@dataclass(frozen=True)
class ClusterCheck:
    """Clusters to be verified.

    given: the clusters
    job: finds the near pairs of the records
    """

    given: GivenClusters
    job: ClusterJob

    def find_problems(self, near: NearPairGraph, progress: ExtendableProgress, scratch: MakeScratch) -> Problems:
        """Return the problems, given the near pairs that `job` has found. Members that are far from their representatives are aligned with
        them once more, on the CPU, so that their distances are known.

        scratch: creates temporary files for pairs of representatives that do not fit into memory

        Raises `RunError` if temporary files cannot be written, or if there is not enough memory for an alignment.
        """
        groups = self.job.distances.duplicates
        if self.job.method == "single":
            return find_connection_problems(self.given, groups, near.edges, single_linkage(near.edges))
        far_distances = partial(self.job.distances.distances_of, progress=progress)
        return find_representative_problems(self.given, groups, near.edges, self._storage(scratch), far_distances)

    def fix(self, near: NearPairGraph, scratch: MakeScratch) -> tuple[Clustering, int]:
        """Return (clusters without problems, how many records have another representative than before).

        scratch: creates temporary files for pairs that do not fit into memory

        Raises `RunError` if temporary files cannot be written.
        """
        groups, order = self.job.distances.duplicates, self.job.record_order
        assert order is not None  # of the greedy method
        before = self.given.representative_of
        distances = member_distances(before, groups, near.edges.chunks())
        after = repair_representatives(self.given, distances, groups, near.edges, order, self._storage(scratch))
        labels = renumber_labels(after)
        representatives = np.empty(int(labels.max(initial=-1)) + 1, dtype=np.int64)
        representatives[labels] = after
        distances = member_distances(after, groups, near.edges.chunks())
        return Clustering(labels, representatives, distances), int(np.count_nonzero(before != after))

    def _storage(self, scratch: MakeScratch) -> EdgeStorage:
        return EdgeStorage(int(_STORED_FRACTION * self.job.distances.near_pair_bytes(self.job.memory)), scratch)


def prepare(listed: ListedClusters, ids: Sequence[str], job: ClusterJob) -> ClusterCheck:
    """Return the verification of clusters of these records.

    ids: ids of the records
    job: finds their near pairs

    Raises `InputError` if ids of the file are not among the records, and for clusters without representatives by the greedy method.
    """
    if job.method == "greedy" and listed.representatives is None:
        greedy, single = parameter("method", "greedy"), parameter("method", "single")
        raise InputError(f"{listed.source} has no representatives, which {greedy} needs; {single} checks how its clusters are connected")
    return ClusterCheck(match_records(listed, ids), job)
