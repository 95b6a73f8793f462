"""Single, complete and average linkage, from the near pairs alone.

All three give the clusters of the tree of all records, cut at the distance up to which pairs are near, without the other pairs: whatever
is joined below the cut lies within one connected component of the graph of near pairs. Single linkage is these components. Average
linkage joins two clusters at the mean of the distances between them: where it is at most the cut, so is one of these distances, and the
two are connected. Complete linkage joins them at the largest of these distances: where it is at most the cut, all of them are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from gpualign.core.cluster.edges import Edges, Floats, Integers

DistancesAmong = Callable[[Integers], Floats]
"""All distances among some records (ascending int64[members]), condensed as scipy has it: float64[members * (members - 1) / 2]."""

_FAR = float(np.finfo(np.float64).max)
_ROUNDING = 1e-12
"""Means of distances that are at the cut may come out above it by rounding; more than so much of the cut is no rounding."""


def single(edges: Edges) -> Integers:
    """Connected components: a label of each record, int64[count]."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    graph = coo_array((np.ones(len(edges), dtype=np.int8), (edges.i, edges.j)), shape=(edges.count, edges.count))
    return np.asarray(connected_components(graph, directed=False)[1], dtype=np.int64)


def complete(edges: Edges) -> Integers:
    """Clusters in which all pairs are near, by complete linkage: a label of each record, int64[count].

    Pairs that are not listed count as farther than any that is. But for ties that changes nothing: the distance of two clusters is the
    largest between their records, so with such a pair it is above the cut however far that pair is, and without one it is what it is. So
    as long as the two nearest clusters are within the cut they are the same two. Of several that are equally near scipy's order decides,
    within a component.
    """

    def cut(members: Integers, own: Edges) -> Integers:
        condensed = np.full(_pairs(len(members)), _FAR)
        condensed[_places(own)] = own.distance
        return _cut(condensed, "complete", float(own.distance.max()))

    return _by_component(edges, cut)


def average(edges: Edges, most: float, among: DistancesAmong) -> Integers:
    """UPGMA's clusters, cut at the distance `most`: a label of each record, int64[count].

    edges: all pairs at most that far from each other; among: called with the records of each component that has other pairs too, whose
    means it takes. Raises what `among` raises.
    """
    return _by_component(edges, lambda members, _: _cut(among(members), "average", most + _ROUNDING * most))


def largest_linked(edges: Edges) -> int:
    """Records of the largest component that complete and average linkage have to cut; 0 where there is none."""
    return max((len(members) for members, own in _components(edges, single(edges)) if not _is_whole(members, own)), default=0)


def linkage_bytes(members: int) -> int:
    """Memory that linking a component takes: its distances, and the copy that scipy works on."""
    return 2 * 8 * _pairs(members)


def _pairs(members: int) -> int:
    return members * (members - 1) // 2


def _places(edges: Edges) -> Integers:
    """Where pairs are in the condensed distances of all records."""
    return edges.i * (2 * edges.count - edges.i - 1) // 2 + edges.j - edges.i - 1


def _cut(condensed: Floats, method: str, most: float) -> Integers:
    from scipy.cluster.hierarchy import fcluster, linkage

    return np.asarray(fcluster(linkage(condensed, method), most, "distance"), dtype=np.int64)


def _is_whole(members: Integers, own: Edges) -> bool:
    """Whether all pairs are near: then both linkages make one cluster, as all their distances are within the cut."""
    return len(own) == _pairs(len(members))


def _by_component(edges: Edges, cut: Callable[[Integers, Edges], Integers]) -> Integers:
    components = single(edges)
    labels: Integers = components.copy()  # of components that stay whole; parts of the others get numbers behind these
    following = int(components.max(initial=-1)) + 1
    for members, own in _components(edges, components):
        if not _is_whole(members, own):
            parts = cut(members, own)
            labels[members] = following + parts
            following += int(parts.max()) + 1
    return labels


def _components(edges: Edges, components: Integers) -> Iterator[tuple[Integers, Edges]]:
    """(its records, ascending; its near pairs, in numbers of these) of each component of two records and more."""
    records = np.argsort(components, kind="stable").astype(np.int64)
    starts = np.searchsorted(components[records], np.arange(int(components.max(initial=-1)) + 2))
    place = np.empty_like(records)
    place[records] = np.arange(edges.count) - starts[components[records]]
    of_edges = components[edges.i]
    order = np.argsort(of_edges, kind="stable")
    edge_starts = np.searchsorted(of_edges[order], np.arange(len(starts)))
    for k in np.flatnonzero(np.diff(starts) > 1).tolist():
        members = records[starts[k] : starts[k + 1]]
        own = order[edge_starts[k] : edge_starts[k + 1]]
        yield members, Edges(len(members), place[edges.i[own]], place[edges.j[own]], edges.distance[own])
