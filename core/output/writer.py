"""What writers of text write to."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Protocol, TypeAlias

Text: TypeAlias = bytes | bytearray


_MORE_THREADS = 4
"""Threads that blocks of the least size do not keep waiting for each other."""

_LARGER = 4
"""Times as large as that blocks are at most, of tens of MB of text then."""

_REUSED = (32 << 20) - (1 << 16)
"""Bytes just below those that glibc's malloc always takes from the system, and gives back at once."""


class ByteWriter(Protocol):
    """A binary stream."""

    def write(self, data: Text, /) -> object: ...


def write_pieces(stream: ByteWriter, pieces: Iterable[Text]) -> None:
    """One behind the other."""
    for piece in pieces:
        stream.write(piece)


def row_blocks(shape: tuple[int, ...], cells: int, threads: int) -> Iterator[tuple[int, int]]:
    """First row and the one behind the last of blocks of a matrix of which so many threads make text; cells: of a block for few of them."""
    rows, columns = shape
    step = max(1, cells * min(_LARGER, -(-threads // _MORE_THREADS)) // max(1, columns))
    for start in range(0, rows, step):
        yield start, min(rows, start + step)


def keep_freed_memory() -> None:
    """Of glibc: from when so much was given back once, malloc keeps up to twice as much that is freed. Else every block of text is made in
    fresh pages, which takes as long as to fill them."""
    bytes(_REUSED)


class Nowhere:
    """For sinks that keep what they are given, or write it elsewhere."""

    def write(self, data: Text, /) -> None:
        pass
