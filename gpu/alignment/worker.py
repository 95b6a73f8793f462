"""One device at work on one task: pulls tiles, cuts them into batches, keeps some of them in flight, hands on results.

One thread lays batches out and submits them, while the device computes those before and another thread collects those before these: of
short reads each of the three takes about as long.
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
from gpualign.gpu.alignment.batch_layout import Layout, Room
from gpualign.gpu.alignment.batch_submission import Job
from gpualign.gpu.alignment.batches import Batch, whole_tile
from gpualign.gpu.alignment.families.base import Variant
from gpualign.gpu.alignment.kernel_selection import choose
from gpualign.gpu.alignment.outputs.base import Host, TileOutput
from gpualign.gpu.alignment.outputs.selection import output_of
from gpualign.gpu.alignment.recipe import Recipe
from gpualign.gpu.runtime.device import Device, Event, Memory, OutOfMemory, Stream, wait_for
from gpualign.gpu.runtime.host_buffers import ResultPool
from gpualign.gpu.runtime.stream_buffers import StreamBuffers

SHARE_OF_MEMORY = 0.75
"""Of the device's free memory; the rest is for the driver and for others."""

_SLOTS = 3  # one that is computed, one behind it, one that is collected
_RESIDENT_SHARE = 0.5  # of that share, for the sequences of the whole task
_LARGEST_RESULT = 64 << 20  # bytes of one batch: to make so much pinned memory takes 40 ms
_FEWEST_TARGETS = 128  # of a batch that is halved: a block of threads has as many, in 16 bits
_POLL_SECONDS = 0.0005
_COPIERS = 12  # threads that copy results, or trace on the host: four copy distances of short reads at three quarters of the rate


@dataclass
class _OpenTile:
    """batches: that it is cut into so far, those among them that are not submitted yet. collected: of them, by another thread."""

    output: TileOutput
    batches: int = 1
    collected: int = 0


@dataclass(frozen=True)
class Finished:
    """A batch that ran, for benchmarks: when its upload, its kernels and its download began, and when that ended, in seconds
    of the device's clock since the worker began; and the stream that it ran on."""

    variant: Variant
    pairs: int
    stream: int
    upload: float
    kernels: float
    download: float
    end: float


class Worker:
    """`next_tile` gives tiles until None, `deliver` takes results, `stopped` is asked between batches and while waiting.

    Call `run` once, in the thread that is to own the device; `deliver`, `stopped` and `on_finished` are called from another one as well.
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
        self._flying: deque[tuple[StreamBuffers, Future[bool]]] = deque()
        self._abandoned = False
        self._open: dict[int, _OpenTile] = {}
        self._origin: Event | None = None

    def run(self) -> None:
        """Work until there are no tiles. Raises `RunError` for what the device cannot do."""
        self._device.open()
        copiers = ThreadPoolExecutor(_COPIERS, thread_name_prefix="gpualign-copy")
        self._host = Host(copiers, _COPIERS, self._wait)
        self._collector = SerialExecutor("gpualign-collect", self._device.join, self._device.leave)
        try:
            self._allowance = int(self._device.free_memory() * SHARE_OF_MEMORY)
            self._resident = self._upload(self._allowance * _RESIDENT_SHARE)
            self._idle = [StreamBuffers(self._device, number) for number in range(_SLOTS)]
            for batch in self._batches():
                if self._stopped():
                    break
                self._start(batch)
            self._land_all()
        finally:
            try:
                self._abandon()
                self._release()
            finally:
                self._collector.close()
                copiers.shutdown()
                # Nothing of the device may outlive its context.
                self._idle.clear()
                self._flying.clear()
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

    def _upload(self, room: float) -> dict[str, int]:
        """Copy the sequences to the device, once for a set with itself; where they lie, or nothing where they do not fit, and batches
        bring theirs."""
        sets = {"query": self._task.queries, "target": self._task.targets}
        stream = self._device.stream()
        places: dict[int, tuple[int, int]] = {}  # by identity of a set
        try:
            if sum({id(s): s.nbytes for s in sets.values()}.values()) <= room:
                for sequences in sets.values():
                    if id(sequences) not in places:
                        places[id(sequences)] = self._copied(sequences.codes, stream), self._copied(sequences.offsets, stream)
        except OutOfMemory:
            places.clear()
            self._allowance //= 2
        self._origin = uploaded = stream.record()
        wait_for(uploaded, _POLL_SECONDS)
        if not places:
            while self._sequences:  # of an attempt that failed
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
        room = Room(
            lambda threads: hardware.multiprocessors * function.resident_blocks(threads), memory, hardware.lanes, bool(self._resident)
        )
        return variant, variant.lay_out(batch, self._recipe, self._task, room)

    def _job(self, batch: Batch, memory: int) -> Job:
        variant, layout = self._choose(batch, memory)
        output = self._open[batch.tile.number].output.of(batch, variant, layout)
        return Job(batch, layout, variant, self._recipe, self._resident, output)

    def _start(self, batch: Batch) -> None:
        """Submit a batch, in parts where it is too large for memory. It is laid out while the batches in flight compute."""
        waiting = deque([batch])
        while waiting and not self._stopped():
            part = waiting.popleft()
            room = self._allowance // _SLOTS
            halves = part.halves(_FEWEST_TARGETS)
            fits = self._open[part.tile.number].output.result_bytes(part) <= _LARGEST_RESULT
            if fits or not halves:
                job = self._job(part, room)
                fits = job.min_bytes <= room and job.output.host_bytes <= _LARGEST_RESULT
            if halves and not fits:
                self._open[part.tile.number].batches += 1
                waiting.extendleft(reversed(halves))
                continue
            alone = job.min_bytes > room  # a pair that has the device to itself
            if alone:
                self._clear()
                job = self._job(part, self._allowance)
            elif not self._idle:
                self._land()
            if self._stopped():
                return
            slot = self._idle[-1]  # whatever fails, its buffers are known, and freed in the end
            try:
                job.submit(slot, self._allowance if alone else room)
            except OutOfMemory as error:
                self._shrink(part, job.min_bytes, error)
                waiting.appendleft(part)
                continue
            self._flying.append((slot, self._collector.submit(partial(self._collect, slot, job))))
            self._idle.pop()
            if alone:
                self._clear()

    def _shrink(self, batch: Batch, needed: int, error: OutOfMemory) -> None:
        """Make room after the device had less memory than it said: free every buffer, and plan with half as much."""
        self._clear()
        self._allowance //= 2
        if batch.pairs == 1 and needed > self._allowance:
            raise RunError(f"the device's memory is too small for one pair, which needs {needed:,} bytes: {error}")

    def _land(self) -> None:
        """Wait until the oldest batch is collected, and its slot idle; or until the run is stopped."""
        slot, collected = self._flying[0]
        if collected.result():
            self._flying.popleft()
            self._idle.append(slot)

    def _land_all(self) -> None:
        while self._flying and not self._stopped():
            self._land()

    def _clear(self) -> None:
        """No batch in flight, and no memory for any; or the run is stopped."""
        self._land_all()
        self._free_idle()

    def _free_idle(self) -> None:
        for slot in self._idle:
            slot.release()

    def _collect(self, slot: StreamBuffers, job: Job) -> bool:
        """In a thread of its own: wait for a batch, and hand on its tile if that is complete; False where the run ends before."""
        tile = job.batch.tile
        if not self._wait(slot.passed[-1]) or self._abandoned or not job.output.collect(slot, self._host):
            return False
        if self._on_finished:
            times = [event.seconds_since(self._origin) for event in slot.passed]
            self._on_finished(Finished(job.variant, job.batch.pairs, slot.number, *times))
        entry = self._open[tile.number]
        entry.collected += 1
        if entry.collected == entry.batches:
            del self._open[tile.number]
            self._deliver(entry.output.result())
        return True

    def _wait(self, event: Event) -> bool:
        return wait_for(event, _POLL_SECONDS, self._stopped)

    def _abandon(self) -> None:
        """After an error or a stop: end the kernels in flight, and wait for them, so that their memory can be freed."""
        self._abandoned = True
        if not self._flying:
            return
        try:
            control = self._device.stream()
            for slot, _ in self._flying:
                slot.stop(control)
            for slot, _ in self._flying:
                wait_for(slot.record(), _POLL_SECONDS)
        except (RunError, OutOfMemory):
            pass  # a device that failed; the error that brought us here says so
        for slot, collected in self._flying:
            collected.exception()
            self._idle.append(slot)
        self._flying.clear()
