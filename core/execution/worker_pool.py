"""Runs an engine's workers in threads that pull tiles from one queue, and yields their results as one stream."""

from __future__ import annotations

import atexit
import queue
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Generic, Protocol, TypeVar

from gpualign.core.common.dataclass import dataclass
from gpualign.core.common.errors import RunError
from gpualign.core.execution.tile_queue import LoadBalancing, TileQueue
from gpualign.core.planning.tile_plan import Tile

_POLL_SECONDS = 0.05  # how often a waiting worker checks whether it has to stop


class HasTile(Protocol):
    """Result that refers to its tile."""

    @property
    def tile(self) -> Tile: ...


Result = TypeVar("Result", bound=HasTile)


def tile_cells(result: HasTile) -> int:
    """Return the cells of a result's tile, with which the memory for most results grows."""
    return result.tile.cells


@dataclass(frozen=True)
class _WorkerFailure:
    """Failure of a worker while the other workers continue. worker: number of the failed worker"""

    worker: int
    error: RunError


class _BoundedBuffer(Generic[Result]):
    """Limits the results that wait for the consumer: all of them together are at most `max_waiting` times as large as the largest result so
    far, or `min_room` if that is more.

    size_of: returns the size of a result, in any unit

    Sizes are added rather than results counted, because some results are far smaller than others. The many small tiles near the end of a
    run therefore do not make workers wait while a whole band is written.
    """

    def __init__(self, max_waiting: int, min_room: int, size_of: Callable[[Result], int]) -> None:
        self._max_waiting = max_waiting
        self._min_room = min_room
        self._size_of = size_of
        self._largest = 1
        self._held = 0
        self._changed = threading.Condition()

    def reserve(self, result: Result, max_seconds: float) -> bool:
        """Reserve room for a result. A single result always fits.

        Returns False if no room becomes free within `max_seconds`.
        """
        size = self._size_of(result)
        with self._changed:
            self._largest = max(self._largest, size)
            room = max(self._max_waiting * self._largest, self._min_room)
            has_room = self._changed.wait_for(lambda: not self._held or self._held + size <= room, max_seconds)
            self._held += size * has_room
            return has_room

    def release(self, result: Result) -> None:
        """Free the room reserved for a result, which the consumer has received."""
        with self._changed:
            self._held -= self._size_of(result)
            self._changed.notify_all()


class _RunState(Generic[Result]):
    """State shared by all workers of a run: tiles not yet taken and results not yet consumed."""

    def __init__(
        self, tiles: Iterator[Tile], worker_count: int, buffer: _BoundedBuffer[Result], load_balancing: LoadBalancing | None
    ) -> None:
        self._tile_queue = TileQueue(tiles, worker_count, load_balancing)
        self._changed = threading.Condition()
        self._stop = threading.Event()
        self.buffer = buffer
        self.events: queue.SimpleQueue[Result | BaseException | _WorkerFailure | None] = queue.SimpleQueue()

    def take(self, worker: int) -> Tile | None:
        """Return a tile, or None if there is none for this worker at the moment or the run is stopping."""
        if self.stopped():
            return None
        with self._changed:
            return self._tile_queue.take(worker, time.monotonic())

    def record_delivery(self, worker: int, tile: Tile) -> None:
        """Record that a tile has been delivered."""
        with self._changed:
            self._tile_queue.deliver(worker, tile, time.monotonic())
            self._changed.notify_all()

    def return_tiles(self, worker: int, tiles: Sequence[Tile]) -> bool:
        """Put a failed worker's tiles back in the queue. Returns whether any workers are left."""
        with self._changed:
            others = self._tile_queue.return_tiles(worker, tiles)
            self._changed.notify_all()
            return others

    def has_more(self, worker: int) -> bool:
        """Return whether there are more tiles for this worker. Waits as long as other workers may return tiles.

        Returns False if the run is stopped first.
        """
        with self._changed:
            while not self.stopped():
                if (has_more := self._tile_queue.has_more(worker, time.monotonic())) is not None:
                    return has_more
                self._changed.wait(_POLL_SECONDS)
            return False

    def stopped(self) -> bool:
        return self._stop.is_set()

    def stop(self) -> None:
        """Stop the run: the consumer accepts no more results."""
        self._stop.set()


class WorkerHandle(Generic[Result]):
    """A worker's interface to the shared queue: takes the next tile and delivers its result.

    A slow sink slows workers down instead of filling memory.
    """

    def __init__(self, run: _RunState[Result], worker: int) -> None:
        self._run = run
        self._worker = worker
        self.undelivered_tiles: dict[int, Tile] = {}
        """Tiles taken but not yet delivered, by number."""

    def next_tile(self) -> Tile | None:
        """Return the next tile, or None if there is none or the run is stopping."""
        if (tile := self._run.take(self._worker)) is not None:
            self.undelivered_tiles[tile.number] = tile
        return tile

    def deliver(self, result: Result) -> None:
        """Pass a result to the consumer. Waits for room unless the run is stopping."""
        self.deliver_partial(result)
        self._run.record_delivery(self._worker, self.undelivered_tiles.pop(result.tile.number))

    def deliver_partial(self, result: Result) -> None:
        """Pass part of a tile's result to the consumer; more parts will follow. Each part takes as much room in the buffer as the whole
        result would."""
        while not self.stopped():
            if self._run.buffer.reserve(result, _POLL_SECONDS):
                self._run.events.put(result)
                return

    def report(self, event: BaseException | _WorkerFailure | None) -> None:
        """Report an error or, if `event` is None, the end of this worker."""
        self._run.events.put(event)

    def stopped(self) -> bool:
        """Return whether the run is stopping: the consumer accepts no more results."""
        return self._run.stopped()


WorkerFunction = Callable[[WorkerHandle[Result]], None]


class _ThreadState(threading.local):
    """Thread-local state. handle: the worker's handle, None outside worker threads."""

    handle: WorkerHandle[HasTile] | None = None


_THREAD_STATE = _ThreadState()


def run_is_stopping() -> bool:
    """Return whether the calling thread is a worker's and its run is stopping."""
    handle = _THREAD_STATE.handle
    return handle is not None and handle.stopped()


def calling_thread() -> int:
    """Return a number that tells the calling thread from the threads of other workers."""
    return threading.get_ident()


def describe_failed_device(device: str, error: RunError) -> str:
    """Return the message that a device has failed, and that the remaining devices take over its work. device: human-readable name"""
    return f"{device} is left out, the others do its work: {error.message}"


def run_workers(
    tiles: Iterator[Tile],
    workers: Sequence[WorkerFunction[Result]],
    max_waiting_results: int,
    thread_name: str,
    stop: Callable[[], None] | None = None,
    on_worker_failure: Callable[[int, RunError], None] | None = None,
    load_balancing: LoadBalancing | None = None,
    size_of: Callable[[Result], int] = tile_cells,
    min_room: int = 0,
) -> Iterator[Result]:
    """Yield the results for all tiles in any order. Each worker runs in its own thread.

    workers: for each worker, the function that its thread runs
    max_waiting_results: maximum number of results that wait for the consumer; more if they are smaller than the largest one
    stop: called to end the workers' current work when the iterator is closed, finishes or fails; all threads are then joined
    on_worker_failure: called with the number and the error of a worker whose hardware fails while other workers remain. These take over its
        tiles; for that, their functions may be called again
    load_balancing: how workers of unequal speed share tiles; a worker that would keep the others waiting gets no more tiles
        (core/execution/load_balancing.py), but its function may be called again later. None: every worker that asks gets a tile
    size_of: returns the size of a result, in any unit
    min_room: total size of results that may wait even if they are more than `max_waiting_results`

    Raises the first error raised by a worker. A worker may itself call this function; closing the outer run ends the inner run.
    """
    outer = _THREAD_STATE.handle
    shared = _RunState(tiles, len(workers), _BoundedBuffer(max_waiting_results, min_room, size_of), load_balancing)

    def work(number: int, worker: WorkerFunction[Result]) -> None:
        handle = WorkerHandle(shared, number)
        _THREAD_STATE.handle = handle  # type: ignore[assignment]  # only its `stopped` is called
        try:
            worker(handle)
            while (on_worker_failure is not None or load_balancing is not None) and shared.has_more(number):
                worker(handle)
        except RunError as error:
            others_continue = on_worker_failure is not None and shared.return_tiles(number, list(handle.undelivered_tiles.values()))
            handle.report(_WorkerFailure(number, error) if others_continue else error)
        except BaseException as error:  # handed to the consumer, which raises it
            handle.report(error)
        handle.report(None)

    threads = [threading.Thread(target=work, args=pair, name=f"{thread_name}-{pair[0]}", daemon=True) for pair in enumerate(workers)]

    def end() -> None:
        shared.stop()
        if stop is not None:
            stop()
        for thread in threads:
            if thread.ident is not None:  # it has been started: a signal may arrive before that
                thread.join()

    # A program may end with this iterator left open, which is closed when Python no longer runs daemon threads: from 3.13 on, joining would
    # take forever.
    atexit.register(end)
    try:
        for thread in threads:
            thread.start()
        running = len(threads)
        while running:
            try:
                item = shared.events.get(timeout=None if outer is None else _POLL_SECONDS)
            except queue.Empty:
                if outer is not None and outer.stopped():
                    return
                continue
            if item is None:
                running -= 1
            elif isinstance(item, _WorkerFailure):
                assert on_worker_failure is not None
                on_worker_failure(item.worker, item.error)
            elif isinstance(item, BaseException):
                raise item
            else:
                shared.buffer.release(item)
                yield item
    finally:
        atexit.unregister(end)
        end()
