"""Threads that pull tiles, and their results as one stream, for the workers of every engine; and work that threads share in order."""

from __future__ import annotations

import queue
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

from gpualign.core.dataclass import dataclass
from gpualign.core.errors import RunError
from gpualign.core.plan import Tile
from gpualign.core.pulling import Pulling, Sharing

if TYPE_CHECKING:
    from concurrent.futures import Future, ThreadPoolExecutor

Item = TypeVar("Item")
Made = TypeVar("Made")

_LOOK_SECONDS = 0.05  # how often a worker that waits for room looks whether it shall stop


class OfTile(Protocol):
    """A result, of a tile."""

    @property
    def tile(self) -> Tile: ...


Result = TypeVar("Result", bound=OfTile)


@dataclass(frozen=True)
class _Lost:
    """A worker that failed, while others go on."""

    worker: int
    error: RunError


class _Room:
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

    def __init__(self, tiles: Iterator[Tile], workers: int, waiting: int, sharing: Sharing | None) -> None:
        self._pulling = Pulling(tiles, workers, sharing)
        self._changed = threading.Condition()
        self._stop = threading.Event()
        self.room = _Room(waiting)
        self.done: queue.SimpleQueue[Result | BaseException | _Lost | None] = queue.SimpleQueue()

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


class Counter(Generic[Result]):
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

    def tell(self, event: BaseException | _Lost | None) -> None:
        """Of an error, or of the end of this worker (None)."""
        self._work.done.put(event)

    def stopped(self) -> bool:
        """Whether the consumer wants no more."""
        return self._work.stopped()


Worker = Callable[[Counter[Result]], None]


class _Thread(threading.local):
    """What a thread is at. counter: where it is a worker's."""

    counter: Counter[OfTile] | None = None


_THREAD = _Thread()


def run_workers(
    tiles: Iterator[Tile],
    workers: Sequence[Worker[Result]],
    waiting: int,
    name: str,
    stop: Callable[[], None] | None = None,
    lost: Callable[[int, RunError], None] | None = None,
    sharing: Sharing | None = None,
) -> Iterator[Result]:
    """Results of all tiles in any order, from a thread for each worker. `waiting`: results that may wait for
    the consumer; of small tiles more, as `_Room` has it.

    Raises the first error of a worker. lost: told of a worker, by its number, whose hardware fails (`RunError`) while others are left:
    those do its tiles as well, and may be called again for it. stop: called when the iterator is closed, finished or fails, to end what a
    worker is at; then all threads are waited for. sharing: of workers that are not alike; a worker for whom the others would have to wait
    gets no more tiles (core/dispatch.py), and may be called again for others. None: who asks gets a tile.

    A worker may itself run others so, whose run ends when this one is closed.
    """
    outer = _THREAD.counter
    shared = _Work[Result](tiles, len(workers), waiting, sharing)

    def work(number: int, worker: Worker[Result]) -> None:
        counter = Counter(shared, number)
        _THREAD.counter = counter  # type: ignore[assignment]  # it is only asked whether it has stopped
        try:
            worker(counter)
            while (lost is not None or sharing is not None) and shared.more(number):
                worker(counter)
        except RunError as error:
            goes_on = lost is not None and shared.lose(number, list(counter.taken.values()))
            counter.tell(_Lost(number, error) if goes_on else error)
        except BaseException as error:  # handed to the consumer, which raises it
            counter.tell(error)
        counter.tell(None)

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
            elif isinstance(item, _Lost):
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


class Aside:
    """One action at a time in another thread. alone: held by either thread while it does what both do."""

    def __init__(self) -> None:
        self.alone = threading.Lock()
        self._thread: threading.Thread | None = None
        self._error: BaseException | None = None

    @property
    def busy(self) -> bool:
        """Whether an action is under way."""
        return self._thread is not None and self._thread.is_alive()

    def begin(self, action: Callable[[], None]) -> None:
        """Waits for the one before. Raises what that has raised."""
        self.wait()

        def act() -> None:
            try:
                action()
            except BaseException as error:  # handed to whoever asks next
                self._error = error

        self._thread = threading.Thread(target=act, name="gpualign-aside", daemon=True)
        self._thread.start()

    def wait(self) -> None:
        """Until there is none under way. Raises what it has raised, once."""
        if self._thread is not None:
            self._thread.join()
            self._thread = None
        error, self._error = self._error, None
        if error is not None:
            raise error


WAITING = 2
"""Items of `InOrder` on their way for each thread: one that it is at, and one that waits for its turn."""


class InOrder:
    """Threads that make something of items, in the order of the items.

    They start with the first items that there are several of, none for one thread, and stay for those to come, until `close`: to start
    sixteen takes as long as to make some megabytes of text.
    """

    def __init__(self, threads: int) -> None:
        self._threads = threads
        self._pool: ThreadPoolExecutor | None = None

    def map(self, make: Callable[[Item], Made], items: Iterable[Item]) -> Iterator[Made]:
        """What `make` makes of each item; items are taken in the caller's thread.

        Each thread has `WAITING` items on their way, which bounds memory. When the iterator fails, or is closed before its end, no item is
        begun any more, those at work are waited for, and the threads end.
        """
        try:
            source = iter(items)
            first = list(islice(source, 2))
            if self._threads == 1 or len(first) < 2:
                yield from map(make, chain(first, source))
                return
            if self._pool is None:
                from concurrent.futures import ThreadPoolExecutor

                self._pool = ThreadPoolExecutor(self._threads, thread_name_prefix="gpualign-rows")
            waiting: deque[Future[Made]] = deque()
            for item in chain(first, source):
                if len(waiting) == WAITING * self._threads:
                    yield waiting.popleft().result()
                waiting.append(self._pool.submit(make, item))
            while waiting:
                yield waiting.popleft().result()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """There are no more items; the threads end when they have done what they are at."""
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)
            self._pool = None


def in_order(make: Callable[[Item], Made], items: Iterable[Item], threads: int) -> Iterator[Made]:
    """What `make` makes of each item, in their order, by so many threads at most, which end with the last item."""
    pool = InOrder(threads)
    yield from pool.map(make, items)
    pool.close()


class Behind:
    """Actions that one thread does, one after the other. begin, end: the first and the last that it does, if any.

    Nobody waits for the thread when the program ends: an action may be waiting for somebody who has gone.
    """

    def __init__(self, name: str, begin: Callable[[], None] = lambda: None, end: Callable[[], None] = lambda: None) -> None:
        self._begin = begin
        self._end = end
        self._actions: queue.SimpleQueue[Callable[[BaseException | None], None] | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._work, name=name, daemon=True)
        self._thread.start()

    def submit(self, action: Callable[[], Made]) -> Future[Made]:
        """What it will have made, or raised; or what `begin` has raised."""
        from concurrent.futures import Future

        made: Future[Made] = Future()

        def act(failed: BaseException | None) -> None:
            try:
                if failed is not None:
                    raise failed
                made.set_result(action())
            except BaseException as error:  # handed to whoever asks
                made.set_exception(error)

        self._actions.put(act)
        return made

    def stop(self) -> None:
        """There are no more actions."""
        self._actions.put(None)

    def close(self) -> None:
        """The same, and waits for all of them."""
        self.stop()
        self._thread.join()

    def _work(self) -> None:
        failed: BaseException | None = None
        try:
            self._begin()
        except BaseException as error:  # handed to whoever submits
            failed = error
        while (act := self._actions.get()) is not None:
            act(failed)
            del act  # while it waits for the next one, this thread keeps nothing alive
        if failed is None:
            self._end()
