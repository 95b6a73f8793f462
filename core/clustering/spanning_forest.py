"""Minimum spanning forest of near pairs, which determines the single-linkage clusters at every threshold. Pure."""

from __future__ import annotations

import numpy as np

from gpualign.core.clustering.edges import Chunk, EdgeList, Edges, concatenate_chunks
from gpualign.core.clustering.linkage import single_linkage
from gpualign.core.common.arrays import Integers, Reals

_PENDING_PAIRS = 1 << 20
"""Minimum number of pairs that are compared with the forest together."""


def spanning_forest(edges: EdgeList) -> Edges:
    """Return the minimum spanning forest of the records: fewer pairs than there are records, sorted by distance. Ties are broken by record
    indices: the lower index of each pair is compared first, then the higher one.

    Only the forest of the pairs so far and a limited number of further pairs are in memory: a million, or the number of records if that is
    larger. The result is exact: distances, with ties broken, order the pairs strictly, and a pair that is the last of a cycle in this order
    is in no minimum spanning forest. So a pair that is dropped early cannot be in the forest of all pairs.
    """
    limit = max(_PENDING_PAIRS, edges.record_count)
    none = np.empty(0, dtype=np.int32), np.empty(0, dtype=np.int32), np.empty(0)
    forest: Chunk = none
    pending: list[Chunk] = []
    for chunk in edges.chunks():
        pending.append(chunk)
        if sum(len(i) for i, _, _ in pending) >= limit:
            forest = _forest_of(edges.record_count, concatenate_chunks([forest, *pending]))
            pending.clear()
    return Edges(edges.record_count, *_forest_of(edges.record_count, concatenate_chunks([forest, *pending])))


def _forest_of(record_count: int, pairs: Chunk) -> Chunk:
    """Return the pairs of the minimum spanning forest, sorted."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import minimum_spanning_tree

    i, j, distance = pairs
    order = np.lexsort((j, i, distance))
    i, j, distance = i[order].astype(np.int32), j[order].astype(np.int32), distance[order]
    # Edges are weighted by rank: no two are equal, and none is 0, which scipy takes for an absent edge.
    graph = coo_array((np.arange(1, len(order) + 1, dtype=np.float64), (i, j)), shape=(record_count, record_count)).tocsr()
    chosen = np.sort(minimum_spanning_tree(graph).data.astype(np.int64)) - 1
    return i[chosen], j[chosen], distance[chosen]


def labels_at(forest: Edges, limits: Reals) -> Integers:
    """Return the single-linkage clusters at several thresholds: a label for each record, int64[thresholds][records].

    forest: minimum spanning forest
    limits: maximum distance within which two records are near, for each threshold

    At any limit, the forest's pairs within it connect the same records as all pairs within it: the forest's path between two records is one
    whose longest pair is as short as possible.
    """
    labels = np.empty((len(limits), forest.record_count), dtype=np.int64)
    for level, limit in enumerate(limits.tolist()):
        near = forest.distance <= limit
        labels[level] = single_linkage(Edges(forest.record_count, forest.i[near], forest.j[near], forest.distance[near]))
    return labels
