"""Every pair that groups want, and no others: what another engine has prepared for records in the order of their groups.

Queries of one group are neighbours in the inner task, so those of a tile are a range there, and with the targets that they want a
rectangle.
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
from gpualign.core.planning.tile_plan import Band, Limits, Pairing, Tile


def prepare_group_pairs(engine: Engine, task: Task, budget: Budget, groups: GroupPairs) -> GroupedPrepared:
    """Raises as `Engine.prepare`."""
    order = np.argsort(groups.queries, kind="stable")
    places = np.empty_like(order)
    places[order] = np.arange(len(order))
    return GroupedPrepared(task, engine.prepare(replace(task, queries=task.queries.select(order)), budget), groups, places)


@dataclass(frozen=True)
class GroupedPrepared:
    """Implements `gpualign.core.execution.engine.Prepared`. Tiles of results tell the cells of the pairs that were wanted. places: of the
    queries in
    the inner task."""

    task: Task
    inner: Prepared = field(repr=False)
    groups: GroupPairs
    places: Integers = field(repr=False)

    @property
    def limits(self) -> Limits:
        """The inner engine gets rectangles of which all is wanted."""
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
                gathered = _OpenTile(self.task, tile)
                parts = list(self._rectangles(tile, numbers, index, gathered))
                gathered.left = len(parts)
                open_tiles.update((part.number, gathered) for part in parts)
                if not parts:
                    empty.append(gathered)
                yield from parts

        with closing(cast("Closable", results := self.inner.run(cut()))):
            for result in results:
                gathered = open_tiles.pop(result.tile.number)
                if gathered.add(result):
                    yield gathered.result()
                while empty:
                    yield empty.popleft().result()
        while empty:
            yield empty.popleft().result()

    def _rectangles(self, tile: Tile, numbers: Iterator[int], index: int, gathered: _OpenTile) -> Iterator[Tile]:
        """Tiles of the inner task."""
        task, lanes = self.task, self.limits.lanes
        lengths = task.queries.lengths, task.targets.lengths
        own, theirs = self.groups.queries[tile.query_start : tile.query_stop], self.groups.targets[tile.targets]
        for group in np.unique(own).tolist():
            rows = np.flatnonzero(own == group) + tile.query_start
            some = np.flatnonzero((theirs == group) == self.groups.within)
            for start, stop, columns in selected_rectangles(tile, rows, some, lengths, task.cost, lanes):
                part, targets, number = rows[start:stop], tile.targets[columns], next(numbers)
                place = int(self.places[part[0]]), int(self.places[part[-1]]) + 1
                gathered.parts[number] = part - tile.query_start, columns
                band = Band(*place, int(targets.min()), int(targets.max()) + 1, index, 1)
                cells = task.cost.cells(lengths[0][part], lengths[1][targets])
                yield Tile.against(targets, number, band, place, Pairing.ALL, cells, cells if tile.left else 0)
        firsts = None if tile.pairing is Pairing.ALL else tile.pairing.first_targets(np.arange(tile.query_start, tile.query_stop))
        gathered.cells = _wanted_cells(task, tile, own, theirs, firsts, self.groups.within)


def _wanted_cells(task: Task, tile: Tile, own: Integers, theirs: Integers, firsts: Integers | None, within: bool) -> int:
    wanted = (own[:, None] == theirs[None, :]) == within
    if firsts is not None:
        wanted &= tile.targets[None, :] >= firsts[:, None]
    queries, targets = task.queries.lengths[tile.query_start : tile.query_stop], task.targets.lengths[tile.targets]
    return int(queries @ (wanted @ targets)) * (2 if task.both_strands else 1)


class _OpenTile:
    """Gathers the results of a tile. parts: what is to come, as its rows and columns, by the numbers of the inner tiles; left: how many."""

    def __init__(self, task: Task, tile: Tile) -> None:
        self.parts: dict[int, tuple[Integers, Integers]] = {}
        self.left = self.cells = 0
        self._task = task
        self._tile = tile
        self._begun = False

    def _begin(self) -> None:
        shape, detail = self._tile.shape, self._task.detail
        self._scores = np.zeros(shape, dtype=self._task.dtype)
        self._statistics = None if detail is Detail.SCORE else np.zeros(shape, dtype=STATISTICS)
        self._runs = RunsBuilder(shape) if detail is Detail.PATH else None
        self._minus = np.zeros(shape, dtype=np.bool_) if self._task.both_strands else None
        self._begun = True

    def add(self, result: TileResult) -> bool:
        """Take the result of a part; whether it was the last one."""
        if not self._begun:
            self._begin()
        assert isinstance(result, TileScores | TileAlignments)
        place = np.ix_(*self.parts.pop(result.tile.number))
        self._scores[place] = result.scores
        if self._minus is not None:
            self._minus[place] = result.is_reverse_complement
        if isinstance(result, TileAlignments) and self._statistics is not None:
            self._statistics[place] = result.statistics
            if self._runs is not None and result.runs is not None:
                self._runs.add(place, result.runs)
        self.left -= 1
        return not self.left

    def result(self) -> TileResult:
        """All of it, when every part is there."""
        if not self._begun:
            self._begin()
        tile = replace(self._tile, cells=self.cells)
        if self._statistics is None:
            return TileScores(tile, self._scores, self._minus)
        return TileAlignments(tile, self._scores, self._statistics, None if self._runs is None else self._runs.build(), self._minus)
