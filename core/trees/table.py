"""Formats a spanning tree as a table of its edges."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from gpualign.core.trees.tree import Tree


def edge_rows(tree: Tree) -> Iterator[str]:
    """Yield the lines of the table, after a header: query, target, distance. The query of an edge is the earlier record; rows are in record
    order."""
    nodes = np.flatnonzero(tree.parents >= 0)
    parents = tree.parents[nodes]
    low, high = np.minimum(nodes, parents), np.maximum(nodes, parents)
    yield "query\ttarget\tdistance\n"
    for k in np.lexsort((high, low)).tolist():
        yield f"{tree.ids[low[k]]}\t{tree.ids[high[k]]}\t{tree.lengths[nodes[k]]:.10g}\n"
