"""Prefetches a stream in a separate thread, so that a file is decompressed while the caller processes earlier data."""

from __future__ import annotations

import io
import weakref
from collections import deque
from functools import partial
from typing import TYPE_CHECKING

from gpualign.core.common.threads import SerialExecutor

if TYPE_CHECKING:
    from concurrent.futures import Future

BLOCK_COUNT = 3
"""Number of blocks: the caller reads one, one is full, and the thread fills one."""


class PrefetchingReader(io.RawIOBase):
    """Reads the remaining bytes of a stream ahead of the caller.

    An error in the stream is raised after all bytes that precede it have been returned. The thread ends at the end of the stream, or when
    this object is no longer referenced, and is not joined. This class is only for streams that never block: while a stream is blocked,
    closing its file would block too.

    block_bytes: size of each of the `BLOCK_COUNT` blocks that hold what has been read ahead
    """

    def __init__(self, stream: io.RawIOBase, block_bytes: int = 1 << 20) -> None:
        self._stream = stream
        self._thread = SerialExecutor("gpualign-read")
        weakref.finalize(self, self._thread.stop)
        self._pending: deque[Future[tuple[bytearray, int]]] = deque()
        for _ in range(BLOCK_COUNT):
            self._fill(bytearray(block_bytes))
        self._block, self._text = bytearray(), memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: object) -> int:
        view = memoryview(buffer)  # type: ignore[arg-type]
        if not self._text and self._pending:
            self._block, count = self._pending.popleft().result()
            self._text = memoryview(self._block)[:count]
            if not count:
                self._pending.clear()
                self._thread.stop()
        count = min(len(view), len(self._text))
        view[:count] = self._text[:count]
        self._text = self._text[count:]
        if count and not self._text:
            self._fill(self._block)
        return count

    def _fill(self, block: bytearray) -> None:
        self._pending.append(self._thread.submit(partial(_fill_block, self._stream, block)))


def _fill_block(stream: io.RawIOBase, block: bytearray) -> tuple[bytearray, int]:
    """Fill a block with the next bytes of a stream, and return (block, number of bytes). The number is 0 at the end of the stream."""
    return block, stream.readinto(block) or 0
