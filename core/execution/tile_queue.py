"""Which worker gets which tile of a run. Pure: whoever asks tells the time, and asks one at a time."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence

from gpualign.core.common.dataclass import dataclass
from gpualign.core.execution.load_balancing import LoadBalancer, Window
from gpualign.core.planning.tile_plan import Tile


@dataclass(frozen=True)
class LoadBalancing:
    """How workers of unequal speed share tiles. rates: cells a second of each, as estimated; bands: that may be under way at a time."""

    rates: Sequence[float]
    bands: int


class _Rules:
    """Which worker may take which tile."""

    def __init__(self, sharing: LoadBalancing) -> None:
        self._dispatch, self._window = LoadBalancer(sharing.rates), Window(sharing.bands)

    def allow(self, worker: int, tile: Tile, left: int, now: float) -> bool:
        """left: cells that nobody has taken."""
        room = self._window.room(tile.band.index)
        left = min(left, tile.cells * tile.band.tiles * room)  # what the bands hold that others may take meanwhile, about
        return room > 0 and self._dispatch.may_take(worker, tile.cells, left, now)

    def take(self, worker: int, tile: Tile, now: float) -> None:
        self._window.take(tile.band.index, tile.band.tiles)
        self._dispatch.take(worker, tile.cells, now)

    def deliver(self, worker: int, tile: Tile, now: float) -> None:
        self._window.deliver(tile.band.index)
        self._dispatch.deliver(worker, tile.cells, now)

    def lose(self, worker: int) -> None:
        self._dispatch.lose(worker)


class TileQueue:
    """Tiles that nobody has taken, for `workers` workers.

    sharing: of workers that are not alike: one for whom the others would have to wait gets no more tiles
    (core/execution/load_balancing.py). None: who
    asks gets a tile. Times are seconds of any clock that never goes back.
    """

    def __init__(self, tiles: Iterator[Tile], workers: int, sharing: LoadBalancing | None) -> None:
        self._tiles = tiles
        self._returned: deque[Tile] = deque()
        self._next: Tile | None = None  # looked at, where that decides who takes it
        self._rules = None if sharing is None else _Rules(sharing)
        self._open = 0  # tiles that are taken and not delivered
        self._good = workers

    def take(self, worker: int, now: float) -> Tile | None:
        """A tile; None where there is none for this worker at the moment."""
        if self._rules is not None and not self._allowed(self._rules, worker, now):
            return None
        tile = self._returned.popleft() if self._returned else self._pulled()
        if tile is not None:
            self._open += 1
            if self._rules is not None:
                self._rules.take(worker, tile, now)
        return tile

    def deliver(self, worker: int, tile: Tile, now: float) -> None:
        """A tile that was taken is done."""
        self._open -= 1
        if self._rules is not None:
            self._rules.deliver(worker, tile, now)

    def lose(self, worker: int, tiles: Sequence[Tile]) -> bool:
        """A worker has failed, and gives its tiles back; whether there are others."""
        self._good -= 1
        self._returned += tiles
        self._open -= len(tiles)
        if self._rules is not None:
            self._rules.lose(worker)
        return self._good > 0

    def more(self, worker: int, now: float) -> bool | None:
        """Whether there are tiles for a worker who got none; None: not now, but others may give some back."""
        if self._rules is not None and self._allowed(self._rules, worker, now):
            return True
        if self._rules is None and self._returned:
            return True
        return None if self._open or self._returned or self._next else False

    def _pulled(self) -> Tile | None:
        tile, self._next = self._next, None
        return next(self._tiles, None) if tile is None else tile

    def _allowed(self, rules: _Rules, worker: int, now: float) -> bool:
        """Whether there is a tile that this worker may take."""
        following = self._next = self._pulled()
        tile = self._returned[0] if self._returned else following
        left = sum(tile.cells for tile in self._returned) + (following.left if following is not None else 0)
        return tile is not None and rules.allow(worker, tile, left, now)
