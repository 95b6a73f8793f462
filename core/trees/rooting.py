"""Roots of unrooted trees."""

from __future__ import annotations

import numpy as np

from gpualign.core.common.arrays import Integers, Reals
from gpualign.core.trees.tree import Tree


def root_at_outgroup(tree: Tree, outgroup: int) -> Tree:
    """The tree with a root in the middle of the branch that leads to one record.

    tree: one unrooted tree whose first nodes, and they alone, are leaves, as neighbour joining's: at least three branches meet in each
    inner node, the root included
    outgroup: index of the record

    The path between any two records stays as long as it was, up to rounding, and the last node is the new root. A tree of one or two
    records has no other root and is returned as it is. Takes time in proportion to the depth of the record.
    """
    if len(tree.ids) < 3:
        return tree
    return _divided(tree, outgroup, float(tree.lengths[outgroup]) / 2)


def root_at_midpoint(tree: Tree) -> Tree:
    """The tree with a root half way between the two records that are farthest apart (Farris 1972).

    tree: as for `root_at_outgroup`, with no branch of negative length

    If several pairs are equally far apart, their middle is the same point. If it is a node, the root divides one of the node's branches
    into nothing and all of its length. Takes time in proportion to the number of records.
    """
    if len(tree.ids) < 3:
        return tree
    first = _farthest(_as_seen_from(tree, 0)[1], 0, len(tree.ids))
    parents, depths = _as_seen_from(tree, first)
    node = _farthest(depths, first, len(tree.ids))
    middle = float(depths[node]) / 2
    while (parent := int(parents[node])) != first and depths[parent] > middle:
        node = parent
    beyond = float(depths[node]) - middle
    # A branch is that of its child, which is the end nearer to `first` where the old root lies behind the branch.
    if tree.parents[node] == parent:
        return _divided(tree, node, min(beyond, float(tree.lengths[node])))
    return _divided(tree, parent, max(0.0, float(tree.lengths[parent]) - beyond))


def _farthest(depths: Reals, start: int, records: int) -> int:
    """The record that is farthest from another one, the first of several; another one even if all are in the same place."""
    others = depths[:records].copy()
    others[start] = -1
    return int(others.argmax())


def _as_seen_from(tree: Tree, start: int) -> tuple[Integers, Reals]:
    """(the next node on the way to `start`, -1 for `start` itself; the length of that way) of each node."""
    count = len(tree.parents)
    beside: list[list[tuple[int, float]]] = [[] for _ in range(count)]
    for node, (parent, length) in enumerate(zip(tree.parents.tolist(), tree.lengths.tolist(), strict=True)):
        if parent >= 0:
            beside[node].append((parent, length))
            beside[parent].append((node, length))
    before, depths = [-1] * count, [0.0] * count
    waiting = [start]
    while waiting:
        node = waiting.pop()
        for other, length in beside[node]:
            if other != before[node]:
                before[other], depths[other] = node, depths[node] + length
                waiting.append(other)
    return np.array(before, dtype=np.int64), np.array(depths)


def _divided(tree: Tree, node: int, below: float) -> Tree:
    """The tree with a new root on the branch above a node, so far above it; branches from there to the old root are turned round."""
    parents, lengths = np.append(tree.parents, -1), np.append(tree.lengths, 0.0)
    above = root = len(tree.parents)
    upper, length = int(parents[node]), float(lengths[node]) - below
    parents[node], lengths[node] = root, below
    while upper >= 0:
        following, own = int(parents[upper]), float(lengths[upper])
        parents[upper], lengths[upper] = above, length
        above, upper, length = upper, following, own
    return Tree(tree.ids, parents, lengths)
