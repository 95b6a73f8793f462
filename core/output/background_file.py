"""Write-behind files: a background thread writes while the caller formats the next text."""

from __future__ import annotations

import weakref
from collections import deque
from functools import partial
from typing import TYPE_CHECKING, BinaryIO

from gpualign.core.common.threads import SerialExecutor
from gpualign.core.output.writer import TextBytes

if TYPE_CHECKING:
    from concurrent.futures import Future

_BACKGROUND_BYTES = 256 << 10
"""Minimum size, in bytes, of a write that is left to the background thread."""

_MAX_WAITING_BYTES = 64 << 20
"""Maximum number of bytes queued, in addition to the bytes being written: CIGAR text comes in bursts, one GPU band at a time."""


class BackgroundFile:
    """A file written from beginning to end. A thread does large writes, in order. After an error, nothing more is written; one of the next
    methods called, `flush` at the latest, raises the error, and so does every later one."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._thread: SerialExecutor | None = None
        self._waiting: deque[tuple[Future[int], int]] = deque()
        self._held = 0
        self._error: BaseException | None = None

    def write(self, data: TextBytes) -> None:
        if self._thread is None:
            if len(data) < _BACKGROUND_BYTES:
                self._file.write(data)
                return
            self._thread = SerialExecutor("gpualign-write")
            weakref.finalize(self, self._thread.stop)
        while self._waiting and (self._held + len(data) > _MAX_WAITING_BYTES or self._waiting[0][0].done()):
            self._await_oldest_write()
        self._waiting.append((self._thread.submit(partial(self._write, data)), len(data)))
        self._held += len(data)

    def flush(self) -> None:
        """Pass all bytes to the operating system."""
        while self._waiting:
            self._await_oldest_write()
        self._raise_if_failed()
        self._file.flush()

    def tell(self) -> int:
        """Return the number of bytes written so far; call `flush` first."""
        return self._file.tell()

    def close(self) -> None:
        """Flush and stop the thread; the file stays open."""
        try:
            self.flush()
        finally:
            if self._thread is not None:
                self._thread.close()
                self._thread = None

    def _await_oldest_write(self) -> None:
        written, size = self._waiting.popleft()
        self._held -= size
        written.result()

    def _write(self, data: TextBytes) -> int:
        """Write data; runs in the background thread."""
        self._raise_if_failed()
        try:
            return self._file.write(data)
        except BaseException as error:
            self._error = error
            raise

    def _raise_if_failed(self) -> None:
        if self._error is not None:
            raise self._error
