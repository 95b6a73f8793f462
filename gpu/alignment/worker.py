"""Runs one task on one device: pulls tiles, splits them into batches, keeps several batches in flight, and delivers results.

One thread lays out and submits batches while the device computes earlier batches and a second thread collects finished batches. For short
reads, the three steps take approximately the same time.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial

import numpy as np
import numpy.typing as npt

from gpualign.core.alignment.task import Task
from gpualign.core.alignment.tile_results import TileResult
from gpualign.core.common.dataclass import dataclass
from gpualign.core.common.errors import RunError
from gpualign.core.common.threads import SerialExecutor
from gpualign.core.planning.tile_plan import Tile
from gpualign.gpu.alignment.batch_layout import DeviceCapacity, Layout
from gpualign.gpu.alignment.batch_submission import BatchSubmission
from gpualign.gpu.alignment.batches import Batch, whole_tile
from gpualign.gpu.alignment.families.base import Variant
from gpualign.gpu.alignment.kernel_selection import choose
from gpualign.gpu.alignment.recipe import Recipe
from gpualign.gpu.alignment.results.base import Host, TileOutput
from gpualign.gpu.alignment.results.selection import output_of
from gpualign.gpu.runtime.device import Device, Event, Memory, OutOfMemory, Stream, wait_for
from gpualign.gpu.runtime.host_buffers import ResultPool
from gpualign.gpu.runtime.stream_buffers import StreamBuffers

SHARE_OF_MEMORY = 0.75
"""Fraction of the device's free memory to use; the rest is for the driver and for other processes."""

_SLOTS = 3  # one is computed, the next one waits, one is collected
_RESIDENT_SHARE = 0.5  # fraction of the used memory for the sequences of the whole task
_LARGEST_RESULT = 64 << 20  # bytes of one batch: allocating this much pinned memory takes 40 ms
_MIN_TARGETS = 128  # of a batch that is halved: the targets of a block of threads with 16-bit scores
_POLL_SECONDS = 0.0005
_COPIERS = 12  # threads that copy results or trace on the host: four copy distances of short reads at only three quarters of the rate


@dataclass
class _OpenTile:
    """Tile with batches that have not been collected.

    batches: number of batches so far, including batches not yet submitted
    collected: number of batches collected so far, counted by a second thread
    """

    output: TileOutput
    batches: int = 1
    collected: int = 0


@dataclass(frozen=True)
class Finished:
    """Finished batch, for benchmarks. Times are in seconds since the worker started, on the device's clock.

    stream: number of the stream on which the batch ran
    upload: start of the upload
    kernels: start of the kernels
    download: start of the download
    end: end of the download
    """

    variant: Variant
    pairs: int
    stream: int
    upload: float
    kernels: float
    download: float
    end: float


class Worker:
    """Worker that computes tiles on one device.

    `next_tile` returns tiles, then None; `deliver` receives results; `stopped` is called between batches and while waiting. Call `run`
    once, in the thread that owns the device; `deliver`, `stopped` and `on_finished` are also called from a second thread.
    """

    def __init__(
        self,
        device: Device,
        results: ResultPool,
        task: Task,
        recipe: Recipe,
        next_tile: Callable[[], Tile | None],
        deliver: Callable[[TileResult], None],
        stopped: Callable[[], bool],
        on_finished: Callable[[Finished], None] | None = None,
    ) -> None:
        self._device = device
        self._task = task
        self._recipe = recipe
        self._output = output_of(task, recipe, results)
        self._next_tile = next_tile
        self._deliver = deliver
        self._stopped = stopped
        self._on_finished = on_finished
        self._sequences: list[Memory] = []
        self._idle: list[StreamBuffers] = []
        self._in_flight: deque[tuple[StreamBuffers, Future[bool]]] = deque()
        self._cancelled = False
        self._open: dict[int, _OpenTile] = {}
        self._origin: Event | None = None

    def run(self) -> None:
        """Compute tiles until there are none. Raises `RunError` if the device fails or has too little memory for one pair."""
        self._device.open()
        copiers = ThreadPoolExecutor(_COPIERS, thread_name_prefix="gpualign-copy")
        self._host = Host(copiers, _COPIERS, self._wait)
        self._collector = SerialExecutor("gpualign-collect", self._device.join, self._device.leave)
        try:
            self._allowance = int(self._device.free_memory() * SHARE_OF_MEMORY)
            self._resident = self._upload_sequences(self._allowance * _RESIDENT_SHARE)
            self._idle = [StreamBuffers(self._device, number) for number in range(_SLOTS)]
            for batch in self._batches():
                if self._stopped():
                    break
                self._start(batch)
            self._await_all()
        finally:
            try:
                self._cancel()
                self._release()
            finally:
                self._collector.close()
                copiers.shutdown()
                # No object of the device may outlive its context.
                self._idle.clear()
                self._in_flight.clear()
                self._sequences.clear()
                self._origin = None
                self._device.close()

    def _release(self) -> None:
        self._free_idle()
        for memory in self._sequences:
            memory.free()

    def _batches(self) -> Iterator[Batch]:
        while (tile := self._next_tile()) is not None:
            self._open[tile.number] = _OpenTile(self._output(tile))
            yield whole_tile(tile, self._task.queries.lengths)

    def _upload_sequences(self, max_bytes: float) -> dict[str, int]:
        """Copy the sequences to the device, once if queries and targets are the same set, and return their addresses.

        Returns an empty dictionary if the sequences do not fit. Each batch then includes its own sequences.
        """
        sets = {"query": self._task.queries, "target": self._task.targets}
        stream = self._device.stream()
        places: dict[int, tuple[int, int]] = {}  # addresses by identity of a set
        try:
            if sum({id(s): s.nbytes for s in sets.values()}.values()) <= max_bytes:
                for sequences in sets.values():
                    if id(sequences) not in places:
                        places[id(sequences)] = self._copied(sequences.codes, stream), self._copied(sequences.offsets, stream)
        except OutOfMemory:
            places.clear()
            self._allowance //= 2
        self._origin = uploaded = stream.record()
        wait_for(uploaded, _POLL_SECONDS)
        if not places:
            while self._sequences:  # left by an attempt that failed
                self._sequences.pop().free()
            return {}
        resident = {}
        for name, sequences in sets.items():
            resident[f"{name}_codes"], resident[f"{name}_offsets"] = places[id(sequences)]
        return resident

    def _copied(self, array: npt.NDArray[np.generic], stream: Stream) -> int:
        memory = self._device.allocate(array.nbytes)
        self._sequences.append(memory)
        stream.upload(memory.address, np.ascontiguousarray(array).view(np.uint8))
        return memory.address

    def _choose(self, batch: Batch, memory: int) -> tuple[Variant, Layout]:
        queries, targets = self._task.queries.lengths, self._task.targets.lengths
        hardware = self._device.hardware
        variant = choose(self._recipe, queries[batch.queries], targets[batch.targets], hardware, memory)
        function = self._device.function(variant.kernel)
        capacity = DeviceCapacity(
            lambda threads: hardware.multiprocessors * function.resident_blocks(threads), memory, hardware.lanes, bool(self._resident)
        )
        return variant, variant.lay_out(batch, self._recipe, self._task, capacity)

    def _submission(self, batch: Batch, memory: int) -> BatchSubmission:
        variant, layout = self._choose(batch, memory)
        output = self._open[batch.tile.number].output.of(batch, variant, layout)
        return BatchSubmission(batch, layout, variant, self._recipe, self._resident, output)

    def _start(self, batch: Batch) -> None:
        """Submit a batch, in pieces if it does not fit in memory. The batch is laid out while the batches in flight are computed."""
        waiting = deque([batch])
        while waiting and not self._stopped():
            piece = waiting.popleft()
            memory = self._allowance // _SLOTS
            halves = piece.halves(_MIN_TARGETS)
            fits = self._open[piece.tile.number].output.result_bytes(piece) <= _LARGEST_RESULT
            if fits or not halves:
                submission = self._submission(piece, memory)
                fits = submission.min_bytes <= memory and submission.output.host_bytes <= _LARGEST_RESULT
            if halves and not fits:
                self._open[piece.tile.number].batches += 1
                waiting.extendleft(reversed(halves))
                continue
            alone = submission.min_bytes > memory  # a single pair gets the device to itself
            if alone:
                self._drain()
                submission = self._submission(piece, self._allowance)
            elif not self._idle:
                self._await_oldest()
            if self._stopped():
                return
            slot = self._idle[-1]  # it stays in the list until the batch is submitted, so that its buffers are freed after any failure
            try:
                submission.submit(slot, self._allowance if alone else memory)
            except OutOfMemory as error:
                self._shrink(piece, submission.min_bytes, error)
                waiting.appendleft(piece)
                continue
            self._in_flight.append((slot, self._collector.submit(partial(self._collect, slot, submission))))
            self._idle.pop()
            if alone:
                self._drain()

    def _shrink(self, batch: Batch, needed: int, error: OutOfMemory) -> None:
        """Free every buffer and replan with half the memory, because the device turned out to have less than it reported."""
        self._drain()
        self._allowance //= 2
        if batch.pairs == 1 and needed > self._allowance:
            raise RunError(f"the device's memory is too small for one pair, which needs {needed:,} bytes: {error}")

    def _await_oldest(self) -> None:
        """Wait until the oldest batch has been collected and its slot is idle, or until the run is stopped."""
        slot, collected = self._in_flight[0]
        if collected.result():
            self._in_flight.popleft()
            self._idle.append(slot)

    def _await_all(self) -> None:
        while self._in_flight and not self._stopped():
            self._await_oldest()

    def _drain(self) -> None:
        """Wait until no batch is in flight, or until the run is stopped, and free the memory of all slots."""
        self._await_all()
        self._free_idle()

    def _free_idle(self) -> None:
        for slot in self._idle:
            slot.release()

    def _collect(self, slot: StreamBuffers, submission: BatchSubmission) -> bool:
        """Wait for a batch, and deliver its tile if the tile is complete. Return False if the run ends first. Runs in its own thread."""
        tile = submission.batch.tile
        if not self._wait(slot.passed[-1]) or self._cancelled or not submission.output.collect(slot, self._host):
            return False
        if self._on_finished:
            times = [event.seconds_since(self._origin) for event in slot.passed]
            self._on_finished(Finished(submission.variant, submission.batch.pairs, slot.number, *times))
        entry = self._open[tile.number]
        entry.collected += 1
        if entry.collected == entry.batches:
            del self._open[tile.number]
            self._deliver(entry.output.result())
        return True

    def _wait(self, event: Event) -> bool:
        return wait_for(event, _POLL_SECONDS, self._stopped)

    def _cancel(self) -> None:
        """Terminate the kernels in flight after an error or a stop, and wait for them, so that their memory can be freed."""
        self._cancelled = True
        if not self._in_flight:
            return
        try:
            control = self._device.stream()
            for slot, _ in self._in_flight:
                slot.stop(control)
            for slot, _ in self._in_flight:
                wait_for(slot.record(), _POLL_SECONDS)
        except (RunError, OutOfMemory):
            pass  # the device failed; the error that led here reports it
        for slot, collected in self._in_flight:
            collected.exception()
            self._idle.append(slot)
        self._in_flight.clear()
