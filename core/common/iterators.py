"""Functions for iterators. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, closing
from typing import TYPE_CHECKING, TypeVar, cast

if TYPE_CHECKING:
    from collections.abc import Generator

T = TypeVar("T")


def closing_iterator(items: Iterator[T]) -> AbstractContextManager[Iterator[T]]:
    """Return a context manager that yields `items` and closes them at the end. `items` must be a generator, or have a `close` method like
    one, even where it is declared as an iterator."""
    return closing(cast("Generator[T, None, None]", items))
