"""Random trees, and the distances between their records."""

from itertools import combinations

import numpy as np

from gpualign.core.trees.tree import Tree


def names(count):
    return [f"s{k}" for k in range(count)]


def path_lengths(tree):
    """Distances between all records, along the branches: float64[records][records]."""
    parents, lengths = tree.parents.tolist(), tree.lengths.tolist()

    def way_up(node):
        way = {}
        length = 0.0
        while node >= 0:
            way[node] = length
            length, node = length + lengths[node], parents[node]
        return way

    count = len(tree.ids)
    ways = [way_up(node) for node in range(count)]
    found = np.zeros((count, count))
    for i, j in combinations(range(count), 2):
        meeting = min(ways[i].keys() & ways[j].keys(), key=lambda node: ways[i][node])
        found[i, j] = found[j, i] = ways[i][meeting] + ways[j][meeting]
    return found


def random_tree(rng, count, length=lambda rng: rng.uniform(0.1, 2)):
    """A random unrooted binary tree of `count` records. length: returns the length of a branch"""
    parents, lengths = np.full(2 * count - 2, -1), np.zeros(2 * count - 2)
    roots = list(range(count))
    for made in range(count, 2 * count - 3):
        for _ in range(2):
            node = roots.pop(int(rng.integers(len(roots))))
            parents[node], lengths[node] = made, length(rng)
        roots.append(made)
    for node in roots:
        parents[node], lengths[node] = 2 * count - 3, length(rng)
    return Tree(names(count), parents, lengths)
