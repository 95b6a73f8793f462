"""Threads that pull tiles, and their results as one stream, for the workers of every engine; and work that threads share in order."""

from __future__ import annotations

import queue
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import TYPE_CHECKING, TypeVar

from gpualign.core.engine import TileResult
from gpualign.core.plan import Tile

if TYPE_CHECKING:
    from concurrent.futures import Future

Item = TypeVar("Item")
Made = TypeVar("Made")

_LOOK_SECONDS = 0.05  # how often a worker that waits for room looks whether it shall stop


class Counter:
    """Where workers take tiles and leave results. `waiting`: results that may wait for the consumer, so that a slow sink slows workers
    down rather than filling memory."""

    def __init__(self, tiles: Iterator[Tile], waiting: int) -> None:
        self._tiles = tiles
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self.done: queue.Queue[TileResult | BaseException | None] = queue.Queue(maxsize=waiting)

    def next_tile(self) -> Tile | None:
        """The next tile; None where there is none, or work is to end."""
        if self.stopped():
            return None
        with self._lock:
            return next(self._tiles, None)

    def deliver(self, result: TileResult | BaseException | None) -> None:
        """Hand on a result, or an error, or None: this worker has ended. Waits for room, unless work is to end."""
        while not self.stopped():
            try:
                self.done.put(result, timeout=_LOOK_SECONDS)
                return
            except queue.Full:
                continue

    def stopped(self) -> bool:
        """Whether the consumer wants no more."""
        return self._stop.is_set()

    def stop(self) -> None:
        """The consumer wants no more."""
        self._stop.set()


Worker = Callable[[Counter], None]


def run_workers(
    tiles: Iterator[Tile], workers: Sequence[Worker], waiting: int, name: str, stop: Callable[[], None] | None = None
) -> Iterator[TileResult]:
    """Results of all tiles in any order, from a thread for each worker. Raises the first error of one.

    stop: called when the iterator is closed, finished or fails, to end what a worker is at; then all threads are waited for.
    """
    counter = Counter(tiles, waiting)

    def work(worker: Worker) -> None:
        try:
            worker(counter)
        except BaseException as error:  # handed to the consumer, which raises it
            counter.deliver(error)
        counter.deliver(None)

    threads = [threading.Thread(target=work, args=(w,), name=f"{name}-{k}", daemon=True) for k, w in enumerate(workers)]
    for thread in threads:
        thread.start()
    try:
        running = len(threads)
        while running:
            item = counter.done.get()
            if item is None:
                running -= 1
            elif isinstance(item, BaseException):
                raise item
            else:
                yield item
    finally:
        counter.stop()
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
