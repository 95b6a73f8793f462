"""Engine wrapper that computes only the pairs selected by record groups, with the queries sorted by group.

Queries of one group are adjacent in the inner task, so a tile's queries from one group form a range there, and a rectangle with their
selected targets.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from contextlib import closing
from dataclasses import field, replace
from itertools import count
from typing import cast

import numpy as np

from gpualign.core.alignment.path_builder import RunsBuilder
from gpualign.core.alignment.task import Detail, Task
from gpualign.core.alignment.tile_results import STATISTICS, TileAlignments, TileResult, TileScores
from gpualign.core.common.arrays import Integers
from gpualign.core.common.dataclass import dataclass
from gpualign.core.execution.engine import Engine, Prepared
from gpualign.core.execution.pipeline import Closable
from gpualign.core.planning.group_pairs import GroupPairs
from gpualign.core.planning.memory_budget import Budget
from gpualign.core.planning.pair_rectangles import selected_rectangles
from gpualign.core.planning.tile_plan import Band, Pairing, Tile, TileLimits


def prepare_group_pairs(engine: Engine, task: Task, budget: Budget, groups: GroupPairs) -> GroupedPrepared:
    """Prepare a task for the pairs that `groups` selects. Raises the same errors as `Engine.prepare`."""
    order = np.argsort(groups.queries, kind="stable")
    places = np.empty_like(order)
    places[order] = np.arange(len(order))
    return GroupedPrepared(task, engine.prepare(replace(task, queries=task.queries.select(order)), budget), groups, places)


@dataclass(frozen=True)
class GroupedPrepared:
    """Implements `gpualign.core.execution.engine.Prepared`. Result tiles count only the DP cells of selected pairs.

    places: index of each query in the inner task
    """

    task: Task
    inner: Prepared = field(repr=False)
    groups: GroupPairs
    places: Integers = field(repr=False)

    @property
    def limits(self) -> TileLimits:
        """Limits of the inner engine, which receives only rectangles whose pairs are all selected."""
        return replace(self.inner.limits, diagonal_group=0)

    @property
    def kernel(self) -> str:
        return self.inner.kernel

    @property
    def hardware(self) -> str:
        return self.inner.hardware

    def run(self, tiles: Iterator[Tile]) -> Iterator[TileResult]:
        open_tiles: dict[int, _OpenTile] = {}
        empty: deque[_OpenTile] = deque()

        def cut() -> Iterator[Tile]:
            numbers = count()
            for index, tile in enumerate(tiles):
                open_tile = _OpenTile(self.task, tile)
                inner_tiles = list(self._rectangles(tile, numbers, index, open_tile))
                open_tile.left = len(inner_tiles)
                open_tiles.update((inner_tile.number, open_tile) for inner_tile in inner_tiles)
                if not inner_tiles:
                    empty.append(open_tile)
                yield from inner_tiles

        with closing(cast("Closable", results := self.inner.run(cut()))):
            for result in results:
                open_tile = open_tiles.pop(result.tile.number)
                if open_tile.add(result):
                    yield open_tile.result()
                while empty:
                    yield empty.popleft().result()
        while empty:
            yield empty.popleft().result()

    def _rectangles(self, tile: Tile, numbers: Iterator[int], index: int, open_tile: _OpenTile) -> Iterator[Tile]:
        """Yield the inner task's tiles for a tile."""
        task, lanes = self.task, self.limits.lanes
        lengths = task.queries.lengths, task.targets.lengths
        query_groups, target_groups = self.groups.queries[tile.query_start : tile.query_stop], self.groups.targets[tile.targets]
        for group in np.unique(query_groups).tolist():
            rows = np.flatnonzero(query_groups == group) + tile.query_start
            selected = np.flatnonzero((target_groups == group) == self.groups.within)
            for start, stop, columns in selected_rectangles(tile, rows, selected, lengths, task.cost, lanes):
                queries, targets, number = rows[start:stop], tile.targets[columns], next(numbers)
                place = int(self.places[queries[0]]), int(self.places[queries[-1]]) + 1
                open_tile.rectangles[number] = queries - tile.query_start, columns
                band = Band(*place, int(targets.min()), int(targets.max()) + 1, index, 1)
                cells = task.cost.cells(lengths[0][queries], lengths[1][targets])
                yield Tile.of_targets(targets, number, band, place, Pairing.ALL, cells, cells if tile.left else 0)
        firsts = None if tile.pairing is Pairing.ALL else tile.pairing.first_targets(np.arange(tile.query_start, tile.query_stop))
        open_tile.cells = _selected_cells(task, tile, query_groups, target_groups, firsts, self.groups.within)


def _selected_cells(task: Task, tile: Tile, query_groups: Integers, target_groups: Integers, firsts: Integers | None, within: bool) -> int:
    selected = (query_groups[:, None] == target_groups[None, :]) == within
    if firsts is not None:
        selected &= tile.targets[None, :] >= firsts[:, None]
    queries, targets = task.queries.lengths[tile.query_start : tile.query_stop], task.targets.lengths[tile.targets]
    return int(queries @ (selected @ targets)) * (2 if task.both_strands else 1)


class _OpenTile:
    """Collects the results for a tile.

    rectangles: (rows, columns) of the rectangles still without a result, keyed by inner tile number; left: number of these
    """

    def __init__(self, task: Task, tile: Tile) -> None:
        self.rectangles: dict[int, tuple[Integers, Integers]] = {}
        self.left = self.cells = 0
        self._task = task
        self._tile = tile
        self._is_allocated = False

    def _allocate(self) -> None:
        shape, detail = self._tile.shape, self._task.detail
        self._scores = np.zeros(shape, dtype=self._task.dtype)
        self._statistics = None if detail is Detail.SCORE else np.zeros(shape, dtype=STATISTICS)
        self._runs = RunsBuilder(shape) if detail is Detail.PATH else None
        self._is_reverse_complement = np.zeros(shape, dtype=np.bool_) if self._task.both_strands else None
        self._is_allocated = True

    def add(self, result: TileResult) -> bool:
        """Add the result of a rectangle. Returns whether it was the last one."""
        if not self._is_allocated:
            self._allocate()
        assert isinstance(result, TileScores | TileAlignments)
        place = np.ix_(*self.rectangles.pop(result.tile.number))
        self._scores[place] = result.scores
        if self._is_reverse_complement is not None:
            self._is_reverse_complement[place] = result.is_reverse_complement
        if isinstance(result, TileAlignments) and self._statistics is not None:
            self._statistics[place] = result.statistics
            if self._runs is not None and result.runs is not None:
                self._runs.add(place, result.runs)
        self.left -= 1
        return not self.left

    def result(self) -> TileResult:
        """Result for the whole tile. Available once every rectangle has been added."""
        if not self._is_allocated:
            self._allocate()
        tile = replace(self._tile, cells=self.cells)
        if self._statistics is None:
            return TileScores(tile, self._scores, self._is_reverse_complement)
        runs = None if self._runs is None else self._runs.build()
        return TileAlignments(tile, self._scores, self._statistics, runs, self._is_reverse_complement)
