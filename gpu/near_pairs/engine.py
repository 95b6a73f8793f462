"""CUDA engine for near pairs. It has one host thread per device, and all threads pull tiles from the same plan."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import field

import numpy as np

from gpualign.core.alignment.task import Task
from gpualign.core.alignment.tile_results import TilePairs, TileResult
from gpualign.core.common.dataclass import dataclass
from gpualign.core.execution.worker_pool import WorkerHandle, run_workers
from gpualign.core.planning.memory_budget import Budget
from gpualign.core.planning.tile_plan import Tile, TileLimits
from gpualign.gpu.near_pairs.kernels import LENGTH_SCREENING_KERNEL, ScreeningKernel, has_tensor_cores, screening_kernels
from gpualign.gpu.near_pairs.recipe import NearPairRecipe, make_near_pair_recipe
from gpualign.gpu.near_pairs.worker import MAX_RECTANGLES_IN_FLIGHT, FinishedRectangle, NearPairWorker
from gpualign.gpu.runtime.device import Device, check_process
from gpualign.gpu.runtime.device_failures import OnDeviceFailure

_TILE_NANOSECONDS = 2e8
TILE_PAIR_LIMITS = 1 << 18, (1 << 32) - 1  # minimum; maximum, because counters have 32 bits
BAND_ROWS = 1 << 16  # queries of a band
_TARGET_COUNT_STEP = 256  # step of the number of targets of a tile: the widest tile of a screen's block
_BYTES_PER_NEAR_PAIR = 64
"""Host memory, in bytes, that a near pair needs on its way from a device to the output."""

_WAITING_RESULTS_DIVISOR = 8
"""The memory for results is divided by this number; results may wait in one such part, so that devices continue while a band is written. A
band has few near pairs, but expanding and writing them takes as long as a device takes for many tiles."""

MAX_NEAR_PAIRS = 1 << 22
"""Maximum number of near pairs that are copied back together, because pinned host memory is expensive."""


@dataclass(frozen=True)
class CudaNearPairPreparedTask:
    """Task prepared for finding near pairs on CUDA devices. Implements `gpualign.core.execution.engine.PreparedTask`.

    estimated_seconds: estimated run time
    screening_kernels: for each device, the kernel that screens pairs
    max_near_pairs: maximum number of near pairs copied back per rectangle
    waiting_bytes: size of results that may wait for the consumer, in bytes
    on_finished: called with every finished rectangle
    on_device_failure: called when a device fails
    process_id: id of the process that created the engine
    """

    task: Task
    limits: TileLimits
    kernel: str
    hardware: str
    estimated_seconds: float
    recipe: NearPairRecipe = field(repr=False)
    devices: Sequence[Device] = field(repr=False)
    screening_kernels: Sequence[ScreeningKernel] = field(repr=False)
    max_near_pairs: int
    waiting_bytes: int
    on_finished: Callable[[FinishedRectangle], None] | None = field(repr=False)
    on_device_failure: OnDeviceFailure | None = field(repr=False)
    process_id: int

    def run(self, tiles: Iterator[Tile]) -> Iterator[TileResult]:
        check_process(self.process_id)

        def worker(device: Device, screen: ScreeningKernel) -> Callable[[WorkerHandle[TileResult]], None]:
            def work(handle: WorkerHandle[TileResult]) -> None:
                NearPairWorker(device, self.task, self.recipe, screen, handle, self.max_near_pairs, self.on_finished).run()

            return work

        workers = [worker(device, screen) for device, screen in zip(self.devices, self.screening_kernels, strict=True)]
        return run_workers(
            tiles,
            workers,
            2 * len(workers),
            "gpualign-cuda",
            on_worker_failure=self.on_device_failure,
            size_of=result_bytes,
            min_room=self.waiting_bytes,
        )


def prepare_near_pairs(
    task: Task,
    budget: Budget,
    devices: Sequence[Device],
    hardware: str,
    process_id: int,
    on_finished: Callable[[FinishedRectangle], None] | None = None,
    screening_kernel: ScreeningKernel | None = None,
    on_device_failure: OnDeviceFailure | None = None,
) -> CudaNearPairPreparedTask:
    """Prepare a task that has an edit bound (`Task.edit_bound`).

    hardware: human-readable name of the devices
    process_id: id of the process that uses the devices
    on_finished: called with every finished rectangle
    screening_kernel: kernel with which sketches are compared; None: the fastest
    on_device_failure: called with a failed device whose work the remaining devices take over; None: the work is not taken over
    """
    recipe = make_near_pair_recipe(task, has_tensor_cores(devices[0].arch))
    pairs = int(np.clip(_TILE_NANOSECONDS / recipe.nanoseconds_per_pair, *TILE_PAIR_LIMITS))
    limits = TileLimits(
        budget.result_bytes, budget.scratch_bytes, task.pair_bytes, _TARGET_COUNT_STEP, pairs, BAND_ROWS, worker_count=len(devices)
    )
    selected = [
        (screening_kernel or screening_kernels(device.arch, recipe.sketch_bytes)[0]) if recipe.cascade.q else LENGTH_SCREENING_KERNEL
        for device in devices
    ]
    kernel = recipe.cascade.describe() + (f" ({selected[0].title})" if recipe.cascade.q else "")
    kernel += f"; {recipe.survivor_counts.describe(recipe.cascade)}" if recipe.survivor_counts else ""
    lists = 2 * MAX_RECTANGLES_IN_FLIGHT * len(devices)  # they take half of the memory for results
    max_results = int(np.clip(budget.result_bytes // (lists * _BYTES_PER_NEAR_PAIR), 1, MAX_NEAR_PAIRS))
    waiting = budget.result_bytes // _WAITING_RESULTS_DIVISOR
    seconds = task.approximate_pair_count * recipe.nanoseconds_per_pair / (1e9 * len(devices))
    return CudaNearPairPreparedTask(
        task, limits, kernel, hardware, seconds, recipe, devices, selected, max_results, waiting, on_finished, on_device_failure, process_id
    )


def result_bytes(result: TileResult) -> int:
    """Return the memory for a tile's near pairs and for its list of targets, in bytes."""
    assert isinstance(result, TilePairs)
    return result.pairs.nbytes + result.tile.targets.nbytes
