"""Room on a disk for files that are written through a memory map."""

from __future__ import annotations

import errno
import os
import time
from typing import BinaryIO

_MOMENT = 0.1
"""Seconds that may be spent each time on more than what is about to be written. On a disk all of a file is reserved in less."""

_PIECE = 64 << 20


class DiskPreallocation:
    """Makes sure of room for a file of a known size, so that a full disk is an OSError and not a bus error in the map.

    A file system in memory clears what it gives, some 5 GB a second, which devices would have to wait for: it gives the file in parts
    whenever something is written, while devices compute, so that all is there before results come fast, near the end. Raises `OSError`,
    at once where there is clearly no room for all.
    """

    def __init__(self, file: BinaryIO, size: int) -> None:
        self._file = file
        self._size = size
        self._done = 0
        file.flush()
        if not hasattr(os, "posix_fallocate"):
            self._fill()
            return
        self._look_for_room()
        os.truncate(file.fileno(), size)

    def up_to(self, stop: int) -> None:
        """Bytes [0, stop) may be written."""
        if self._done == self._size:
            return
        self._take(max(stop, self._done + _PIECE))
        until, piece = time.monotonic() + _MOMENT, _PIECE
        while self._done < self._size and time.monotonic() < until:
            self._take(self._done + piece)
            piece *= 2

    def _take(self, stop: int) -> None:
        stop = min(self._size, stop)
        os.posix_fallocate(self._file.fileno(), self._done, stop - self._done)
        self._done = stop

    def _look_for_room(self) -> None:
        disk = os.fstatvfs(self._file.fileno())
        taken = os.fstat(self._file.fileno()).st_blocks * 512
        if disk.f_blocks and self._size - taken > disk.f_bfree * disk.f_frsize:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def _fill(self) -> None:
        self._file.seek(0, os.SEEK_END)
        zeros = bytes(1 << 20)
        while (left := self._size - self._file.tell()) > 0:
            self._file.write(zeros[:left])
        self._file.flush()
        self._done = self._size
