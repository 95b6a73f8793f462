"""Files that a background thread writes, and files that report how far they have grown, so that a later run can resume
(core/files/journal.py)."""

from __future__ import annotations

import weakref
from collections import deque
from functools import partial
from typing import TYPE_CHECKING, BinaryIO, Protocol

from gpualign.core.common.threads import SerialExecutor
from gpualign.core.output.writer import ByteWriter, TextBytes

if TYPE_CHECKING:
    from concurrent.futures import Future

_BACKGROUND_BYTES = 256 << 10
"""Minimum size, in bytes, of the first write that is left to the background thread, which then does all later writes."""

_MAX_WAITING_BYTES = 64 << 20
"""Maximum number of bytes in the queue of the background thread, in addition to the bytes that it is writing. CIGAR text comes in bursts,
one GPU band at a time."""

ResumePosition = tuple[int, int, int]
"""Position at which a run resumes a file: (bytes of the file that are kept, bytes of text that they represent, bytes of this text that the
run writes again)."""


class ResumableOutput(Protocol):
    """Writer for a file that grows row by row."""

    def header_written(self) -> None:
        """Record that everything before the first row has been written."""

    def resume_position(self) -> tuple[int, int, int]:
        """Pass all data to the operating system, and return the position: (bytes in the file, bytes of text that they represent, text
        position at which the last row ends). The two sizes differ if the file is compressed."""


class ResumableFile:
    """A binary output file that tells how far it has grown, so that a later run can resume it. The caller writes numbers to the file
    itself; for text, see `TextFile`."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file

    def header_written(self) -> None:
        pass

    def resume_position(self) -> tuple[int, int, int]:
        """Return (size, size, size): for a file of numbers, all three positions are the size of the file, in bytes."""
        self._file.flush()
        size = self._file.tell()
        return size, size, size


class ResumableText:
    """Text that consists of a header and rows. A run that resumes a file writes the header again, and perhaps some rows; what the file
    already contains is left out.

    file: the file
    writer: writes text to the file
    resume_position: where this run resumes the file; None for a new file

    Attributes:
    header_bytes: bytes of text before the first row, once `header_written` was called
    """

    def __init__(self, file: BinaryIO, writer: ByteWriter, resume_position: ResumePosition | None) -> None:
        self.file = file
        self.header_bytes = 0
        self._writer = writer
        self._in_header, self._is_resumed = True, resume_position is not None
        _, text, self._known = resume_position or (0, 0, 0)
        self._end = text - self._known

    def write(self, data: TextBytes) -> None:
        if self._in_header:
            self.header_bytes += len(data)
            if self._is_resumed:
                return
        self._end += len(data)
        passed = min(self._known, len(data))
        self._known -= passed
        self._writer.write(data[passed:] if passed else data)

    def header_written(self) -> None:
        self._in_header = False


class BackgroundFile:
    """A file that is written from beginning to end. From the first large write on, a background thread does the writes, in order, while the
    caller formats the next text. After an error, nothing more is written. One of the next method calls, `flush` at the latest, raises the
    error, and so does every later one."""

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
        """Write all bytes and stop the thread. The file itself stays open."""
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


class TextFile(ResumableText):
    """Plain text file. resume_position: where this run resumes the file; None for a new file"""

    def __init__(self, file: BinaryIO, resume_position: ResumePosition | None) -> None:
        self._background = BackgroundFile(file)
        super().__init__(file, self._background, resume_position)

    def resume_position(self) -> tuple[int, int, int]:
        """Return (file size, size of the text, text position at which the last row ends), in bytes. The first two are equal."""
        self._background.flush()
        size = self._background.tell()
        return size, size, self._end

    def finish(self) -> None:
        """Write the remaining text; call after the last write."""
        self._background.close()


class GzipTextFile(ResumableText):
    """Text compressed with gzip.

    resume_position: where this run resumes the file; None for a new file
    threads: compression threads
    """

    def __init__(self, file: BinaryIO, resume_position: ResumePosition | None, threads: int) -> None:
        from gpualign.core.output.bgzf import BgzfWriter

        size, text, _ = resume_position or (0, 0, 0)
        self._packed = BgzfWriter(file, (text, size), threads)
        super().__init__(file, self._packed, resume_position)

    def resume_position(self) -> tuple[int, int, int]:
        """Return (size of the complete gzip members in the file, size of their text, text position at which the last row ends), in
        bytes."""
        self.file.flush()
        return self._packed.written_bytes, self._packed.written_text_bytes, self._end

    def finish(self) -> None:
        """Write the remaining text and the gzip trailer."""
        self._packed.finish()
        self.file.flush()
