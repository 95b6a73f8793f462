"""Output streams and row blocks for text writers, and a setting of malloc for freed memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache
from itertools import islice
from typing import Protocol, TypeAlias

TextBytes: TypeAlias = bytes | bytearray

_LINES_PER_WRITE = 10_000

_MAX_SMALL_BLOCK_THREADS = 4
"""Maximum number of threads that share blocks of the smallest size without waiting for each other; with more threads, blocks are larger."""

_MAX_BLOCK_GROWTH = 4
"""Maximum factor by which blocks exceed the smallest size; the largest blocks take tens of MB of text."""

_FREED_BYTES = (32 << 20) - (1 << 16)
"""Number of bytes just below a fixed limit of glibc's malloc, which always requests larger blocks from the system, and returns them as soon
as they are freed."""


class ByteWriter(Protocol):
    """A binary stream."""

    def write(self, data: TextBytes, /) -> object: ...


def write_lines(stream: ByteWriter, lines: Iterable[str]) -> None:
    """Write lines of text, many at a time. lines: with their line ends."""
    iterator = iter(lines)
    while text := "".join(islice(iterator, _LINES_PER_WRITE)):
        stream.write(text.encode("utf-8", "surrogateescape"))


def row_blocks(shape: tuple[int, ...], min_cells: int, threads: int) -> Iterator[tuple[int, int]]:
    """Yield (start, stop) of consecutive blocks of a matrix's rows. The more formatting threads there are, the larger the blocks.

    min_cells: approximate number of values in a block if there are few threads
    """
    rows, columns = shape
    step = max(1, min_cells * min(_MAX_BLOCK_GROWTH, -(-threads // _MAX_SMALL_BLOCK_THREADS)) // max(1, columns))
    for start in range(0, rows, step):
        yield start, min(rows, start + step)


@cache
def keep_freed_memory() -> None:
    """Make glibc's malloc keep freed memory: once a program has freed a block of `_FREED_BYTES`, malloc retains up to twice that amount.
    Otherwise every block of text would be allocated in fresh pages, which takes as long as filling them.

    Once in a process: malloc does not forget it, and clears a second block like this one byte by byte.
    """
    bytes(_FREED_BYTES)


class NullWriter:
    """Stream that discards everything, for sinks that keep their results or write them elsewhere."""

    def write(self, data: TextBytes, /) -> None:
        pass


class CountingStream:
    """Stream that counts bytes and discards them."""

    def __init__(self) -> None:
        self.size = 0

    def write(self, data: TextBytes, /) -> None:
        self.size += len(data)
