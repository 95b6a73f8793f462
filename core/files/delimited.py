"""Opens delimited text tables and reads their cells, in the same way for all commands."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import field
from itertools import chain

from gpualign.core.common.dataclass import dataclass
from gpualign.core.common.errors import InputError
from gpualign.core.files.delimiters import BLANK, carriage_returns_error, delimiter_of, named_delimiter
from gpualign.core.files.quoting import is_quoted, replace_quoted_delimiters, unquoted_text
from gpualign.core.files.square_matrices import parse_number


@dataclass(frozen=True)
class DelimitedText:
    """A text table, from its first line with cells on.

    source: name of the file, for messages
    delimiter: a tab, a comma, a semicolon, or a blank, which stands for any number of blanks
    first_line: line number, in the file, of the table's first line
    lines: lines including line ends; they can be read only once
    """

    source: str
    delimiter: str
    first_line: int
    lines: Iterator[bytes] = field(repr=False)

    def splittable_lines(self) -> Iterator[bytes]:
        """Yield each line in a form that can be split at the delimiter, because delimiters inside quotes are replaced by stand-ins.

        `quoting.cell_text` restores the delimiters in a cell.
        """
        lines = replace_quoted_delimiters(self.lines, self.delimiter, self.source, self.first_line)
        return (b" ".join(line.split()) + b"\n" for line in lines) if self.delimiter == BLANK else lines

    def rows(self) -> Iterator[tuple[int, list[str]]]:
        """Yield each line's number and its cells, stripped of blanks and quotes. Blank lines are skipped.

        In a tab-separated table, quotes are part of ids unless every word in the first line is quoted, as in tables written by R.

        Raises `InputError` for a malformed row, and for a table in which only some words are quoted.
        """
        return self._tab_rows() if self.delimiter == "\t" else self._csv_rows()

    def _csv_rows(self) -> Iterator[tuple[int, list[str]]]:
        blanks = False

        def decoded() -> Iterator[str]:
            nonlocal blanks
            for line in self.lines:
                text = line.decode("utf-8", "surrogateescape")
                blanks = blanks or " " in text
                yield f"{text.strip()}\n" if self.delimiter == BLANK else text

        reader = csv.reader(decoded(), delimiter=self.delimiter, skipinitialspace=self.delimiter == BLANK)
        try:
            for cells in reader:
                if len(cells) > 1 or any(cells):
                    yield self.first_line - 1 + reader.line_num, [cell.strip() for cell in cells] if blanks else cells
        except csv.Error as error:
            line = self.first_line - 1 + reader.line_num
            raise InputError(f"{self.source}: line {line}: expected a row with the delimiter {self.delimiter!r} ({error})") from None

    def _tab_rows(self) -> Iterator[tuple[int, list[str]]]:
        unquote: bool | None = None  # unknown before the first line with words
        for number, line in enumerate(self.lines, self.first_line):
            cells = line.decode("utf-8", "surrogateescape").rstrip("\r\n").split("\t")
            if b" " in line:
                cells = [cell.strip() for cell in cells]
            if len(cells) == 1 and not cells[0]:
                continue
            if unquote is not False:
                words = [cell for cell in cells if cell and parse_number(cell) is None]
                quoted = all(map(is_quoted, words))
                if unquote and not quoted:
                    raise InputError(
                        f"{self.source}: line {number} has a word without quotes, unlike line {self.first_line}; quote all or none"
                    )
                unquote = quoted if words else unquote
            yield number, list(map(unquoted_text, cells)) if unquote else cells


def open_delimited(stream: Iterator[bytes], source: str) -> DelimitedText:
    """Return text as a table, whose delimiter is determined from Excel's `sep=` line or from the first two lines.

    stream: decompressed text, in lines

    Blank lines before the table are skipped. If the text has no lines, neither does the table. Raises `InputError` for the line endings of
    old Mac systems.
    """
    number, header, named = 0, b"", None
    for number, line in enumerate(stream, 1):
        bare = line.removeprefix(b"\xef\xbb\xbf") if number == 1 else line  # spreadsheets write a byte order mark
        if directed := named_delimiter(bare):
            named = directed
        elif bare.strip():
            header = bare
            break
    if b"\r" in header.rstrip(b"\r\n"):
        raise carriage_returns_error(source)
    first_lines = [header] if header else []
    for line in stream:
        first_lines.append(line)
        if line.strip():
            break
    delimiter = named or delimiter_of(header, first_lines[-1] if first_lines else b"")
    return DelimitedText(source, delimiter, number, chain(first_lines, stream))
