"""Which lanes of bit slices share a block of threads: a lane has a query against a group of targets."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from gpualign.core.common.arrays import Integers
from gpualign.core.common.dataclass import dataclass


@dataclass(frozen=True)
class Lanes:
    """Lanes are numbered group * queries + query.

    items: int32[items], of each item the lane of its first thread, which the lanes before that one follow, a thread each; or -1 - k, for
    the k-th row of `listed`. listed: int32[rows][threads], -1 for a thread without work. first: int64[items], the first lane of each item,
    which has the longest targets.
    """

    items: npt.NDArray[np.int32]
    listed: npt.NDArray[np.int32]
    first: Integers

    def strips(self, heights: Integers) -> Integers:
        """Of each item, the most that one of its queries has. heights: of each query, in ascending order."""
        if heights[0] == heights[-1]:
            return np.full(len(self.items), heights[0])
        queries, threads = len(heights), self.listed.shape[1]
        row = self.first % queries
        strips = heights[np.where(row >= threads - 1, row, queries - 1)]
        rows = np.flatnonzero(self.items < 0)
        strips[rows] = heights[self.listed[-1 - self.items[rows]] % queries].max(axis=1, initial=1)
        return strips


def make_lanes(first_targets: Integers, last: Integers, columns: Integers, threads: int) -> Lanes:
    """Every lane with a wanted pair, in items of so many threads, the longest targets first.

    first_targets: of each query; last: the greatest record of each group, columns: of its longest target. Most groups are wanted by all
    queries, and many lanes are too many to be written down one by one: only those of the other groups are, and what fills no item.
    """
    queries = len(first_targets)
    whole = last >= first_targets.max()
    # Runs of groups that all queries want, or that not all want, in order of length.
    bounds = [0, *(np.flatnonzero((np.diff(whole) != 0) | (np.diff(columns) < 0)) + 1).tolist(), len(last)]
    starts, listed = [], []
    for start, stop in zip(bounds[-2::-1], bounds[:0:-1], strict=True):
        if whole[start]:
            filled, left = divmod((stop - start) * queries, threads)
            starts.append(stop * queries - 1 - threads * np.arange(filled))
            listed.append(start * queries + np.arange(left - 1, -1, -1))
        else:
            rows = np.arange(queries - 1, -1, -1)
            listed += [group * queries + rows[first_targets[rows] <= last[group]] for group in range(stop - 1, start - 1, -1)]
    alone = np.concatenate(listed)
    alone = alone[np.argsort(-columns[alone // queries], kind="stable")]
    table = np.full((-(-len(alone) // threads), threads), -1, dtype=np.int32)
    table.reshape(-1)[: len(alone)] = alone
    runs = np.concatenate([*starts, np.zeros(0, dtype=np.int64)])
    items = np.concatenate((runs, -1 - np.arange(len(table)))).astype(np.int32)
    first = np.concatenate((runs, table[:, 0].astype(np.int64)))
    order = np.argsort(-columns[first // queries], kind="stable")
    return Lanes(items[order], table, first[order])
