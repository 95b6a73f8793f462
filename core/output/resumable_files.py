"""Files that grow row by row and report their positions, so that a later run can resume from there (core/files/journal.py)."""

from __future__ import annotations

from typing import BinaryIO, Protocol

from gpualign.core.output.background_file import BackgroundFile
from gpualign.core.output.bgzf import BgzfWriter
from gpualign.core.output.writer import ByteWriter, TextBytes

ResumePosition = tuple[int, int, int]
"""Position at which a run resumes a file: bytes kept, bytes of text in the kept bytes, and bytes of this text that are written again."""


class ResumableOutput(Protocol):
    """Writer for a file that grows row by row."""

    def header_written(self) -> None:
        """Note that everything before the first row has been written."""

    def resume_position(self) -> tuple[int, int, int]:
        """Pass all data to the operating system, and return the position: (bytes in the file, bytes of text that they represent, text
        position at which the last row ends). The two sizes differ if the file is compressed."""


class ResumableFile:
    """A file of numbers; the caller writes to it."""

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
    """Text of rows after a header. A run that resumes a file writes the header again, and perhaps some rows; what the file already contains
    is left out.

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


class TextFile(ResumableText):
    """Plain text. resume_position: where this run resumes the file; None for a new file"""

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
        size, text, _ = resume_position or (0, 0, 0)
        self._packed = BgzfWriter(file, (text, size), threads)
        super().__init__(file, self._packed, resume_position)

    def resume_position(self) -> tuple[int, int, int]:
        """Return (size of the complete gzip members in the file, size of their text, text position at which the last row ends), in
        bytes."""
        self.file.flush()
        return self._packed.written_bytes, self._packed.written_text_bytes, self._end

    def finish(self) -> None:
        """Write the remaining text and the end of the file."""
        self._packed.finish()
        self.file.flush()
