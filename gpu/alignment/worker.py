"""Runs one task on one device: pulls tiles, splits them into batches, keeps several batches in flight, and delivers results.

One thread lays out and submits batches while the device computes earlier batches and a second thread collects finished batches. For short
reads, the three steps take approximately the same time.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from gpualign.core.alignment.task import Task
from gpualign.core.alignment.tile_results import TileResult
from gpualign.core.common.dataclass import dataclass
from gpualign.core.common.errors import RunError
from gpualign.core.execution.worker_pool import WorkerHandle
from gpualign.gpu.alignment.batch_layout import BatchLayout, DeviceCapacity
from gpualign.gpu.alignment.batch_submission import BatchSubmission
from gpualign.gpu.alignment.batches import Batch, whole_tile_batch
from gpualign.gpu.alignment.families.base import KernelVariant
from gpualign.gpu.alignment.kernel_selection import choose_kernel_variant
from gpualign.gpu.alignment.recipe import Recipe
from gpualign.gpu.alignment.resident_sequences import ResidentSequences
from gpualign.gpu.alignment.results.base import HostResources, TileOutput
from gpualign.gpu.alignment.results.selection import tile_output_factory
from gpualign.gpu.runtime.device import Device, OutOfMemory
from gpualign.gpu.runtime.host_buffers import ResultBufferPool
from gpualign.gpu.runtime.stream_buffers import StreamBuffers
from gpualign.gpu.runtime.stream_pipeline import open_pipeline

_MAX_BATCHES_IN_FLIGHT = 3  # one is computed, the next one waits, one is collected
MAX_SEQUENCE_MEMORY_FRACTION = 0.5  # fraction of the used memory for the sequences of the whole task
MAX_RESULT_BYTES = 64 << 20  # bytes of one batch: allocating this much pinned memory takes 40 ms
_TARGET_INPUT_BYTES = 48  # of a target, its letters left out: its numbers, while they are made, and where it begins
_INPUT_COPIES = 2  # as made by the layout, and in pinned memory
_MIN_SPLIT_TARGETS = 128  # of a batch that is halved: the targets of a block of threads with 16-bit scores
_POLL_SECONDS = 0.0005
_COPY_THREADS = 12  # threads that copy results or trace on the host: four copy distances of short reads at only three quarters of the rate


@dataclass
class _OpenTile:
    """Tile with batches that have not yet been collected.

    batch_count: number of batches so far, including batches not yet submitted
    collected_count: number of batches collected so far, counted by a second thread
    """

    output: TileOutput
    batch_count: int = 1
    collected_count: int = 0


@dataclass(frozen=True)
class FinishedBatch:
    """Finished batch, for benchmarks. Times are in seconds since the worker started, as measured on the device.

    stream_number: number of the stream on which the batch ran
    upload_start: start of the upload
    kernel_start: start of the kernels
    download_start: start of the download
    download_end: end of the download
    """

    variant: KernelVariant
    pair_count: int
    stream_number: int
    upload_start: float
    kernel_start: float
    download_start: float
    download_end: float


class AlignmentWorker:
    """Worker that computes tiles on one device. Call `run` once, in the thread that owns the device.

    handle: source of the tiles, and receiver of the results; a second thread also uses it
    host_bytes: host memory, in bytes, for what is uploaded
    on_finished: called with every finished batch, in the second thread
    """

    def __init__(
        self,
        device: Device,
        result_pool: ResultBufferPool,
        task: Task,
        recipe: Recipe,
        handle: WorkerHandle[TileResult],
        host_bytes: int,
        on_finished: Callable[[FinishedBatch], None] | None = None,
    ) -> None:
        self._device = device
        self._task = task
        self._recipe = recipe
        self._output = tile_output_factory(task, recipe, result_pool)
        self._handle = handle
        self._max_input_bytes = host_bytes // (_MAX_BATCHES_IN_FLIGHT * _INPUT_COPIES)
        self._on_finished = on_finished
        self._open: dict[int, _OpenTile] = {}

    def run(self) -> None:
        """Compute tiles until none are left. Raises `RunError` if the device fails or has too little memory for one pair."""
        with (
            ThreadPoolExecutor(_COPY_THREADS, thread_name_prefix="gpualign-copy") as copiers,
            open_pipeline(
                self._device, _MAX_BATCHES_IN_FLIGHT, _POLL_SECONDS, self._handle.stopped, collects_in_background=True
            ) as self._pipeline,
        ):
            self._pipeline.resident.begin_batch()  # time 0 of `FinishedBatch`
            self._host = HostResources(copiers, _COPY_THREADS, self._pipeline.wait)
            self._allowance = self._pipeline.usable_memory()
            self._resident = self._make_resident(self._allowance * MAX_SEQUENCE_MEMORY_FRACTION)
            for batch in self._take_batches():
                if self._handle.stopped():
                    break
                self._submit_batch(batch)
            self._pipeline.drain()

    def _take_batches(self) -> Iterator[Batch]:
        while (tile := self._handle.next_tile()) is not None:
            self._open[tile.number] = _OpenTile(self._output(tile))
            yield whole_tile_batch(tile, self._task.queries.lengths)

    def _make_resident(self, max_bytes: float) -> ResidentSequences | None:
        """Return the sequences on the device, once if queries and targets are the same set; None if they do not fit. Each batch
        then includes its own sequences."""
        queries, targets, resident = self._task.queries, self._task.targets, self._pipeline.resident
        if queries.nbytes + (0 if targets is queries else targets.nbytes) > max_bytes:
            return None
        try:
            return ResidentSequences(resident, self._task, self._host.copy)
        except OutOfMemory:
            resident.release()
            self._allowance //= 2
            return None

    def _choose_variant_and_layout(self, batch: Batch, memory_bytes: int) -> tuple[KernelVariant, BatchLayout]:
        queries, targets = self._task.queries.lengths, self._task.targets.lengths
        hardware = self._device.hardware
        variant = choose_kernel_variant(self._recipe, queries[batch.queries], targets[batch.targets], hardware, memory_bytes)
        function = self._device.load_function(variant.kernel)
        capacity = DeviceCapacity(
            lambda threads: hardware.multiprocessor_count * function.resident_blocks(threads),
            memory_bytes,
            hardware.warp_lanes,
            self._resident is not None,
        )
        return variant, variant.lay_out(batch, self._recipe, self._task, capacity)

    def _make_submission(self, batch: Batch, memory_bytes: int) -> BatchSubmission:
        variant, layout = self._choose_variant_and_layout(batch, memory_bytes)
        output = self._open[batch.tile.number].output.make_batch_output(batch, variant, layout)
        addresses = self._resident.addresses if self._resident else {}
        return BatchSubmission(batch, layout, variant, self._recipe, addresses, output)

    def _submit_batch(self, batch: Batch) -> None:
        """Submit a batch, in pieces if it does not fit in memory. The batch is laid out, and its sequences are copied, while the batches in
        flight are computed."""
        if self._resident:
            self._resident.copy_letters(batch)
        waiting = deque([batch])
        while waiting and not self._handle.stopped():
            piece = waiting.popleft()
            memory = self._allowance // _MAX_BATCHES_IN_FLIGHT
            halves = piece.halves(_MIN_SPLIT_TARGETS)
            fits = self._open[piece.tile.number].output.result_bytes(piece) <= MAX_RESULT_BYTES and self._has_room_for_input(piece)
            if fits or not halves:
                submission = self._make_submission(piece, memory)
                fits = submission.min_bytes <= memory and submission.output.host_bytes <= MAX_RESULT_BYTES
            if halves and not fits:
                self._open[piece.tile.number].batch_count += 1
                waiting.extendleft(reversed(halves))
                continue
            alone = submission.min_bytes > memory  # a single pair gets the device to itself
            if alone:
                self._drain()
                memory = self._allowance
                submission = self._make_submission(piece, memory)
            try:
                self._pipeline.start(partial(submission.submit, max_bytes=memory), partial(self._collect, submission))
            except OutOfMemory as error:
                self._halve_memory(piece, submission.min_bytes, error)
                waiting.appendleft(piece)
                continue
            if alone:
                self._drain()

    def _has_room_for_input(self, batch: Batch) -> bool:
        """Return whether a batch's targets fit in the host memory for what is uploaded. Their sequences count unless they are on the
        device."""
        left = self._max_input_bytes - _TARGET_INPUT_BYTES * (batch.stop - batch.start)
        return left >= 0 and (self._resident is not None or int(self._task.targets.lengths[batch.targets].sum()) <= left)

    def _halve_memory(self, batch: Batch, needed_bytes: int, error: OutOfMemory) -> None:
        """Free every buffer and halve the memory to use, because the device turned out to have less than it reported.

        Raises `RunError` if a single pair does not fit in this memory.
        """
        self._drain()
        self._allowance //= 2
        if batch.pair_count == 1 and needed_bytes > self._allowance:
            raise RunError(f"the device's memory is too small for one pair, which needs {needed_bytes:,} bytes: {error}")

    def _drain(self) -> None:
        """Wait until no batch is in flight, or until the run is stopped, and free the memory of all idle streams."""
        self._pipeline.drain()
        self._pipeline.free_idle()

    def _collect(self, submission: BatchSubmission, stream: StreamBuffers) -> bool:
        """Merge a finished batch, and deliver its tile if the tile is complete. Returns False if the run is stopped first."""
        tile = submission.batch.tile
        if not submission.output.collect(stream, self._host):
            return False
        if self._on_finished:
            origin = self._pipeline.resident.events[0]
            times = [event.seconds_since(origin) for event in stream.events]
            self._on_finished(FinishedBatch(submission.variant, submission.batch.pair_count, stream.number, *times))
        entry = self._open[tile.number]
        entry.collected_count += 1
        if entry.collected_count == entry.batch_count:
            del self._open[tile.number]
            self._handle.deliver(entry.output.result())
        return True
