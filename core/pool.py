"""Threads that pull tiles, and their results as one stream: what the workers of every engine share."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterator, Sequence

from gpualign.core.engine import TileResult
from gpualign.core.plan import Tile

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
