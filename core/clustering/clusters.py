"""What a clustering is, whatever made it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import field

import numpy as np

from gpualign.core.clustering.edges import Edges, Indices
from gpualign.core.common.arrays import Integers, Reals
from gpualign.core.common.dataclass import dataclass

_ROUNDING = 1e-12
"""Largest relative difference of two sums of the same distances, added in another order."""


@dataclass(frozen=True)
class Clustering:
    """labels: int64[count], the cluster of each record, numbered from 0 in the order of their first records. representatives:
    int64[clusters], a record of each. distances: float64[count], of each record to its representative; nan where it is not known."""

    labels: Integers = field(repr=False)
    representatives: Integers = field(repr=False)
    distances: Reals = field(repr=False)

    @property
    def sizes(self) -> Integers:
        """Records of each cluster: int64[clusters]."""
        return np.bincount(self.labels, minlength=len(self.representatives)).astype(np.int64)

    @property
    def figures(self) -> dict[str, object]:
        """For summaries: how many clusters there are, those of one record, and the records of the largest."""
        sizes = self.sizes.tolist()
        return {"clusters": len(sizes), "singletons": sizes.count(1), "largest_cluster": max(sizes, default=0)}

    def of_copies(self, of: Integers, leaders: Integers) -> Clustering:
        """The clusters of records that are copies of these. of: int64[records], which of these each is a copy of, numbered by their first
        copies; leaders: int64[count], the copy of each that represents others."""
        return Clustering(self.labels[of], leaders[self.representatives], self.distances[of])


def numbered(labels: Integers) -> Integers:
    """The same clusters, numbered from 0 in the order of their first records."""
    _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    number = np.empty(len(first), dtype=np.int64)
    number[np.argsort(first)] = np.arange(len(first))
    return number[inverse.reshape(-1)]


def of_labels(labels: Integers, edges: Edges, copies: Integers | None = None) -> Clustering:
    """With the record of each cluster as representative that has the most near records in it; of several the one with the least sum of
    distances to these, then the first. Where all are near each other that is the medoid.

    copies: how often each record is there, int64[count]; None for once. Copies are near each other, at no distance.
    """
    labels = numbered(labels)
    copies = np.ones(edges.count, dtype=np.int64) if copies is None else copies
    near, sums = copies - 1, np.zeros(edges.count)
    for i, j, distance in edges.parts():
        within = labels[i] == labels[j]
        i, j, distance = i[within], j[within], distance[within]
        for one, other in ((i, j), (j, i)):
            near += np.bincount(one, copies[other], minlength=edges.count).astype(np.int64)
            sums += np.bincount(one, copies[other] * distance, minlength=edges.count)
    return measured(labels, representatives(labels, near, sums), edges.parts())


def representatives(labels: Integers, near: Integers, sums: Reals) -> Integers:
    """The record of each cluster with the most near records in it; of several the one with the least sum of distances to these, then the
    first: int64[clusters]. labels: of each record, numbered; near: near records of its cluster; sums: of the distances to them."""
    count = int(labels.max(initial=-1)) + 1
    most, least = np.zeros(count, dtype=near.dtype), np.full(count, np.inf)
    np.maximum.at(most, labels, near)
    best = near == most[labels]
    np.minimum.at(least, labels[best], sums[best])
    best &= sums <= (least * (1 + _ROUNDING))[labels]
    chosen = np.full(count, len(labels), dtype=np.int64)
    np.minimum.at(chosen, labels[best], np.flatnonzero(best))
    return chosen


def of_centroids(centroids: Integers, edges: Edges) -> Clustering:
    """With the centroids as representatives. centroids: of each record."""
    labels = numbered(centroids)
    chosen = np.empty(int(labels.max(initial=-1)) + 1, dtype=np.int64)
    chosen[labels] = centroids
    return measured(labels, chosen, edges.parts())


def measured(labels: Integers, chosen: Integers, parts: Iterable[tuple[Indices, Indices, Reals]]) -> Clustering:
    """The clusters with the distance of each record to its representative. chosen: the representatives; parts: as of `Edges.parts`."""
    distances = np.full(len(labels), np.nan)
    distances[chosen] = 0
    of = chosen[labels]
    for i, j, distance in parts:
        for one, other in ((i, j), (j, i)):
            found = of[one] == other
            distances[one[found]] = distance[found]
    return Clustering(labels, chosen, distances)
