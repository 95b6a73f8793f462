"""The blocks of a BGZF file, which htslib's `bgzip` makes: gzip members of up to 64 KB that state their size, and an empty one at the end.

Format: SAM/BAM specification, section 4.1.
"""

from __future__ import annotations

import io
from typing import BinaryIO, cast

BGZF_EOF_BLOCK = bytes.fromhex("1f8b08040000000000ff0600424302001b0003000000000000000000")
"""The empty block at the end, which marks a complete file."""

CUT_BETWEEN_BLOCKS = "truncated bgzip file: the last block, which is empty, is missing; copy or make it again"
"""Message about a file that lacks that block."""

BLOCK_HEADER_BYTES = 18


def begins_block(header: bytes) -> bool:
    """Return whether `BLOCK_HEADER_BYTES` bytes are the header of a block."""
    return header[:4] == BGZF_EOF_BLOCK[:4] and header[12:14] == b"BC"


class BgzfBlockStream(io.RawIOBase):
    """Stream of the compressed bytes of a file. It records where blocks end, as long as all members are blocks of BGZF."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = cast(io.BufferedReader, stream)
        self._header = b""
        self._remaining = 0  # unread bytes of the current block
        self._block_bytes = 0  # size of the current block
        self._all_blocks = True

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: object) -> int:
        view = memoryview(buffer)  # type: ignore[arg-type]
        count = self._stream.readinto(view)
        if self._all_blocks:
            self._follow(view[:count])
        return count

    @property
    def lacks_end(self) -> bool:
        """True if what has been read ends with a whole block, but not with the empty one."""
        return self._all_blocks and not self._remaining and not self._header and self._block_bytes > len(BGZF_EOF_BLOCK)

    def _follow(self, data: memoryview) -> None:
        """Update the position in the blocks after reading `data`."""
        at = 0
        while at < len(data):
            if self._remaining:
                step = min(self._remaining, len(data) - at)
                self._remaining -= step
            else:
                step = min(BLOCK_HEADER_BYTES - len(self._header), len(data) - at)
                self._header += data[at : at + step]
                if len(self._header) == BLOCK_HEADER_BYTES and not self._begin_block():
                    return
            at += step

    def _begin_block(self) -> bool:
        """Take the size of the block from its header. Returns False if it is no block of BGZF."""
        header, self._header = self._header, b""
        self._block_bytes = int.from_bytes(header[16:18], "little") + 1
        self._remaining = self._block_bytes - BLOCK_HEADER_BYTES
        self._all_blocks = begins_block(header) and self._remaining > 0
        return self._all_blocks
