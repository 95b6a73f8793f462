"""Finds near pairs on one device: pulls tiles, keeps a few rectangles in flight, and delivers results."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import field
from functools import lru_cache, partial

from gpualign.core.alignment.pair_list import NearPairs, join_pairs
from gpualign.core.alignment.task import Task
from gpualign.core.alignment.tile_results import TilePairs, TileResult
from gpualign.core.common.dataclass import dataclass
from gpualign.core.common.errors import RunError, parameter
from gpualign.core.execution.worker_pool import WorkerHandle
from gpualign.core.near_pairs.filter_cascade import diagonal_word_count
from gpualign.core.planning.tile_plan import Tile
from gpualign.gpu.near_pairs.device_records import make_device_records, record_device_bytes
from gpualign.gpu.near_pairs.kernels import ScreeningKernel
from gpualign.gpu.near_pairs.launcher import BYTES_PER_LISTED_PAIR, ListCapacities, PairCounts, RectangleLauncher
from gpualign.gpu.near_pairs.recipe import NearPairRecipe
from gpualign.gpu.near_pairs.rectangles import QueryRows, Rectangle, make_query_rows, sort_queries, tile_rectangles
from gpualign.gpu.runtime.device import Device, OutOfMemory
from gpualign.gpu.runtime.stream_buffers import StreamBuffers
from gpualign.gpu.runtime.stream_pipeline import open_pipeline

MAX_RECTANGLES_IN_FLIGHT = 3
"""Number of rectangles that a device has at a time: it screens one, and two wait, because other threads may keep the worker's from running
for that long."""

_POLL_SECONDS = 0.0002
_ROW_BYTES = 48  # of a record beside its sketch: its row and limits, and what is uploaded and gathered for it, at most
MIN_CANDIDATES, MAX_CANDIDATES = 1 << 12, 1 << 25  # room for the candidates of a rectangle
_MAX_BAND_WORD_COLUMNS = 1 << 37
"""Maximum work of verifying a rectangle's candidates, in words (of 64 diagonals) times columns. It takes less than a second."""


@dataclass
class _OpenTile:
    """Tile that is being computed.

    rectangle_count: number of rectangles not yet collected
    compatible_pair_count: number of pairs whose lengths are within the bound
    """

    tile: Tile
    rectangle_count: int
    near_pairs: list[NearPairs] = field(default_factory=list)
    compatible_pair_count: int = 0
    candidate_count: int = 0


@dataclass(frozen=True)
class FinishedRectangle:
    """Finished rectangle, for benchmarks.

    pair_count: total number of pairs
    counts: numbers of candidates and of near pairs
    screening_seconds: duration of the screen, as measured on the device
    verification_seconds: duration of the verification, as measured on the device
    """

    pair_count: int
    counts: PairCounts
    screening_seconds: float
    verification_seconds: float


class NearPairWorker:
    """Worker that finds the near pairs of tiles on one device. Call `run` once, in the thread that owns the device.

    handle: source of the tiles, and receiver of the results
    max_near_pairs: maximum number of near pairs copied back per rectangle
    on_finished: called with every finished rectangle
    """

    def __init__(
        self,
        device: Device,
        task: Task,
        recipe: NearPairRecipe,
        screening_kernel: ScreeningKernel,
        handle: WorkerHandle[TileResult],
        max_near_pairs: int,
        on_finished: Callable[[FinishedRectangle], None] | None = None,
    ) -> None:
        self._device = device
        self._task = task
        self._recipe = recipe
        self._screen = screening_kernel
        self._handle = handle
        self._max_results = max_near_pairs
        self._on_finished = on_finished
        self._waiting: deque[Rectangle] = deque()
        self._open: dict[int, _OpenTile] = {}
        self._columns = task.targets.max_length
        self._sort_queries = lru_cache(maxsize=1)(partial(sort_queries, task=task))  # a band has many tiles of the same queries

    def run(self) -> None:
        """Compute tiles until none are left. Raises `RunError` if the device fails or has too little memory."""
        try:
            with open_pipeline(self._device, MAX_RECTANGLES_IN_FLIGHT, _POLL_SECONDS, self._handle.stopped) as self._pipeline:
                usable = self._pipeline.usable_memory()
                if (needed := record_device_bytes(self._task, self._recipe)) >= usable:
                    raise RunError(
                        f"the memory of {self._device.name} is too small for these records: they need {needed:,} bytes, and {usable:,} "
                        f"may be used; use {parameter('device', 'cpu')}"
                    )
                self._slot_bytes = (usable - needed) // MAX_RECTANGLES_IN_FLIGHT
                records = make_device_records(self._pipeline, self._task, self._recipe)
                self._launcher = RectangleLauncher(self._device, self._recipe, self._screen, records)
                self._process_tiles()
        except OutOfMemory as error:
            raise RunError(f"{self._device.name} has less memory than it reported ({error}); use {parameter('device', 'cpu')}") from None

    def _process_tiles(self) -> None:
        while not self._handle.stopped():
            if self._pipeline.has_idle_stream and (self._waiting or self._take_tile()):
                self._submit_rectangle(self._waiting.popleft())
            elif not self._pipeline.collect_oldest():
                return

    def _take_tile(self) -> bool:
        """Take the next tile. Returns False if there is none."""
        tile = self._handle.next_tile()
        if tile is None:
            return False
        rectangles = tile_rectangles(tile, self._sort_queries(tile.query_start, tile.query_stop, tile.pairing), self._task)
        self._open[tile.number] = _OpenTile(tile, len(rectangles))
        self._waiting.extend(rectangles)
        return True

    def _submit_rectangle(self, rectangle: Rectangle) -> None:
        """Submit a rectangle, or split it into halves if it does not fit in device memory."""
        gathered = sum(rectangle.shape) * (self._recipe.sketch_bytes + _ROW_BYTES)
        if gathered > self._slot_bytes // 2 and rectangle.pair_count > 1:
            self._split_rectangle(rectangle, 2)
            return
        rows = make_query_rows(rectangle, self._task, self._recipe.bound, self._recipe.cascade.q)
        capacity = self._list_capacities(rows)
        submit = partial(
            self._launcher.submit, rectangle=rectangle, query_rows=rows, capacities=capacity, scratch_bytes=self._slot_bytes // 8
        )
        self._pipeline.start(submit, partial(self._collect, rectangle, rows, capacity))

    def _list_capacities(self, query_rows: QueryRows) -> ListCapacities:
        """Return the capacities of a rectangle's lists of pairs, limited by device memory and by the time for verifying candidates."""
        in_time = _MAX_BAND_WORD_COLUMNS // (self._columns * diagonal_word_count(query_rows.max_diagonals))
        in_memory = self._slot_bytes // 4 // sum(BYTES_PER_LISTED_PAIR)
        candidates = max(MIN_CANDIDATES, min(MAX_CANDIDATES, in_time, in_memory))
        return ListCapacities(candidates, max(1, min(self._max_results, candidates)))

    def _split_rectangle(self, rectangle: Rectangle, max_pieces: int) -> None:
        """Split a rectangle into pieces, which replace it."""
        pieces = rectangle.split(max_pieces)
        self._open[rectangle.tile.number].rectangle_count += len(pieces) - 1
        self._waiting.extendleft(reversed(pieces))

    def _collect(self, rectangle: Rectangle, query_rows: QueryRows, capacities: ListCapacities, stream: StreamBuffers) -> bool:
        """Merge a finished rectangle, and deliver its tile if the tile is complete. Returns False if the run is stopped first.

        If a list of pairs overflowed, the rectangle is computed again in pieces.
        """
        counts = self._launcher.pair_counts(stream)
        times = max(counts.candidate_count / capacities.max_candidates, counts.near_pair_count / capacities.max_near_pairs)
        if times > 1:
            self._split_rectangle(rectangle, int(times) + 1)
            return True
        entry = self._open[rectangle.tile.number]
        if counts.near_pair_count:
            self._launcher.download_pairs(stream, counts.near_pair_count)
            if not self._pipeline.wait(stream.events[-1]):
                return False
            entry.near_pairs.append(self._launcher.downloaded_pairs(stream, counts.near_pair_count))
        if self._on_finished:
            started, screened, verified = stream.events[:3]
            self._on_finished(
                FinishedRectangle(rectangle.pair_count, counts, screened.seconds_since(started), verified.seconds_since(screened))
            )
        entry.compatible_pair_count += query_rows.compatible_pair_count - counts.wrong_order_count
        entry.candidate_count += counts.candidate_count
        entry.rectangle_count -= 1
        if not entry.rectangle_count:
            del self._open[entry.tile.number]
            self._handle.deliver(self._tile_result(entry))
        return True

    def _tile_result(self, entry: _OpenTile) -> TilePairs:
        pairs = join_pairs(entry.near_pairs)
        survivors = {"pairs": entry.tile.cells, "lengths": entry.compatible_pair_count}
        if self._recipe.cascade.q:
            survivors["q-grams"] = entry.candidate_count
        return TilePairs(entry.tile, pairs, survivors | {"edit distance": len(pairs)})
