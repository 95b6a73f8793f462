"""Reads delimited tables in pieces of many rows, and finds their cells by position, without an object for each cell."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from dataclasses import field
from functools import partial
from typing import BinaryIO

import numpy as np
import numpy.typing as npt

from gpualign.core.common.arrays import Integers
from gpualign.core.common.dataclass import dataclass
from gpualign.core.common.errors import InputError, quoted
from gpualign.core.common.suggestions import did_you_mean
from gpualign.core.common.threads import map_in_order
from gpualign.core.common.units import format_count
from gpualign.core.files.delimiters import BLANK, carriage_returns_error, delimiter_of, named_delimiter
from gpualign.core.files.quoting import cell_text, replace_quoted_delimiters

PIECE_BYTES = 4 << 20
"""Number of bytes read at once."""

_MAX_TITLES_IN_MESSAGE = 20
"""Maximum number of columns named in a message."""

_TAB, _LINE_FEED, _CARRIAGE_RETURN = b"\t\n\r"


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
    header: the line of titles, without its line end, and Excel's `sep=` line if there is one above
    line_end: end of the line of titles
    delimiter: a tab, a comma or a semicolon
    titles: title of each column
    stream: text below the titles; it can be read only once
    first_row: line number, in the file, of the first line below the titles
    """

    source: str
    header: bytes
    line_end: bytes
    delimiter: bytes
    titles: Sequence[str]
    stream: BinaryIO = field(repr=False)
    first_row: int = 2

    def column_index(self, title: str) -> int:
        """Return the index of a column. Raises `InputError` if there is no such column, or more than one."""
        if self.titles.count(title) > 1:
            raise InputError(f"{self.source}: {self.titles.count(title)} columns are called {quoted(title)}; give them different names")
        if title not in self.titles:
            more = f" and {len(self.titles) - _MAX_TITLES_IN_MESSAGE:,} more" if len(self.titles) > _MAX_TITLES_IN_MESSAGE else ""
            known = ", ".join(map(quoted, self.titles[:_MAX_TITLES_IN_MESSAGE])) + more
            raise InputError(f"{self.source}: no column is called {quoted(title)}; there are {known}{did_you_mean(title, self.titles)}")
        return self.titles.index(title)

    def pieces(self, threads: int = 1) -> Iterator[TablePiece]:
        """Yield the rows in order. Blank lines are skipped. threads: maximum number of threads

        Raises an `InputError` that names the line for a row with too few or too many cells.
        """
        line, width = self.first_row, len(self.titles)
        try:
            for piece, line_count in map_in_order(partial(_find_cells, self.delimiter, width), self._texts(), threads):
                yield piece
                line += line_count
        except _WrongRow as wrong:
            columns = format_count(wrong.cell_count, "column")
            message = f"{self.source}: line {line + wrong.index} has {columns}, the line of titles has {width:,}"
            if line + wrong.index == self.first_row and wrong.cell_count == width + 1:
                message += "; if R wrote row names, write the table without them (row.names = FALSE)"
            raise InputError(message) from None

    def _texts(self) -> Iterator[tuple[bytes, bytes, bool]]:
        """Yield (rows, the same with stand-ins for delimiters inside quotes, whether the last row lacks its line end)."""
        line = self.first_row
        for raw, is_unterminated in self._blocks():
            if self.delimiter == b"\t":
                yield raw, raw, is_unterminated
                continue
            lines = replace_quoted_delimiters(iter(io.BytesIO(raw)), self.delimiter.decode(), self.source, line)
            yield raw, b"".join(lines) if b'"' in raw else raw, is_unterminated
            line += raw.count(b"\n")

    def _blocks(self) -> Iterator[tuple[bytes, bool]]:
        """Yield whole lines, many at once, and whether the last of them lacks its line end, which is then added."""
        held = b""
        while block := self.stream.read(PIECE_BYTES):
            if cut := block.rfind(b"\n") + 1:
                yield held + block[:cut], False
                held = block[cut:]
            else:
                held += block
        if held:
            yield held + b"\n", True


@dataclass
class _WrongRow(Exception):
    """Row with a wrong number of cells.

    index: number of lines before it in the piece
    cell_count: number of its cells
    """

    index: int
    cell_count: int


def _find_cells(delimiter: bytes, width: int, texts: tuple[bytes, bytes, bool]) -> tuple[TablePiece, int]:
    """Return (rows, number of lines that they take). texts: as yielded by `DelimitedTable._texts`. Raises `_WrongRow`."""
    raw, hidden, is_unterminated = texts
    text = np.frombuffer(hidden, dtype=np.uint8)
    if delimiter == b"\t":
        ends = np.flatnonzero(text <= _LINE_FEED)
        if (text[ends] < _TAB).any():  # other control characters are parts of cells
            ends = ends[text[ends] >= _TAB]
    else:
        ends = np.flatnonzero((text == _LINE_FEED) | (text == delimiter[0]))
    line_ends = ends[text[ends] == _LINE_FEED]
    starts = np.append(0, line_ends[:-1] + 1)
    if len(ends) != width * len(line_ends) or not np.array_equal(ends[width - 1 :: width], line_ends):
        counts = np.diff(np.searchsorted(ends, line_ends, side="right"), prepend=0)
        is_blank = (counts == 1) & ((line_ends == starts) | ((line_ends == starts + 1) & (text[starts] == _CARRIAGE_RETURN)))
        if len(wrong := np.flatnonzero((counts != width) & ~is_blank)):
            raise _WrongRow(int(wrong[0]), int(counts[wrong[0]]))
        ends, starts = ends[np.repeat(~is_blank, counts)], starts[~is_blank]
    return TablePiece(raw, text, ends.reshape(-1, width), starts, is_unterminated), len(line_ends)


def open_table(stream: BinaryIO, source: str) -> DelimitedTable:
    """Return text as a table. Its delimiter is determined from the first line. stream: decompressed text

    Raises `InputError` for a table of one column, and for the line endings of old Mac systems.
    """
    above, line = b"", stream.readline()
    if named := named_delimiter(line):
        above, line = line, stream.readline()
    header = line.rstrip(b"\r\n")
    first_row = 3 if named else 2
    if b"\r" in header:
        raise carriage_returns_error(source)
    delimiter = named or delimiter_of(header)
    (hidden,) = replace_quoted_delimiters(iter([header]), delimiter, source, first_row - 1)
    titles = [cell_text(cell) for cell in hidden.split(delimiter.encode())]
    if delimiter == BLANK or len(titles) < 2:
        raise InputError(
            f"{source}: line {first_row - 1} has one column; expected the titles of a table, delimited by tabs, commas or semicolons"
        )
    return DelimitedTable(source, above + header, line[len(header) :] or b"\n", delimiter.encode(), titles, stream, first_row)
