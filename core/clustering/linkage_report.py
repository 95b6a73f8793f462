"""Diameters and longest links of clusters, which show how far single linkage has chained records together. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import field

import numpy as np

from gpualign.core.clustering.edges import Chunk, Edges
from gpualign.core.common.arrays import Integers, Reals
from gpualign.core.common.dataclass import dataclass


@dataclass(frozen=True)
class ClusterLinks:
    """Links of the clusters of one level that have two or more records, in the order of their labels.

    labels: label of each cluster, int64[clusters]
    sizes: number of records, int64[clusters]
    diameters: largest distance between two records, float64[clusters]; nan if some are unknown
    links: longest distance of the minimum spanning tree, float64[clusters]; nan if unknown
    ends: the two records at this distance, int64[clusters][2]; -1 if unknown
    first: earliest record, int64[clusters]; -1 if unknown
    last: latest record, int64[clusters]; -1 if unknown
    """

    labels: Integers
    sizes: Integers
    diameters: Reals
    links: Reals
    ends: Integers = field(repr=False)
    first: Integers = field(repr=False)
    last: Integers = field(repr=False)


def cluster_diameters(labels: Sequence[Integers], chunks: Iterable[Chunk]) -> list[Reals]:
    """Return, for each level, the largest distance within each cluster: float64[clusters]; nan if a pair of the cluster is not among
    `chunks`, 0 for a single record.

    labels: for each level the cluster of each record, int64[records], numbered from 0
    chunks: pairs of records with their distances, each pair once
    """
    counts = [np.zeros(int(own.max(initial=-1)) + 1, dtype=np.int64) for own in labels]
    largest = [np.zeros(len(one)) for one in counts]
    for i, j, distance in chunks:
        for own, count, diameter in zip(labels, counts, largest, strict=True):
            within = own[i] == own[j]
            cluster = own[i[within]]
            count += np.bincount(cluster, minlength=len(count))
            np.maximum.at(diameter, cluster, distance[within])
    for own, count, diameter in zip(labels, counts, largest, strict=True):
        sizes = np.bincount(own, minlength=len(count))
        diameter[count < sizes * (sizes - 1) // 2] = np.nan
    return largest


def longest_links(labels: Integers, forest: Edges) -> tuple[Reals, Integers]:
    """Return, for each cluster of one level, the longest distance of its minimum spanning tree, and the two records at this distance:
    float64[clusters], int64[clusters][2]. Ties are broken by the order of the records. A cluster that the forest does not connect has nan
    and -1.

    labels: cluster of each record, int64[records], numbered from 0
    forest: minimum spanning forest of the records

    If the pairs of the forest within a cluster connect it, they are its minimum spanning tree: every other pair of the cluster is the
    longest on a cycle with pairs of the forest, and these lie within the cluster.
    """
    sizes = np.bincount(labels)
    within = np.flatnonzero(labels[forest.i] == labels[forest.j])
    order = within[np.lexsort((forest.j[within], forest.i[within], -forest.distance[within]))]
    clusters, first = np.unique(labels[forest.i[order]], return_index=True)
    longest = order[first]
    links, ends = np.full(len(sizes), np.nan), np.full((len(sizes), 2), -1, dtype=np.int64)
    links[clusters] = forest.distance[longest]
    ends[clusters] = np.stack((forest.i[longest], forest.j[longest]), axis=1)
    apart = np.bincount(labels[forest.i[within]], minlength=len(sizes)) < sizes - 1
    links[apart], ends[apart] = np.nan, -1
    return links, ends


def first_and_last(labels: Integers, days: Reals) -> tuple[Integers, Integers]:
    """Return (earliest record, latest record) of each cluster: int64[clusters] each; -1 for a cluster without a date. If several records
    have the earliest date, the first of them is chosen; if several have the latest date, the last.

    labels: cluster of each record, int64[records], numbered from 0
    days: day of each record, float64[records]; nan for a record without a date
    """
    dated = np.flatnonzero(~np.isnan(days))
    order = dated[np.argsort(days[dated], kind="stable")]
    earliest_and_latest = []
    for records in (order, order[::-1]):
        chosen = np.full(int(labels.max(initial=-1)) + 1, -1, dtype=np.int64)
        clusters, first = np.unique(labels[records], return_index=True)
        chosen[clusters] = records[first]
        earliest_and_latest.append(chosen)
    return earliest_and_latest[0], earliest_and_latest[1]
