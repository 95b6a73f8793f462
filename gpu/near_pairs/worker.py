"""One device that finds near pairs: pulls tiles, keeps two rectangles in flight, hands on what it has found."""

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
from gpualign.gpu.alignment.worker import SHARE_OF_MEMORY
from gpualign.gpu.near_pairs.device_records import DeviceRecords, device_bytes
from gpualign.gpu.near_pairs.kernels import Screen
from gpualign.gpu.near_pairs.launcher import PAIR_BYTES, Capacity, Counts, Launcher
from gpualign.gpu.near_pairs.recipe import NearRecipe
from gpualign.gpu.near_pairs.rectangles import Rectangle, Rows, make_rows, whole_tile
from gpualign.gpu.runtime.device import Device, OutOfMemory, wait_for
from gpualign.gpu.runtime.stream_buffers import StreamBuffers

_SLOTS = 2
_POLL_SECONDS = 0.0002
_FEWEST_CANDIDATES, _MOST_CANDIDATES = 1 << 12, 1 << 24
_MOST_COLUMNS = 1 << 37
"""Of words of bands: those of all candidates of a rectangle at most, less than a second's work."""


@dataclass
class _OpenTile:
    """rectangles: that have not been collected."""

    tile: Tile
    rectangles: int = 1
    pairs: list[NearPairs] = field(default_factory=list)
    fitting: int = 0
    candidates: int = 0


@dataclass(frozen=True)
class Finished:
    """A rectangle that ran, for benchmarks: its pairs and those left, and seconds of the device."""

    pairs: int
    counts: Counts
    screen: float
    verify: float


@dataclass(frozen=True)
class _Flight:
    slot: StreamBuffers
    rectangle: Rectangle
    rows: Rows
    capacity: Capacity


class NearWorker:
    """`next_tile` gives tiles until None, `deliver` takes results, `stopped` is asked between rectangles and while waiting.

    found: near pairs of a rectangle at most. log: told of every rectangle. Call `run` once, in the thread that is to own the device.
    """

    def __init__(
        self,
        device: Device,
        task: Task,
        recipe: NearRecipe,
        screen: Screen,
        found: int,
        next_tile: Callable[[], Tile | None],
        deliver: Callable[[TileResult], None],
        stopped: Callable[[], bool],
        log: Callable[[Finished], None] | None = None,
    ) -> None:
        self._device = device
        self._task = task
        self._recipe = recipe
        self._screen = screen
        self._found = found
        self._next_tile = next_tile
        self._deliver = deliver
        self._stopped = stopped
        self._log = log
        self._idle: list[StreamBuffers] = []
        self._flying: deque[_Flight] = deque()
        self._waiting: deque[Rectangle] = deque()
        self._open: dict[int, _OpenTile] = {}
        self._columns = task.targets.longest

    def run(self) -> None:
        """Work until there are no tiles. Raises `RunError` for what the device cannot do."""
        self._device.open()
        records: DeviceRecords | None = None
        try:
            self._idle = [StreamBuffers(self._device, number) for number in range(_SLOTS)]
            room = int(self._device.free_memory() * SHARE_OF_MEMORY)
            if (needed := device_bytes(self._task, self._recipe)) >= room:
                raise RunError(
                    f"the memory of {self._device.name} is too small for these records: they need {needed:,} bytes of it, and {room:,} "
                    f"may be used; use {parameter('device', 'cpu')}"
                )
            self._room = (room - needed) // _SLOTS
            records = DeviceRecords(self._device, self._idle, self._task, self._recipe)
            self._launcher = Launcher(self._recipe, self._screen, records)
            self._work()
        except OutOfMemory as error:
            raise RunError(f"{self._device.name} has less memory than it said ({error}); use {parameter('device', 'cpu')}") from None
        finally:
            try:
                self._abandon()
                for slot in self._idle:
                    slot.release()
                if records is not None:
                    records.free()
            finally:
                # Nothing of the device may outlive its context.
                self._idle.clear()
                self._flying.clear()
                self._device.close()

    def _work(self) -> None:
        while not self._stopped():
            if self._idle and (self._waiting or self._take_tile()):
                self._start(self._waiting.popleft())
            elif self._flying:
                self._collect()
            else:
                return

    def _take_tile(self) -> bool:
        """Whether there was another tile."""
        tile = self._next_tile()
        if tile is None:
            return False
        self._open[tile.number] = _OpenTile(tile)
        self._waiting.append(whole_tile(tile, self._task))
        return True

    def _start(self, rectangle: Rectangle) -> None:
        """Submit a rectangle, or put its halves in its place where it is too large for memory."""
        gathered = sum(rectangle.shape) * (self._recipe.sketch_bytes + 32)
        if gathered > self._room // 2 and rectangle.pairs > 1:
            self._split(rectangle, 2)
            return
        rows = make_rows(rectangle, self._task, self._recipe.bound, self._recipe.steps.q)
        capacity = self._capacity(rows)
        slot = self._idle.pop()
        self._flying.append(_Flight(slot, rectangle, rows, capacity))
        self._launcher.submit(slot, rectangle, rows, capacity, self._room // 8)

    def _capacity(self, rows: Rows) -> Capacity:
        """What lists have room for, in time and in memory."""
        in_time = _MOST_COLUMNS // (self._columns * words(rows.most))
        in_memory = self._room // 4 // sum(PAIR_BYTES)
        candidates = max(_FEWEST_CANDIDATES, min(_MOST_CANDIDATES, in_time, in_memory))
        return Capacity(candidates, max(1, min(self._found, candidates)))

    def _split(self, rectangle: Rectangle, count: int) -> None:
        """Put parts of a rectangle in its place."""
        parts = rectangle.parts(count)
        self._open[rectangle.tile.number].rectangles += len(parts) - 1
        self._waiting.extendleft(reversed(parts))

    def _collect(self) -> None:
        """Wait for the oldest rectangle, and hand on its tile if that is complete; or until the run is stopped. Lists that were too short
        make it run again in parts."""
        flight = self._flying[0]
        if not self._passed(flight.slot):
            return
        counts = self._launcher.counts(flight.slot)
        if counts.candidates > flight.capacity.candidates:
            self._again(flight, counts.candidates / flight.capacity.candidates)
        elif counts.found > flight.capacity.found:
            self._again(flight, counts.found / flight.capacity.found)
        else:
            self._keep(flight, counts)

    def _passed(self, slot: StreamBuffers) -> bool:
        """Wait until the slot has passed; False where the run was stopped before."""
        return wait_for(slot.passed[-1], _POLL_SECONDS, self._stopped)

    def _again(self, flight: _Flight, times: float) -> None:
        """The lists would have had to be longer by this factor."""
        self._flying.popleft()
        self._idle.append(flight.slot)
        self._split(flight.rectangle, int(times) + 1)

    def _keep(self, flight: _Flight, counts: Counts) -> None:
        entry = self._open[flight.rectangle.tile.number]
        if counts.found:
            self._launcher.download(flight.slot, counts.found)
            if not self._passed(flight.slot):
                return
            entry.pairs.append(self._launcher.pairs(flight.slot, counts.found))
        self._flying.popleft()
        self._idle.append(flight.slot)
        if self._log:
            begun, screened, verified = flight.slot.passed[:3]
            self._log(Finished(flight.rectangle.pairs, counts, screened.seconds_since(begun), verified.seconds_since(screened)))
        entry.fitting += flight.rows.fitting - counts.unwanted
        entry.candidates += counts.candidates
        entry.rectangles -= 1
        if not entry.rectangles:
            del self._open[entry.tile.number]
            self._deliver(self._result(entry))

    def _result(self, entry: _OpenTile) -> TilePairs:
        pairs = join_pairs(entry.pairs)
        left = {"pairs": entry.tile.cells, "lengths": entry.fitting}
        if self._recipe.steps.q:
            left["q-grams"] = entry.candidates
        return TilePairs(entry.tile, pairs, left | {"edit distance": len(pairs)})

    def _abandon(self) -> None:
        """After an error or a stop: end the kernels in flight, and wait for them, so that their memory can be freed."""
        if not self._flying:
            return
        try:
            control = self._device.stream()
            for flight in self._flying:
                flight.slot.stop(control)
            for flight in self._flying:
                wait_for(flight.slot.record(), _POLL_SECONDS)
        except RunError:
            pass  # a device that failed; the error that brought us here says so
        self._idle += [flight.slot for flight in self._flying]
