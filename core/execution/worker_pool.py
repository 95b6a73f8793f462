"""Threads that pull tiles, and their results as one stream, for the workers of every engine; and work that threads share in order."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

from gpualign.core.common.dataclass import dataclass
from gpualign.core.common.errors import RunError
from gpualign.core.execution.tile_queue import LoadBalancing, TileQueue
from gpualign.core.planning.tile_plan import Tile

if TYPE_CHECKING:
    pass

Item = TypeVar("Item")
Made = TypeVar("Made")

_LOOK_SECONDS = 0.05  # how often a worker that waits for room looks whether it shall stop


class OfTile(Protocol):
    """A result, of a tile."""

    @property
    def tile(self) -> Tile: ...


Result = TypeVar("Result", bound=OfTile)


@dataclass(frozen=True)
class _WorkerFailed:
    """A worker that failed, while others go on."""

    worker: int
    error: RunError


class _BoundedBuffer:
    """Of results that wait for the consumer: for `waiting` of the largest tile so far, by its cells.

    The memory of a result grows with the cells of its tile. The small tiles near the end of a run, whose number alone would fill the
    room, have their workers wait for nobody while a whole band is written.
    """

    def __init__(self, waiting: int) -> None:
        self._waiting = waiting
        self._largest = 1
        self._held = 0
        self._changed = threading.Condition()

    def take(self, cells: int, seconds: float) -> bool:
        """Whether there is room, or comes to be within some time. One result always has room."""
        with self._changed:
            self._largest = max(self._largest, cells)
            found = self._changed.wait_for(lambda: not self._held or self._held + cells <= self._waiting * self._largest, seconds)
            self._held += cells * found
            return found

    def give(self, cells: int) -> None:
        """A result is with the consumer."""
        with self._changed:
            self._held -= cells
            self._changed.notify_all()


class _Work(Generic[Result]):
    """What all workers of a run share: tiles that nobody has taken, and results that nobody has."""

    def __init__(self, tiles: Iterator[Tile], workers: int, waiting: int, sharing: LoadBalancing | None) -> None:
        self._pulling = TileQueue(tiles, workers, sharing)
        self._changed = threading.Condition()
        self._stop = threading.Event()
        self.room = _BoundedBuffer(waiting)
        self.done: queue.SimpleQueue[Result | BaseException | _WorkerFailed | None] = queue.SimpleQueue()

    def take(self, worker: int) -> Tile | None:
        """A tile; None where there is none for this worker at the moment, or work is to end."""
        if self.stopped():
            return None
        with self._changed:
            return self._pulling.take(worker, time.monotonic())

    def close_one(self, worker: int, tile: Tile) -> None:
        """A tile that was taken is delivered."""
        with self._changed:
            self._pulling.deliver(worker, tile, time.monotonic())
            self._changed.notify_all()

    def lose(self, worker: int, tiles: Sequence[Tile]) -> bool:
        """A worker has failed, and gives its tiles back; whether there are others."""
        with self._changed:
            others = self._pulling.lose(worker, tiles)
            self._changed.notify_all()
            return others

    def more(self, worker: int) -> bool:
        """Whether there are tiles for this worker after all; waits until no worker can give any back."""
        with self._changed:
            while not self.stopped():
                if (found := self._pulling.more(worker, time.monotonic())) is not None:
                    return found
                self._changed.wait(_LOOK_SECONDS)
            return False

    def stopped(self) -> bool:
        return self._stop.is_set()

    def stop(self) -> None:
        """The consumer wants no more."""
        self._stop.set()


class WorkerPort(Generic[Result]):
    """Where one worker takes tiles and leaves results. A slow sink slows workers down rather than filling memory."""

    def __init__(self, work: _Work[Result], worker: int) -> None:
        self._work = work
        self._worker = worker
        self.taken: dict[int, Tile] = {}
        """Tiles that are not delivered, by their numbers."""

    def next_tile(self) -> Tile | None:
        """The next tile; None where there is none, or work is to end."""
        if (tile := self._work.take(self._worker)) is not None:
            self.taken[tile.number] = tile
        return tile

    def deliver(self, result: Result) -> None:
        """Hand on a result. Waits for room, unless work is to end."""
        self.deliver_part(result)
        self._work.close_one(self._worker, self.taken.pop(result.tile.number))

    def deliver_part(self, result: Result) -> None:
        """The same of a part of a result, which takes as much room as all of it; more of it follows."""
        while not self.stopped():
            if self._work.room.take(result.tile.cells, _LOOK_SECONDS):
                self._work.done.put(result)
                return

    def report(self, event: BaseException | _WorkerFailed | None) -> None:
        """Of an error, or of the end of this worker (None)."""
        self._work.done.put(event)

    def stopped(self) -> bool:
        """Whether the consumer wants no more."""
        return self._work.stopped()


Worker = Callable[[WorkerPort[Result]], None]


class _Thread(threading.local):
    """What a thread is at. counter: where it is a worker's."""

    counter: WorkerPort[OfTile] | None = None


_THREAD = _Thread()


def run_workers(
    tiles: Iterator[Tile],
    workers: Sequence[Worker[Result]],
    waiting: int,
    name: str,
    stop: Callable[[], None] | None = None,
    lost: Callable[[int, RunError], None] | None = None,
    sharing: LoadBalancing | None = None,
) -> Iterator[Result]:
    """Results of all tiles in any order, from a thread for each worker. `waiting`: results that may wait for
    the consumer; of small tiles more, as `_BoundedBuffer` has it.

    Raises the first error of a worker. lost: told of a worker, by its number, whose hardware fails (`RunError`) while others are left:
    those do its tiles as well, and may be called again for it. stop: called when the iterator is closed, finished or fails, to end what a
    worker is at; then all threads are waited for. sharing: of workers that are not alike; a worker for whom the others would have to wait
    gets no more tiles (core/execution/load_balancing.py), and may be called again for others. None: who asks gets a tile.

    A worker may itself run others so, whose run ends when this one is closed.
    """
    outer = _THREAD.counter
    shared = _Work[Result](tiles, len(workers), waiting, sharing)

    def work(number: int, worker: Worker[Result]) -> None:
        counter = WorkerPort(shared, number)
        _THREAD.counter = counter  # type: ignore[assignment]  # it is only asked whether it has stopped
        try:
            worker(counter)
            while (lost is not None or sharing is not None) and shared.more(number):
                worker(counter)
        except RunError as error:
            goes_on = lost is not None and shared.lose(number, list(counter.taken.values()))
            counter.report(_WorkerFailed(number, error) if goes_on else error)
        except BaseException as error:  # handed to the consumer, which raises it
            counter.report(error)
        counter.report(None)

    threads = [threading.Thread(target=work, args=pair, name=f"{name}-{pair[0]}", daemon=True) for pair in enumerate(workers)]
    for thread in threads:
        thread.start()
    try:
        running = len(threads)
        while running:
            try:
                item = shared.done.get(timeout=None if outer is None else _LOOK_SECONDS)
            except queue.Empty:
                if outer is not None and outer.stopped():
                    return
                continue
            if item is None:
                running -= 1
            elif isinstance(item, _WorkerFailed):
                assert lost is not None
                lost(item.worker, item.error)
            elif isinstance(item, BaseException):
                raise item
            else:
                shared.room.give(item.tile.cells)
                yield item
    finally:
        shared.stop()
        if stop is not None:
            stop()
        for thread in threads:
            thread.join()
