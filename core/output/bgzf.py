"""BGZF, the blocked gzip of htslib's `bgzip`: text is compressed in small members, so that a run can resume after any of them.

Member boundaries depend only on the text (one every `MEMBER_TEXT_BYTES`), never on the size of individual writes, so identical text gives
identical files however often the run was interrupted. Format: SAM/BAM specification, section 4.1.
"""

from __future__ import annotations

import struct
import zlib

from gpualign.core.common.threads import ThreadPool
from gpualign.core.files.bgzf_blocks import BGZF_EOF_BLOCK
from gpualign.core.output.writer import ByteWriter, TextBytes

MEMBER_TEXT_BYTES = 0xFF00
"""Bytes of text in a member. Even if the text cannot be compressed, the member is smaller than 64 KB."""

_COMPRESSION_LEVEL = 1
"""Compression level. Level 1 is three to five times as fast as gzip's level 6; columns of numbers take a tenth more space, and paths a
third more. The library isal is faster still, but does not always produce equal bytes from equal text."""

_MEMBER_HEADER = struct.Struct("<4BIBBHBBHH")
_MEMBER_TRAILER = struct.Struct("<II")


def _compress_member(text: bytes) -> bytes:
    packer = zlib.compressobj(_COMPRESSION_LEVEL, zlib.DEFLATED, -15)
    packed = packer.compress(text) + packer.flush()
    size = _MEMBER_HEADER.size + len(packed) + _MEMBER_TRAILER.size
    # No name and no time, so that equal texts give equal bytes; the extra field holds the size of the member, less one.
    header = _MEMBER_HEADER.pack(31, 139, 8, 4, 0, 0, 255, 6, 66, 67, 2, size - 1)
    return header + packed + _MEMBER_TRAILER.pack(zlib.crc32(text), len(text))


class BgzfWriter:
    """Writes text to a binary file, compressed as BGZF.

    position: (bytes of text, compressed bytes) in the members already in the file
    threads: compression threads
    """

    def __init__(self, file: ByteWriter, position: tuple[int, int] = (0, 0), threads: int = 1) -> None:
        self._file = file
        self._threads = ThreadPool(threads)
        self._held = bytearray()
        self.written_text_bytes, self.written_bytes = position

    def write(self, data: TextBytes) -> None:
        self._held += data
        whole = len(self._held) // MEMBER_TEXT_BYTES * MEMBER_TEXT_BYTES
        texts = (bytes(self._held[start : start + MEMBER_TEXT_BYTES]) for start in range(0, whole, MEMBER_TEXT_BYTES))
        for member in self._threads.imap(_compress_member, texts):
            self._write_member(member, MEMBER_TEXT_BYTES)
        del self._held[:whole]

    def _write_member(self, member: bytes, text_bytes: int) -> None:
        self._file.write(member)
        self.written_text_bytes += text_bytes
        self.written_bytes += len(member)

    def finish(self) -> None:
        """Write the last member and the empty member that marks a complete file."""
        self._threads.close()
        if self._held:
            self._write_member(_compress_member(bytes(self._held)), len(self._held))
            self._held.clear()
        self._file.write(BGZF_EOF_BLOCK)
