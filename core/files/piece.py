"""Bytes of a file by which it is known again."""

from __future__ import annotations

import os
from collections.abc import Iterator

from gpualign.core.common.dataclass import dataclass


@dataclass(frozen=True)
class Piece:
    """Stretches of bytes: `count` of them, the first from `start` on and `length` long, each of the others `step` bytes behind the one
    before it and `less` bytes shorter, as rows of a matrix are from the diagonal on."""

    start: int
    length: int
    count: int = 1
    step: int = 0
    less: int = 0

    def stretches(self) -> Iterator[tuple[int, int]]:
        """(start, length) of each."""
        for number in range(self.count):
            yield self.start + number * self.step, self.length - number * self.less

    @property
    def shortest(self) -> int:
        """Length of the last stretch."""
        return self.length - (self.count - 1) * self.less

    @property
    def stop(self) -> int:
        """Behind the last byte; 0 where there is no stretch."""
        return self.start + (self.count - 1) * self.step + self.shortest if self.count else 0

    @property
    def size(self) -> int:
        """Bytes in all."""
        return self.count * (self.length + self.shortest) // 2

    def scaled(self, size: int, offset: int) -> Piece:
        """The same in bytes, where it counts values of so many bytes, the first of which is at `offset`."""
        return Piece(offset + self.start * size, self.length * size, self.count, self.step * size, self.less * size)

    def ending(self, most: int) -> Piece:
        """The last stretches, as many as have `most` bytes together; of a single one that has more its last `most`."""
        first, held = self.count, 0
        while first and (held := held + self.length - (first - 1) * self.less) <= most:
            first -= 1
        if first and first == self.count:
            return Piece(self.stop - most, most)
        return Piece(self.start + first * self.step, self.length - first * self.less, self.count - first, self.step, self.less)

    def checksum(self, descriptor: int) -> int:
        """CRC-32 of these bytes of an open file, or of those of them that it has. Raises `OSError`."""
        import zlib  # runs of a moment need none

        found = 0
        for start, length in self.stretches():
            found = zlib.crc32(os.pread(descriptor, length, start), found)
        return found
