"""Threads that make bit planes: the work is in compiled code, which lets others run."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


class Workers:
    """`parts` threads; one does its work at once, without a thread."""

    def __init__(self, parts: int) -> None:
        self.parts = parts
        self._pool = ThreadPoolExecutor(parts, thread_name_prefix="gpualign-read") if parts > 1 else None

    def map(self, function: Callable[[Item], Result], items: Iterable[Item]) -> list[Result]:
        """Results in the order of the items."""
        return list(map(function, items) if self._pool is None else self._pool.map(function, items))

    def __enter__(self) -> Workers:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._pool is not None:
            self._pool.shutdown()
