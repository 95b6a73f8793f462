"""Single, complete and average linkage, from the near pairs alone.

All three give the clusters of the tree of all records, cut at the distance up to which pairs are near, without the other pairs: records
that are joined below the cut lie within one connected component of the graph of near pairs. Single linkage gives these components. Average
linkage joins two clusters at the mean of the distances between them: if it is at most the cut, so is one of these distances, and the two
are connected. Complete linkage joins them at the largest of these distances: if it is at most the cut, so are all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import numpy.typing as npt

from gpualign.core.clustering.edges import Edges
from gpualign.core.common.arrays import Integers, Reals

DistancesAmong = Callable[[Integers], Reals]
"""Returns all distances among some records (ascending int64[members]), condensed as in scipy: float64[members * (members - 1) / 2]."""

_FAR = float(np.finfo(np.float64).max)
_PASSES = 16
"""Passes over the list of near pairs, so that only part of it is sorted at a time."""
_ORDERED_BYTES = 96
"""Memory of a near pair of a component that is cut, besides the list: in copies by component, in numbers of its records, and in their
places among all distances."""
_ROUNDING = 1e-12
"""Relative tolerance at the cut: by rounding, a mean of distances that is at the cut may come out above it, but by no more than this."""


def single(edges: Edges) -> Integers:
    """Return the connected components: a label of each record, int64[count]."""
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
    """Return the clusters of complete linkage, in which all pairs are near: a label of each record, int64[count].

    Pairs that are not listed count as farther apart than any listed pair. Except for ties this changes nothing: the distance of two
    clusters is the largest between their records, so with an unlisted pair it is above the cut however far that pair is, and without one it
    is unchanged. So as long as the two nearest clusters are within the cut, they are the same two. Ties are broken by scipy's order, within
    a component.

    of: as for `average`
    """

    def cut(members: Integers, own: Edges) -> tuple[Reals, float]:
        condensed = np.full(_pairs(len(members)), _FAR)
        condensed[_places(own)] = own.distance
        return condensed, float(own.distance.max())

    return _by_component(edges, of, "complete", cut)


def average(edges: Edges, cut: float, among: DistancesAmong, of: Integers | None = None) -> Integers:
    """Return UPGMA's clusters, cut at the distance `cut`: a label of each record, int64[count].

    edges: all pairs with a distance of at most `cut`
    among: returns all distances among some records; called with the records of each component that also has other pairs
    of: int64[copies], if records have several copies: the record of which each is a copy. Records are in the order of their first copies,
        whose clusters they get. Copies are linked as separate records, at distance 0

    Raises what `among` raises.
    """
    return _by_component(edges, of, "average", lambda members, _: (among(members), cut + _ROUNDING * cut))


def largest_linked(edges: Edges, of: Integers | None = None) -> int:
    """Return the number of records, with copies as of `average`, in the largest component that complete and average linkage have to cut; 0
    if there is none."""
    copies = np.ones(edges.count, dtype=np.int64) if of is None else np.bincount(of, minlength=edges.count)
    components = single(edges)
    sizes = np.bincount(components, copies).astype(np.int64)
    return int(sizes[_is_cut(edges, components)].max(initial=0))


def linkage_bytes(members: int, edges: Edges) -> int:
    """Return the memory that linking takes if the largest component has `members` records: its distances, the copy that scipy works on,
    the near pairs, and near pairs in the order of components."""
    return 2 * 8 * _pairs(members) + edges.nbytes + _ORDERED_BYTES * min(len(edges), _pairs(members))


def _pairs(members: int) -> int:
    return members * (members - 1) // 2


def _places(edges: Edges) -> Integers:
    """Return the places of pairs in the condensed distances of all records."""
    return edges.i * (2 * edges.count - edges.i - 1) // 2 + edges.j - edges.i - 1


def _is_cut(edges: Edges, components: Integers) -> npt.NDArray[np.bool_]:
    """Return whether each component has pairs that are not near: bool[components]. Both linkages make any other component one cluster, as
    all its distances are within the cut."""
    number = int(components.max(initial=-1)) + 1
    pairs = sum((np.bincount(components[i], minlength=number) for i, _, _ in edges.parts()), np.zeros(number, dtype=np.int64))
    sizes = np.bincount(components)
    return np.asarray(pairs != sizes * (sizes - 1) // 2)


def _by_component(edges: Edges, of: Integers | None, method: str, distances: Callable[[Integers, Edges], tuple[Reals, float]]) -> Integers:
    """Return cluster labels. distances: returns the condensed distances of the records of a component, and the largest that is near."""
    from scipy.cluster.hierarchy import fcluster, linkage

    components = single(edges)
    of = np.arange(edges.count, dtype=np.int64) if of is None else of
    by_component = np.argsort(components[of], kind="stable")
    starts = np.searchsorted(components[of][by_component], np.arange(int(components.max(initial=-1)) + 2))
    labels: Integers = components.copy()  # of components that stay whole; clusters of the others get the numbers after these
    following = int(components.max(initial=-1)) + 1
    for members, own in _components(edges, components):
        condensed, cut = distances(members, own)
        component = int(components[members[0]])
        places = np.searchsorted(members, of[by_component[starts[component] : starts[component + 1]]])
        clusters = np.asarray(fcluster(linkage(_of_copies(condensed, len(members), places), method), cut, "distance"), dtype=np.int64)
        labels[members] = following + clusters[np.unique(places, return_index=True)[1]]
        following += int(clusters.max()) + 1
    return labels


def _of_copies(condensed: Reals, count: int, places: Integers) -> Reals:
    """Return the condensed distances of copies of `count` records, from those of the records. places: the record of each copy."""
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
    """Return (its records, ascending; its near pairs, by their places among these) for each component that has to be cut."""
    cut = _is_cut(edges, components)
    records = np.argsort(components, kind="stable").astype(np.int64)
    starts = np.searchsorted(components[records], np.arange(len(cut) + 1))
    place = np.empty_like(records)
    place[records] = np.arange(edges.count) - starts[components[records]]
    pairs = np.zeros(len(cut), dtype=np.int64)
    for i, _, _ in edges.parts():
        pairs += np.bincount(components[i], minlength=len(cut))
    selected = np.flatnonzero(cut)
    before = np.concatenate(([0], np.cumsum(pairs[selected])))
    start, max_pairs = 0, len(edges) // _PASSES
    while start < len(selected):
        stop = max(start + 1, int(np.searchsorted(before, before[start] + max_pairs, side="right")) - 1)
        batch = np.zeros(len(cut), dtype=np.bool_)
        batch[selected[start:stop]] = True
        chosen = [(i[mask], j[mask], distance[mask]) for i, j, distance in edges.parts() if (mask := batch[components[i]]).any()]
        i, j, distance = (np.concatenate(columns) for columns in zip(*chosen, strict=True))
        chosen.clear()
        order = np.argsort(components[i], kind="stable")
        ends = before[start : stop + 1] - before[start]
        for k, first, last in zip(selected[start:stop].tolist(), ends[:-1].tolist(), ends[1:].tolist(), strict=True):
            members, own = records[starts[k] : starts[k + 1]], order[first:last]
            yield members, Edges(len(members), place[i[own]], place[j[own]], distance[own])
        start = stop
