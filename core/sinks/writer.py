"""What writers of text write to."""

from __future__ import annotations

from typing import Protocol


class ByteWriter(Protocol):
    """A binary stream."""

    def write(self, data: bytes, /) -> object: ...


class Nowhere:
    """For sinks that keep what they are given, or write it elsewhere."""

    def write(self, data: bytes, /) -> None:
        pass
