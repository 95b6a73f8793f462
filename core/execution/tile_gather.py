"""Gathers the results for one tile from the results of its pieces, which arrive in any order."""

from __future__ import annotations

from typing import Protocol

from gpualign.core.alignment.hit_order import BestTargetCollector
from gpualign.core.alignment.task import Task
from gpualign.core.alignment.tile_results import TileHits, TilePairs, TileResult
from gpualign.core.common.scatter import AxisIndices
from gpualign.core.execution.near_assembly import NearPairAssembly
from gpualign.core.execution.result_gather import ResultGather
from gpualign.core.planning.tile_plan import Tile


class TileGather(Protocol):
    """Gathers the results for one tile from those of its pieces."""

    def add(self, rows: AxisIndices, columns: AxisIndices, result: TileResult) -> None:
        """Add the result for these rows and columns of the tile."""

    def tile_result(self, tile: Tile) -> TileResult:
        """Return the result for the whole tile. Called once, after all pieces have been added."""


def make_tile_gather(task: Task, tile: Tile) -> TileGather:
    """Return an object that gathers the kind of results that the task asks for."""
    if task.edit_bound is not None:
        return PairGather(tile)
    return ResultGather(task, tile.shape) if task.top_count is None else HitGather(task, tile)


class HitGather:
    """Gathers the best targets of each query (`Task.top_count`)."""

    def __init__(self, task: Task, tile: Tile) -> None:
        assert task.top_count is not None
        self._columns = slice(min(task.top_count, tile.shape[1]))  # the columns beyond the number of the tile's targets are empty
        self._best = BestTargetCollector(tile.shape[0], task.top_count, task.score_dtype, task.targets.file_positions)

    def add(self, rows: AxisIndices, columns: AxisIndices, result: TileResult) -> None:
        assert isinstance(result, TileHits)
        assert isinstance(rows, slice)
        self._best.add(rows, result.scores, result.targets)

    def tile_result(self, tile: Tile) -> TileHits:
        return TileHits(tile, self._best.scores[:, self._columns], self._best.targets[:, self._columns])


class PairGather:
    """Gathers near pairs (`Task.edit_bound`)."""

    def __init__(self, tile: Tile) -> None:
        self._assembly = NearPairAssembly(tile.band)

    def add(self, rows: AxisIndices, columns: AxisIndices, result: TileResult) -> None:
        self._assembly.add(result)

    def tile_result(self, tile: Tile) -> TilePairs:
        near = self._assembly.finish()
        return TilePairs(tile, near.pairs, near.survivor_counts)
