"""Streams that writers of text write to, and helpers for them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Protocol, TypeAlias

Text: TypeAlias = bytes | bytearray


_MORE_THREADS = 4
"""Number of threads for which blocks of the smallest size are large enough that they do not wait for each other."""

_LARGER = 4
"""Largest factor by which blocks are larger than that; they then make tens of MB of text."""

_REUSED = (32 << 20) - (1 << 16)
"""Just below the size from which glibc's malloc always takes memory from the system, and returns it at once."""


class ByteWriter(Protocol):
    """A binary stream."""

    def write(self, data: Text, /) -> object: ...


def write_pieces(stream: ByteWriter, pieces: Iterable[Text]) -> None:
    """Write pieces one after the other."""
    for piece in pieces:
        stream.write(piece)


def row_blocks(shape: tuple[int, ...], cells: int, threads: int) -> Iterator[tuple[int, int]]:
    """Cut a matrix into blocks of rows [start, stop) that `threads` threads format. cells: cells of a block if threads are few."""
    rows, columns = shape
    step = max(1, cells * min(_LARGER, -(-threads // _MORE_THREADS)) // max(1, columns))
    for start in range(0, rows, step):
        yield start, min(rows, start + step)


def keep_freed_memory() -> None:
    """Make glibc's malloc keep freed memory. Once `_REUSED` bytes were freed, it keeps up to twice as much. Otherwise every block of text
    is made in fresh pages, which takes as long as filling them."""
    bytes(_REUSED)


class NullWriter:
    """Stream that discards everything, for sinks that keep their results or write them elsewhere."""

    def write(self, data: Text, /) -> None:
        pass
