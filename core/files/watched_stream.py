"""A stream that records its position and the last byte read."""

from __future__ import annotations

import io
from typing import BinaryIO, cast

from gpualign.core.files.decompression import is_regular_file

_BUFFER_BYTES = 1 << 20


class WatchedStream(io.RawIOBase):
    """Stream that records its position and the last byte read.

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


CUT_NOTE = "the last line has no line end, so it may be cut"


def watch_line_end(stream: BinaryIO, text: BinaryIO) -> tuple[BinaryIO, WatchedStream | None]:
    """Return (text; the stream below it, which records whether what was read ends with a line end, or None for a regular file, which is
    taken to be complete).

    stream: the input
    text: its decompressed text
    """
    if is_regular_file(stream):
        return text, None
    watched = WatchedStream(text)
    return io.BufferedReader(watched, _BUFFER_BYTES), watched
