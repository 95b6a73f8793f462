"""Streams that a thread of their own reads ahead, so that a file is unpacked while what was unpacked before is put to use."""

from __future__ import annotations

import io
import weakref
from collections import deque
from functools import partial
from typing import TYPE_CHECKING

from gpualign.core.common.threads import SerialExecutor

if TYPE_CHECKING:
    from concurrent.futures import Future

_BLOCK = 1 << 20
_BLOCKS = 3
"""Those that are filled or wait to be: one that is read from, one that is full, one that is being filled."""


class PrefetchingReader(io.RawIOBase):
    """What a stream has left. An error is raised where it is met, behind all that was read before. The thread ends with the stream, or
    when nobody holds this any more; nobody waits for it. For streams that do not wait for anybody: who closes the file below one that
    does would wait as well."""

    def __init__(self, stream: io.RawIOBase) -> None:
        self._stream = stream
        self._thread = SerialExecutor("gpualign-read")
        weakref.finalize(self, self._thread.stop)
        self._coming: deque[Future[tuple[bytearray, int]]] = deque()
        for _ in range(_BLOCKS):
            self._fill(bytearray(_BLOCK))
        self._block, self._text = bytearray(), memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: object) -> int:
        view = memoryview(buffer)  # type: ignore[arg-type]
        if not self._text and self._coming:
            self._block, count = self._coming.popleft().result()
            self._text = memoryview(self._block)[:count]
            if not count:
                self._coming.clear()
                self._thread.stop()
        count = min(len(view), len(self._text))
        view[:count] = self._text[:count]
        self._text = self._text[count:]
        if count and not self._text:
            self._fill(self._block)
        return count

    def _fill(self, block: bytearray) -> None:
        self._coming.append(self._thread.submit(partial(_filled, self._stream, block)))


def _filled(stream: io.RawIOBase, block: bytearray) -> tuple[bytearray, int]:
    """In the thread. A block with the next bytes of a stream, and how many these are, none at its end."""
    return block, stream.readinto(block) or 0
