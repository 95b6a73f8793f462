"""What writers of text write to."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol, TypeAlias

Text: TypeAlias = bytes | bytearray


class ByteWriter(Protocol):
    """A binary stream."""

    def write(self, data: Text, /) -> object: ...


def write_pieces(stream: ByteWriter, pieces: Iterable[Text]) -> None:
    """One behind the other."""
    for piece in pieces:
        stream.write(piece)


class Nowhere:
    """For sinks that keep what they are given, or write it elsewhere."""

    def write(self, data: Text, /) -> None:
        pass
