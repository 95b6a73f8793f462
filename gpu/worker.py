"""One device at work on one task: pulls tiles, cuts them into batches, keeps two of them in flight, hands on results."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from gpualign.core.engine import Task, TileHits, TileResult, TileScores
from gpualign.core.errors import RunError
from gpualign.core.plan import Tile
from gpualign.core.search.hits import BestTargets
from gpualign.gpu.batches import THREADS_A_BLOCK, Batch, Layout, Room, lay_out, whole_tile
from gpualign.gpu.device import Device, Event, Memory, OutOfMemory, Stream, wait_for
from gpualign.gpu.kernels import Recipe, Variant, choose
from gpualign.gpu.results import ResultPool, Scores
from gpualign.gpu.selection import HitPlan
from gpualign.gpu.slots import Job, Resident, Slot
from gpualign.gpu.tracing import PathPlan, PathResults, merge_paths

SHARE_OF_MEMORY = 0.75
"""Of the device's free memory; the rest is for the driver and for others."""

_SLOTS = 2
_RESIDENT_SHARE = 0.5  # of that share, for the sequences of the whole task
_LARGEST_RESULT = 256 << 20  # bytes of one batch's scores: pinned host memory is dear
_FEWEST_TARGETS = 2 * THREADS_A_BLOCK  # of a batch that is halved: a block of threads has as many, in 16 bits
_POLL_SECONDS = 0.0005
_COPIERS = 4  # threads that copy results, or trace on the host


@dataclass
class _OpenTile:
    scores: Scores | None
    batches: int
    paths: list[tuple[Batch, PathResults]] = field(default_factory=list)
    best: BestTargets | None = None  # of a search


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

    Call `run` once, in the thread that is to own the device.
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
        self._results = results
        self._task = task
        self._recipe = recipe
        self._next_tile = next_tile
        self._deliver = deliver
        self._stopped = stopped
        self._on_finished = on_finished
        self._sequences: list[Memory] = []
        self._idle: list[Slot] = []
        self._flying: deque[tuple[Slot, Batch, Variant]] = deque()
        self._open: dict[int, _OpenTile] = {}
        self._origin: Event | None = None

    def run(self) -> None:
        """Work until there are no tiles. Raises `RunError` for what the device cannot do."""
        self._device.open()
        self._copiers = ThreadPoolExecutor(_COPIERS, thread_name_prefix="gpualign-copy")
        try:
            self._allowance = int(self._device.free_memory() * SHARE_OF_MEMORY)
            self._sets = self._upload(self._allowance * _RESIDENT_SHARE)
            self._idle = [Slot(self._device, number) for number in range(_SLOTS)]
            for batch in self._batches():
                if self._stopped():
                    break
                self._start(batch)
            while self._flying and not self._stopped():
                self._collect()
        finally:
            self._copiers.shutdown()
            try:
                self._abandon()
                self._release()
            finally:
                # Nothing of the device may outlive its context.
                self._idle.clear()
                self._flying.clear()
                self._sequences.clear()
                self._origin = None
                self._device.close()

    def _release(self) -> None:
        for slot in self._idle:
            slot.release()
        for memory in self._sequences:
            memory.free()

    def _batches(self) -> Iterator[Batch]:
        while (tile := self._next_tile()) is not None:
            self._open[tile.number] = _OpenTile(None, 1)
            yield whole_tile(tile, self._task.queries.lengths)

    def _upload(self, room: float) -> tuple[Resident, Resident] | None:
        """Copy the sequences to the device, once for a set with itself; None where they do not fit, and batches bring theirs."""
        sets = [self._task.queries] if self._task.targets is self._task.queries else [self._task.queries, self._task.targets]
        stream = self._device.stream()
        places = []
        if sum(s.nbytes for s in sets) <= room:
            try:
                places = [Resident(self._resident(s.codes, stream), self._resident(s.offsets, stream)) for s in sets]
            except OutOfMemory:
                self._allowance //= 2
        self._origin = uploaded = stream.record()
        wait_for(uploaded, _POLL_SECONDS)
        if places:
            return places[0], places[-1]
        while self._sequences:  # of an attempt that failed
            self._sequences.pop().free()
        return None

    def _resident(self, array: npt.NDArray[np.generic], stream: Stream) -> int:
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
            lambda threads: hardware.multiprocessors * function.resident_blocks(threads), memory, hardware.lanes, self._sets is not None
        )
        return variant, lay_out(batch, variant, self._recipe, self._task, room)

    def _path_plan(self, batch: Batch) -> PathPlan | None:
        if not self._recipe.paths:
            return None
        lengths = self._task.queries.lengths[batch.queries].max() + self._task.targets.lengths[batch.targets].max()
        return PathPlan((len(batch.rows), len(batch.targets)), self._task.dtype, self._task.detail, int(lengths))

    def _hit_plan(self, batch: Batch) -> HitPlan | None:
        # Scores of 64 bits go back whole, and the host selects.
        if self._task.top is None or self._task.dtype != np.int32:
            return None
        return HitPlan(len(batch.rows), min(self._task.top, len(batch.targets)))

    def _start(self, batch: Batch) -> None:
        """Submit a batch, in parts where it is too large for memory. It is laid out while the batches in flight compute."""
        waiting = deque([batch])
        while waiting and not self._stopped():
            part = waiting.popleft()
            room = self._allowance // _SLOTS
            variant, layout = self._choose(part, room)
            job = Job(part, layout, variant, self._recipe, self._sets, self._task.dtype, self._path_plan(part), self._hit_plan(part))
            needed = job.least_bytes
            if (needed > room or job.result_bytes + job.matrix_bytes > _LARGEST_RESULT) and (halves := part.halves(_FEWEST_TARGETS)):
                self._open[part.tile.number].batches += 1
                waiting.extendleft(reversed(halves))
                continue
            if not self._idle:
                self._collect()
                if self._stopped():
                    return
            slot = self._idle.pop()
            try:
                slot.submit(job, room)
            except OutOfMemory as error:
                self._idle.append(slot)
                self._shrink(part, needed, error)
                waiting.appendleft(part)
            else:
                self._flying.append((slot, part, variant))

    def _shrink(self, batch: Batch, needed: int, error: OutOfMemory) -> None:
        """Make room after the device had less memory than it said: free every buffer, and plan with half as much."""
        while self._flying and not self._stopped():
            self._collect()
        for slot in self._idle:
            slot.release()
        self._allowance //= 2
        if batch.pairs == 1 and needed > self._allowance // _SLOTS:
            raise RunError(f"the device's memory is too small for one pair, which needs {needed:,} bytes: {error}")

    def _collect(self) -> None:
        """Wait for the oldest batch, and hand on its tile if that is complete; or until the run is stopped."""
        slot, batch, variant = self._flying[0]
        if not self._wait(slot.passed[-1]):
            return
        entry = self._open[batch.tile.number]
        if self._recipe.paths:
            found = slot.fetch_paths(self._task, self._wait, self._copiers, _COPIERS)
            if self._stopped():
                return
            entry.paths.append((batch, found))
        elif self._task.top is not None:
            self._add_hits(entry, batch, slot)
        else:
            if entry.scores is None:
                entry.scores = self._results.take(batch.tile.shape, self._task.dtype)
            if batch.is_whole_tile:
                self._copy(entry.scores, slot.scores())
            else:
                entry.scores[np.sort(batch.rows), batch.start : batch.stop] = slot.scores()
        if self._on_finished:
            times = [event.seconds_since(self._origin) for event in slot.passed]
            self._on_finished(Finished(variant, batch.pairs, slot.number, *times))
        self._flying.popleft()
        self._idle.append(slot)
        entry.batches -= 1
        if not entry.batches:
            del self._open[batch.tile.number]
            self._deliver(self._complete(batch.tile, entry))

    def _complete(self, tile: Tile, entry: _OpenTile) -> TileResult:
        if entry.best is not None:
            return TileHits(tile, entry.best.scores, entry.best.targets)
        return merge_paths(tile, self._task, entry.paths) if entry.scores is None else TileScores(tile, entry.scores)

    def _add_hits(self, entry: _OpenTile, batch: Batch, slot: Slot) -> None:
        """Merge the hits of a batch into those of its tile."""
        task, tile = self._task, batch.tile
        if entry.best is None:
            top = min(task.top or 0, len(tile.targets))
            entry.best = BestTargets(tile.shape[0], top, task.dtype, task.targets.ranks)
        if self._hit_plan(batch) is not None:
            scores, columns = slot.hits()
            entry.best.add(np.sort(batch.rows), scores, batch.targets[columns])
        else:
            scores = slot.scores()
            entry.best.add(np.sort(batch.rows), scores, np.broadcast_to(batch.targets, scores.shape))

    def _wait(self, event: Event) -> bool:
        return wait_for(event, _POLL_SECONDS, self._stopped)

    def _copy(self, target: Scores, source: Scores) -> None:
        """With several threads: one alone copies more slowly than short pairs are aligned."""
        step = -(-len(target) // _COPIERS)
        parts = [slice(k, k + step) for k in range(0, len(target), step)]
        list(self._copiers.map(lambda part: np.copyto(target[part], source[part]), parts))

    def _abandon(self) -> None:
        """After an error or a stop: end the kernels in flight, and wait for them, so that their memory can be freed."""
        if not self._flying:
            return
        try:
            control = self._device.stream()
            for slot, _, _ in self._flying:
                slot.stop(control)
            for slot, _, _ in self._flying:
                slot.wait()
        except RunError:
            pass  # a device that failed; the error that brought us here says so
        self._idle += [slot for slot, _, _ in self._flying]
        self._flying.clear()
