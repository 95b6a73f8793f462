"""Runs work in background threads: one action at a time, a queue of actions, or items that several threads share."""

from __future__ import annotations

import queue
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, closing
from itertools import chain, islice, pairwise
from typing import TYPE_CHECKING, TypeVar

from gpualign.core.common.errors import RunError

if TYPE_CHECKING:
    from concurrent.futures import Future, ThreadPoolExecutor

Item = TypeVar("Item")
Result = TypeVar("Result")


class BackgroundTask:
    """Runs one action at a time in a background thread.

    lock: protects work that the caller's thread and the action must not do simultaneously
    """

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._error: BaseException | None = None

    @property
    def busy(self) -> bool:
        """True while an action is running."""
        return self._thread is not None and self._thread.is_alive()

    def start(self, action: Callable[[], None]) -> None:
        """Start an action as soon as the previous action has ended. If the previous action raised an error, raise that error instead."""
        self.wait()

        def act() -> None:
            try:
                action()
            except BaseException as error:  # handed to the next caller
                self._error = error

        self._thread = threading.Thread(target=act, name="gpualign-aside", daemon=True)
        self._thread.start()

    def wait(self) -> None:
        """Wait until no action is running. If the action raised an error, the first call after that raises the error."""
        if self._thread is not None:
            self._thread.join()
            self._thread = None
        error, self._error = self._error, None
        if error is not None:
            raise error


IN_FLIGHT_PER_THREAD = 2
"""Number of items in flight per thread of `ThreadPool.imap`: one that the thread is processing, and one that is waiting."""


class ThreadPool:
    """Pool of threads that share work. A pool of one thread uses the caller's thread. Several threads may call `map` simultaneously.

    The threads are started on first use and kept until `close`, because starting sixteen threads takes as long as formatting some
    megabytes of text. After `close`, `map` and `imap` raise `RunError`, because nobody would end the threads that they start.
    """

    def __init__(self, threads: int) -> None:
        self.threads = threads
        self._lock = threading.Lock()
        self._pool: ThreadPoolExecutor | None = None
        self._is_closed = False

    def _executor(self) -> ThreadPoolExecutor:
        with self._lock:
            if self._is_closed:
                raise RunError("the work has been stopped")
            if self._pool is None:
                from concurrent.futures import ThreadPoolExecutor

                self._pool = ThreadPoolExecutor(self.threads, thread_name_prefix="gpualign-pool")
            return self._pool

    def map(self, function: Callable[[Item], Result], items: Iterable[Item]) -> list[Result]:
        """Return `function(item)` for each item, in order."""
        return list(map(function, items) if self.threads == 1 else self._executor().map(function, items))

    def imap(self, function: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
        """Yield `function(item)` for each item, in order.

        `items` is iterated in the caller's thread. If there is only one item, the function is called in that thread too. At most
        `IN_FLIGHT_PER_THREAD` items per thread are in flight, which bounds the memory. If the iterator fails or is closed early, no more
        items are started, and the threads end after the items in progress.
        """
        try:
            source = iter(items)
            first = list(islice(source, 2))
            if self.threads == 1 or len(first) < 2:
                yield from map(function, chain(first, source))
                return
            pool = self._executor()
            waiting: deque[Future[Result]] = deque()
            for item in chain(first, source):
                if len(waiting) == IN_FLIGHT_PER_THREAD * self.threads:
                    yield waiting.popleft().result()
                waiting.append(pool.submit(function, item))
            while waiting:
                yield waiting.popleft().result()
        except BaseException:
            self.close()
            raise

    def repeat(self, step: Callable[[int], bool]) -> None:
        """Have each thread call `step(thread number)` until it returns False. After an error or interrupt, no thread starts another
        step."""
        running = True

        def work(number: int) -> None:
            while running and step(number):
                pass

        try:
            self.map(work, range(self.threads))
        finally:
            running = False

    def split_rows(self, row_count: int) -> list[tuple[int, int]]:
        """Divide rows evenly among the threads, and return (first row, number of rows) for each thread."""
        bounds = [row_count * k // self.threads for k in range(self.threads + 1)]
        return [(first, stop - first) for first, stop in pairwise(bounds)]

    def close(self) -> None:
        """Cancel the items that have not been started, wait for the items in progress, and end the threads."""
        with self._lock:
            self._is_closed = True
            pool, self._pool = self._pool, None
        if pool is not None:
            pool.shutdown(cancel_futures=True)


def map_in_order(function: Callable[[Item], Result], items: Iterable[Item], threads: int) -> Iterator[Result]:
    """Yield `function(item)` for each item, in order, using at most `threads` threads. The threads end after the last item."""
    with closing(ThreadPool(threads)) as pool:
        yield from pool.imap(function, items)


def map_ahead(
    function: Callable[[Item], Result], items: Iterable[Item], ahead: int, stop: Callable[[], None], threads: int = 1
) -> Iterator[Result]:
    """Yield `function(item)` for each item, in order. Background threads call the function, for `ahead` more items than have been
    requested.

    stop: called if the iterator fails or is closed early; it must make the calls in progress return or fail soon, because they are waited
        for
    threads: number of items for which the function is called at the same time
    """
    from concurrent.futures import ThreadPoolExecutor

    waiting: deque[Future[Result]] = deque()
    pool = ThreadPoolExecutor(threads, thread_name_prefix="gpualign-ahead")
    try:
        for item in items:
            waiting.append(pool.submit(function, item))
            if len(waiting) > ahead:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    except BaseException:
        pool.shutdown(wait=False, cancel_futures=True)
        stop()
        raise
    finally:
        pool.shutdown()


class SerialExecutor:
    """Thread that runs actions one after another.

    initializer, finalizer: first and last action of the thread

    The end of the program does not wait for the thread, because an action may be waiting for something that no longer exists.
    """

    def __init__(self, name: str, initializer: Callable[[], None] = lambda: None, finalizer: Callable[[], None] = lambda: None) -> None:
        self._initializer = initializer
        self._finalizer = finalizer
        self._actions: queue.SimpleQueue[Callable[[BaseException | None], None] | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._stopped = False
        self._thread = threading.Thread(target=self._work, name=name, daemon=True)
        self._thread.start()

    def submit(self, action: Callable[[], Result]) -> Future[Result]:
        """Return a future for the action's result or error, or for the error raised by `initializer`. After `stop`, the action is not run
        and the future fails with `RunError`."""
        from concurrent.futures import Future

        future: Future[Result] = Future()

        def act(failed: BaseException | None) -> None:
            try:
                if failed is not None:
                    raise failed
                future.set_result(action())
            except BaseException as error:  # handed to the caller
                future.set_exception(error)

        with self._lock:
            if self._stopped:
                future.set_exception(RunError("the work has been stopped"))
            else:
                self._actions.put(act)
        return future

    def stop(self) -> None:
        """Have the thread end after the actions already submitted, without waiting for it."""
        with self._lock:
            self._stopped = True
            self._actions.put(None)

    def close(self) -> None:
        """Finish the actions already submitted, then stop the thread and wait for it."""
        self.stop()
        self._thread.join()

    def _work(self) -> None:
        failed: BaseException | None = None
        try:
            self._initializer()
        except BaseException as error:  # handed to the callers that submit actions
            failed = error
        while (act := self._actions.get()) is not None:
            act(failed)
            del act  # so that this thread keeps nothing alive while it waits for the next one
        if failed is None:
            self._finalizer()


def run_until_stopped(work: Callable[[], None], threads: int, stop: Callable[[], None]) -> None:
    """Call `work` once in each of `threads` new threads, and wait for all of them.

    stop: called if one of them fails or the caller is interrupted; it must make the calls return soon, because they are waited for
    """
    with ExitStack() as executors:
        try:
            futures = [executors.enter_context(closing(SerialExecutor("gpualign-work"))).submit(work) for _ in range(threads)]
            for future in futures:
                future.result()
        except BaseException:
            stop()
            raise
