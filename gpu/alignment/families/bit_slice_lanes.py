"""Assigns bit-slice lanes to thread blocks; a lane is one query with one group of targets."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from gpualign.core.common.arrays import Integers
from gpualign.core.common.dataclass import dataclass


@dataclass(frozen=True)
class LaneAssignment:
    """Assignment of lanes to items. The number of a lane is group * (number of queries) + query.

    item_lanes: int32[items], the lane of the item's first thread if the item's lanes are consecutive, in descending order; -1 - k if row k
        of `listed_lanes` contains them
    listed_lanes: int32[rows][threads], the lane of each thread; -1 for a thread without work
    first_lanes: int64[items], the lane of the item's first thread, which has the item's longest targets
    """

    item_lanes: npt.NDArray[np.int32]
    listed_lanes: npt.NDArray[np.int32]
    first_lanes: Integers

    def strips_per_item(self, query_strips: Integers) -> Integers:
        """Return the number of strips of each item: the maximum over the item's queries. query_strips: strips per query, ascending"""
        if query_strips[0] == query_strips[-1]:
            return np.full(len(self.item_lanes), query_strips[0])
        queries, threads = len(query_strips), self.listed_lanes.shape[1]
        row = self.first_lanes % queries
        strips = query_strips[np.where(row >= threads - 1, row, queries - 1)]
        rows = np.flatnonzero(self.item_lanes < 0)
        strips[rows] = query_strips[self.listed_lanes[-1 - self.item_lanes[rows]] % queries].max(axis=1, initial=1)
        return strips


def assign_lanes(first_targets: Integers, last_targets: Integers, max_lengths: Integers, item_threads: int) -> LaneAssignment:
    """Return all lanes that contain a selected pair, in items of `item_threads` threads, longest targets first.

    Most groups are selected for all queries, and there may be too many lanes to list individually. So lanes are listed only if they are in
    the remaining groups, or if they are too few to fill an item.

    first_targets: record number of each query's first target
    last_targets: highest record number in each group of targets
    max_lengths: length of the longest target in each group; the lengths ascend, but may start again from a shorter one
    item_threads: threads per item
    """
    queries = len(first_targets)
    whole = last_targets >= first_targets.max()
    # Runs of groups that are selected for all queries, or not for all, in order of length.
    bounds = [0, *(np.flatnonzero((np.diff(whole) != 0) | (np.diff(max_lengths) < 0)) + 1).tolist(), len(last_targets)]
    starts, listed = [], []
    for start, stop in zip(bounds[-2::-1], bounds[:0:-1], strict=True):
        if whole[start]:
            filled, left = divmod((stop - start) * queries, item_threads)
            starts.append(stop * queries - 1 - item_threads * np.arange(filled))
            listed.append(start * queries + np.arange(left - 1, -1, -1))
        else:
            rows = np.arange(queries - 1, -1, -1)
            listed += [group * queries + rows[first_targets[rows] <= last_targets[group]] for group in range(stop - 1, start - 1, -1)]
    alone = np.concatenate(listed)
    alone = alone[np.argsort(-max_lengths[alone // queries], kind="stable")]
    table = np.full((-(-len(alone) // item_threads), item_threads), -1, dtype=np.int32)
    table.reshape(-1)[: len(alone)] = alone
    runs = np.concatenate([*starts, np.zeros(0, dtype=np.int64)])
    items = np.concatenate((runs, -1 - np.arange(len(table)))).astype(np.int32)
    first = np.concatenate((runs, table[:, 0].astype(np.int64)))
    order = np.argsort(-max_lengths[first // queries], kind="stable")
    return LaneAssignment(items[order], table, first[order])
