"""Reserves disk space for memory-mapped output files."""

from __future__ import annotations

import errno
import os
import time
from typing import BinaryIO

from gpualign.core.files.scratch import naming_folder_of

_MAX_EXTRA_SECONDS = 0.1
"""Time, in seconds, that each write may spend on reserving more space than it needs. On a disk, reserving a whole file takes less time than
this."""

_PIECE_BYTES = 64 << 20


class DiskPreallocation:
    """Reserves space for a file of known size, so that a full disk raises an `OSError` instead of a bus error in the mapping.

    An in-memory file system clears the pages that it allocates, at about 5 GB/s, and devices would have to wait for this. Space is
    therefore reserved piece by piece at each write, while devices compute, so that all space is reserved before results come fast, near the
    end. If the file clearly does not fit, the `OSError` is raised at once.
    """

    def __init__(self, file: BinaryIO, size: int) -> None:
        self._file = file
        self._size = size
        self._done = 0
        file.flush()
        with naming_folder_of(file):
            if not hasattr(os, "posix_fallocate"):
                self._fill()
                return
            self._check_free_space()
            os.truncate(file.fileno(), size)

    def reserve_up_to(self, stop: int) -> None:
        """Reserve bytes [0, stop), which are about to be written, and more if that is quick."""
        if self._done == self._size:
            return
        self._reserve(max(stop, self._done + _PIECE_BYTES))
        until, piece = time.monotonic() + _MAX_EXTRA_SECONDS, _PIECE_BYTES
        while self._done < self._size and time.monotonic() < until:
            self._reserve(self._done + piece)
            piece *= 2

    def _reserve(self, stop: int) -> None:
        stop = min(self._size, stop)
        with naming_folder_of(self._file):
            os.posix_fallocate(self._file.fileno(), self._done, stop - self._done)
        self._done = stop

    def _check_free_space(self) -> None:
        disk = os.fstatvfs(self._file.fileno())
        taken = os.fstat(self._file.fileno()).st_blocks * 512
        if disk.f_blocks and self._size - taken > disk.f_bfree * disk.f_frsize:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def _fill(self) -> None:
        self._file.seek(0, os.SEEK_END)
        zeros = bytes(1 << 20)
        while (remaining := self._size - self._file.tell()) > 0:
            self._file.write(zeros[:remaining])
        self._file.flush()
        self._done = self._size
