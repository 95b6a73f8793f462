"""What a tree is, whatever made it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field, replace

import numpy as np

from gpualign.core.common.arrays import Integers, Reals
from gpualign.core.common.dataclass import dataclass

_ROUNDING = 1e-12
"""Of the longest branch: more than sums and differences of distances of this size are wrong by."""


@dataclass(frozen=True)
class Tree:
    """One tree or several. ids: of the first nodes, which are records; further nodes have no name.

    parents: int64[nodes], -1 of roots; lengths: float64[nodes], of the branch to the parent, 0 of roots.
    """

    ids: Sequence[str] = field(repr=False)
    parents: Integers = field(repr=False)
    lengths: Reals = field(repr=False)

    @property
    def roots(self) -> Integers:
        """Of each tree, in the order of their numbers: int64[trees]."""
        return np.flatnonzero(self.parents < 0).astype(np.int64)

    def children(self) -> list[list[int]]:
        """Of each node, in the order of their numbers."""
        found: list[list[int]] = [[] for _ in range(len(self.parents))]
        for node, parent in enumerate(self.parents.tolist()):
            if parent >= 0:
                found[parent].append(node)
        return found

    def without_negative_lengths(self) -> tuple[Tree, int]:
        """(the tree in which a branch of less than no length has none; how many there were, beyond what rounding makes of 0)."""
        negative = self.lengths < -_ROUNDING * np.abs(self.lengths).max(initial=0)
        return replace(self, lengths=np.maximum(self.lengths, 0.0)), int(negative.sum())
