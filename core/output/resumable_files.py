"""Files that grow row by row and report their positions, so that a later run can resume from there (core/files/journal.py)."""

from __future__ import annotations

from collections.abc import Callable
from typing import BinaryIO

from gpualign.core.output.background_file import BackgroundFile
from gpualign.core.output.bgzf import BgzfWriter
from gpualign.core.output.writer import Text

ResumePosition = tuple[int, int, int]
"""Position at which a run resumes a file: bytes kept, bytes of text in the kept bytes, and bytes of this text that are written again."""


class GrowingFile:
    """A file of numbers; the caller writes to it."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file

    def position(self) -> tuple[int, int, int]:
        """Return the file size three times: as file bytes, as bytes of text and as the end of the rows."""
        self._file.flush()
        size = self._file.tell()
        return size, size, size


class TextFile:
    """Writes plain text.

    resume_position: where this run resumes the file; None for a new file
    muted: returns whether the text being written, which precedes the first row, is already in the file
    """

    def __init__(self, file: BinaryIO, resume_position: ResumePosition | None, muted: Callable[[], bool]) -> None:
        self._file = BackgroundFile(file)
        self._muted = muted
        self._known = resume_position[2] if resume_position else 0
        self._end = (resume_position[1] if resume_position else 0) - self._known
        self.bytes_written = 0
        """Bytes written, including bytes that were already in the file."""

    def write(self, data: Text) -> None:
        self.bytes_written += len(data)
        if self._muted():
            return
        self._end += len(data)
        passed = min(self._known, len(data))
        self._known -= passed
        self._file.write(data[passed:] if passed else data)

    def position(self) -> tuple[int, int, int]:
        """Return (file size, size of the text, which is the same, offset in the text where the rows end), all in bytes."""
        self._file.flush()
        size = self._file.tell()
        return size, size, self._end

    def finish(self) -> None:
        """Write the remaining text; call after the last write."""
        self._file.close()


class PackedFile:
    """Writes gzip-compressed text.

    resume_position, muted: as in `TextFile`
    threads: compression threads
    """

    def __init__(self, file: BinaryIO, resume_position: ResumePosition | None, muted: Callable[[], bool], threads: int) -> None:
        self._file = file
        self._muted = muted
        self._packed = (
            BgzfWriter(file, (resume_position[1], resume_position[0]), resume_position[2], threads)
            if resume_position
            else BgzfWriter(file, threads=threads)
        )

    def write(self, data: Text) -> None:
        if not self._muted():
            self._packed.write(data)

    def position(self) -> tuple[int, int, int]:
        """Return (bytes of complete members, bytes of text in these members, end of the rows)."""
        self._file.flush()
        return self._packed.packed_bytes, self._packed.packed_text, self._packed.text

    def finish(self) -> None:
        """Write the remaining text and the end of the file."""
        self._packed.finish()
        self._file.flush()
