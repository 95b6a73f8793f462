"""BGZF, the blocked gzip of htslib's `bgzip`: text is compressed in small members, so that a run can resume after any of them.

Member boundaries depend only on the text (one every `MEMBER_TEXT` bytes), never on the size of individual writes, so identical text gives
identical files however often the run was interrupted. Format: SAM/BAM specification, section 4.1.
"""

from __future__ import annotations

import struct
import zlib

from gpualign.core.common.threads import ThreadPool
from gpualign.core.output.writer import ByteWriter, Text

MEMBER_TEXT = 0xFF00
"""Bytes of text in a member. Even if the text cannot be compressed, the member is smaller than 64 KB."""

_LEVEL = 1
"""Compression level: three to five times as fast as gzip's 6; columns of numbers take a tenth more space, paths a third more. isal is
faster still, but does not always produce equal bytes from equal text."""

_HEADER = struct.Struct("<4BIBBHBBHH")
_TRAILER = struct.Struct("<II")

_END = bytes.fromhex("1f8b08040000000000ff0600424302001b0003000000000000000000")
"""The empty member at the end, which marks a complete file."""


def _member(text: bytes) -> bytes:
    packer = zlib.compressobj(_LEVEL, zlib.DEFLATED, -15)
    packed = packer.compress(text) + packer.flush()
    size = _HEADER.size + len(packed) + _TRAILER.size
    # No name and no time, so that equal texts give equal bytes; the extra field holds the size of the member, less one.
    header = _HEADER.pack(31, 139, 8, 4, 0, 0, 255, 6, 66, 67, 2, size - 1)
    return header + packed + _TRAILER.pack(zlib.crc32(text), len(text))


class BgzfWriter:
    """Writes text to a binary file, compressed.

    position: (bytes of text, compressed bytes) in the members already in the file
    threads: compression threads
    """

    def __init__(self, file: ByteWriter, position: tuple[int, int] = (0, 0), threads: int = 1) -> None:
        self._file = file
        self._threads = ThreadPool(threads)
        self._held = bytearray()
        self.packed_text, self.packed_bytes = position

    def write(self, data: Text) -> None:
        self._held += data
        whole = len(self._held) // MEMBER_TEXT * MEMBER_TEXT
        texts = (bytes(self._held[start : start + MEMBER_TEXT]) for start in range(0, whole, MEMBER_TEXT))
        for member in self._threads.stream(_member, texts):
            self._put(member, MEMBER_TEXT)
        del self._held[:whole]

    def _put(self, member: bytes, text: int) -> None:
        self._file.write(member)
        self.packed_text += text
        self.packed_bytes += len(member)

    def finish(self) -> None:
        """Write the last member and the end of the file."""
        self._threads.close()
        if self._held:
            self._put(_member(bytes(self._held)), len(self._held))
            self._held.clear()
        self._file.write(_END)
