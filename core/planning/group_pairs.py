"""Selects pairs by group, if records are divided into groups: either pairs within a group or pairs between groups. Pure."""

from __future__ import annotations

from dataclasses import field

import numpy as np

from gpualign.core.common.arrays import Booleans, Integers
from gpualign.core.common.dataclass import dataclass


@dataclass(frozen=True, eq=False)
class GroupPairSelector:
    """Selects record pairs by the groups of their records.

    queries, targets: group of each record, int64[records]
    within_groups: whether to select the pairs within a group; otherwise, the pairs between groups are selected
    """

    queries: Integers = field(repr=False)
    targets: Integers = field(repr=False)
    within_groups: bool

    def selection_mask(self, queries: Integers, targets: Integers) -> Booleans:
        """Return a mask of the selected pairs.

        queries, targets: record numbers, arrays that are broadcast
        """
        mask: Booleans = (self.queries[queries] == self.targets[targets]) == self.within_groups
        return mask

    def weight_sums(self, weights: Integers, first_targets: Integers | None) -> Integers:
        """Return the total weight of the targets that are selected for each query: int64[queries].

        weights: weight of each target
        first_targets: for each query, the first target to include; all later targets are included too. If None, all targets are included
        """
        if first_targets is None:
            first_targets = np.zeros(len(self.queries), dtype=np.int64)
        order = np.argsort(self.targets, kind="stable")
        keys = self.targets[order] * (len(self.targets) + 1) + order  # by group, then by record
        before = np.concatenate(([0], np.cumsum(weights[order], dtype=np.int64)))
        start = np.searchsorted(keys, self.queries * (len(self.targets) + 1) + first_targets)
        stop = np.searchsorted(keys, (self.queries + 1) * (len(self.targets) + 1))
        same: Integers = before[stop] - before[start]
        if self.within_groups:
            return same
        before_all = np.concatenate(([0], np.cumsum(weights, dtype=np.int64)))
        others: Integers = before_all[-1] - before_all[first_targets] - same
        return others

    @property
    def digest(self) -> str:
        """SHA-256, in hexadecimal, of the groups and `within_groups`."""
        import hashlib

        digest = hashlib.sha256(b"within" if self.within_groups else b"between")
        for groups in (self.queries, self.targets):
            digest.update(groups.astype("<i8").tobytes())
        return digest.hexdigest()
