"""Puts numbered items, which arrive in any order, into order. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Generic, TypeVar

Item = TypeVar("Item")


class ReorderBuffer(Generic[Item]):
    """Holds items until all earlier items have arrived.

    following: number of the next item in order
    """

    def __init__(self) -> None:
        self.following = 0
        self._waiting: dict[int, Item] = {}

    def add(self, number: int, item: Item) -> Iterator[Item]:
        """Add item `number`, counted from 0. Yield, in order, all items whose turn it is; `following` is the number of the last one yielded
        until the next one is requested."""
        self._waiting[number] = item
        while self.following in self._waiting:
            yield self._waiting.pop(self.following)
            self.following += 1
