"""Aligns batches of listed pairs on one device, in a thread of its own."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from contextlib import ExitStack, suppress
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from gpualign.core.alignment.aligned_pairs import PairAlignments
from gpualign.core.alignment.pair_list import NearPairs
from gpualign.core.alignment.task import Detail, Task
from gpualign.core.alignment.tile_results import STATISTICS, Runs
from gpualign.core.common.threads import SerialExecutor
from gpualign.gpu.alignment.pair_bands import BandBatch, packed_scores
from gpualign.gpu.alignment.recipe import Recipe
from gpualign.gpu.alignment.results.paths import DETAIL_CODES, RUN_ALIGNMENT_BYTES, pair_result_ranges, total_result_bytes
from gpualign.gpu.alignment.sliced_bands import GroupLimits, group_limits
from gpualign.gpu.kernels.argument_structs import BAND_PAIR_STRUCT, PATH_ARGS, QUEUE_BYTES, TRACE_BAND_ARGS, NamedArrays, pack_arguments
from gpualign.gpu.kernels.kernel import Kernel
from gpualign.gpu.runtime.device import Device, OutOfMemory
from gpualign.gpu.runtime.stream_buffers import StreamBuffers
from gpualign.gpu.runtime.stream_pipeline import USABLE_MEMORY_FRACTION, open_pipeline

_BLOCK_THREADS = 128
_BATCHES_IN_FLIGHT = 2
_MEMORY_DIVISOR = 6
"""The memory that may be used is divided by this number. The sequences take at most one such part, and so does the work in flight."""

_NEAR_PAIR_DIVISOR = 4
"""The engine that finds near pairs on the same device leaves the memory divided by this number."""

_MIN_SPLIT_PAIRS = 256
"""Minimum number of pairs in a batch that is split because so many of its pairs do not fit in memory side by side."""

Deliver = Callable[[BandBatch, PairAlignments], None]
"""Receives a batch and its results."""


class PairListWorker:
    """Thread that aligns batches on one device. The device is open, with the sequences in its memory, until `close`."""

    def __init__(self, device: Device, task: Task, recipe: Recipe) -> None:
        self._device = device
        self._task = task
        self._recipe = recipe
        self._kernels: dict[tuple[type[BandBatch], int, bool], Kernel] = {}
        self._stopped = self._failed = False
        self._resources = ExitStack()
        self._executor = SerialExecutor("gpualign-pairs", self._open, self._resources.close)

    def start(self, pairs: NearPairs, batches: deque[BandBatch], deliver: Deliver) -> Callable[[], None]:
        """Start aligning batches. Returns a function that waits until none are left, and raises the device's error if it fails.

        pairs: list to which the indices in batches refer
        batches: batches that workers have not yet taken
        deliver: called with each batch, in the worker's thread
        """
        return self._executor.submit(partial(self._align_unless_failed, pairs, batches, deliver)).result

    @property
    def name(self) -> str:
        """Name of the device."""
        return self._device.name

    @property
    def warp_lanes(self) -> int:
        return self._device.hardware.warp_lanes

    @property
    def limits_of_groups(self) -> GroupLimits:
        """Limits of batches of groups of pairs."""
        free = int(self._device.total_memory * USABLE_MEMORY_FRACTION) // _NEAR_PAIR_DIVISOR
        return group_limits(self._device.hardware, free // _MEMORY_DIVISOR)

    @property
    def max_packed_length(self) -> int:
        """Maximum length of the shorter sequence of a pair whose scores 16 bits hold."""
        scores = packed_scores(self._recipe)
        return scores.max_length if scores else 0

    def stop(self) -> None:
        """Ask the worker to terminate the work in progress, without waiting for it."""
        self._stopped = True

    def close(self) -> None:
        """Terminate the work in progress, and close the device."""
        self.stop()
        self._executor.close()

    def _open(self) -> None:
        try:
            self._open_device()
        except BaseException:
            self._resources.close()
            raise

    def _open_device(self) -> None:
        """Open the device and copy the sequences to it. If they do not fit, no batch will."""
        pipeline = self._resources.enter_context(open_pipeline(self._device, _BATCHES_IN_FLIGHT, is_stopped=lambda: self._stopped))
        self._pipeline = pipeline
        self._addresses: dict[str, int] = {}
        self._allowance = pipeline.usable_memory() // _MEMORY_DIVISOR
        queries, targets, resident = self._task.queries, self._task.targets, pipeline.resident
        sets = {"query": queries} if targets is queries else {"query": queries, "target": targets}
        if sum(one.codes.nbytes + one.offsets.nbytes for one in sets.values()) > self._allowance:
            return
        assert self._recipe.usable_pair_bits is not None
        arrays: NamedArrays = {"table": self._recipe.make_score_table(), "usable": self._recipe.usable_pair_bits}
        for name, one in sets.items():
            arrays |= {f"{name}_codes": one.codes, f"{name}_offsets": one.offsets}
        try:
            addresses = {name: resident.copy(name, array) for name, array in arrays.items()}
        except OutOfMemory:
            resident.release()
            return
        for part in ("codes", "offsets"):
            addresses.setdefault(f"target_{part}", addresses[f"query_{part}"])
        self._addresses = addresses

    def _align_unless_failed(self, pairs: NearPairs, batches: deque[BandBatch], deliver: Deliver) -> None:
        """Align batches, or none if the device has failed with those of another list."""
        if self._failed:
            return
        try:
            self._align_batches(pairs, batches, deliver)
        except BaseException:
            self._failed = True
            raise

    def _align_batches(self, pairs: NearPairs, batches: deque[BandBatch], deliver: Deliver) -> None:
        while not self._stopped and self._addresses:
            try:
                batch = batches.popleft()
            except IndexError:  # another worker may have taken the last one
                break
            stream = self._pipeline.streams[0]
            grid = self._grid(stream, batch)
            if grid < min(self._block_count(batch), stream.multiprocessor_count) and len(batch.indices) >= _MIN_SPLIT_PAIRS:
                batches.extendleft(batch.halves())
            elif grid:
                with suppress(OutOfMemory):  # too little memory for this batch; smaller ones may fit
                    self._pipeline.start(partial(self._submit, pairs, batch, grid), partial(self._collect, batch, deliver))
        self._pipeline.drain()

    def _kernel(self, batch: BandBatch) -> Kernel:
        """Return the kernel for a batch, which takes longer to name than to launch, and so is kept."""
        key = type(batch), batch.width, batch.packed
        if (kernel := self._kernels.get(key)) is None:
            kernel = self._kernels[key] = batch.kernel(self._recipe)
        return kernel

    def _block_count(self, batch: BandBatch) -> int:
        """Return the number of blocks in which no warp has to take pairs twice."""
        return -(-len(batch.indices) // (self._block_teams(batch) * batch.group_pairs))

    def _block_teams(self, batch: BandBatch) -> int:
        """Return the number of teams of a block."""
        return _BLOCK_THREADS // self.warp_lanes * batch.teams_per_warp

    def _capacity(self, batch: BandBatch) -> int:
        """Return the maximum size of the runs of a pair, in bytes; 0 if no paths are requested."""
        return -(-batch.max_letters // RUN_ALIGNMENT_BYTES) * RUN_ALIGNMENT_BYTES if self._task.detail is Detail.PATH else 0

    def _grid(self, stream: StreamBuffers, batch: BandBatch) -> int:
        """Return the number of blocks for a batch, limited by device memory; 0 if the batch does not fit."""
        block_bytes = self._block_teams(batch) * batch.words_per_team(self.warp_lanes) * 4
        left = self._allowance // _BATCHES_IN_FLIGHT - 2 * self._capacity(batch) * len(batch.indices)
        return max(0, min(stream.resident_blocks(self._kernel(batch), _BLOCK_THREADS), self._block_count(batch), left // block_bytes))

    def _submit(self, pairs: NearPairs, batch: BandBatch, grid: int, stream: StreamBuffers) -> None:
        count = len(batch.indices)
        listed = np.empty(count, dtype=BAND_PAIR_STRUCT)
        listed["query"], listed["target"], listed["lowest"] = pairs.queries[batch.indices], pairs.targets[batch.indices], batch.lowest
        ranges, capacity = pair_result_ranges(self._task, count), self._capacity(batch)
        words = batch.words_per_team(self.warp_lanes)
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
            directions=stream.address("directions", grid * self._block_teams(batch) * words * 4),
            capacity=capacity,
            matrix_stride=words,
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
            one=1,
        )
        stream.begin_batch()
        stream.upload_staged()
        stream.fill(queue, 0, QUEUE_BYTES)
        stream.fill(results, 0, nbytes)
        stream.launch(self._kernel(batch), grid, _BLOCK_THREADS, arguments)
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
            try:
                stream.download_list("runs", used)
            except OutOfMemory:  # of pinned host memory
                return True
            if not self._pipeline.wait(stream.record_event()):
                return False
            data = stream.host_buffer("runs", used).copy()
        runs = Runs([data], array("starts", np.int64), array("sizes", np.int32)) if self._task.detail is Detail.PATH else None
        statistics = None if self._task.detail is Detail.SCORE else array("statistics", STATISTICS)
        deliver(batch, PairAlignments(array("scores", self._task.score_dtype), statistics, runs))
        return True
