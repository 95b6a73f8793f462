"""Lists of numbers, one for each of several items, such as the chains of each cell. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from functools import cached_property

import numpy as np

from gpualign.core.common.arrays import Integers, expand_ranges
from gpualign.core.common.dataclass import dataclass
from gpualign.core.near_pairs.deduplication import DuplicateGroups
from gpualign.core.sequences.string_column import StringColumn


@dataclass(frozen=True)
class IndexLists:
    """A list of numbers for each of several items.

    offsets: int64[items + 1]
    values: the numbers of item i are values[offsets[i] : offsets[i + 1]], ascending and distinct, int64
    """

    offsets: Integers = field(repr=False)
    values: Integers = field(repr=False)

    @classmethod
    def from_pairs(cls, items: Integers, values: Integers, item_count: int) -> IndexLists:
        """Return the lists with these numbers, in which repeated pairs count once. items, values: an item and a number of its list"""
        width = int(values.max(initial=0)) + 1
        keys = items * width + values
        keys.sort()  # np.unique would hash them, which takes longer
        keys = keys[np.concatenate(([True], keys[1:] != keys[:-1]))[: len(keys)]]
        sizes = np.bincount(keys // width, minlength=item_count)
        return cls(np.concatenate(([0], np.cumsum(sizes))).astype(np.int64), keys % width)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @cached_property
    def sizes(self) -> Integers:
        """Number of numbers in each list: int64[items]."""
        return np.diff(self.offsets)

    def inverted(self, count: int) -> IndexLists:
        """Return, for each of the numbers below `count`, the items whose list has it."""
        items = np.repeat(np.arange(len(self), dtype=np.int64), self.sizes)
        order = np.argsort(self.values, kind="stable")
        sizes = np.bincount(self.values, minlength=count)
        return IndexLists(np.concatenate(([0], np.cumsum(sizes))).astype(np.int64), items[order])

    def select(self, items: Integers) -> IndexLists:
        """Return the lists of some items, in the order of `items`."""
        return IndexLists(np.concatenate(([0], np.cumsum(self.sizes[items]))).astype(np.int64), self.expand(items)[1])

    def expand(self, items: Integers) -> tuple[Integers, Integers]:
        """Return (place in `items`, number) for each number in the lists of these items, list by list."""
        places, indices = expand_ranges(self.offsets[items], self.sizes[items])
        return places, self.values[indices]


def equal_items(lists: Sequence[IndexLists]) -> DuplicateGroups:
    """Return groups of the items that have equal lists in each of `lists`, all of the same items."""
    offsets: Integers = sum((one.offsets for one in lists), np.zeros(len(lists[0]) + 1, dtype=np.int64))
    joined, starts, width = np.empty(int(offsets[-1]), dtype="<i8"), offsets[:-1].copy(), 0
    for one in lists:
        joined[expand_ranges(starts, one.sizes)[1]] = one.values + width
        starts += one.sizes
        width += int(one.values.max(initial=0)) + 1  # so that equal numbers of different lists differ
    return DuplicateGroups(*StringColumn(joined.view(np.uint8), offsets * joined.itemsize).distinct())
