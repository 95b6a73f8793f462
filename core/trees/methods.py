"""Neighbour joining, UPGMA and minimum spanning trees."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gpualign.core.clustering.edges import Edges
from gpualign.core.common.arrays import Reals
from gpualign.core.trees.tree import Tree

_ROUNDING_TOLERANCE = 1e-12
"""Fraction of the largest distance. A shorter branch is only the rounding difference between two equal sums, and gets length 0."""
_JOINS_PER_CALL = 20
"""Number of joins that the compiled function does before it returns: small, so that interrupts are handled quickly."""


def neighbour_joining(ids: Sequence[str], condensed: Reals) -> Tree:
    """Return the neighbour-joining tree (Saitou & Nei 1987). The tree is unrooted, and represented with a root that joins the last three
    nodes.

    condensed: all distances, in scipy's condensed form

    Branches may have negative lengths. Among equally good pairs, the pair whose nodes existed first is joined.
    """
    from scipy.spatial.distance import squareform

    from gpualign.core.trees._joining import Joining

    if len(ids) < 3:
        return _tree_of_two(ids, condensed)
    joining = Joining(squareform(condensed, checks=False))
    while joining.join(_JOINS_PER_CALL):
        pass
    return Tree(ids, joining.parents(), _without_rounding_errors(joining.lengths(), condensed))


def upgma(ids: Sequence[str], condensed: Reals) -> Tree:
    """Return the UPGMA tree (Sokal & Michener 1958), rooted, with all records equidistant from the root.

    condensed: all distances, in scipy's condensed form

    Ties are broken as in scipy.
    """
    from scipy.cluster.hierarchy import linkage

    if len(ids) < 3:
        return _tree_of_two(ids, condensed)
    count = len(ids)
    joins = linkage(condensed, "average")
    heights = np.concatenate((np.zeros(count), joins[:, 2] / 2))
    parents = np.full(2 * count - 1, -1, dtype=np.int64)
    for side in (0, 1):
        parents[joins[:, side].astype(np.int64)] = np.arange(count, 2 * count - 1)
    lengths = np.zeros(2 * count - 1)
    lengths[:-1] = heights[parents[:-1]] - heights[:-1]
    return Tree(ids, parents, _without_rounding_errors(lengths, condensed))


def _without_rounding_errors(lengths: Reals, condensed: Reals) -> Reals:
    """Return the lengths of branches, 0 for those that are only rounding errors. condensed: all distances"""
    return np.where(abs(lengths) < _ROUNDING_TOLERANCE * condensed.max(), 0.0, lengths)


def _tree_of_two(ids: Sequence[str], condensed: Reals) -> Tree:
    """Return the tree of one record, or of two records with the root halfway between them."""
    if len(ids) == 1:
        return Tree(ids, np.array([-1]), np.zeros(1))
    half = float(condensed[0]) / 2
    return Tree(ids, np.array([2, 2, -1]), np.array([half, half, 0.0]))


def dense_spanning_tree(ids: Sequence[str], condensed: Reals) -> Tree:
    """Return the minimum spanning tree of all records using Prim's algorithm, with the first record as root. All nodes are records.

    condensed: all distances, in scipy's condensed form; nan for a pair without a distance

    Among equally long edges, the edge with the smallest record indices is chosen: the lower index of each edge is compared first, then the
    higher one. There is one tree for each connected component.
    """
    from scipy.spatial.distance import squareform

    count = len(ids)
    square = squareform(np.where(np.isnan(condensed), np.inf, condensed), checks=False)
    numbers = np.arange(count)
    parents, lengths = np.full(count, -1, dtype=np.int64), np.zeros(count)
    outside = np.ones(count, dtype=bool)
    shortest = np.full(count, np.inf)  # edges from the tree to each record outside
    keys = np.full(count, count * count)  # of these edges, smaller record number first
    for _ in range(count):
        min_length = shortest.min()
        if np.isinf(min_length):
            node = int(outside.argmax())  # the first of the next component
        else:
            nearest = np.flatnonzero(shortest == min_length)
            node = int(nearest[keys[nearest].argmin()])
            low, high = divmod(int(keys[node]), count)
            parents[node], lengths[node] = low + high - node, min_length
        outside[node], shortest[node] = False, np.inf
        own = np.minimum(numbers, node) * count + np.maximum(numbers, node)
        better = outside & np.isfinite(square[node]) & ((square[node] < shortest) | ((square[node] == shortest) & (own < keys)))
        shortest[better], keys[better] = square[node][better], own[better]
    return Tree(ids, parents, lengths)


def sparse_spanning_tree(ids: Sequence[str], edges: Edges) -> Tree:
    """Return the minimum spanning tree of a graph whose edges are the listed pairs, using scipy. Roots, ties and components are as in
    `dense_spanning_tree`."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import breadth_first_order, connected_components, minimum_spanning_tree

    count = len(ids)
    parents, lengths = np.full(count, -1, dtype=np.int64), np.zeros(count)
    # By their ranks: no two are equal, and none is 0, which scipy takes for an absent edge.
    order = np.lexsort((edges.j, edges.i, edges.distance))
    ranks = np.empty(len(edges), dtype=np.int64)
    ranks[order] = np.arange(1, len(edges) + 1)
    pairs = edges.i.astype(np.int32), edges.j.astype(np.int32)  # scipy's functions of graphs refused 64 bits for years
    graph = coo_array((ranks, pairs), shape=(count, count)).tocsr()
    chosen = minimum_spanning_tree(graph)
    _, first = np.unique(connected_components(chosen, directed=False)[1], return_index=True)
    for root in first.tolist():
        nodes, before = breadth_first_order(chosen, root, directed=False)
        parents[nodes[1:]] = before[nodes[1:]]
    others = np.flatnonzero(parents >= 0)
    lengths[others] = edges.distances_between(others, parents[others])
    return Tree(ids, parents, lengths)
