"""Roots unrooted trees at an outgroup or at the midpoint."""

from __future__ import annotations

import numpy as np

from gpualign.core.common.arrays import Integers, Reals
from gpualign.core.trees.tree import Tree


def root_at_outgroup(tree: Tree, outgroup: int) -> Tree:
    """Reroot the tree at the midpoint of the outgroup's branch.

    tree: one unrooted tree whose first nodes are exactly its leaves, as in neighbour joining; at least three branches meet at each inner
        node, including the root
    outgroup: index of a record

    Path lengths between records are preserved up to rounding, and the new root is the last node. A tree of one or two records is returned
    unchanged. Runs in time proportional to the outgroup's depth.
    """
    if len(tree.ids) < 3:
        return tree
    return _insert_root(tree, outgroup, float(tree.lengths[outgroup]) / 2)


def root_at_midpoint(tree: Tree) -> Tree:
    """Reroot the tree halfway between the two records that are farthest apart (Farris 1972).

    tree: one unrooted tree of the form that `root_at_outgroup` takes, without negative branch lengths

    If several pairs are equally far apart, their midpoints coincide. If the midpoint is a node, the root splits one of the node's branches
    into a branch of length 0 and a branch of full length. Runs in time proportional to the number of records.
    """
    if len(tree.ids) < 3:
        return tree
    first = _farthest_record(_paths_to(tree, 0)[1], 0, len(tree.ids))
    parents, depths = _paths_to(tree, first)
    node = _farthest_record(depths, first, len(tree.ids))
    middle = float(depths[node]) / 2
    while (parent := int(parents[node])) != first and depths[parent] > middle:
        node = parent
    beyond = float(depths[node]) - middle
    # A branch belongs to its child, which is the end nearer to `first` if the old root lies beyond the branch.
    if tree.parents[node] == parent:
        return _insert_root(tree, node, min(beyond, float(tree.lengths[node])))
    return _insert_root(tree, parent, max(0.0, float(tree.lengths[parent]) - beyond))


def _farthest_record(depths: Reals, start: int, record_count: int) -> int:
    """Return the record farthest from `start` (the first if tied). Never returns `start` itself, even if all records are at distance 0.

    depths: distance of each node from `start`
    """
    others = depths[:record_count].copy()
    others[start] = -1
    return int(others.argmax())


def _paths_to(tree: Tree, start: int) -> tuple[Integers, Reals]:
    """Return, for each node, (the next node on the path to `start`, -1 for `start` itself; the path length)."""
    count = len(tree.parents)
    neighbours: list[list[tuple[int, float]]] = [[] for _ in range(count)]
    for node, (parent, length) in enumerate(zip(tree.parents.tolist(), tree.lengths.tolist(), strict=True)):
        if parent >= 0:
            neighbours[node].append((parent, length))
            neighbours[parent].append((node, length))
    before, depths = [-1] * count, [0.0] * count
    waiting = [start]
    while waiting:
        node = waiting.pop()
        for other, length in neighbours[node]:
            if other != before[node]:
                before[other], depths[other] = node, depths[node] + length
                waiting.append(other)
    return np.array(before, dtype=np.int64), np.array(depths)


def _insert_root(tree: Tree, node: int, distance_below: float) -> Tree:
    """Return the tree with a new root on the branch above a node, at the distance `distance_below` from the node; branches between the new
    and the old root are reversed."""
    parents, lengths = np.append(tree.parents, -1), np.append(tree.lengths, 0.0)
    above = root = len(tree.parents)
    upper, length = int(parents[node]), float(lengths[node]) - distance_below
    parents[node], lengths[node] = root, distance_below
    while upper >= 0:
        following, own = int(parents[upper]), float(lengths[upper])
        parents[upper], lengths[upper] = above, length
        above, upper, length = upper, following, own
    return Tree(tree.ids, parents, lengths)
