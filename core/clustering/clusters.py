"""A clustering, and functions that build a clustering from labels or centroids."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import field

import numpy as np

from gpualign.core.clustering.edges import Edges, Indices
from gpualign.core.common.arrays import Integers, Reals
from gpualign.core.common.dataclass import dataclass

_ROUNDING = 1e-12
"""Maximum relative difference between two sums of the same distances added in different orders."""


@dataclass(frozen=True)
class Clustering:
    """Clusters of records.

    labels: int64[count], cluster of each record; clusters are numbered from 0 in order of their first records
    representatives: int64[clusters], representative record of each cluster
    distances: float64[count], distance between each record and its representative; nan if unknown
    """

    labels: Integers = field(repr=False)
    representatives: Integers = field(repr=False)
    distances: Reals = field(repr=False)

    @property
    def sizes(self) -> Integers:
        """Number of records in each cluster: int64[clusters]."""
        return np.bincount(self.labels, minlength=len(self.representatives)).astype(np.int64)

    @property
    def figures(self) -> dict[str, object]:
        """Summary numbers: clusters, singletons, and records in the largest cluster."""
        sizes = self.sizes.tolist()
        return {"clusters": len(sizes), "singletons": sizes.count(1), "largest_cluster": max(sizes, default=0)}

    def of_copies(self, of: Integers, leaders: Integers) -> Clustering:
        """Return the clustering of copies of these records.

        of: int64[copies], for each copy, the record of this clustering that it duplicates; these records are numbered in order of their
            first copies
        leaders: int64[count], for each record of this clustering, the copy that serves as representative
        """
        return Clustering(self.labels[of], leaders[self.representatives], self.distances[of])


def numbered(labels: Integers) -> Integers:
    """Renumber the clusters in `labels` from 0 in order of their first records."""
    _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    number = np.empty(len(first), dtype=np.int64)
    number[np.argsort(first)] = np.arange(len(first))
    return number[inverse.reshape(-1)]


def of_labels(labels: Integers, edges: Edges, copies: Integers | None = None) -> Clustering:
    """Return the clustering with these labels. A cluster's representative is the record with the most near records in the cluster; ties are
    broken by the smallest sum of distances to these, then by record order. If all records are near each other, the representative is the
    medoid.

    labels: cluster of each record
    edges: pairs of near records
    copies: int64[count], number of copies of each record; None if every record occurs once. Copies are near each other, at distance 0
    """
    labels = numbered(labels)
    copies = np.ones(edges.count, dtype=np.int64) if copies is None else copies
    near, sums = copies - 1, np.zeros(edges.count)
    for i, j, distance in edges.chunks():
        within = labels[i] == labels[j]
        i, j, distance = i[within], j[within], distance[within]
        for one, other in ((i, j), (j, i)):
            near += np.bincount(one, copies[other], minlength=edges.count).astype(np.int64)
            sums += np.bincount(one, copies[other] * distance, minlength=edges.count)
    return measured(labels, representatives(labels, near, sums), edges.chunks())


def representatives(labels: Integers, near: Integers, sums: Reals) -> Integers:
    """Return the representative of each cluster: int64[clusters]. A representative is the record with the most near records in the cluster;
    ties are broken by the smallest sum of distances to these, then by record order.

    labels: cluster of each record, as returned by `numbered`
    near: for each record, number of near records in the same cluster
    sums: for each record, sum of the distances to these near records
    """
    count = int(labels.max(initial=-1)) + 1
    max_near, min_sums = np.zeros(count, dtype=near.dtype), np.full(count, np.inf)
    np.maximum.at(max_near, labels, near)
    best = near == max_near[labels]
    np.minimum.at(min_sums, labels[best], sums[best])
    best &= sums <= (min_sums * (1 + _ROUNDING))[labels]
    chosen = np.full(count, len(labels), dtype=np.int64)
    np.minimum.at(chosen, labels[best], np.flatnonzero(best))
    return chosen


def of_centroids(centroids: Integers, edges: Edges) -> Clustering:
    """Return the clustering with the centroids as representatives. centroids: centroid of each record."""
    labels = numbered(centroids)
    chosen = np.empty(int(labels.max(initial=-1)) + 1, dtype=np.int64)
    chosen[labels] = centroids
    return measured(labels, chosen, edges.chunks())


def measured(labels: Integers, chosen: Integers, chunks: Iterable[tuple[Indices, Indices, Reals]]) -> Clustering:
    """Return the clustering, with distances between each record and its representative.

    labels: cluster of each record, as returned by `numbered`
    chosen: representative of each cluster
    chunks: pairs with distances, as returned by `Edges.chunks`
    """
    distances = np.full(len(labels), np.nan)
    distances[chosen] = 0
    of = chosen[labels]
    for i, j, distance in chunks:
        for one, other in ((i, j), (j, i)):
            to_representative = of[one] == other
            distances[one[to_representative]] = distance[to_representative]
    return Clustering(labels, chosen, distances)
