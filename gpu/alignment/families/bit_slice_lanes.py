"""Assigns bit-slice lanes to thread blocks; a lane is one query with one group of targets."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from gpualign.core.common.arrays import Integers
from gpualign.core.common.dataclass import dataclass


@dataclass(frozen=True)
class Lanes:
    """Lanes of each item, numbered group * queries + query.

    items: int32[items], the lane of each item's first thread, where the remaining threads have the preceding lanes in descending order;
      or -1 - k, for row k of `listed_lanes`
    listed_lanes: int32[rows][threads], the lane of each thread; -1 for a thread without work
    first_lanes: int64[items], the first lane of each item, which has the longest targets
    """

    items: npt.NDArray[np.int32]
    listed_lanes: npt.NDArray[np.int32]
    first_lanes: Integers

    def strips(self, heights: Integers) -> Integers:
        """Return the number of strips of each item: the maximum over the item's queries. heights: strips per query, ascending."""
        if heights[0] == heights[-1]:
            return np.full(len(self.items), heights[0])
        queries, threads = len(heights), self.listed_lanes.shape[1]
        row = self.first_lanes % queries
        strips = heights[np.where(row >= threads - 1, row, queries - 1)]
        rows = np.flatnonzero(self.items < 0)
        strips[rows] = heights[self.listed_lanes[-1 - self.items[rows]] % queries].max(axis=1, initial=1)
        return strips


def make_lanes(first_targets: Integers, last: Integers, columns: Integers, threads: int) -> Lanes:
    """Return all lanes with a selected pair, in items of `threads` threads, longest targets first.

    Most groups are selected for all queries, and there may be too many lanes to list individually. So lanes are listed only if they are in
    the remaining groups or do not fill an item.

    first_targets: first target record of each query; last: highest record number in each group; columns: length of each group's longest
    target, in ascending order within each run of groups.
    """
    queries = len(first_targets)
    whole = last >= first_targets.max()
    # Runs of groups that are selected for all queries, or not for all, in order of length.
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
