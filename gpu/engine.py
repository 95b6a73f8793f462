"""The CUDA engine: a thread for each device, all pulling tiles from one plan."""

from __future__ import annotations

import os
import queue
import threading
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from gpualign.core.collect import collect_results
from gpualign.core.engine import Capabilities, Mode, Task, TileResult
from gpualign.core.errors import RunError
from gpualign.core.plan import Limits, Tile
from gpualign.gpu.device import Device
from gpualign.gpu.kernels import Recipe, Variant, choose, make_recipe
from gpualign.gpu.results import ResultPool
from gpualign.gpu.worker import Finished, Worker

_TILE_SECONDS = 0.4
"""Estimated work of a tile: long beside the host's part of it, short enough to share among devices and to stop soon."""

_SEARCH_TILES = 3  # of a band of a search, about: many queries with targets of one length make the fullest tiles
_PATH_SHARE = 4  # a tile with paths is smaller by this: it is slower, and its results take more memory
_BAND_ROWS = 1024
_LANES = 1024  # targets that a tile grows by: whole blocks of every kernel
_WAITING_HITS = 64  # tiles of a search whose hits wait to be traced
_SAMPLE = 4096  # records that stand for the lengths of a set


class _Workers:
    """A thread a device around one task."""

    def __init__(
        self,
        devices: Sequence[Device],
        results: ResultPool,
        task: Task,
        recipe: Recipe,
        tiles: Iterator[Tile],
        log: Callable[[Finished], None] | None,
    ) -> None:
        self._tiles = tiles
        self._lock = threading.Lock()
        self._stopped = threading.Event()
        # Bounded, so that a slow sink slows the devices down rather than filling memory; hits are small.
        waiting = 2 if task.top is None else _WAITING_HITS
        self._done: queue.Queue[TileResult | BaseException | None] = queue.Queue(maxsize=waiting * len(devices))
        self._workers = [Worker(d, results, task, recipe, self._next_tile, self._deliver, self._stopped.is_set, log) for d in devices]
        self._threads = [threading.Thread(target=self._work, args=(w,), name="gpualign-cuda", daemon=True) for w in self._workers]

    def _next_tile(self) -> Tile | None:
        with self._lock:
            return next(self._tiles, None)

    def _deliver(self, item: TileResult | BaseException | None) -> None:
        while not self._stopped.is_set():
            try:
                self._done.put(item, timeout=0.05)
                return
            except queue.Full:
                continue

    def _work(self, worker: Worker) -> None:
        try:
            worker.run()
        except BaseException as error:  # handed to the consumer, which raises it
            self._deliver(error)
        self._deliver(None)

    def results(self) -> Iterator[TileResult]:
        for thread in self._threads:
            thread.start()
        yield from collect_results(self._done, len(self._threads))

    def stop(self) -> None:
        self._stopped.set()
        for thread in self._threads:
            if thread.is_alive():
                thread.join()


class CudaEngine:
    """Implements `gpualign.core.engine.Engine` on one or more devices, which are opened for each run.

    log: told of every finished batch, for benchmarks. host_traceback: matrices of directions are copied back, and traced on the host
    while the next batch computes, as Li 2014 did.
    """

    name = "cuda"
    capabilities = Capabilities(frozenset({Mode.GLOBAL, Mode.LOCAL}), paths=True)

    def __init__(self, devices: Sequence[Device], log: Callable[[Finished], None] | None = None, host_traceback: bool = False) -> None:
        if not devices:
            raise ValueError("an engine needs a device")
        self._devices = list(devices)
        self._results = ResultPool()
        self._log = log
        self._host_traceback = host_traceback
        self._process = os.getpid()

    def unavailable_reason(self) -> str | None:
        if os.getpid() != self._process:
            return "CUDA cannot be used in a process that was forked after CUDA had started; make the engine in the child"
        return None

    def describe(self) -> str:
        count = f"{len(self._devices)} x " if len(self._devices) > 1 else ""
        return f"cuda ({count}{self._devices[0].name})"

    def kernel(self, task: Task, memory: int) -> str:
        return self._typical(task).title

    def _recipe(self, task: Task) -> Recipe:
        return make_recipe(task, self._host_traceback)

    def _typical(self, task: Task) -> Variant:
        """What a first band of queries against all targets would run."""
        queries, targets = _sample(task.queries.lengths[:_BAND_ROWS]), np.sort(_sample(task.targets.lengths))
        return choose(self._recipe(task), queries, targets, self._devices[0].hardware)

    def limits(self, task: Task, memory: int) -> Limits:
        """Half of `memory`, which is the host's, is for results, half for pinned buffers and results on their way."""
        if refusal := self.capabilities.refusal(task):
            raise RunError(f"the CUDA engine cannot do this: {refusal}")
        hardware = self._devices[0].hardware
        variant = self._typical(task)
        cells = int(variant.rate * hardware.multiprocessors * hardware.clock * _TILE_SECONDS)
        if task.needs_paths:
            cells //= _PATH_SHARE
        rows = _BAND_ROWS
        if task.top is not None:
            # Hits are traced and written a band at a time, while later bands are computed.
            mean = max(1, int(task.queries.offsets[-1]) // len(task.queries) * int(task.targets.offsets[-1]))
            rows = max(1, min(_BAND_ROWS, -(-_SEARCH_TILES * cells // mean)))
        return Limits(memory - memory // 2, memory // 2, task.item_bytes, _LANES, cells, rows, task.letter_bytes, task.query_bytes)

    def run(self, task: Task, tiles: Iterator[Tile], memory: int) -> Iterator[TileResult]:
        if reason := self.unavailable_reason():
            raise RunError(reason)
        workers = _Workers(self._devices, self._results, task, self._recipe(task), tiles, self._log)
        try:
            yield from workers.results()
        finally:
            workers.stop()


def _sample(lengths: np.ndarray[tuple[int, ...], np.dtype[np.int64]]) -> np.ndarray[tuple[int, ...], np.dtype[np.int64]]:
    """Evenly spaced records where there are many; the choice of a kernel needs no more."""
    return lengths[:: max(1, len(lengths) // _SAMPLE)]
