"""Threads that read input and build bit planes. The work is done in compiled code, which lets other threads run."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from types import TracebackType
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


class ReaderThreads:
    """Pool of `threads` threads. If `threads` is 1, the caller's thread does the work."""

    def __init__(self, threads: int) -> None:
        self.threads = threads
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="gpualign-read") if threads > 1 else None

    def map(self, function: Callable[[Item], Result], items: Iterable[Item]) -> list[Result]:
        """Return the results in item order."""
        return list(map(function, items) if self._pool is None else self._pool.map(function, items))

    def repeat(self, step: Callable[[int], bool]) -> None:
        """Call `step(thread number)` in each thread until it returns False. After an error or interrupt, no thread starts another step."""
        running = True

        def work(number: int) -> None:
            while running and step(number):
                pass

        try:
            self.map(work, range(self.threads))
        finally:
            running = False

    def shares(self, rows: int) -> list[tuple[int, int]]:
        """Return (first row, number of rows) for each thread."""
        bounds = [rows * k // self.threads for k in range(self.threads + 1)]
        return [(first, stop - first) for first, stop in pairwise(bounds)]

    def __enter__(self) -> ReaderThreads:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        if self._pool is not None:
            self._pool.shutdown()
