"""Restores the order of numbered items that arrive in any order. Pure."""

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
        """Add an item, and yield, in order, all items that no longer have to wait for an earlier item.

        number: the item's number, counted from 0

        While the caller handles a yielded item, `following` is still the number of that item.
        """
        self._waiting[number] = item
        while self.following in self._waiting:
            yield self._waiting.pop(self.following)
            self.following += 1
