"""The CUDA engine of near pairs: a thread for each device, all pulling tiles from one plan."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from gpualign.core.budget import Budget
from gpualign.core.engine import Task, TileResult
from gpualign.core.errors import RunError
from gpualign.core.plan import Limits, Tile
from gpualign.core.pool import Counter, run_workers
from gpualign.gpu.device import Device
from gpualign.gpu.distance_kernels import POPC, usable_kernels
from gpualign.gpu.near.kernels import LENGTHS, screens
from gpualign.gpu.near.recipe import NearRecipe, make_near_recipe
from gpualign.gpu.near.worker import Finished, NearWorker

_TILE_NANOSECONDS = 2e8
_TILE_PAIRS = 1 << 18, 1 << 30  # at least, at most
_BAND_ROWS = 1 << 14
_LANES = 256  # targets that a tile grows by: the widest tile of a screen's block
_PAIR_BYTES = 64
"""Memory of a pair on its way from a device to the output."""

_MOST_FOUND = 1 << 22
"""Pairs that come back at a time: pinned host memory is dear."""


@dataclass(frozen=True)
class CudaNearPrepared:
    """Implements `gpualign.core.engine.Prepared`. found: near pairs that come back at a time at most."""

    task: Task
    limits: Limits
    kernel: str
    hardware: str
    recipe: NearRecipe = field(repr=False)
    devices: Sequence[Device] = field(repr=False)
    found: int
    log: Callable[[Finished], None] | None = field(repr=False)
    process: int

    def run(self, tiles: Iterator[Tile]) -> Iterator[TileResult]:
        if os.getpid() != self.process:
            raise RunError("CUDA cannot be used in a process that was forked after CUDA had started; make the engine in the child")

        def worker(device: Device) -> Callable[[Counter], None]:
            def work(counter: Counter) -> None:
                NearWorker(device, self.task, self.recipe, self.found, counter.next_tile, counter.deliver, counter.stopped, self.log).run()

            return work

        return run_workers(tiles, [worker(device) for device in self.devices], 2 * len(self.devices), "gpualign-cuda")


def prepare_near(
    task: Task, budget: Budget, devices: Sequence[Device], hardware: str, process: int, log: Callable[[Finished], None] | None = None
) -> CudaNearPrepared:
    """A task with `Task.within`. hardware: the devices, for people; process: that has them; log: told of every rectangle."""
    recipe = make_near_recipe(task, usable_kernels(devices[0].arch)[0] is not POPC)
    pairs = int(np.clip(_TILE_NANOSECONDS / recipe.nanoseconds, *_TILE_PAIRS))
    limits = Limits(budget.results, budget.scratch, task.item_bytes, _LANES, pairs, _BAND_ROWS)
    screen = screens(devices[0].arch)[0] if recipe.steps.q else LENGTHS
    kernel = recipe.steps.describe() + (f" ({screen.title})" if recipe.steps.q else "")
    found = int(np.clip(budget.results // (4 * len(devices) * _PAIR_BYTES), 1, _MOST_FOUND))
    return CudaNearPrepared(task, limits, kernel, hardware, recipe, devices, found, log, process)
