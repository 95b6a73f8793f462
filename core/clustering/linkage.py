"""Single, complete and average linkage from only the near pairs.

All three give the clusters obtained by cutting the full tree at the distance threshold for near pairs, without using the remaining pairs:
records joined below the cut lie in one connected component of the near-pair graph. Single linkage gives these components. Average linkage
joins two clusters at the mean distance between them: if the mean is at most the cut, at least one of the distances is too, and the clusters
are connected. Complete linkage joins two clusters at the largest distance between them: if the largest distance is at most the cut, all
distances are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial

import numpy as np

from gpualign.core.clustering.condensed import condensed_matrices
from gpualign.core.clustering.edges import EdgeList
from gpualign.core.common.arrays import Booleans, Integers, Reals
from gpualign.core.common.condensed_form import condensed_index

GroupDistances = Callable[[Sequence[Integers]], Iterator[Reals]]
"""Function that yields, for each of the given groups of records (int64[members], ascending), all distances within the group in scipy's
condensed form: float64[pairs]."""

_FAR_DISTANCE = float(np.finfo(np.float64).max)
_SORTED_PAIR_BYTES = 96
"""Memory, in bytes, per near pair of a part of the list: copies of the pair, sorted by component, and indices into the condensed
distances."""
_ROUNDING_TOLERANCE = 1e-12
"""Relative tolerance at the cut: rounding may raise a mean distance that equals the cut above the cut, but by no more than this."""


def single_linkage(edges: EdgeList) -> Integers:
    """Return the connected components: a label for each record, int64[records]."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    labels = np.arange(edges.record_count, dtype=np.int64)
    for i, j, _ in edges.chunks():
        one, other = labels[i], labels[j]
        apart = one != other
        # 32 bits: with 64, components in scipy 1.11 are uninitialised memory.
        one, other = one[apart].astype(np.int32), other[apart].astype(np.int32)
        if len(one):
            graph = coo_array((np.ones(len(one), dtype=np.int8), (one, other)), shape=(edges.record_count, edges.record_count))
            labels = connected_components(graph, directed=False)[1].astype(np.int64)[labels]
    return labels


def complete_linkage(edges: EdgeList, record_of_copy: Integers | None = None) -> Integers:
    """Return complete-linkage clusters, in which all pairs are near: a label for each record, int64[records].

    edges: all near pairs
    record_of_copy: int64[copies], the record that each copy duplicates; None: records have no copies

    Pairs that are not in `edges` count as farther apart than any pair in it. Ties aside, this does not change the result: two clusters with
    such a pair between them are farther apart than the cut either way, and all other distances are unchanged. Ties are broken as in scipy,
    within each component.
    """
    return _cluster_components(edges, record_of_copy, "complete", partial(condensed_matrices, edges), _separate_far_pairs)


def _separate_far_pairs(condensed: Reals) -> float:
    """Give the pairs of a component that are not near, which are nan, more than any other distance. Return the largest distance of a near
    pair."""
    largest = float(np.nanmax(condensed))
    condensed[np.isnan(condensed)] = _FAR_DISTANCE
    return largest


def average_linkage(
    edges: EdgeList,
    max_distance: float,
    group_distances: GroupDistances,
    record_of_copy: Integers | None = None,
    rounding_error: float = 0.0,
) -> Integers:
    """Return UPGMA clusters, cut at the distance `max_distance`: a label for each record, int64[records].

    edges: all pairs with a distance of at most `max_distance`
    group_distances: yields all distances within given groups; called once, with the components in which some pairs are not in `edges`
    record_of_copy: int64[copies], the record that each copy duplicates; None: records have no copies. Copies are linked as separate
        records, at distance 0. Records must be numbered in the order of their first copies; each record gets the cluster of its first copy
    rounding_error: maximum rounding error of distances near `max_distance`: means that exceed it by no more are within it

    Propagates errors from `group_distances`.
    """
    cut = max_distance + _ROUNDING_TOLERANCE * max_distance + rounding_error
    return _cluster_components(edges, record_of_copy, "average", group_distances, lambda _: cut)


def largest_linked_count(edges: EdgeList, record_of_copy: Integers | None = None) -> int:
    """Return the size of the largest component that complete and average linkage must cut, counted in records or, if records have copies,
    in copies; 0 if there is none.

    record_of_copy: int64[copies], the record that each copy duplicates; None: records have no copies
    """
    copies = (
        np.ones(edges.record_count, dtype=np.int64) if record_of_copy is None else np.bincount(record_of_copy, minlength=edges.record_count)
    )
    components = single_linkage(edges)
    sizes = np.bincount(components, copies).astype(np.int64)
    return int(sizes[_has_far_pairs(edges, components)].max(initial=0))


def linkage_bytes(member_count: int, edges: EdgeList) -> int:
    """Return the memory needed for linkage, in bytes, if the largest component has `member_count` records: the component's distances,
    scipy's working copy, the near pairs, and a part of them sorted by component."""
    pairs = member_count * (member_count - 1) // 2
    return 2 * 8 * pairs + edges.nbytes + _SORTED_PAIR_BYTES * min(len(edges), edges.part_pairs, pairs)


def _has_far_pairs(edges: EdgeList, components: Integers) -> Booleans:
    """Return a mask of the components in which not all pairs are near: bool[components]. If all pairs are near, all distances are within
    the cut, so complete and average linkage make the component one cluster."""
    number = int(components.max(initial=-1)) + 1
    pairs = sum((np.bincount(components[i], minlength=number) for i, _, _ in edges.chunks()), np.zeros(number, dtype=np.int64))
    sizes = np.bincount(components)
    return np.asarray(pairs != sizes * (sizes - 1) // 2)


def _cluster_components(
    edges: EdgeList,
    record_of_copy: Integers | None,
    method: str,
    group_distances: GroupDistances,
    prepare: Callable[[Reals], float],
) -> Integers:
    """Return the cluster label of each record. Components in which not all pairs are near are clustered, and cut into one or more clusters.

    record_of_copy: int64[copies], the record that each copy duplicates; None: records have no copies
    method: scipy's name of the linkage
    group_distances: yields the distances within each component
    prepare: completes the condensed distances of a component, and returns the distance at which to cut
    """
    from scipy.cluster.hierarchy import fcluster, linkage

    components = single_linkage(edges)
    record_of_copy = np.arange(edges.record_count, dtype=np.int64) if record_of_copy is None else record_of_copy
    by_component = np.argsort(components[record_of_copy], kind="stable")
    starts = np.searchsorted(components[record_of_copy][by_component], np.arange(int(components.max(initial=-1)) + 2))
    labels: Integers = components.copy()  # of components that stay whole; clusters of the others get the numbers after these
    following = int(components.max(initial=-1)) + 1
    groups = _components_with_far_pairs(edges, components)
    matrices = group_distances(groups)
    for members in groups:
        condensed = next(matrices)
        cut = prepare(condensed)
        component = int(components[members[0]])
        places = np.searchsorted(members, record_of_copy[by_component[starts[component] : starts[component + 1]]])
        condensed = _expand_copies(condensed, len(members), places)
        clusters = np.asarray(fcluster(linkage(condensed, method), cut, "distance"), dtype=np.int64)
        del condensed  # before the next ones are made
        labels[members] = following + clusters[np.unique(places, return_index=True)[1]]
        following += int(clusters.max()) + 1
    return labels


def _expand_copies(condensed: Reals, record_count: int, record_of_copy: Integers) -> Reals:
    """Return the condensed distances between the copies of `record_count` records, given those between the records. record_of_copy: the
    record that each copy duplicates."""
    if len(record_of_copy) == record_count:
        return condensed
    expanded = np.empty(len(record_of_copy) * (len(record_of_copy) - 1) // 2)
    start = 0
    for k, one in enumerate(record_of_copy.tolist()):
        others = record_of_copy[k + 1 :]
        row = condensed[condensed_index(np.minimum(one, others), np.maximum(one, others), record_count)]
        row[others == one] = 0
        expanded[start : start + len(others)] = row
        start += len(others)
    return expanded


def _components_with_far_pairs(edges: EdgeList, components: Integers) -> list[Integers]:
    """Return the records, in ascending order, of each component that must be cut."""
    cut = _has_far_pairs(edges, components)
    records = np.argsort(components, kind="stable").astype(np.int64)
    starts = np.searchsorted(components[records], np.arange(len(cut) + 1))
    return [records[starts[k] : starts[k + 1]] for k in np.flatnonzero(cut).tolist()]
