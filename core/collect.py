"""Results of several workers as one stream."""

from __future__ import annotations

from collections.abc import Iterator
from queue import Queue

from gpualign.core.engine import TileResult


def collect_results(done: Queue[TileResult | BaseException | None], workers: int) -> Iterator[TileResult]:
    """What `workers` workers put into `done`, until each has put None. Raises the first error that one of them put there."""
    running = workers
    while running:
        item = done.get()
        if item is None:
            running -= 1
        elif isinstance(item, BaseException):
            raise item
        else:
            yield item
