"""Finds near pairs on one device: pulls tiles, keeps two rectangles in flight, and delivers results."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import field
from functools import partial

from gpualign.core.alignment.pair_list import NearPairs, join_pairs
from gpualign.core.alignment.task import Task
from gpualign.core.alignment.tile_results import TilePairs, TileResult
from gpualign.core.common.dataclass import dataclass
from gpualign.core.common.errors import RunError, parameter
from gpualign.core.execution.worker_pool import WorkerPort
from gpualign.core.near_pairs.filter_cascade import diagonal_word_count
from gpualign.core.planning.tile_plan import Tile
from gpualign.gpu.near_pairs.device_records import device_bytes, make_records
from gpualign.gpu.near_pairs.kernels import Screen
from gpualign.gpu.near_pairs.launcher import PAIR_BYTES, Capacity, Counts, Launcher
from gpualign.gpu.near_pairs.recipe import NearRecipe
from gpualign.gpu.near_pairs.rectangles import Rectangle, Rows, make_rows, whole_tile
from gpualign.gpu.runtime.device import Device, OutOfMemory
from gpualign.gpu.runtime.stream_buffers import StreamBuffers
from gpualign.gpu.runtime.stream_pipeline import open_pipeline

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


class NearWorker:
    """Worker that finds the near pairs of tiles on one device. Call `run` once, in the thread that owns the device.

    port: source of the tiles, and receiver of the results
    max_results: maximum number of near pairs copied back per rectangle
    log: called with every finished rectangle
    """

    def __init__(
        self,
        device: Device,
        task: Task,
        recipe: NearRecipe,
        screen: Screen,
        port: WorkerPort[TileResult],
        max_results: int,
        log: Callable[[Finished], None] | None = None,
    ) -> None:
        self._device = device
        self._task = task
        self._recipe = recipe
        self._screen = screen
        self._port = port
        self._max_results = max_results
        self._log = log
        self._waiting: deque[Rectangle] = deque()
        self._open: dict[int, _OpenTile] = {}
        self._columns = task.targets.longest

    def run(self) -> None:
        """Compute tiles until there are none. Raises `RunError` if the device fails or has too little memory."""
        try:
            with open_pipeline(self._device, _SLOTS, _POLL_SECONDS, self._port.stopped) as self._pipeline:
                usable = self._pipeline.usable_memory()
                if (needed := device_bytes(self._task, self._recipe)) >= usable:
                    raise RunError(
                        f"the memory of {self._device.name} is too small for these records: they need {needed:,} bytes, and {usable:,} "
                        f"may be used; use {parameter('device', 'cpu')}"
                    )
                self._slot_bytes = (usable - needed) // _SLOTS
                self._launcher = Launcher(self._recipe, self._screen, make_records(self._pipeline, self._task, self._recipe))
                self._work()
        except OutOfMemory as error:
            raise RunError(f"{self._device.name} has less memory than it reported ({error}); use {parameter('device', 'cpu')}") from None

    def _work(self) -> None:
        while not self._port.stopped():
            if self._pipeline.has_idle and (self._waiting or self._take_tile()):
                self._start(self._waiting.popleft())
            elif not self._pipeline.collect_oldest():
                return

    def _take_tile(self) -> bool:
        """Take the next tile. Returns False if there is none."""
        tile = self._port.next_tile()
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
        submit = partial(self._launcher.submit, rectangle=rectangle, rows=rows, capacity=capacity, scratch=self._slot_bytes // 8)
        self._pipeline.start(submit, partial(self._collect, rectangle, rows, capacity))

    def _capacity(self, rows: Rows) -> Capacity:
        """Return the list capacities, limited by time and memory."""
        in_time = _MAX_COLUMNS // (self._columns * diagonal_word_count(rows.max_edits))
        in_memory = self._slot_bytes // 4 // sum(PAIR_BYTES)
        candidates = max(_MIN_CANDIDATES, min(_MAX_CANDIDATES, in_time, in_memory))
        return Capacity(candidates, max(1, min(self._max_results, candidates)))

    def _split(self, rectangle: Rectangle, count: int) -> None:
        """Split a rectangle into pieces, which replace it."""
        pieces = rectangle.pieces(count)
        self._open[rectangle.tile.number].rectangles += len(pieces) - 1
        self._waiting.extendleft(reversed(pieces))

    def _collect(self, rectangle: Rectangle, rows: Rows, capacity: Capacity, slot: StreamBuffers) -> bool:
        """Merge a finished rectangle, and deliver its tile if the tile is complete. Returns False if the run is stopped first.

        If a list overflowed, the rectangle is rerun in pieces.
        """
        counts = self._launcher.counts(slot)
        times = max(counts.candidates / capacity.candidates, counts.near_pairs / capacity.near_pairs)
        if times > 1:
            self._split(rectangle, int(times) + 1)
            return True
        entry = self._open[rectangle.tile.number]
        if counts.near_pairs:
            self._launcher.download(slot, counts.near_pairs)
            if not self._pipeline.wait(slot.passed[-1]):
                return False
            entry.pairs.append(self._launcher.pairs(slot, counts.near_pairs))
        if self._log:
            started, screened, verified = slot.passed[:3]
            self._log(Finished(rectangle.pairs, counts, screened.seconds_since(started), verified.seconds_since(screened)))
        entry.fitting += rows.fitting - counts.wrong_order
        entry.candidates += counts.candidates
        entry.rectangles -= 1
        if not entry.rectangles:
            del self._open[entry.tile.number]
            self._port.deliver(self._result(entry))
        return True

    def _result(self, entry: _OpenTile) -> TilePairs:
        pairs = join_pairs(entry.pairs)
        survivors = {"pairs": entry.tile.cells, "lengths": entry.fitting}
        if self._recipe.steps.q:
            survivors["q-grams"] = entry.candidates
        return TilePairs(entry.tile, pairs, survivors | {"edit distance": len(pairs)})
