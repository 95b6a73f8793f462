"""Splits a tile of one plan into tiles sized for a different engine, and reassembles their results.

This lets an engine work within a different engine's plan: the CPU alongside a GPU, or a cluster node for the coordinator.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from typing import Protocol, cast

import numpy as np

from gpualign.core.alignment.hits import BestTargets
from gpualign.core.alignment.path_builder import RunsBuilder
from gpualign.core.alignment.task import Detail, Task
from gpualign.core.alignment.tile_results import STATISTICS, TileAlignments, TileHits, TilePairs, TileResult, TileScores
from gpualign.core.execution.engine import Prepared
from gpualign.core.execution.near_assembly import NearAssembly
from gpualign.core.execution.pipeline import Closable
from gpualign.core.planning.tile_plan import Band, Plan, Tile, TileLimits


class TileAssembly(Protocol):
    """Collects the results for one tile."""

    def add(self, result: TileResult, row: int, column: int) -> None:
        """Add the results for a part of the tile that starts at (row, column)."""

    def result(self) -> TileResult:
        """Return the result for the whole tile. Called once, after every part has been added."""


class _Scores:
    def __init__(self, task: Task, tile: Tile) -> None:
        self._tile = tile
        self._scores = np.zeros(tile.shape, dtype=task.dtype)

    def add(self, result: TileResult, row: int, column: int) -> None:
        assert isinstance(result, TileScores)
        rows, columns = result.scores.shape
        self._scores[row : row + rows, column : column + columns] = result.scores

    def result(self) -> TileResult:
        return TileScores(self._tile, self._scores)


class _Alignments:
    def __init__(self, task: Task, tile: Tile) -> None:
        self._tile = tile
        self._scores = np.zeros(tile.shape, dtype=task.dtype)
        self._statistics = np.zeros(tile.shape, dtype=STATISTICS)
        self._runs = RunsBuilder(tile.shape) if task.detail is Detail.PATH else None

    def add(self, result: TileResult, row: int, column: int) -> None:
        assert isinstance(result, TileAlignments)
        rows, columns = result.scores.shape
        place = slice(row, row + rows), slice(column, column + columns)
        self._scores[place] = result.scores
        self._statistics[place] = result.statistics
        if self._runs is not None and result.runs is not None:
            self._runs.add(place, result.runs)

    def result(self) -> TileResult:
        return TileAlignments(self._tile, self._scores, self._statistics, None if self._runs is None else self._runs.build())


class _Hits:
    def __init__(self, task: Task, tile: Tile) -> None:
        assert task.top is not None
        self._tile = tile
        self._columns = min(task.top, tile.shape[1])
        self._best = BestTargets(tile.shape[0], task.top, task.dtype, task.targets.ranks)

    def add(self, result: TileResult, row: int, column: int) -> None:
        assert isinstance(result, TileHits)
        self._best.add(slice(row, row + len(result.scores)), result.scores, result.targets)

    def result(self) -> TileResult:
        columns = slice(self._columns)  # the columns beyond the number of the tile's targets are empty
        return TileHits(self._tile, self._best.scores[:, columns], self._best.targets[:, columns])


class _Pairs:
    def __init__(self, tile: Tile) -> None:
        self._tile = tile
        self._gathered = NearAssembly(tile.band)

    def add(self, result: TileResult, row: int, column: int) -> None:
        self._gathered.add(result)

    def result(self) -> TileResult:
        near = self._gathered.finish()
        return TilePairs(self._tile, near.pairs, near.survivors)


def _empty(task: Task, tile: Tile) -> TileAssembly:
    if task.within is not None:
        return _Pairs(tile)
    if task.top is not None:
        return _Hits(task, tile)
    return _Scores(task, tile) if task.detail is Detail.SCORE else _Alignments(task, tile)


class TileSplit:
    """Splits a tile into tiles of approximately the size that `limits` asks for, and assembles their results.

    first: number of the first new tile; index: number, within the run, of the band that the new tiles form

    If workers share the tiles, tiles shrink near the end of the original tile or of the work that follows it (`Tile.left`).
    """

    def __init__(self, task: Task, tile: Tile, limits: TileLimits, first: int = 0, index: int = 0) -> None:
        queries, targets = task.queries.lengths, task.targets.lengths
        plan = Plan(queries, targets, tile.pairing, limits, tile.shape[0], max(1, tile.shape[1]), task.cost)
        bands = [(k, min(tile.query_stop, k + limits.band_rows)) for k in range(tile.query_start, tile.query_stop, limits.band_rows)]
        later = max(0, tile.left - tile.cells)
        cuts = [
            cut
            for start, stop in bands
            for cut in plan.cuts(start, stop, tile.targets, later + tile.cells * (tile.query_stop - start) // tile.shape[0])
        ]
        selected = [(*cut, cells) for cut in cuts if (cells := plan.selected_cells(*cut[:2], tile.targets[slice(*cut[2:])]))]
        band = Band(tile.query_start, tile.query_stop, tile.band.first_target, tile.band.target_stop, index, len(selected))
        self._whole = _empty(task, tile)
        self._places: dict[int, tuple[int, int]] = {}
        self.tiles: list[Tile] = []
        left = later + sum(cells for *_, cells in selected)
        for number, (start, stop, at, to, cells) in enumerate(selected, first):
            self._places[number] = start - tile.query_start, at
            self.tiles.append(Tile.of_targets(tile.targets[at:to], number, band, (start, stop), tile.pairing, cells, left))
            left -= cells

    def add(self, result: TileResult) -> bool:
        """Add the result of one of `tiles`. Returns whether it was the last one."""
        self._whole.add(result, *self._places.pop(result.tile.number))
        return not self._places

    def result(self) -> TileResult:
        """Result for the whole tile. Available once all results have been added."""
        return self._whole.result()


def run_resplit(prepared: Prepared, tiles: Iterator[Tile]) -> Iterator[TileResult]:
    """Compute tiles of any plan with an engine that needs tiles of a different size: split each tile, and yield its reassembled result.

    The results are in any order.

    tiles: each with at least one selected pair; the next tile is pulled after all parts of the previous tile have been taken

    Closing the iterator stops all work.
    """
    task, limits = prepared.task, prepared.limits
    open_tiles: dict[int, TileSplit] = {}

    def cut() -> Iterator[Tile]:
        first = 0
        for index, tile in enumerate(tiles):
            split = TileSplit(task, tile, limits, first, index)
            first += len(split.tiles)
            for inner_tile in split.tiles:
                open_tiles[inner_tile.number] = split
                yield inner_tile

    with closing(cast("Closable", results := prepared.run(cut()))):
        for result in results:
            split = open_tiles.pop(result.tile.number)
            if split.add(result):
                yield split.result()
