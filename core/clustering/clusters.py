"""A clustering, and functions that build a clustering from labels or centroids."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import field

import numpy as np

from gpualign.core.clustering.edges import Chunk, EdgeList
from gpualign.core.common.arrays import Integers, Reals
from gpualign.core.common.dataclass import dataclass

_ROUNDING_TOLERANCE = 1e-12
"""Maximum relative difference between two sums of the same distances added in different orders."""


@dataclass(frozen=True)
class Clustering:
    """Clusters of records.

    labels: cluster of each record, int64[records]; clusters are numbered from 0 in order of their first records
    representatives: representative record of each cluster, int64[clusters]
    distances: distance between each record and its representative, float64[records]; nan if unknown
    """

    labels: Integers = field(repr=False)
    representatives: Integers = field(repr=False)
    distances: Reals = field(repr=False)

    @property
    def sizes(self) -> Integers:
        """Number of records in each cluster: int64[clusters]."""
        return np.bincount(self.labels, minlength=len(self.representatives)).astype(np.int64)

    @property
    def summary(self) -> dict[str, object]:
        """Numbers for the summary: how many clusters, singletons, and records in the largest cluster there are."""
        sizes = self.sizes.tolist()
        return {"clusters": len(sizes), "singletons": sizes.count(1), "largest_cluster": max(sizes, default=0)}

    def expand_copies(self, record_of_copy: Integers, representative_copies: Integers) -> Clustering:
        """Return the clustering of all copies of these records, given the clustering of the records.

        record_of_copy: int64[copies], for each copy, the record of this clustering that it duplicates; these records are numbered in order
            of their first copies
        representative_copies: int64[records], for each record of this clustering, the copy that represents a cluster if the record
            represents it
        """
        return Clustering(self.labels[record_of_copy], representative_copies[self.representatives], self.distances[record_of_copy])


def renumber_labels(labels: Integers) -> Integers:
    """Renumber the clusters in `labels` from 0 in order of their first records."""
    _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    number = np.empty(len(first), dtype=np.int64)
    number[np.argsort(first)] = np.arange(len(first))
    return number[inverse.reshape(-1)]


def clustering_from_labels(labels: Integers, edges: EdgeList, copy_counts: Integers | None = None) -> Clustering:
    """Return the clustering with these labels. A cluster's representative is the record with the most near records in the cluster; ties are
    broken by the smallest sum of distances to these, then by record order. If all records are near each other, the representative is the
    medoid.

    labels: cluster of each record
    edges: pairs of near records
    copy_counts: number of copies of each record, int64[records]; None if every record occurs once. The copies of a record are near each
        other, at distance 0
    """
    labels = renumber_labels(labels)
    copy_counts = np.ones(edges.record_count, dtype=np.int64) if copy_counts is None else copy_counts
    near, sums = copy_counts - 1, np.zeros(edges.record_count)
    for i, j, distance in edges.chunks():
        within = labels[i] == labels[j]
        i, j, distance = i[within], j[within], distance[within]
        for one, other in ((i, j), (j, i)):
            near += np.bincount(one, copy_counts[other], minlength=edges.record_count).astype(np.int64)
            sums += np.bincount(one, copy_counts[other] * distance, minlength=edges.record_count)
    return clustering_with_distances(labels, representatives(labels, near, sums), edges.chunks())


def representatives(labels: Integers, near_counts: Integers, distance_sums: Reals) -> Integers:
    """Return the representative of each cluster: int64[clusters]. A representative is the record with the most near records in the cluster;
    ties are broken by the smallest sum of distances to these, then by record order.

    labels: cluster of each record, as returned by `renumber_labels`
    near_counts: for each record, number of near records in the same cluster
    distance_sums: for each record, sum of the distances to these near records
    """
    count = int(labels.max(initial=-1)) + 1
    max_near, min_sums = np.zeros(count, dtype=near_counts.dtype), np.full(count, np.inf)
    np.maximum.at(max_near, labels, near_counts)
    best = near_counts == max_near[labels]
    np.minimum.at(min_sums, labels[best], distance_sums[best])
    best &= distance_sums <= (min_sums * (1 + _ROUNDING_TOLERANCE))[labels]
    chosen = np.full(count, len(labels), dtype=np.int64)
    np.minimum.at(chosen, labels[best], np.flatnonzero(best))
    return chosen


def clustering_from_centroids(centroids: Integers, edges: EdgeList) -> Clustering:
    """Return the clustering in which each centroid represents its records.

    centroids: index of each record's centroid, int64[records]
    edges: pairs of near records
    """
    labels = renumber_labels(centroids)
    chosen = np.empty(int(labels.max(initial=-1)) + 1, dtype=np.int64)
    chosen[labels] = centroids
    return clustering_with_distances(labels, chosen, edges.chunks())


def clustering_with_distances(labels: Integers, representatives: Integers, chunks: Iterable[Chunk]) -> Clustering:
    """Return the clustering with these labels and representatives, and with the distance between each record and its representative.

    labels: cluster of each record, as returned by `renumber_labels`
    representatives: representative of each cluster
    chunks: (i, j, distance) of the pairs with known distances, in any number of parts
    """
    distances = np.full(len(labels), np.nan)
    distances[representatives] = 0
    representative_of = representatives[labels]
    for i, j, distance in chunks:
        for one, other in ((i, j), (j, i)):
            to_representative = representative_of[one] == other
            distances[one[to_representative]] = distance[to_representative]
    return Clustering(labels, representatives, distances)
