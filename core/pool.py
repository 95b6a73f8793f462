"""Threads that pull tiles, and their results as one stream, for the workers of every engine; and work that threads share in order."""

from __future__ import annotations

import queue
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import TYPE_CHECKING, TypeVar

from gpualign.core.dataclass import dataclass
from gpualign.core.engine import TileResult
from gpualign.core.errors import RunError
from gpualign.core.plan import Tile

if TYPE_CHECKING:
    from concurrent.futures import Future

Item = TypeVar("Item")
Made = TypeVar("Made")

_LOOK_SECONDS = 0.05  # how often a worker that waits for room looks whether it shall stop


@dataclass(frozen=True)
class _Lost:
    """A worker that failed, while others go on."""

    worker: int
    error: RunError


class _Work:
    """What all workers of a run share: tiles that nobody has taken, and results that nobody has."""

    def __init__(self, tiles: Iterator[Tile], workers: int, waiting: int) -> None:
        self._tiles = tiles
        self._returned: deque[Tile] = deque()
        self._changed = threading.Condition()
        self._open = 0  # tiles that are taken and not delivered
        self._good = workers
        self._stop = threading.Event()
        self.done: queue.Queue[TileResult | BaseException | _Lost | None] = queue.Queue(maxsize=waiting)

    def take(self) -> Tile | None:
        """A tile; None where there is none at the moment, or work is to end."""
        if self.stopped():
            return None
        with self._changed:
            tile = self._returned.popleft() if self._returned else next(self._tiles, None)
            self._open += tile is not None
            return tile

    def close_one(self) -> None:
        """A tile that was taken is delivered."""
        with self._changed:
            self._open -= 1
            self._changed.notify_all()

    def lose(self, tiles: Sequence[Tile]) -> bool:
        """A worker has failed, and gives its tiles back; whether there are others."""
        with self._changed:
            self._good -= 1
            self._returned += tiles
            self._open -= len(tiles)
            self._changed.notify_all()
            return self._good > 0

    def more(self) -> bool:
        """Whether there are tiles after all; waits until no worker can give any back."""
        with self._changed:
            while self._open and not self._returned and not self.stopped():
                self._changed.wait(_LOOK_SECONDS)
            return bool(self._returned) and not self.stopped()

    def stopped(self) -> bool:
        return self._stop.is_set()

    def stop(self) -> None:
        """The consumer wants no more."""
        self._stop.set()


class Counter:
    """Where one worker takes tiles and leaves results. A slow sink slows workers down rather than filling memory."""

    def __init__(self, work: _Work) -> None:
        self._work = work
        self.taken: dict[int, Tile] = {}
        """Tiles that are not delivered, by their numbers."""

    def next_tile(self) -> Tile | None:
        """The next tile; None where there is none, or work is to end."""
        if (tile := self._work.take()) is not None:
            self.taken[tile.number] = tile
        return tile

    def deliver(self, result: TileResult) -> None:
        """Hand on a result. Waits for room, unless work is to end."""
        self.put(result)
        del self.taken[result.tile.number]
        self._work.close_one()

    def put(self, item: TileResult | BaseException | _Lost | None) -> None:
        """The same of an error, or of the end of this worker (None)."""
        while not self.stopped():
            try:
                self._work.done.put(item, timeout=_LOOK_SECONDS)
                return
            except queue.Full:
                continue

    def stopped(self) -> bool:
        """Whether the consumer wants no more."""
        return self._work.stopped()


Worker = Callable[[Counter], None]


def run_workers(
    tiles: Iterator[Tile],
    workers: Sequence[Worker],
    waiting: int,
    name: str,
    stop: Callable[[], None] | None = None,
    lost: Callable[[int, RunError], None] | None = None,
) -> Iterator[TileResult]:
    """Results of all tiles in any order, from a thread for each worker. `waiting`: results that may wait for the consumer.

    Raises the first error of a worker. lost: told of a worker, by its number, whose hardware fails (`RunError`) while others are left:
    those do its tiles as well, and may be called again for it. stop: called when the iterator is closed, finished or fails, to end what a
    worker is at; then all threads are waited for.
    """
    shared = _Work(tiles, len(workers), waiting)

    def work(number: int, worker: Worker) -> None:
        counter = Counter(shared)
        try:
            worker(counter)
            while lost is not None and shared.more():
                worker(counter)
        except RunError as error:
            goes_on = lost is not None and shared.lose(list(counter.taken.values()))
            counter.put(_Lost(number, error) if goes_on else error)
        except BaseException as error:  # handed to the consumer, which raises it
            counter.put(error)
        counter.put(None)

    threads = [threading.Thread(target=work, args=pair, name=f"{name}-{pair[0]}", daemon=True) for pair in enumerate(workers)]
    for thread in threads:
        thread.start()
    try:
        running = len(threads)
        while running:
            item = shared.done.get()
            if item is None:
                running -= 1
            elif isinstance(item, _Lost):
                assert lost is not None
                lost(item.worker, item.error)
            elif isinstance(item, BaseException):
                raise item
            else:
                yield item
    finally:
        shared.stop()
        if stop is not None:
            stop()
        for thread in threads:
            thread.join()


WAITING = 2
"""Items of `in_order` on their way for each thread: one that it is at, and one that waits for its turn."""


def in_order(make: Callable[[Item], Made], items: Iterable[Item], threads: int) -> Iterator[Made]:
    """What `make` makes of each item, in the order of the items, which are taken in the caller's thread.

    Up to `threads` threads are at it, with `WAITING` items each, which bounds memory; for one thread or one item no other thread is
    started. When the iterator is closed, finished or fails, no item is begun any more, and those at work are waited for.
    """
    source = iter(items)
    first = list(islice(source, 2))
    if threads == 1 or len(first) < 2:
        yield from map(make, chain(first, source))
        return
    from concurrent.futures import ThreadPoolExecutor

    pool = ThreadPoolExecutor(threads, thread_name_prefix="gpualign-rows")
    try:
        waiting: deque[Future[Made]] = deque()
        for item in chain(first, source):
            if len(waiting) == WAITING * threads:
                yield waiting.popleft().result()
            waiting.append(pool.submit(make, item))
        while waiting:
            yield waiting.popleft().result()
    finally:
        pool.shutdown(cancel_futures=True)
