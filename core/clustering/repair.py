"""Changes clusters with representatives as little as possible, so that they obey a threshold.

A record changes if it gets another representative. Records that are far from their representatives, and those in no cluster, must change in
any case. If representatives are near each other, only some of them can remain, no two of which may be near each other. All records of a
cluster whose representative does not remain must change; the near members of the other clusters need not. So the fewest records change if
the remaining representatives have the most near members: they are an independent set of maximum weight in the graph of near
representatives, where the weight of a representative is its number of near members, including itself. (In any solution, the representatives
that remain are an independent set, and only their near members do not change.) Equal representatives have the same neighbours, and at most
one of them can remain, so only one with the largest weight is considered.

In components of at most `MAX_EXACT` representatives, the set is found exactly, by branching. In larger components that could take too long:
there, representatives are considered by descending weight, and each remains unless it is near one that does.

Every changed record then moves to the nearest representative. A record that is near none of those that remain becomes one, unless it is
near another record that has become one. So representatives are not near each other afterwards, and every record is near its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from gpualign.core.clustering.edge_builder import EdgeStorage, collect_edges
from gpualign.core.clustering.edges import Chunk, EdgeList
from gpualign.core.clustering.given_clusters import GivenClusters
from gpualign.core.clustering.greedy import first_copies, greedy_centroids
from gpualign.core.common.arrays import Booleans, Integers, Reals
from gpualign.core.near_pairs.deduplication import DuplicateGroups

MAX_EXACT = 16
"""Largest component of near representatives for which the best set is found exactly."""


def repair_representatives(
    given: GivenClusters, distances: Reals, groups: DuplicateGroups, edges: EdgeList, order: Integers, storage: EdgeStorage | None
) -> Integers:
    """Return the representative of each record, int64[records], after as few records have been changed as possible (see above).

    given: clusters with representatives
    distances: distance between each record and its representative; nan if they are not near
    groups: groups of equal records
    edges: near pairs of groups
    order: records in the order in which they become representatives, int64[records]
    storage: place of pairs; None: in memory, without a limit

    If clusters have equally many near members, the representatives of the earlier ones remain. A record moves to its nearest
    representative; if several are equally near, to the first one that remains, or else to the first new one.
    """
    assert given.representatives is not None
    near = ~np.isnan(distances)
    weights = np.bincount(given.labels[near], minlength=len(given.clusters))
    kept = _remaining(given.representatives, weights, groups, edges, storage)
    moved = ~near
    moved[given.labels >= 0] |= ~np.isin(given.labels[given.labels >= 0], kept)

    representative = given.representative_of
    is_moving = np.zeros(len(groups), dtype=np.bool_)
    is_moving[groups.group_of[moved]] = True  # only their records in `moved` change
    rank = np.full(len(groups), -1, dtype=np.int64)  # of groups with a representative, in the order of preference
    record = np.full(len(groups), -1, dtype=np.int64)
    kept_groups = groups.group_of[given.representatives[kept]]
    rank[kept_groups], record[kept_groups] = np.arange(len(kept)), given.representatives[kept]

    homeless = is_moving & (rank < 0) & (_nearest(is_moving, rank, edges.chunks()) < 0)
    group_order, leaders = first_copies(order, groups.group_of)
    centroids = greedy_centroids(collect_edges(len(groups), _among(homeless, edges.chunks()), storage), group_order)
    added = group_order[homeless[group_order] & (centroids[group_order] == group_order)]
    rank[added], record[added] = len(kept) + np.arange(len(added)), leaders[added]

    chosen = _nearest(is_moving, rank, edges.chunks())
    has_own = rank >= 0
    chosen[has_own] = np.flatnonzero(has_own)
    representative[moved] = record[chosen[groups.group_of[moved]]]
    return representative


def _among(mask: Booleans, chunks: Iterable[Chunk]) -> Iterator[Chunk]:
    """Yield the pairs of which both records are in the mask."""
    for i, j, distance in chunks:
        both = mask[i] & mask[j]
        yield i[both], j[both], distance[both]


def _nearest(members: Booleans, rank: Integers, chunks: Iterable[Chunk]) -> Integers:
    """Return the nearest representative to which each of some records has a pair, the one of the lowest rank if several are equally near:
    int64; -1 for none, and for other records.

    members: mask of the records
    rank: rank of each record as a representative; -1 for other records
    """
    chosen = np.full(len(rank), -1, dtype=np.int64)
    best = np.full(len(rank), np.inf)
    for i, j, distance in chunks:
        for one, other in ((i, j), (j, i)):
            used = members[one] & (rank[other] >= 0)
            record, found, away = one[used], other[used], distance[used]
            order = np.lexsort((rank[found], away, record))
            record, first = np.unique(record[order], return_index=True)
            found, away = found[order[first]], away[order[first]]
            better = (away < best[record]) | ((away == best[record]) & (rank[found] < rank[chosen[record]]))
            chosen[record[better]], best[record[better]] = found[better], away[better]
    return chosen


def _remaining(
    representatives: Integers, weights: Integers, groups: DuplicateGroups, edges: EdgeList, storage: EdgeStorage | None
) -> Integers:
    """Return the clusters whose representatives remain, ascending. weights: number of near members of each cluster"""
    by_weight = np.lexsort((np.arange(len(weights)), -weights))
    candidate = np.full(len(groups), -1, dtype=np.int64)  # cluster that may remain, of those whose representatives are equal
    candidate[groups.group_of[representatives[by_weight[::-1]]]] = by_weight[::-1]

    def conflicting() -> Iterator[Chunk]:
        for i, j, distance in _among(candidate >= 0, edges.chunks()):
            one, other = candidate[i], candidate[j]
            yield np.minimum(one, other), np.maximum(one, other), distance

    conflicts = collect_edges(len(weights), conflicting(), storage)
    candidates = np.sort(candidate[candidate >= 0])
    remains = np.zeros(len(weights), dtype=np.bool_)
    remains[candidates] = (greedy_centroids(conflicts, by_weight) == np.arange(len(weights)))[candidates]
    for members, pairs in _small_components(conflicts):
        remains[members] = heaviest_independent(pairs, [int(weights[member]) for member in members])
    return np.flatnonzero(remains)


def _small_components(conflicts: EdgeList) -> Iterator[tuple[list[int], list[tuple[int, int]]]]:
    """Yield (clusters, ascending; pairs of their places) of each component of three to `MAX_EXACT` clusters. In a component of two the
    order of weights is right."""
    labels = np.arange(conflicts.record_count)
    changed = True
    while changed:
        changed = False
        for i, j, _ in conflicts.chunks():
            one, other = labels[i], labels[j]
            if (one != other).any():
                changed = True
                lower = np.minimum(one, other)
                np.minimum.at(labels, one, lower)
                np.minimum.at(labels, other, lower)
                while (labels[labels] != labels).any():
                    labels = labels[labels]
    sizes = np.bincount(labels, minlength=len(labels))
    small = (sizes[labels] > 2) & (sizes[labels] <= MAX_EXACT)
    members: dict[int, list[int]] = {}
    for cluster in np.flatnonzero(small).tolist():
        members.setdefault(int(labels[cluster]), []).append(cluster)
    pairs: dict[int, list[tuple[int, int]]] = {label: [] for label in members}
    place = {cluster: k for clusters in members.values() for k, cluster in enumerate(clusters)}
    for i, j, _ in _among(small, conflicts.chunks()):
        for one, other in zip(i.tolist(), j.tolist(), strict=True):
            pairs[int(labels[one])].append((place[one], place[other]))
    yield from ((clusters, pairs[label]) for label, clusters in members.items())


def heaviest_independent(pairs: Sequence[tuple[int, int]], weights: Sequence[int]) -> list[bool]:
    """Return a mask of the vertices in the maximum-weight independent set of a small graph. Of two sets of this weight, it is the one that
    contains the earliest vertex at which they differ.

    pairs: edges of the graph
    weights: positive weight of each vertex
    """
    count = len(weights)
    neighbours = [0] * count
    for one, other in pairs:
        neighbours[one] |= 1 << other
        neighbours[other] |= 1 << one
    # The low bits break ties between sets of equal weight: the set with the earliest vertices has the largest value.
    values = [(weight << count) + (1 << (count - 1 - k)) for k, weight in enumerate(weights)]

    def best(free: int) -> tuple[int, int]:
        """Return (value, vertices) of the best set among the vertices of a bit set."""
        vertex, degree = -1, 0
        value, taken = 0, 0
        for k in range(count):
            if free >> k & 1:
                own = (neighbours[k] & free).bit_count()
                if not own:
                    value, taken = value + values[k], taken | 1 << k
                elif own > degree:
                    vertex, degree = k, own
        if vertex < 0:
            return value, taken
        free &= ~taken
        without = best(free & ~(1 << vertex))
        rest = best(free & ~(1 << vertex) & ~neighbours[vertex])
        chosen = max(without, (rest[0] + values[vertex], rest[1] | 1 << vertex))
        return value + chosen[0], taken | chosen[1]

    found = best((1 << count) - 1)[1]
    return [bool(found >> k & 1) for k in range(count)]
