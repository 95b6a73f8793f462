"""Serializes tiles and their results as numbers and arrays, in the narrowest sufficient integer types."""

from __future__ import annotations

from functools import partial
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from gpualign.core.alignment.pair_list import NearPairs
from gpualign.core.alignment.task import Task
from gpualign.core.alignment.tile_results import STATISTICS, Runs, TileAlignments, TileHits, TilePairs, TileResult, TileScores
from gpualign.core.common.dataclass import dataclass
from gpualign.core.planning.target_order import order_by_length, ordered_targets
from gpualign.core.planning.tile_plan import Band, Pairing, Tile

PackedResult: TypeAlias = tuple[Any, ...]

_INTEGER_DTYPES = (np.int8, np.int16, np.int32)


@dataclass(frozen=True)
class PackedTile:
    """Tile in the form sent to workers.

    queries: (start, stop) of the tile's queries
    targets: record numbers of the tile's targets, int32[targets]; if the tile has all targets of its band in plan order, the arguments for
        `ordered_targets` instead
    """

    queries: tuple[int, int]
    targets: tuple[int, int, int, int] | npt.NDArray[np.int32]
    pairing: str
    cells: int


def pack_tile(tile: Tile) -> PackedTile:
    """Return a tile of a task in the form sent to workers, which unpack it with a `TileUnpacker` for the same task."""
    band = tile.band
    queries, pairing = (tile.query_start, tile.query_stop), tile.pairing.value
    if band.group_size is None or tile.target_count < band.target_stop - band.first_target:
        return PackedTile(queries, tile.targets.astype(np.int32), pairing, tile.cells)
    return PackedTile(queries, (band.first_target, band.target_stop, band.stop, band.group_size), pairing, tile.cells)


class TileUnpacker:
    """Unpacks the tiles of one task."""

    def __init__(self, task: Task) -> None:
        self._targets_by_length = order_by_length(task.targets.lengths)

    def unpack(self, packed: PackedTile) -> Tile:
        """Return the tile. It has the number 0, and is the only tile of its band."""
        pairing = Pairing(packed.pairing)
        if isinstance(packed.targets, tuple):
            first, stop, *_ = packed.targets
            band = Band(*packed.queries, first, stop, 0, 1)
            make = partial(ordered_targets, self._targets_by_length, *packed.targets)
            return Tile(0, band, *packed.queries, stop - first, make, pairing, packed.cells)
        targets = packed.targets.astype(np.int64)
        band = Band(*packed.queries, int(targets.min()), int(targets.max()) + 1, 0, 1)
        return Tile.from_targets(targets, 0, band, packed.queries, pairing, packed.cells)


def downcast_integers(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return the integers in the narrowest of int8, int16 and int32 that can hold them, or the array itself if none can."""
    low, high = (int(array.min()), int(array.max())) if array.size else (0, 0)
    for width in _INTEGER_DTYPES:
        limits = np.iinfo(width)
        if limits.min <= low and high <= limits.max:
            return array.astype(width)
    return array


def pack_result(result: TileResult) -> PackedResult:
    """Return a result in the form sent to the coordinator, which unpacks it with `unpack_result` for the same task."""
    if isinstance(result, TilePairs):
        pairs = result.pairs
        return (
            downcast_integers(pairs.queries),
            downcast_integers(pairs.targets),
            downcast_integers(pairs.distances),
            dict(result.survivor_counts),
        )
    if isinstance(result, TileHits):
        return downcast_integers(result.scores), downcast_integers(result.targets)
    if isinstance(result, TileScores):
        return (downcast_integers(result.scores),)
    statistics = downcast_integers(np.ascontiguousarray(result.statistics).view(np.int32))
    if (runs := result.runs) is None:
        return downcast_integers(result.scores), statistics, None
    return downcast_integers(result.scores), statistics, (runs.data, downcast_integers(runs.starts), downcast_integers(runs.sizes))


def unpack_result(task: Task, tile: Tile, packed: PackedResult) -> TileResult:
    """Unpack the result of a tile. task: the task that the tile is part of"""
    if task.edit_bound is not None:
        queries, targets, distances, survivors = packed
        return TilePairs(tile, NearPairs(*(column.astype(np.int64) for column in (queries, targets, distances))), survivors)
    scores = packed[0].astype(task.score_dtype)
    if task.top_count is not None:
        return TileHits(tile, scores, packed[1].astype(np.int64))
    if len(packed) == 1:
        return TileScores(tile, scores)
    _, statistics, runs = packed
    tile_runs = None if runs is None else Runs([runs[0]], runs[1].astype(np.int64), runs[2].astype(np.int32))
    return TileAlignments(tile, scores, statistics.astype(np.int32).view(STATISTICS).reshape(tile.shape), tile_runs)
