"""Finds near pairs on one device: pulls tiles, keeps two rectangles in flight, and delivers results."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import field

from gpualign.core.alignment.pair_list import NearPairs, join_pairs
from gpualign.core.alignment.task import Task
from gpualign.core.alignment.tile_results import TilePairs, TileResult
from gpualign.core.common.dataclass import dataclass
from gpualign.core.common.errors import RunError, parameter
from gpualign.core.near_pairs.filter_cascade import words
from gpualign.core.planning.tile_plan import Tile
from gpualign.gpu.near_pairs.device_records import DeviceRecords, device_bytes
from gpualign.gpu.near_pairs.kernels import Screen
from gpualign.gpu.near_pairs.launcher import PAIR_BYTES, Capacity, Counts, Launcher
from gpualign.gpu.near_pairs.recipe import NearRecipe
from gpualign.gpu.near_pairs.rectangles import Rectangle, Rows, make_rows, whole_tile
from gpualign.gpu.runtime.device import Device, OutOfMemory, wait_for
from gpualign.gpu.runtime.stream_buffers import StreamBuffers
from gpualign.gpu.runtime.stream_pipeline import SHARE_OF_MEMORY

_SLOTS = 2
_POLL_SECONDS = 0.0002
_MIN_CANDIDATES, _MAX_CANDIDATES = 1 << 12, 1 << 24
_MAX_COLUMNS = 1 << 37
"""Maximum total of word columns in the bands of a rectangle's candidates: less than a second's work."""


@dataclass
class _OpenTile:
    """Tile that is being computed.

    rectangles: rectangles not yet collected
    fitting: pairs whose lengths are within the bound
    """

    tile: Tile
    rectangles: int = 1
    pairs: list[NearPairs] = field(default_factory=list)
    fitting: int = 0
    candidates: int = 0


@dataclass(frozen=True)
class Finished:
    """Finished rectangle, for benchmarks.

    counts: pair counts
    screen: time for the screen, seconds on the device's clock
    verify: time for the verification, seconds on the device's clock
    """

    pairs: int
    counts: Counts
    screen: float
    verify: float


@dataclass(frozen=True)
class _InFlight:
    slot: StreamBuffers
    rectangle: Rectangle
    rows: Rows
    capacity: Capacity


class NearWorker:
    """Worker that finds the near pairs of tiles on one device.

    `next_tile` returns tiles, then None; `deliver` receives results; `stopped` is called between rectangles and while waiting. Call `run`
    once, in the thread that owns the device.

    max_results: maximum number of near pairs copied back per rectangle
    log: called with every finished rectangle
    """

    def __init__(
        self,
        device: Device,
        task: Task,
        recipe: NearRecipe,
        screen: Screen,
        max_results: int,
        next_tile: Callable[[], Tile | None],
        deliver: Callable[[TileResult], None],
        stopped: Callable[[], bool],
        log: Callable[[Finished], None] | None = None,
    ) -> None:
        self._device = device
        self._task = task
        self._recipe = recipe
        self._screen = screen
        self._max_results = max_results
        self._next_tile = next_tile
        self._deliver = deliver
        self._stopped = stopped
        self._log = log
        self._idle: list[StreamBuffers] = []
        self._in_flight: deque[_InFlight] = deque()
        self._waiting: deque[Rectangle] = deque()
        self._open: dict[int, _OpenTile] = {}
        self._columns = task.targets.longest

    def run(self) -> None:
        """Compute tiles until there are none. Raises `RunError` if the device fails or has too little memory."""
        self._device.open()
        records: DeviceRecords | None = None
        try:
            self._idle = [StreamBuffers(self._device, number) for number in range(_SLOTS)]
            usable = int(self._device.free_memory() * SHARE_OF_MEMORY)
            if (needed := device_bytes(self._task, self._recipe)) >= usable:
                raise RunError(
                    f"the memory of {self._device.name} is too small for these records: they need {needed:,} bytes, and {usable:,} "
                    f"may be used; use {parameter('device', 'cpu')}"
                )
            self._slot_bytes = (usable - needed) // _SLOTS
            records = DeviceRecords(self._device, self._idle, self._task, self._recipe)
            self._launcher = Launcher(self._recipe, self._screen, records)
            self._work()
        except OutOfMemory as error:
            raise RunError(f"{self._device.name} has less memory than it reported ({error}); use {parameter('device', 'cpu')}") from None
        finally:
            try:
                self._cancel()
                for slot in self._idle:
                    slot.release()
                if records is not None:
                    records.free()
            finally:
                # No object of the device may outlive its context.
                self._idle.clear()
                self._in_flight.clear()
                self._device.close()

    def _work(self) -> None:
        while not self._stopped():
            if self._idle and (self._waiting or self._take_tile()):
                self._start(self._waiting.popleft())
            elif self._in_flight:
                self._collect()
            else:
                return

    def _take_tile(self) -> bool:
        """Take the next tile. Returns False if there is none."""
        tile = self._next_tile()
        if tile is None:
            return False
        self._open[tile.number] = _OpenTile(tile)
        self._waiting.append(whole_tile(tile, self._task))
        return True

    def _start(self, rectangle: Rectangle) -> None:
        """Submit a rectangle, or split it into halves if it does not fit in memory."""
        gathered = sum(rectangle.shape) * (self._recipe.sketch_bytes + 32)
        if gathered > self._slot_bytes // 2 and rectangle.pairs > 1:
            self._split(rectangle, 2)
            return
        rows = make_rows(rectangle, self._task, self._recipe.bound, self._recipe.steps.q)
        capacity = self._capacity(rows)
        slot = self._idle.pop()
        self._in_flight.append(_InFlight(slot, rectangle, rows, capacity))
        self._launcher.submit(slot, rectangle, rows, capacity, self._slot_bytes // 8)

    def _capacity(self, rows: Rows) -> Capacity:
        """Return the list capacities, limited by time and memory."""
        in_time = _MAX_COLUMNS // (self._columns * words(rows.max_edits))
        in_memory = self._slot_bytes // 4 // sum(PAIR_BYTES)
        candidates = max(_MIN_CANDIDATES, min(_MAX_CANDIDATES, in_time, in_memory))
        return Capacity(candidates, max(1, min(self._max_results, candidates)))

    def _split(self, rectangle: Rectangle, count: int) -> None:
        """Split a rectangle into pieces, which replace it."""
        pieces = rectangle.pieces(count)
        self._open[rectangle.tile.number].rectangles += len(pieces) - 1
        self._waiting.extendleft(reversed(pieces))

    def _collect(self) -> None:
        """Wait for the oldest rectangle, or until the run is stopped, and deliver the rectangle's tile if the tile is complete.

        If a list overflowed, the rectangle is rerun in pieces.
        """
        flight = self._in_flight[0]
        if not self._finished(flight.slot):
            return
        counts = self._launcher.counts(flight.slot)
        if counts.candidates > flight.capacity.candidates:
            self._rerun(flight, counts.candidates / flight.capacity.candidates)
        elif counts.near_pairs > flight.capacity.near_pairs:
            self._rerun(flight, counts.near_pairs / flight.capacity.near_pairs)
        else:
            self._merge(flight, counts)

    def _finished(self, slot: StreamBuffers) -> bool:
        """Wait until the slot's work is finished. Returns False if the run is stopped first."""
        return wait_for(slot.passed[-1], _POLL_SECONDS, self._stopped)

    def _rerun(self, flight: _InFlight, times: float) -> None:
        """Rerun a rectangle in pieces. times: factor by which a list overflowed."""
        self._in_flight.popleft()
        self._idle.append(flight.slot)
        self._split(flight.rectangle, int(times) + 1)

    def _merge(self, flight: _InFlight, counts: Counts) -> None:
        entry = self._open[flight.rectangle.tile.number]
        if counts.near_pairs:
            self._launcher.download(flight.slot, counts.near_pairs)
            if not self._finished(flight.slot):
                return
            entry.pairs.append(self._launcher.pairs(flight.slot, counts.near_pairs))
        self._in_flight.popleft()
        self._idle.append(flight.slot)
        if self._log:
            started, screened, verified = flight.slot.passed[:3]
            self._log(Finished(flight.rectangle.pairs, counts, screened.seconds_since(started), verified.seconds_since(screened)))
        entry.fitting += flight.rows.fitting - counts.wrong_order
        entry.candidates += counts.candidates
        entry.rectangles -= 1
        if not entry.rectangles:
            del self._open[entry.tile.number]
            self._deliver(self._result(entry))

    def _result(self, entry: _OpenTile) -> TilePairs:
        pairs = join_pairs(entry.pairs)
        survivors = {"pairs": entry.tile.cells, "lengths": entry.fitting}
        if self._recipe.steps.q:
            survivors["q-grams"] = entry.candidates
        return TilePairs(entry.tile, pairs, survivors | {"edit distance": len(pairs)})

    def _cancel(self) -> None:
        """Terminate the kernels in flight after an error or a stop, and wait for them, so that their memory can be freed."""
        if not self._in_flight:
            return
        try:
            control = self._device.stream()
            for flight in self._in_flight:
                flight.slot.stop(control)
            for flight in self._in_flight:
                wait_for(flight.slot.record(), _POLL_SECONDS)
        except RunError:
            pass  # the device failed; the error that led here reports it
        self._idle += [flight.slot for flight in self._in_flight]
