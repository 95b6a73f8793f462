"""What a clustering is, whatever made it."""

from __future__ import annotations

from dataclasses import field

import numpy as np

from gpualign.core.cluster.edges import Edges, Floats, Integers
from gpualign.core.dataclass import dataclass

_ROUNDING = 1e-12
"""Largest relative difference of two sums of the same distances, added in another order."""


@dataclass(frozen=True)
class Clustering:
    """labels: int64[count], the cluster of each record, numbered from 0 in the order of their first records. representatives:
    int64[clusters], a record of each. distances: float64[count], of each record to its representative; nan where it is not known."""

    labels: Integers = field(repr=False)
    representatives: Integers = field(repr=False)
    distances: Floats = field(repr=False)

    @property
    def sizes(self) -> Integers:
        """Records of each cluster: int64[clusters]."""
        return np.bincount(self.labels, minlength=len(self.representatives)).astype(np.int64)

    @property
    def figures(self) -> dict[str, object]:
        """For summaries: how many clusters there are, those of one record, and the records of the largest."""
        sizes = self.sizes.tolist()
        return {"clusters": len(sizes), "singletons": sizes.count(1), "largest_cluster": max(sizes, default=0)}


def numbered(labels: Integers) -> Integers:
    """The same clusters, numbered from 0 in the order of their first records."""
    _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    number = np.empty(len(first), dtype=np.int64)
    number[np.argsort(first)] = np.arange(len(first))
    return number[inverse.reshape(-1)]


def of_labels(labels: Integers, edges: Edges) -> Clustering:
    """With the record of each cluster as representative that has the most near records in it; of several the one with the least sum of
    distances to these, then the first. Where all are near each other that is the medoid."""
    labels = numbered(labels)
    within = labels[edges.i] == labels[edges.j]
    ends = np.concatenate((edges.i[within], edges.j[within]))
    near = np.bincount(ends, minlength=edges.count).astype(np.int64)
    sums = np.bincount(ends, np.tile(edges.distance[within], 2), minlength=edges.count).astype(np.float64)
    return _measured(labels, representatives(labels, near, sums), edges)


def representatives(labels: Integers, near: Integers, sums: Floats) -> Integers:
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
    return _measured(labels, chosen, edges)


def _measured(labels: Integers, chosen: Integers, edges: Edges) -> Clustering:
    """chosen: the representatives."""
    return Clustering(labels, chosen, edges.between(np.arange(len(labels)), chosen[labels]))
