"""Selects pairs by group, if records are divided into groups: pairs whose groups agree, or pairs whose groups do not. Pure."""

from __future__ import annotations

from dataclasses import field, replace
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from gpualign.core.common.arrays import Booleans, Integers
from gpualign.core.common.dataclass import dataclass

LabelSets: TypeAlias = npt.NDArray[np.uint64]
"""Set of labels of each group, uint64[groups][words]: label l is bit l % 64 of word l // 64."""


@dataclass(frozen=True, eq=False)
class GroupPairSelector:
    """Selects record pairs by the groups of their records.

    queries, targets: group of each record, int64[records]
    within_groups: whether to select the pairs whose groups agree; otherwise, the other pairs are selected
    labels: sets of labels of the groups, one array for each property; groups agree if they share a label of each property. If there are
        none, a group agrees only with itself
    """

    queries: Integers = field(repr=False)
    targets: Integers = field(repr=False)
    within_groups: bool
    labels: tuple[LabelSets, ...] = field(default=(), repr=False)

    def selection_mask(self, queries: Integers, targets: Integers) -> Booleans:
        """Return a mask of the selected pairs.

        queries, targets: record numbers, arrays that are broadcast
        """
        return self.select_groups(self.queries[queries], self.targets[targets])

    def select_groups(self, groups: Integers, others: Integers) -> Booleans:
        """Return a mask of the pairs of groups whose records are paired. groups, others: group numbers, arrays that are broadcast."""
        agree: Booleans = groups == others
        if self.labels:
            shared = [(sets[groups] & sets[others]).any(axis=-1) for sets in self.labels]
            agree = np.logical_and.reduce(shared)
        selected: Booleans = agree == self.within_groups
        return selected

    def select(self, records: Integers) -> GroupPairSelector:
        """Return the selection among some records of one set."""
        chosen = self.queries[records]
        return replace(self, queries=chosen, targets=chosen)

    def weight_sums(self, weights: Integers, first_targets: Integers | None) -> Integers:
        """Return the total weight of the targets that are selected for each query: int64[queries].

        weights: weight of each target
        first_targets: for each query, the first target to include; all later targets are included too. If None, all targets are included
        """
        if first_targets is None:
            first_targets = np.zeros(len(self.queries), dtype=np.int64)
        order = np.argsort(self.targets, kind="stable")
        width = len(self.targets) + 1
        keys = self.targets[order] * width + order  # by group, then by record
        before = np.concatenate(([0], np.cumsum(weights[order], dtype=np.int64)))

        def sums_in(groups: Integers, first: Integers) -> Integers:
            """Return the weights of the targets of these groups, from the first ones on. The arrays are broadcast."""
            start, stop = np.searchsorted(keys, groups * width + first), np.searchsorted(keys, (groups + 1) * width)
            included: Integers = before[stop] - before[start]
            return included

        if not self.labels:
            agreeing = sums_in(self.queries, first_targets)
        else:
            agreeing = np.zeros(len(self.queries), dtype=np.int64)
            existing, same = np.unique(self.targets), replace(self, within_groups=True)
            for group, rows in _members(self.queries):
                others = existing[same.select_groups(np.array(group), existing)]
                agreeing[rows] = sums_in(others[:, None], first_targets[rows][None, :]).sum(axis=0)
        if self.within_groups:
            return agreeing
        before_all = np.concatenate(([0], np.cumsum(weights, dtype=np.int64)))
        different: Integers = before_all[-1] - before_all[first_targets] - agreeing
        return different

    @property
    def digest(self) -> str:
        """SHA-256, in hexadecimal, of the groups, their labels and `within_groups`."""
        import hashlib

        digest = hashlib.sha256(b"within" if self.within_groups else b"between")
        for groups in (self.queries, self.targets):
            digest.update(groups.astype("<i8").tobytes())
        for sets in self.labels:
            digest.update(sets.astype("<u8").tobytes())
        return digest.hexdigest()


def _members(groups: Integers) -> list[tuple[int, Integers]]:
    """Return each group that has records, with its records, ascending. groups: group of each record."""
    order = np.argsort(groups, kind="stable")
    existing, starts = np.unique(groups[order], return_index=True)
    return list(zip(existing.tolist(), np.split(order, starts[1:]), strict=True))


def pack_labels(sets: list[frozenset[int]], label_count: int) -> LabelSets:
    """Return the sets of labels of groups as bits. sets: labels of each group, numbers below `label_count`."""
    words = np.zeros((len(sets), max(1, -(-label_count // 64))), dtype=np.uint64)
    for group, labels in enumerate(sets):
        for label in labels:
            words[group, label // 64] |= np.uint64(1 << (label % 64))
    return words
