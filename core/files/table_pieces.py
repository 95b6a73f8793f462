"""Reads delimited tables in pieces of many rows, and finds their cells by position, without an object for each cell."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from dataclasses import field, replace
from typing import BinaryIO

import numpy as np
import numpy.typing as npt

from gpualign.core.common.arrays import Integers
from gpualign.core.common.dataclass import dataclass
from gpualign.core.common.errors import InputError, quoted
from gpualign.core.common.suggestions import did_you_mean
from gpualign.core.files.delimiters import BLANK, delimiter_of
from gpualign.core.files.quoting import cell_text, replace_quoted_delimiters

PIECE_BYTES = 4 << 20
"""Number of bytes read at once."""

_MAX_TITLES_IN_MESSAGE = 20
"""Maximum number of columns named in a message."""

_LINE_FEED, _CARRIAGE_RETURN = b"\n\r"


@dataclass(frozen=True)
class TablePiece:
    """Some rows of a table.

    raw: the rows as they are in the file, with their line ends
    text: the same bytes, but with stand-ins for delimiters inside quotes (`quoting.cell_text`), uint8[bytes]
    ends: position after each cell, that of a delimiter or of the line end, int64[rows][columns]
    starts: position of each row, int64[rows]
    is_unterminated: whether these are the last rows of a file that does not end with a newline
    """

    raw: bytes = field(repr=False)
    text: npt.NDArray[np.uint8] = field(repr=False)
    ends: Integers = field(repr=False)
    starts: Integers = field(repr=False)
    is_unterminated: bool = False

    def __len__(self) -> int:
        return len(self.starts)

    @property
    def row_ends(self) -> Integers:
        """Position of each row's line end, int64[rows]."""
        ends = self.ends[:, -1]
        has_return = (ends > self.starts) & (self.text[np.maximum(ends - 1, 0)] == _CARRIAGE_RETURN)
        before: Integers = ends - has_return
        return before

    def cells(self, column: int) -> tuple[Integers, Integers]:
        """Return (start, end) of the cells of a column: positions in the text, int64[rows] each."""
        starts = self.starts if column == 0 else self.ends[:, column - 1] + 1
        return starts, self.row_ends if column == self.ends.shape[1] - 1 else self.ends[:, column]


@dataclass(frozen=True)
class DelimitedTable:
    """A table whose first line has the titles of its columns.

    source: name of the file, for messages
    header: the first line, without its line end
    line_end: end of the first line
    delimiter: a tab, a comma or a semicolon
    titles: title of each column
    stream: text below the first line; it can be read only once
    """

    source: str
    header: bytes
    line_end: bytes
    delimiter: bytes
    titles: Sequence[str]
    stream: BinaryIO = field(repr=False)

    def column_index(self, title: str) -> int:
        """Return the index of a column. Raises `InputError` if there is no such column, or more than one."""
        if self.titles.count(title) > 1:
            raise InputError(f"{self.source}: {self.titles.count(title)} columns are called {quoted(title)}; give them different names")
        if title not in self.titles:
            more = f" and {len(self.titles) - _MAX_TITLES_IN_MESSAGE:,} more" if len(self.titles) > _MAX_TITLES_IN_MESSAGE else ""
            known = ", ".join(map(quoted, self.titles[:_MAX_TITLES_IN_MESSAGE])) + more
            raise InputError(f"{self.source}: no column is called {quoted(title)}; there are {known}{did_you_mean(title, self.titles)}")
        return self.titles.index(title)

    def pieces(self) -> Iterator[TablePiece]:
        """Yield the rows in order. Blank lines are skipped. Raises an `InputError` that names the line for a row with too few or too many
        cells."""
        held, line = b"", 2
        while block := self.stream.read(PIECE_BYTES):
            cut = block.rfind(b"\n") + 1
            if cut:
                raw, held = held + block[:cut], block[cut:]
                yield self._find_cells(raw, line)
                line += raw.count(b"\n")
            else:
                held += block
        if held:
            yield replace(self._find_cells(held + b"\n", line), is_unterminated=True)

    def _find_cells(self, raw: bytes, first_line: int) -> TablePiece:
        hidden = raw
        if self.delimiter != b"\t" and b'"' in raw:
            lines = replace_quoted_delimiters(iter(io.BytesIO(raw)), self.delimiter.decode(), self.source, first_line)
            hidden = b"".join(lines)
        text = np.frombuffer(hidden, dtype=np.uint8)
        ends_line = text == _LINE_FEED
        ends = np.flatnonzero(ends_line | (text == self.delimiter[0]))
        lines_of = np.flatnonzero(ends_line)
        width = len(self.titles)
        starts = np.append(0, lines_of[:-1] + 1)
        if len(ends) != width * len(lines_of) or not np.array_equal(ends[width - 1 :: width], lines_of):
            counts = np.diff(np.searchsorted(ends, lines_of, side="right"), prepend=0)
            is_blank = (counts == 1) & ((lines_of == starts) | ((lines_of == starts + 1) & (text[starts] == _CARRIAGE_RETURN)))
            if len(wrong := np.flatnonzero((counts != width) & ~is_blank)):
                line, count = int(wrong[0]), int(counts[wrong[0]])
                columns = "1 column" if count == 1 else f"{count:,} columns"
                raise InputError(f"{self.source}: line {first_line + line} has {columns}, the line of titles has {width:,}")
            ends, starts = ends[np.repeat(~is_blank, counts)], starts[~is_blank]
        return TablePiece(raw, text, ends.reshape(-1, width), starts)


def open_table(stream: BinaryIO, source: str) -> DelimitedTable:
    """Return text as a table. Its delimiter is determined from the first line. stream: decompressed text

    Raises `InputError` for a table of one column, and for the line endings of old Mac systems.
    """
    line = stream.readline()
    header = line.rstrip(b"\r\n")
    if b"\r" in header:
        raise InputError(f"{source}: its lines end in carriage returns alone, as on old Macs; convert them, as with tr '\\r' '\\n'")
    delimiter = delimiter_of(header)
    (hidden,) = replace_quoted_delimiters(iter([header]), delimiter, source, 1)
    titles = [cell_text(cell) for cell in hidden.split(delimiter.encode())]
    if delimiter == BLANK or len(titles) < 2:
        raise InputError(f"{source}: line 1 has one column; expected the titles of a table, delimited by tabs, commas or semicolons")
    return DelimitedTable(source, header, line[len(header) :] or b"\n", delimiter.encode(), titles, stream)
