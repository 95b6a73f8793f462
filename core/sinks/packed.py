"""Text packed as gzip in small members, so that a run can go on behind any of them: BGZF, the blocked gzip of htslib's `bgzip`.

Members are cut by the text alone, a member every `MEMBER_TEXT` bytes, never by what is written at a time: the same text is the same file,
however often its run was interrupted. Format: SAM/BAM specification, section 4.1.
"""

from __future__ import annotations

import struct

from gpualign.core.sinks.writer import ByteWriter

MEMBER_TEXT = 0xFF00
"""Bytes of text in a member; also where it cannot be packed, a member has fewer than 64 KB."""

_LEVEL = 1
"""Of 0 to 3. Ten times as fast as gzip's 6, for files of columns of numbers a twentieth larger, of paths a quarter."""

_HEADER = struct.Struct("<4BIBBHBBHH")
_TRAILER = struct.Struct("<II")

_END = bytes.fromhex("1f8b08040000000000ff0600424302001b0003000000000000000000")
"""The empty member by which readers know that a file is whole."""


def _member(text: bytes) -> bytes:
    from isal import isal_zlib  # few runs pack

    packer = isal_zlib.compressobj(_LEVEL, isal_zlib.DEFLATED, -15)
    packed = packer.compress(text) + packer.flush()
    size = _HEADER.size + len(packed) + _TRAILER.size
    # No name and no time, so that the same text is the same bytes; the extra field holds the size of the member, less one.
    header = _HEADER.pack(31, 139, 8, 4, 0, 0, 255, 6, 66, 67, 2, size - 1)
    return header + packed + _TRAILER.pack(isal_zlib.crc32(text), len(text))


class PackedText:
    """A writer of text to a binary file. position: (text, packed bytes) of the members that the file holds already; known: bytes of the
    text written next that are in them."""

    def __init__(self, file: ByteWriter, position: tuple[int, int] = (0, 0), known: int = 0) -> None:
        self._file = file
        self._held = bytearray()
        self._known = known
        self.packed_text, self.packed_bytes = position
        self.text = self.packed_text - known

    def write(self, data: bytes) -> None:
        self.text += len(data)
        if self._known:
            passed = min(self._known, len(data))
            self._known -= passed
            data = data[passed:]
        self._held += data
        whole = len(self._held) // MEMBER_TEXT * MEMBER_TEXT
        for start in range(0, whole, MEMBER_TEXT):
            self._put(bytes(self._held[start : start + MEMBER_TEXT]))
        del self._held[:whole]

    def _put(self, text: bytes) -> None:
        member = _member(text)
        self._file.write(member)
        self.packed_text += len(text)
        self.packed_bytes += len(member)

    def finish(self) -> None:
        """No text follows."""
        if self._held:
            self._put(bytes(self._held))
            self._held.clear()
        self._file.write(_END)
