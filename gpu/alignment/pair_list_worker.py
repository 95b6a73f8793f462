"""Aligns batches of listed pairs on one device, in a thread of its own."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from gpualign.core.alignment.aligned_pairs import PairAlignments
from gpualign.core.alignment.pair_list import NearPairs
from gpualign.core.alignment.task import Detail, Task
from gpualign.core.alignment.tile_results import STATISTICS, Runs
from gpualign.core.common.threads import SerialExecutor
from gpualign.gpu.alignment.pair_bands import BandBatch, band_kernel
from gpualign.gpu.alignment.recipe import Recipe
from gpualign.gpu.alignment.results.paths import DETAIL_CODES, RUN_ALIGNMENT_BYTES, pair_result_ranges, total_result_bytes
from gpualign.gpu.kernels.argument_structs import BAND_PAIR_STRUCT, PATH_ARGS, QUEUE_BYTES, TRACE_BAND_ARGS, pack_arguments
from gpualign.gpu.runtime.device import Device, OutOfMemory
from gpualign.gpu.runtime.stream_buffers import StreamBuffers
from gpualign.gpu.runtime.stream_pipeline import open_pipeline

_BLOCK_THREADS = 128
_BATCHES_IN_FLIGHT = 2
_MEMORY_DIVISOR = 4
"""The worker uses at most one part in this many of the memory that may be used, because the device also finds the near pairs."""

Deliver = Callable[[BandBatch, PairAlignments | None], None]
"""Receives a batch and its results, or None if it does not fit in the device's memory."""


class PairListWorker:
    """Thread that aligns batches on one device. The device is open, with the sequences in its memory, until `close`."""

    def __init__(self, device: Device, task: Task, recipe: Recipe) -> None:
        self._device = device
        self._task = task
        self._recipe = recipe
        self._stopped = False
        self._resources = ExitStack()
        self._executor = SerialExecutor("gpualign-pairs", self._open, self._resources.close)

    def start(self, pairs: NearPairs, batches: deque[BandBatch], deliver: Deliver) -> Callable[[], None]:
        """Start aligning batches. Returns a function that waits until none are left, and raises the device's error if it fails.

        pairs: list to which the indices in batches refer
        batches: batches that workers have not yet taken
        deliver: called with each batch, in the worker's thread
        """
        return self._executor.submit(partial(self._align_batches, pairs, batches, deliver)).result

    def close(self) -> None:
        """Terminate the work in progress, and close the device."""
        self._stopped = True
        self._executor.close()

    def _open(self) -> None:
        pipeline = self._resources.enter_context(open_pipeline(self._device, _BATCHES_IN_FLIGHT, is_stopped=lambda: self._stopped))
        self._pipeline = pipeline
        self._addresses: dict[str, int] = {}
        self._allowance = pipeline.usable_memory() // _MEMORY_DIVISOR
        queries, targets, resident = self._task.queries, self._task.targets, pipeline.resident
        sets = {"query": queries} if targets is queries else {"query": queries, "target": targets}
        if sum(one.codes.nbytes + one.offsets.nbytes for one in sets.values()) > pipeline.usable_memory() // 2:
            return  # no batch fits
        addresses: dict[str, int] = {}
        for name, one in sets.items():
            addresses[f"{name}_codes"] = resident.copy(f"{name}_codes", one.codes)
            addresses[f"{name}_offsets"] = resident.copy(f"{name}_offsets", one.offsets)
        for part in ("codes", "offsets"):
            addresses.setdefault(f"target_{part}", addresses[f"query_{part}"])
        addresses["table"] = resident.copy("table", self._recipe.make_score_table())
        assert self._recipe.usable_pair_bits is not None
        addresses["usable"] = resident.copy("usable", self._recipe.usable_pair_bits)
        self._addresses = addresses

    def _align_batches(self, pairs: NearPairs, batches: deque[BandBatch], deliver: Deliver) -> None:
        while not self._stopped:
            try:
                batch = batches.popleft()
            except IndexError:  # another worker may have taken the last one
                break
            try:
                if not self._addresses or self._grid(self._pipeline.streams[0], batch) == 0:
                    raise OutOfMemory
                self._pipeline.start(partial(self._submit, pairs, batch), partial(self._collect, batch, deliver))
            except OutOfMemory:
                deliver(batch, None)
        self._pipeline.drain()

    def _capacity(self, batch: BandBatch) -> int:
        """Return the maximum size of the runs of a pair, in bytes; 0 if no paths are requested."""
        return -(-batch.max_letters // RUN_ALIGNMENT_BYTES) * RUN_ALIGNMENT_BYTES if self._task.detail is Detail.PATH else 0

    def _grid(self, stream: StreamBuffers, batch: BandBatch) -> int:
        """Return the number of blocks for a batch, limited by device memory; 0 if the batch does not fit."""
        lanes = self._device.hardware.warp_lanes
        block_bytes = _BLOCK_THREADS // lanes * self._warp_words(batch) * 4
        left = self._allowance // _BATCHES_IN_FLIGHT - 2 * self._capacity(batch) * len(batch.indices)
        needed = -(-len(batch.indices) * lanes // _BLOCK_THREADS)
        kernel = band_kernel(self._recipe, batch.cells_per_lane)
        return max(0, min(stream.resident_blocks(kernel, _BLOCK_THREADS), needed, left // block_bytes))

    def _warp_words(self, batch: BandBatch) -> int:
        return batch.words_per_lane * self._device.hardware.warp_lanes

    def _submit(self, pairs: NearPairs, batch: BandBatch, stream: StreamBuffers) -> None:
        count, lanes = len(batch.indices), self._device.hardware.warp_lanes
        listed = np.empty(count, dtype=BAND_PAIR_STRUCT)
        listed["query"], listed["target"], listed["lowest"] = pairs.queries[batch.indices], pairs.targets[batch.indices], batch.lowest
        ranges, capacity, grid = pair_result_ranges(self._task, count), self._capacity(batch), self._grid(stream, batch)
        nbytes = total_result_bytes(ranges)
        staged = stream.stage({"pairs": listed})
        results, queue = stream.address("results", nbytes), stream.address("queue", QUEUE_BYTES)
        stream.host_buffer("results", nbytes)
        unused = ("targets", "target_numbers", "first_targets")
        path = pack_arguments(
            PATH_ARGS,
            **{name: self._addresses[name] for name in ("target_codes", "target_offsets", "usable")},
            **dict.fromkeys(unused, 0),
            **{name: results + ranges[name][0] for name in ("statistics", "starts", "sizes", "cursor")},
            scratch=stream.address("scratch", capacity * count),
            runs=stream.address("runs", capacity * count),
            directions=stream.address("directions", grid * (_BLOCK_THREADS // lanes) * self._warp_words(batch) * 4),
            capacity=capacity,
            matrix_stride=self._warp_words(batch),
            detail=DETAIL_CODES[self._task.detail],
        )
        arguments = pack_arguments(
            TRACE_BAND_ARGS,
            **{name: self._addresses[name] for name in ("query_codes", "query_offsets", "table")},
            **staged,
            next=queue,
            scores=results + ranges["scores"][0],
            path=path,
            pair_count=count,
        )
        stream.begin_batch()
        stream.upload_staged()
        stream.fill(queue, 0, QUEUE_BYTES)
        stream.fill(results, 0, nbytes)
        stream.launch(band_kernel(self._recipe, batch.cells_per_lane), grid, _BLOCK_THREADS, arguments)
        stream.download("results", nbytes)
        stream.mark_event()

    def _collect(self, batch: BandBatch, deliver: Deliver, stream: StreamBuffers) -> bool:
        ranges = pair_result_ranges(self._task, len(batch.indices))
        results = stream.host_buffer("results", total_result_bytes(ranges))

        def array(name: str, dtype: npt.DTypeLike) -> npt.NDArray[Any]:
            first, size = ranges[name]
            copied: npt.NDArray[Any] = results[first : first + size].copy().view(dtype)
            return copied

        data = np.zeros(0, dtype=np.uint8)
        if self._task.detail is Detail.PATH and (used := int(array("cursor", np.uint64)[0])):
            stream.download_list("runs", used)
            if not self._pipeline.wait(stream.record_event()):
                return False
            data = stream.host_buffer("runs", used).copy()
        runs = Runs([data], array("starts", np.int64), array("sizes", np.int32)) if self._task.detail is Detail.PATH else None
        statistics = None if self._task.detail is Detail.SCORE else array("statistics", STATISTICS)
        deliver(batch, PairAlignments(array("scores", self._task.score_dtype), statistics, runs))
        return True
