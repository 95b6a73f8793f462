"""Work in other threads: one action at a time, actions one after the other, and items whose results come in order."""

from __future__ import annotations

import queue
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from itertools import chain, islice
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from concurrent.futures import Future, ThreadPoolExecutor

Item = TypeVar("Item")
Made = TypeVar("Made")


class BackgroundTask:
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
"""Items of `OrderedThreadPool` on their way for each thread: one that it is at, and one that waits for its turn."""


class OrderedThreadPool:
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
    pool = OrderedThreadPool(threads)
    yield from pool.map(make, items)
    pool.close()


class SerialExecutor:
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
