"""One or more trees of records."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field, replace

import numpy as np

from gpualign.core.common.arrays import Integers, Reals
from gpualign.core.common.dataclass import dataclass

_ROUNDING_TOLERANCE = 1e-12
"""Fraction of the longest branch. It exceeds the rounding errors in sums and differences of distances as large as this branch."""


@dataclass(frozen=True)
class Tree:
    """One or more trees.

    ids: ids of the first nodes, which are the records; the remaining nodes are unnamed
    parents: parent of each node, int64[nodes]; -1 for roots
    lengths: length of the branch from each node to its parent, float64[nodes]; 0 for roots
    """

    ids: Sequence[str] = field(repr=False)
    parents: Integers = field(repr=False)
    lengths: Reals = field(repr=False)

    @property
    def roots(self) -> Integers:
        """Roots of all trees, in ascending order: int64[trees]."""
        return np.flatnonzero(self.parents < 0).astype(np.int64)

    def children(self) -> list[list[int]]:
        """Return the children of each node, in ascending order."""
        children: list[list[int]] = [[] for _ in range(len(self.parents))]
        for node, parent in enumerate(self.parents.tolist()):
            if parent >= 0:
                children[parent].append(node)
        return children

    def with_records_as_leaves(self) -> Tree:
        """Return the tree with each record that is an inner node as a leaf, on a branch of length 0 from an unnamed node in its place.
        Distances between records stay the same."""
        inner = np.unique(self.parents[self.parents >= 0])
        inner = inner[inner < len(self.ids)]
        place = np.arange(len(self.parents) + 1)  # the last entry is for the parent -1 of roots
        place[inner] = len(self.parents) + np.arange(len(inner))
        place[-1] = -1
        parents = np.concatenate((place[self.parents], place[self.parents[inner]]))
        lengths = np.concatenate((self.lengths, self.lengths[inner]))
        parents[inner], lengths[inner] = place[inner], 0.0
        return Tree(self.ids, parents, lengths)

    def without_negative_lengths(self) -> tuple[Tree, int]:
        """Return (the tree with negative lengths set to 0; the number of negative lengths, not counting lengths that are 0 up to
        rounding)."""
        negative = self.lengths < -_ROUNDING_TOLERANCE * np.abs(self.lengths).max(initial=0)
        return replace(self, lengths=np.maximum(self.lengths, 0.0)), int(negative.sum())
