"""CUDA engine for alignments. It has one host thread per device, and all threads pull tiles from the same plan."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import field

import numpy as np

from gpualign.core.alignment.task import Detail, Mode, Task
from gpualign.core.alignment.tile_results import TileResult
from gpualign.core.common.dataclass import dataclass
from gpualign.core.common.errors import RunError
from gpualign.core.execution.engine import Capabilities
from gpualign.core.execution.worker_pool import WorkerHandle, run_workers
from gpualign.core.planning.memory_budget import Budget
from gpualign.core.planning.tile_plan import Tile, TileLimits
from gpualign.gpu.alignment.kernel_selection import choose_kernel_variant
from gpualign.gpu.alignment.recipe import Recipe, make_recipe, packed_score_type
from gpualign.gpu.alignment.results.paths import RUN_ALIGNMENT_BYTES
from gpualign.gpu.alignment.worker import AlignmentWorker, FinishedBatch
from gpualign.gpu.near_pairs.engine import CudaNearPairPreparedTask, prepare_near_pairs
from gpualign.gpu.runtime.device import Device, check_process
from gpualign.gpu.runtime.device_failures import OnDeviceFailure, failure_reporter
from gpualign.gpu.runtime.host_buffers import ResultBufferPool

TILE_SECONDS = 0.4
"""Estimated computing time of a tile, in seconds. It is long compared with the host's share of the work, but short enough that all devices
are equally busy and that a run stops quickly."""

_SEARCH_BAND_SECONDS = 0.1
"""Estimated computing time of a band of a search, in seconds. The host scores and traces a band's hits while the next bands are computed,
so that only the last band's hits are waited for. Bands of a large database are longer, see `_LETTERS_PER_SECOND`."""

_LETTERS_PER_SECOND = 1e9
"""Number of target letters that any host can prepare for its devices in a second, even if they are on a disk. Each band of a search reads
all targets again, so bands are large enough that computing one takes at least as long as reading the targets at this rate."""

_MAPPED_TILE_LETTERS, _MIN_MAPPED_TILES = 1 << 28, 4
"""Maximum number of target letters of a tile of a search, and minimum number of tiles for all targets, if the targets are in a file. The
first tile is then computed while the rest of the file is read."""

_PATH_TILE_DIVISOR = 4  # a tile with paths is smaller by this factor: it is slower, and its results take more memory
BAND_ROWS = 1024  # queries of a band, unless a search asks for fewer
TARGET_COUNT_STEP = 1024  # step of the number of targets of a tile: whole blocks of every kernel
_MAX_WAITING_HIT_TILES = 64  # tiles of a search whose hits may wait to be traced
_MAX_SAMPLE_SIZE = 4096  # records that represent the lengths of a set


@dataclass(frozen=True)
class CudaPreparedTask:
    """Alignment task prepared for CUDA devices. Implements `gpualign.core.execution.engine.PreparedTask`.

    estimated_seconds: estimated run time after CUDA has started
    pool: host memory for results
    on_finished: called with every finished batch
    on_device_failure: called when a device fails
    process_id: id of the process that created the engine
    """

    task: Task
    limits: TileLimits
    kernel: str
    hardware: str
    estimated_seconds: float
    recipe: Recipe = field(repr=False)
    devices: Sequence[Device] = field(repr=False)
    pool: ResultBufferPool = field(repr=False)
    on_finished: Callable[[FinishedBatch], None] | None = field(repr=False)
    on_device_failure: OnDeviceFailure = field(repr=False)
    process_id: int

    def run(self, tiles: Iterator[Tile]) -> Iterator[TileResult]:
        check_process(self.process_id)

        def worker(device: Device) -> Callable[[WorkerHandle[TileResult]], None]:
            def work(handle: WorkerHandle[TileResult]) -> None:
                host_bytes = self.limits.scratch_bytes // len(self.devices)
                AlignmentWorker(device, self.pool, self.task, self.recipe, handle, host_bytes, self.on_finished).run()

            return work

        # Hits are small, so the hits of many tiles may wait to be traced.
        waiting = 2 if self.task.top_count is None else _MAX_WAITING_HIT_TILES
        workers = [worker(device) for device in self.devices]
        return run_workers(tiles, workers, waiting * len(workers), "gpualign-cuda", on_worker_failure=self.on_device_failure)


class CudaEngine:
    """Implements `gpualign.core.execution.engine.Engine` on one or more devices, which are opened for each run.

    on_finished: called with every finished batch, for benchmarks
    host_traceback: whether direction matrices are copied back and traced on the host while the next batch is computed
    note: called with a message about a failed device whose work the remaining devices take over
    """

    capabilities = Capabilities(frozenset({Mode.GLOBAL, Mode.LOCAL}), supports_paths=True, supports_near_pairs=True)

    def __init__(
        self,
        devices: Sequence[Device],
        on_finished: Callable[[FinishedBatch], None] | None = None,
        host_traceback: bool = False,
        note: Callable[[str], None] | None = None,
    ) -> None:
        if not devices:
            raise ValueError("an engine needs a device")
        self._devices = list(devices)
        self._pool = ResultBufferPool()
        self._on_finished = on_finished
        self._host_traceback = host_traceback
        self._on_device_failure = failure_reporter(self._devices, note)
        self._process = os.getpid()

    @property
    def device_count(self) -> int:
        """Number of devices. Each has its own host thread."""
        return len(self._devices)

    def prepare(self, task: Task, budget: Budget) -> CudaPreparedTask | CudaNearPairPreparedTask:
        """Prepare a task. budget: host memory; the scratch memory is for pinned buffers and for results being copied.

        Raises `RunError` for a task that the engine does not support.
        """
        if refusal := self.capabilities.unsupported_reason(task):
            raise RunError(f"the CUDA engine cannot do this: {refusal}")
        count = f"{len(self._devices)} x " if len(self._devices) > 1 else ""
        description = f"cuda ({count}{self._devices[0].name})"
        if task.edit_bound is not None:
            return prepare_near_pairs(task, budget, self._devices, description, self._process, on_device_failure=self._on_device_failure)
        hardware = self._devices[0].hardware
        recipe = make_recipe(task, self._host_traceback, packed_score_type(device.arch for device in self._devices))
        # The kernel of a first band of queries against all targets.
        queries, targets = _sampled_lengths(task.queries.lengths[:BAND_ROWS]), np.sort(_sampled_lengths(task.targets.lengths))
        variant = choose_kernel_variant(recipe, queries, targets, hardware)
        rate = (
            variant.cells_per_clock
            * hardware.multiprocessor_count
            * hardware.clock_hz
            / (_PATH_TILE_DIVISOR if task.needs_more_than_final_cell else 1)
        )
        cells = int(rate * TILE_SECONDS)
        rows = BAND_ROWS
        if task.top_count is not None:
            letters = int(task.targets.offsets[-1])
            mean = max(1, int(task.queries.offsets[-1]) // len(task.queries) * letters)
            rows = max(1, min(BAND_ROWS, math.ceil(rate * max(_SEARCH_BAND_SECONDS, letters / _LETTERS_PER_SECOND) / mean)))
            if task.targets.is_mapped:
                tile = min(_MAPPED_TILE_LETTERS, -(-letters // _MIN_MAPPED_TILES))
                cells = min(cells, min(rows, len(task.queries)) * mean * tile // letters)
        memory, devices = (budget.result_bytes, budget.scratch_bytes), len(self._devices)
        padding = RUN_ALIGNMENT_BYTES - 1 if task.detail is Detail.PATH else 0
        limits = TileLimits(
            *memory,
            task.pair_bytes + padding,
            TARGET_COUNT_STEP,
            cells,
            rows,
            bytes_per_letter=task.path_bytes_per_letter,
            query_bytes=task.query_bytes,
            worker_count=devices,
            min_diagonal_bands=variant.diagonal_band_count(task.approximate_cell_count, int(targets[-1]), hardware),
            diagonal_group_size=variant.diagonal_group_size(),
        )
        seconds = task.approximate_cell_count / (rate * devices)
        tools = self._devices, self._pool, self._on_finished, self._on_device_failure, self._process
        return CudaPreparedTask(task, limits, variant.title, description, seconds, recipe, *tools)


def _sampled_lengths(lengths: np.ndarray[tuple[int, ...], np.dtype[np.int64]]) -> np.ndarray[tuple[int, ...], np.dtype[np.int64]]:
    """Return all lengths or, if there are many, the lengths of evenly spaced records, which are sufficient for selecting a kernel."""
    return lengths[:: max(1, len(lengths) // _MAX_SAMPLE_SIZE)]
