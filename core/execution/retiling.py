"""Computes the tiles of a plan as other tiles of an inner engine, and gathers their results.

This lets an engine work within a different engine's plan: the CPU alongside a GPU, or a cluster node for the coordinator. It also lets an
engine compute only some of a tile's pairs, or each pair in more than one form.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import Protocol

from gpualign.core.alignment.hit_order import BestTargetCollector
from gpualign.core.alignment.task import Task
from gpualign.core.alignment.tile_results import TileHits, TilePairs, TileResult
from gpualign.core.common.dataclass import dataclass
from gpualign.core.common.iterators import closing_iterator
from gpualign.core.common.scatter import AxisIndices
from gpualign.core.execution.band_collectors import NearPairCollector, ResultGather
from gpualign.core.execution.engine import PreparedTask
from gpualign.core.planning.tile_plan import Band, Plan, Tile, TileLimits


@dataclass(frozen=True)
class TilePiece:
    """Some pairs of a tile, which the inner engine computes as a tile of its own.

    tile: the inner engine's tile
    rows, columns: the queries and targets that this piece covers, as indices in the tile that was split
    """

    tile: Tile
    rows: AxisIndices
    columns: AxisIndices


@dataclass(frozen=True)
class SplitTile:
    """A tile that was split into pieces.

    tile: the tile that was split; the result refers to it
    pieces: pieces that together cover all selected pairs; empty if no pair is selected
    convert: converts a result of the inner engine to a result of the task; None: no conversion is needed
    """

    tile: Tile
    pieces: Sequence[TilePiece]
    convert: Callable[[TileResult], TileResult] | None = None


class _TileGather(Protocol):
    """Gathers the results for one tile from those of its pieces."""

    def put(self, rows: AxisIndices, columns: AxisIndices, result: TileResult) -> None:
        """Add the result for these rows and columns of the tile."""

    def tile_result(self, tile: Tile) -> TileResult:
        """Return the result for the whole tile. Called once, after the results of all pieces have been added."""


class _HitGather:
    """Gathers the best targets of each query (`Task.top_count`)."""

    def __init__(self, task: Task, tile: Tile) -> None:
        assert task.top_count is not None
        self._columns = slice(min(task.top_count, tile.shape[1]))  # the columns beyond the number of the tile's targets are empty
        self._best = BestTargetCollector(tile.shape[0], task.top_count, task.score_dtype, task.targets.file_positions)

    def put(self, rows: AxisIndices, columns: AxisIndices, result: TileResult) -> None:
        assert isinstance(result, TileHits)
        assert isinstance(rows, slice)
        self._best.add(rows, result.scores, result.targets)

    def tile_result(self, tile: Tile) -> TileHits:
        return TileHits(tile, self._best.scores[:, self._columns], self._best.targets[:, self._columns])


class _NearPairGather(NearPairCollector):
    """Gathers near pairs (`Task.edit_bound`)."""

    def put(self, rows: AxisIndices, columns: AxisIndices, result: TileResult) -> None:
        self.add(result)

    def tile_result(self, tile: Tile) -> TilePairs:
        near = self.finish()
        return TilePairs(tile, near.pairs, near.survivor_counts)


class _OpenTile:
    """A split tile, and the results of its pieces so far. missing: number of pieces that have no result yet"""

    def __init__(self, task: Task, split: SplitTile) -> None:
        self._split = split
        self._gather: _TileGather
        if task.edit_bound is not None:
            self._gather = _NearPairGather(split.tile.band)
        else:
            self._gather = ResultGather(task, split.tile.shape) if task.top_count is None else _HitGather(task, split.tile)
        self.missing = len(split.pieces)

    def add(self, piece: TilePiece, result: TileResult) -> None:
        convert = self._split.convert
        self._gather.put(piece.rows, piece.columns, result if convert is None else convert(result))
        self.missing -= 1

    def result(self) -> TileResult:
        return self._gather.tile_result(self._split.tile)


def retile(task: Task, inner: PreparedTask, tiles: Iterator[Tile], split: Callable[[Tile, int, int], SplitTile]) -> Iterator[TileResult]:
    """Compute the tiles of a task with an inner engine. Yields their results in any order; closing the iterator stops all work.

    inner: the task as prepared by the inner engine
    split: splits a tile, given (the tile, the number for the first piece's tile, the index of the band that the pieces form); the numbers
        of the pieces' tiles must be consecutive

    The next tile is pulled after all pieces of the previous tile have been taken.
    """
    pieces: dict[int, tuple[_OpenTile, TilePiece]] = {}
    empty: deque[_OpenTile] = deque()

    def inner_tiles() -> Iterator[Tile]:
        first = 0
        for index, tile in enumerate(tiles):
            one = split(tile, first, index)
            open_tile = _OpenTile(task, one)
            first += len(one.pieces)
            if not one.pieces:
                empty.append(open_tile)
            for piece in one.pieces:
                pieces[piece.tile.number] = open_tile, piece
                yield piece.tile

    with closing_iterator(inner.run(inner_tiles())) as results:
        for result in results:
            open_tile, piece = pieces.pop(result.tile.number)
            open_tile.add(piece, result)
            if not open_tile.missing:
                yield open_tile.result()
            while empty:
                yield empty.popleft().result()
    while empty:
        yield empty.popleft().result()


def split_by_limits(task: Task, tile: Tile, limits: TileLimits, first_number: int = 0, band_index: int = 0) -> list[TilePiece]:
    """Split a tile into pieces of approximately the size that `limits` asks for.

    first_number: number of the first piece's tile
    band_index: index of the band that the pieces form

    If several workers share the pieces, the last pieces are smaller: those at the end of the tile or, if more tiles follow it, those at the
    end of the whole work (`Tile.remaining_cells`).
    """
    queries, targets = task.queries.lengths, task.targets.lengths
    plan = Plan(queries, targets, tile.pairing, limits, tile.shape[0], max(1, tile.shape[1]), task.cost)
    bands = [(k, min(tile.query_stop, k + limits.band_rows)) for k in range(tile.query_start, tile.query_stop, limits.band_rows)]
    later = max(0, tile.remaining_cells - tile.cells)
    cuts = [
        cut
        for start, stop in bands
        for cut in plan.tile_rectangles(start, stop, tile.targets, later + tile.cells * (tile.query_stop - start) // tile.shape[0])
    ]
    selected = [(*cut, cells) for cut in cuts if (cells := plan.selected_cost(*cut[:2], tile.targets[slice(*cut[2:])]))]
    band = Band(tile.query_start, tile.query_stop, tile.band.first_target, tile.band.target_stop, band_index, len(selected))
    pieces: list[TilePiece] = []
    left = later + sum(cells for *_, cells in selected)
    for number, (start, stop, at, to, cells) in enumerate(selected, first_number):
        inner = Tile.from_targets(tile.targets[at:to], number, band, (start, stop), tile.pairing, cells, left)
        pieces.append(TilePiece(inner, slice(start - tile.query_start, stop - tile.query_start), slice(at, to)))
        left -= cells
    return pieces


def run_retiled(prepared: PreparedTask, tiles: Iterator[Tile]) -> Iterator[TileResult]:
    """Compute the tiles of any plan with an engine that needs tiles of a different size. Each tile must have at least one selected pair.

    Yields their results in any order. Closing the iterator stops all work.
    """
    task, limits = prepared.task, prepared.limits
    return retile(task, prepared, tiles, lambda tile, first, index: SplitTile(tile, split_by_limits(task, tile, limits, first, index)))
