"""Files that are written behind the back of who fills them, so that text is made while the system copies what was made before."""

from __future__ import annotations

import weakref
from collections import deque
from functools import partial
from typing import TYPE_CHECKING, BinaryIO

from gpualign.core.common.threads import SerialExecutor
from gpualign.core.output.writer import Text

if TYPE_CHECKING:
    from concurrent.futures import Future

_LARGE = 256 << 10
"""Bytes that are worth another thread."""

_MOST = 64 << 20
"""Bytes that wait, at most, beside those that are being written: text of CIGARs comes in bursts, a band of a GPU at a time."""


class BackgroundFile:
    """A file that is written from one end to the other. What is large is written by a thread of its own, in order. After an error nothing
    more is written; it is raised by one of the next calls, at the latest by `flush`, and by all that follow."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._thread: SerialExecutor | None = None
        self._waiting: deque[tuple[Future[int], int]] = deque()
        self._held = 0
        self._error: BaseException | None = None

    def write(self, data: Text) -> None:
        if self._thread is None:
            if len(data) < _LARGE:
                self._file.write(data)
                return
            self._thread = SerialExecutor("gpualign-write")
            weakref.finalize(self, self._thread.stop)
        while self._waiting and (self._held + len(data) > _MOST or self._waiting[0][0].done()):
            self._take_one()
        self._waiting.append((self._thread.submit(partial(self._write, data)), len(data)))
        self._held += len(data)

    def flush(self) -> None:
        """Everything leaves this process."""
        while self._waiting:
            self._take_one()
        self._check()
        self._file.flush()

    def tell(self) -> int:
        """Bytes until here, after a `flush`."""
        return self._file.tell()

    def close(self) -> None:
        """The same, and the thread ends; the file stays open."""
        try:
            self.flush()
        finally:
            if self._thread is not None:
                self._thread.close()
                self._thread = None

    def _take_one(self) -> None:
        written, size = self._waiting.popleft()
        self._held -= size
        written.result()

    def _write(self, data: Text) -> int:
        """In the thread."""
        self._check()
        try:
            return self._file.write(data)
        except BaseException as error:
            self._error = error
            raise

    def _check(self) -> None:
        if self._error is not None:
            raise self._error
