"""Queue of tiles that decides which worker gets which tile of a run.

Pure: has no clock and no locks, so callers pass the time and must serialise their calls.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence

from gpualign.core.common.dataclass import dataclass
from gpualign.core.execution.load_balancing import BandWindow, LoadBalancer
from gpualign.core.planning.tile_plan import Tile


@dataclass(frozen=True)
class LoadBalancing:
    """How workers of unequal speed share tiles.

    rates: estimated speed of each worker, in cells per second
    max_open_bands: maximum number of bands that are in progress at the same time
    """

    rates: Sequence[float]
    max_open_bands: int


class _TileAssigner:
    """Decides which worker may take which tile."""

    def __init__(self, load_balancing: LoadBalancing) -> None:
        self._balancer, self._window = LoadBalancer(load_balancing.rates), BandWindow(load_balancing.max_open_bands)

    def may_take(self, worker: int, tile: Tile, remaining_cells: int, now: float) -> bool:
        """Return whether a worker may take a tile. remaining_cells: number of cells not yet taken, including this tile."""
        room = self._window.startable_band_count(tile.band.index)
        # Others can only take tiles of the bands that may be started, all of about the size of this tile's band.
        remaining_cells = min(remaining_cells, tile.cells * tile.band.tile_count * room)
        return room > 0 and self._balancer.may_take(worker, tile.cells, remaining_cells, now)

    def take(self, worker: int, tile: Tile, now: float) -> None:
        self._window.record_taken_piece(tile.band.index, tile.band.tile_count)
        self._balancer.record_taken_piece(worker, tile.cells, now)

    def deliver(self, worker: int, tile: Tile, now: float) -> None:
        self._window.record_finished_piece(tile.band.index)
        self._balancer.record_finished_piece(worker, tile.cells, now)

    def drop_worker(self, worker: int) -> None:
        self._balancer.drop_worker(worker)


class TileQueue:
    """Queue of tiles not yet taken, for `worker_count` workers.

    load_balancing: how workers of unequal speed share tiles; a worker that would keep the others waiting gets no more tiles
        (core/execution/load_balancing.py). None: every worker that asks gets a tile

    Times are in seconds, from any monotonic clock.
    """

    def __init__(self, tiles: Iterator[Tile], worker_count: int, load_balancing: LoadBalancing | None) -> None:
        self._tiles = tiles
        self._returned: deque[Tile] = deque()
        self._next: Tile | None = None  # pulled to decide which worker may take it
        self._assigner = None if load_balancing is None else _TileAssigner(load_balancing)
        self._open = 0  # tiles that are taken and not delivered
        self._workers_left = worker_count

    def take(self, worker: int, now: float) -> Tile | None:
        """Return a tile, or None if there is none for this worker at the moment."""
        if self._assigner is not None and not self._may_take(self._assigner, worker, now):
            return None
        tile = self._returned.popleft() if self._returned else self._pull_tile()
        if tile is not None:
            self._open += 1
            if self._assigner is not None:
                self._assigner.take(worker, tile, now)
        return tile

    def deliver(self, worker: int, tile: Tile, now: float) -> None:
        """Record that a worker has finished a tile."""
        self._open -= 1
        if self._assigner is not None:
            self._assigner.deliver(worker, tile, now)

    def return_tiles(self, worker: int, tiles: Sequence[Tile]) -> bool:
        """Put a failed worker's tiles back in the queue. Returns whether any workers are left."""
        self._workers_left -= 1
        self._returned += tiles
        self._open -= len(tiles)
        if self._assigner is not None:
            self._assigner.drop_worker(worker)
        return self._workers_left > 0

    def has_more(self, worker: int, now: float) -> bool | None:
        """Return whether a worker for which `take` returned None may still get tiles later. Returns None if that depends on unfinished
        tiles."""
        if self._assigner is not None and self._may_take(self._assigner, worker, now):
            return True
        if self._assigner is None and self._returned:
            return True
        return None if self._open or self._returned or self._next else False

    def _pull_tile(self) -> Tile | None:
        tile, self._next = self._next, None
        return next(self._tiles, None) if tile is None else tile

    def _may_take(self, assigner: _TileAssigner, worker: int, now: float) -> bool:
        """Return whether `assigner` lets a worker take the next tile."""
        following = self._next = self._pull_tile()
        tile = self._returned[0] if self._returned else following
        left = sum(tile.cells for tile in self._returned) + (following.remaining_cells if following is not None else 0)
        return tile is not None and assigner.may_take(worker, tile, left, now)
