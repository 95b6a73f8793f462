"""A stream that remembers where it is and what it has read last."""

from __future__ import annotations

import io
from typing import BinaryIO, cast


class WatchedStream(io.RawIOBase):
    """Stream that remembers its position and the last byte read.

    position: position of the next byte
    """

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = cast(io.BufferedReader, stream)
        self._last = 0
        self.position = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: object) -> int:
        view = memoryview(buffer)  # type: ignore[arg-type]
        if count := self._stream.readinto(view):
            self._last = view[count - 1]
            self.position += count
        return count

    def continue_in(self, file: BinaryIO, position: int) -> None:
        """Read the content of another stream from now on, from this position."""
        file.seek(position)
        self._stream, self.position = cast(io.BufferedReader, file), position

    @property
    def at_line_end(self) -> bool:
        """True if the last byte read ends a line."""
        return self._last in b"\r\n"
