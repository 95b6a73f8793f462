"""Files that grow row by row, and say how far they are, so that another run can go on behind that (core/files/journal.py)."""

from __future__ import annotations

from collections.abc import Callable
from typing import BinaryIO

from gpualign.core.output.background_file import BackgroundFile
from gpualign.core.output.bgzf import BgzfWriter
from gpualign.core.output.writer import Text

ResumePosition = tuple[int, int, int]
"""Of a file with which this run goes on: bytes that are kept, text in these, and text in these that will be written again."""


class GrowingFile:
    """Numbers, written by whoever has the file."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file

    def position(self) -> tuple[int, int, int]:
        """(bytes, the same as text, the same as the end of the rows)."""
        self._file.flush()
        size = self._file.tell()
        return size, size, size


class TextFile:
    """A writer of text, plain. muted: whether what is written stands there already: what comes before the first row."""

    def __init__(self, file: BinaryIO, kept: ResumePosition | None, muted: Callable[[], bool]) -> None:
        self._file = BackgroundFile(file)
        self._muted = muted
        self._known = kept[2] if kept else 0
        self._end = (kept[1] if kept else 0) - self._known
        self.bytes_written = 0
        """Bytes that were written, those that stand there already as well."""

    def write(self, data: Text) -> None:
        self.bytes_written += len(data)
        if self._muted():
            return
        self._end += len(data)
        passed = min(self._known, len(data))
        self._known -= passed
        self._file.write(data[passed:] if passed else data)

    def position(self) -> tuple[int, int, int]:
        """(bytes, the same as text, where the rows end)."""
        self._file.flush()
        size = self._file.tell()
        return size, size, self._end

    def finish(self) -> None:
        """No text follows."""
        self._file.close()


class PackedFile:
    """The same of text that is packed as gzip. threads: that pack."""

    def __init__(self, file: BinaryIO, kept: ResumePosition | None, muted: Callable[[], bool], threads: int) -> None:
        self._file = file
        self._muted = muted
        self._packed = BgzfWriter(file, (kept[1], kept[0]), kept[2], threads) if kept else BgzfWriter(file, threads=threads)

    def write(self, data: Text) -> None:
        if not self._muted():
            self._packed.write(data)

    def position(self) -> tuple[int, int, int]:
        """(bytes of whole members, their text, where the rows end)."""
        self._file.flush()
        return self._packed.packed_bytes, self._packed.packed_text, self._packed.text

    def finish(self) -> None:
        """No text follows."""
        self._packed.finish()
        self._file.flush()
