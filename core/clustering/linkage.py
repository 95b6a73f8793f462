"""Single, complete and average linkage, from the near pairs alone.

All three give the clusters of the tree of all records, cut at the distance up to which pairs are near, without the other pairs: whatever
is joined below the cut lies within one connected component of the graph of near pairs. Single linkage is these components. Average
linkage joins two clusters at the mean of the distances between them: where it is at most the cut, so is one of these distances, and the
two are connected. Complete linkage joins them at the largest of these distances: where it is at most the cut, all of them are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import numpy.typing as npt

from gpualign.core.clustering.edges import Edges
from gpualign.core.common.arrays import Integers, Reals

DistancesAmong = Callable[[Integers], Reals]
"""All distances among some records (ascending int64[members]), condensed as scipy has it: float64[members * (members - 1) / 2]."""

_FAR = float(np.finfo(np.float64).max)
_PASSES = 16
"""Times that the list of near pairs is gone through, so that only a part of it is ordered at a time."""
_ORDERED_BYTES = 96
"""Of a near pair of a component that is cut: what it takes beside the list, in copies by component, in numbers of its records, and where
these are among all distances."""
_ROUNDING = 1e-12
"""Means of distances that are at the cut may come out above it by rounding; more than so much of the cut is no rounding."""


def single(edges: Edges) -> Integers:
    """Connected components: a label of each record, int64[count]."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    labels = np.arange(edges.count, dtype=np.int64)
    for i, j, _ in edges.parts():
        one, other = labels[i], labels[j]
        apart = one != other
        one, other = one[apart], other[apart]
        if len(one):
            graph = coo_array((np.ones(len(one), dtype=np.int8), (one, other)), shape=(edges.count, edges.count))
            labels = connected_components(graph, directed=False)[1].astype(np.int64)[labels]
    return labels


def complete(edges: Edges, of: Integers | None = None) -> Integers:
    """Clusters in which all pairs are near, by complete linkage: a label of each record, int64[count].

    Pairs that are not listed count as farther than any that is. But for ties that changes nothing: the distance of two clusters is the
    largest between their records, so with such a pair it is above the cut however far that pair is, and without one it is what it is. So
    as long as the two nearest clusters are within the cut they are the same two. Of several that are equally near scipy's order decides,
    within a component. of: as for `average`.
    """

    def cut(members: Integers, own: Edges) -> tuple[Reals, float]:
        condensed = np.full(_pairs(len(members)), _FAR)
        condensed[_places(own)] = own.distance
        return condensed, float(own.distance.max())

    return _by_component(edges, of, "complete", cut)


def average(edges: Edges, most: float, among: DistancesAmong, of: Integers | None = None) -> Integers:
    """UPGMA's clusters, cut at the distance `most`: a label of each record, int64[count].

    edges: all pairs at most that far from each other; among: called with the records of each component that has other pairs too, whose
    means it takes. of: int64[copies], where there are several copies of a record, of which record each is one; records are in the order
    of their first copies, whose clusters they get. Copies are linked as records of their own, at no distance. Raises what `among` raises.
    """
    return _by_component(edges, of, "average", lambda members, _: (among(members), most + _ROUNDING * most))


def largest_linked(edges: Edges, of: Integers | None = None) -> int:
    """Records, with copies as of `average`, of the largest component that complete and average linkage have to cut; 0 if there is none."""
    copies = np.ones(edges.count, dtype=np.int64) if of is None else np.bincount(of, minlength=edges.count)
    components = single(edges)
    sizes = np.bincount(components, copies).astype(np.int64)
    return int(sizes[_is_cut(edges, components)].max(initial=0))


def linkage_bytes(members: int, edges: Edges) -> int:
    """Memory that linking takes where so many records are the largest component: its distances, the copy that scipy works on, the pairs
    that are near, and such pairs in the order of components."""
    return 2 * 8 * _pairs(members) + edges.nbytes + _ORDERED_BYTES * min(len(edges), _pairs(members))


def _pairs(members: int) -> int:
    return members * (members - 1) // 2


def _places(edges: Edges) -> Integers:
    """Where pairs are in the condensed distances of all records."""
    return edges.i * (2 * edges.count - edges.i - 1) // 2 + edges.j - edges.i - 1


def _is_cut(edges: Edges, components: Integers) -> npt.NDArray[np.bool_]:
    """Which components have pairs that are not near: bool[components]. Of others both linkages make one cluster, as all their distances
    are within the cut."""
    number = int(components.max(initial=-1)) + 1
    pairs = sum((np.bincount(components[i], minlength=number) for i, _, _ in edges.parts()), np.zeros(number, dtype=np.int64))
    sizes = np.bincount(components)
    return np.asarray(pairs != sizes * (sizes - 1) // 2)


def _by_component(edges: Edges, of: Integers | None, method: str, distances: Callable[[Integers, Edges], tuple[Reals, float]]) -> Integers:
    """distances: of the records of a component, condensed, and the largest that is near."""
    from scipy.cluster.hierarchy import fcluster, linkage

    components = single(edges)
    of = np.arange(edges.count, dtype=np.int64) if of is None else of
    by_component = np.argsort(components[of], kind="stable")
    starts = np.searchsorted(components[of][by_component], np.arange(int(components.max(initial=-1)) + 2))
    labels: Integers = components.copy()  # of components that stay whole; parts of the others get numbers behind these
    following = int(components.max(initial=-1)) + 1
    for members, own in _components(edges, components):
        condensed, most = distances(members, own)
        component = int(components[members[0]])
        places = np.searchsorted(members, of[by_component[starts[component] : starts[component + 1]]])
        parts = np.asarray(fcluster(linkage(_of_copies(condensed, len(members), places), method), most, "distance"), dtype=np.int64)
        labels[members] = following + parts[np.unique(places, return_index=True)[1]]
        following += int(parts.max()) + 1
    return labels


def _of_copies(condensed: Reals, count: int, places: Integers) -> Reals:
    """From the distances of so many records to those of copies of them. places: of each copy, which record it is a copy of."""
    if len(places) == count:
        return condensed
    rows = []
    for k, one in enumerate(places.tolist()):
        others = places[k + 1 :]
        low, high = np.minimum(one, others), np.maximum(one, others)
        row = condensed[low * (2 * count - low - 1) // 2 + high - low - 1]
        row[others == one] = 0
        rows.append(row)
    return np.concatenate(rows)


def _components(edges: Edges, components: Integers) -> Iterator[tuple[Integers, Edges]]:
    """(its records, ascending; its near pairs, in numbers of these) of each component that has to be cut."""
    cut = _is_cut(edges, components)
    records = np.argsort(components, kind="stable").astype(np.int64)
    starts = np.searchsorted(components[records], np.arange(len(cut) + 1))
    place = np.empty_like(records)
    place[records] = np.arange(edges.count) - starts[components[records]]
    pairs = np.zeros(len(cut), dtype=np.int64)
    for i, _, _ in edges.parts():
        pairs += np.bincount(components[i], minlength=len(cut))
    wanted = np.flatnonzero(cut)
    before = np.concatenate(([0], np.cumsum(pairs[wanted])))
    start, most = 0, len(edges) // _PASSES
    while start < len(wanted):
        stop = max(start + 1, int(np.searchsorted(before, before[start] + most, side="right")) - 1)
        together = np.zeros(len(cut), dtype=np.bool_)
        together[wanted[start:stop]] = True
        chosen = [(i[those], j[those], distance[those]) for i, j, distance in edges.parts() if (those := together[components[i]]).any()]
        i, j, distance = (np.concatenate(columns) for columns in zip(*chosen, strict=True))
        chosen.clear()
        order = np.argsort(components[i], kind="stable")
        ends = before[start : stop + 1] - before[start]
        for k, first, last in zip(wanted[start:stop].tolist(), ends[:-1].tolist(), ends[1:].tolist(), strict=True):
            members, own = records[starts[k] : starts[k + 1]], order[first:last]
            yield members, Edges(len(members), place[i[own]], place[j[own]], distance[own])
        start = stop
