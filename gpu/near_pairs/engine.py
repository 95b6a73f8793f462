"""The CUDA engine of near pairs: a thread for each device, all pulling tiles from one plan."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import field

import numpy as np

from gpualign.core.alignment.task import Task
from gpualign.core.alignment.tile_results import TileResult
from gpualign.core.common.dataclass import dataclass
from gpualign.core.common.errors import RunError
from gpualign.core.execution.worker_pool import WorkerPort, run_workers
from gpualign.core.planning.memory_budget import Budget
from gpualign.core.planning.tile_plan import Limits, Tile
from gpualign.gpu.near_pairs.kernels import LENGTHS, Screen, has_tensor_cores, screens
from gpualign.gpu.near_pairs.recipe import NearRecipe, make_near_recipe
from gpualign.gpu.near_pairs.worker import Finished, NearWorker
from gpualign.gpu.runtime.device import Device
from gpualign.gpu.runtime.device_failures import Lost

_TILE_NANOSECONDS = 2e8
_TILE_PAIRS = 1 << 18, 1 << 31  # at least; at most, as counters have 32 bits
_BAND_ROWS = 1 << 15
_LANES = 256  # targets that a tile grows by: the widest tile of a screen's block
_PAIR_BYTES = 64
"""Memory of a pair on its way from a device to the output."""

_MOST_FOUND = 1 << 22
"""Pairs that come back at a time: pinned host memory is dear."""


@dataclass(frozen=True)
class CudaNearPrepared:
    """Implements `gpualign.core.execution.engine.Prepared`. seconds: that it takes, about. screens: one of each device. found: near pairs
    that come
    back at a time at most."""

    task: Task
    limits: Limits
    kernel: str
    hardware: str
    seconds: float
    recipe: NearRecipe = field(repr=False)
    devices: Sequence[Device] = field(repr=False)
    screens: Sequence[Screen] = field(repr=False)
    found: int
    log: Callable[[Finished], None] | None = field(repr=False)
    lost: Lost | None = field(repr=False)
    process: int

    def run(self, tiles: Iterator[Tile]) -> Iterator[TileResult]:
        if os.getpid() != self.process:
            raise RunError("CUDA cannot be used in a process that was forked after CUDA had started; make the engine in the child")

        def worker(device: Device, screen: Screen) -> Callable[[WorkerPort[TileResult]], None]:
            def work(counter: WorkerPort[TileResult]) -> None:
                tools = counter.next_tile, counter.deliver, counter.stopped
                NearWorker(device, self.task, self.recipe, screen, self.found, *tools, self.log).run()

            return work

        workers = [worker(device, screen) for device, screen in zip(self.devices, self.screens, strict=True)]
        return run_workers(tiles, workers, 2 * len(workers), "gpualign-cuda", lost=self.lost)


def prepare_near(
    task: Task,
    budget: Budget,
    devices: Sequence[Device],
    hardware: str,
    process: int,
    log: Callable[[Finished], None] | None = None,
    screen: Screen | None = None,
    lost: Lost | None = None,
) -> CudaNearPrepared:
    """A task with `Task.within`. hardware: the devices, for people; process: that has them. log: told of every rectangle; screen: of
    sketches, instead of the fastest. lost: told of a device that fails while others go on; None: none does."""
    recipe = make_near_recipe(task, has_tensor_cores(devices[0].arch))
    pairs = int(np.clip(_TILE_NANOSECONDS / recipe.nanoseconds, *_TILE_PAIRS))
    limits = Limits(budget.results, budget.scratch, task.item_bytes, _LANES, pairs, _BAND_ROWS, sharing=len(devices))
    chosen = [(screen or screens(device.arch)[0]) if recipe.steps.q else LENGTHS for device in devices]
    kernel = recipe.steps.describe() + (f" ({chosen[0].title})" if recipe.steps.q else "")
    kernel += f"; {recipe.left.describe(recipe.steps)}" if recipe.left else ""
    found = int(np.clip(budget.results // (4 * len(devices) * _PAIR_BYTES), 1, _MOST_FOUND))
    seconds = task.pairs_about * recipe.nanoseconds / (1e9 * len(devices))
    return CudaNearPrepared(task, limits, kernel, hardware, seconds, recipe, devices, chosen, found, log, lost, process)
