"""Computes only the pairs that groups of records select, with an engine that computes rectangles of pairs.

The engine gets an inner task, in which the queries are sorted by group. In this order, the queries of a tile that belong to one group are
adjacent. They form a rectangle with the targets selected for that group.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field, replace
from itertools import count

import numpy as np

from gpualign.core.alignment.task import Task
from gpualign.core.alignment.tile_results import TileResult
from gpualign.core.common.arrays import Integers
from gpualign.core.common.dataclass import dataclass
from gpualign.core.execution.engine import Engine, PreparedTask
from gpualign.core.execution.retiling import SplitTile, TilePiece, retile
from gpualign.core.planning.group_pairs import GroupPairSelector
from gpualign.core.planning.memory_budget import Budget
from gpualign.core.planning.pair_rectangles import selected_rectangles
from gpualign.core.planning.tile_plan import Band, Pairing, Tile, TileLimits


def prepare_group_pairs(engine: Engine, task: Task, budget: Budget, groups: GroupPairSelector) -> GroupedPreparedTask:
    """Prepare a task for the pairs that `groups` selects. Raises the same errors as `Engine.prepare`."""
    order = np.argsort(groups.queries, kind="stable")
    query_indices = np.empty_like(order)
    query_indices[order] = np.arange(len(order))
    return GroupedPreparedTask(task, engine.prepare(replace(task, queries=task.queries.select(order)), budget), groups, query_indices)


@dataclass(frozen=True)
class GroupedPreparedTask:
    """Prepared task that computes only the pairs that groups select. Implements `gpualign.core.execution.engine.PreparedTask`.

    inner: the inner task, prepared by an engine
    groups: selects the pairs
    query_indices: for each query of the task, its index in the inner task

    Tiles in the results of `run` count only the DP cells of selected pairs.
    """

    task: Task
    inner: PreparedTask = field(repr=False)
    groups: GroupPairSelector
    query_indices: Integers = field(repr=False)

    @property
    def limits(self) -> TileLimits:
        """Limits of the inner task, but with a `diagonal_group_size` of 0: the plan need not consider which targets the inner engine can
        skip, because that engine gets only rectangles of selected pairs."""
        return replace(self.inner.limits, diagonal_group_size=0)

    @property
    def kernel(self) -> str:
        return self.inner.kernel

    @property
    def hardware(self) -> str:
        return self.inner.hardware

    def run(self, tiles: Iterator[Tile]) -> Iterator[TileResult]:
        return retile(self.task, self.inner, tiles, self._split)

    def _split(self, tile: Tile, first_number: int, band_index: int) -> SplitTile:
        """Split a tile into rectangles of selected pairs. See `retile` for the parameters of `split`."""
        task, lane_count, numbers = self.task, self.limits.lane_count, count(first_number)
        lengths = task.queries.lengths, task.targets.lengths
        query_groups, target_groups = self.groups.queries[tile.query_start : tile.query_stop], self.groups.targets[tile.targets]
        pieces: list[TilePiece] = []
        for group in np.unique(query_groups).tolist():
            rows = np.flatnonzero(query_groups == group) + tile.query_start
            selected = np.flatnonzero(self.groups.select_groups(np.array(group), target_groups))
            for start, stop, columns in selected_rectangles(tile, rows, selected, lengths, task.cost, lane_count):
                queries, targets = rows[start:stop], tile.targets[columns]
                query_range = int(self.query_indices[queries[0]]), int(self.query_indices[queries[-1]]) + 1
                band = Band(*query_range, int(targets.min()), int(targets.max()) + 1, band_index, 1)
                cells = task.cost.cells(lengths[0][queries], lengths[1][targets])
                inner = Tile.from_targets(
                    targets, next(numbers), band, query_range, Pairing.ALL, cells, cells if tile.remaining_cells else 0
                )
                pieces.append(TilePiece(inner, queries - tile.query_start, columns))
        firsts = None if tile.pairing is Pairing.ALL else tile.pairing.first_targets(np.arange(tile.query_start, tile.query_stop))
        cells = self._count_selected_cells(tile, query_groups, target_groups, firsts)
        return SplitTile(replace(tile, cells=cells), pieces)

    def _count_selected_cells(self, tile: Tile, query_groups: Integers, target_groups: Integers, first_targets: Integers | None) -> int:
        existing, which = np.unique(query_groups, return_inverse=True)
        others, other_which = np.unique(target_groups, return_inverse=True)
        selected = self.groups.select_groups(existing[:, None], others[None, :])[np.ix_(which, other_which)]
        if first_targets is not None:
            selected &= tile.targets[None, :] >= first_targets[:, None]
        queries, targets = self.task.queries.lengths[tile.query_start : tile.query_stop], self.task.targets.lengths[tile.targets]
        return int(queries @ (selected @ targets)) * (2 if self.task.both_strands else 1)
