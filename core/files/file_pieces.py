"""Describes pieces of a file by evenly spaced intervals of bytes, and computes their checksums."""

from __future__ import annotations

import os
from collections.abc import Iterator

from gpualign.core.common.dataclass import dataclass


@dataclass(frozen=True)
class StridedRange:
    """Evenly spaced intervals of bytes ("stretches"), such as the parts of a matrix's rows from the diagonal on.

    start: first byte of the first stretch
    length: length of the first stretch in bytes
    count: number of stretches
    step: number of bytes from the start of one stretch to the start of the next
    shrinkage: number of bytes by which each stretch is shorter than the previous stretch
    """

    start: int
    length: int
    count: int = 1
    step: int = 0
    shrinkage: int = 0

    def stretches(self) -> Iterator[tuple[int, int]]:
        """Yield (start, length) for each stretch."""
        for number in range(self.count):
            yield self.start + number * self.step, self.length - number * self.shrinkage

    @property
    def last_stretch_length(self) -> int:
        """Length of the last stretch, which is the shortest."""
        return self.length - (self.count - 1) * self.shrinkage

    @property
    def stop(self) -> int:
        """Position in the file after the last byte of the last stretch; 0 if there are no stretches."""
        return self.start + (self.count - 1) * self.step + self.last_stretch_length if self.count else 0

    @property
    def size(self) -> int:
        """Total number of bytes in all stretches."""
        return self.count * (self.length + self.last_stretch_length) // 2

    def scaled_to_bytes(self, value_bytes: int, offset: int) -> StridedRange:
        """Convert a range whose numbers count values to a range whose numbers count bytes.

        value_bytes: number of bytes per value
        offset: position of value 0 in the file
        """
        return StridedRange(
            offset + self.start * value_bytes, self.length * value_bytes, self.count, self.step * value_bytes, self.shrinkage * value_bytes
        )

    def tail(self, max_bytes: int) -> StridedRange:
        """Return as many of the last stretches as fit into `max_bytes` bytes. If not even one fits, return the last `max_bytes` bytes of
        the range."""
        first, held = self.count, 0
        while first and (held := held + self.length - (first - 1) * self.shrinkage) <= max_bytes:
            first -= 1
        if first and first == self.count:
            return StridedRange(self.stop - max_bytes, max_bytes)
        return StridedRange(
            self.start + first * self.step, self.length - first * self.shrinkage, self.count - first, self.step, self.shrinkage
        )

    def checksum(self, descriptor: int) -> int:
        """Return the CRC-32 of these bytes of an open file. Bytes past the end of the file are ignored.

        descriptor: descriptor of the file

        Raises `OSError` on read errors.
        """
        import zlib  # short runs do not need it

        checksum = 0
        for start, length in self.stretches():
            checksum = zlib.crc32(os.pread(descriptor, length, start), checksum)
        return checksum
