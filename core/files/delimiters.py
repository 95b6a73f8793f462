"""Determines the delimiter of a text table from its first lines. The file name has no influence."""

from __future__ import annotations

import re

from gpualign.core.common.errors import InputError

_QUOTED_TEXT = re.compile(rb'"[^"]*(?:""[^"]*)*"')

_DECIMAL_COMMA = re.compile(rb"(?<![0-9,])[0-9]+,[0-9]+(?![0-9,])")

_SEP_DIRECTIVE = re.compile(rb'"?sep=([\t,;])"?(\t*|,*|;*)', re.IGNORECASE)
"""Pattern of the line before the header that tells Excel which delimiter the table has, and of the delimiters that spreadsheets add."""

BLANK = " "
"""Delimiter that stands for any number of blanks."""


def named_delimiter(line: bytes) -> str | None:
    """Return the delimiter that Excel's `sep=` line names; None if this is another line."""
    match = _SEP_DIRECTIVE.fullmatch(line.rstrip(b"\r\n"))
    return (match[2] or match[1])[:1].decode() if match else None


def delimiter_of(header: bytes, row: bytes = b"") -> str:
    """Determine a table's delimiter: a tab, a comma, a semicolon (spreadsheets with decimal commas) or blanks.

    header: the first line
    row: the line after the header

    Delimiters inside quotes do not count, and no cell contains a tab. If the header has both commas and semicolons, the delimiter is a
    semicolon if all commas are decimal commas, or if semicolons, but not commas, split both lines into matching numbers of cells with no
    quotes inside. Otherwise it is a comma, because ids may end in `;size=3;`. Blanks are the delimiter only if the header contains no other
    delimiter, and the row either contains no other delimiter, or contains no tab and as many words as the header or one more.
    """
    if b"\t" in header:
        return "\t"
    bare, below = (_QUOTED_TEXT.sub(b'"', line.rstrip(b"\r\n")) for line in (header, row))
    delimiters = [delimiter for delimiter in (b",", b";") if delimiter in bare]
    if not delimiters:
        words, titles = len(below.split()), len(bare.split())
        delimiters = [delimiter for delimiter in (b"\t", b",", b";") if delimiter in below]  # of a header that is a single cell
        if (not delimiters and max(words, titles) > 1) or (b"\t" not in delimiters and titles > 1 and _fits_header(words, titles)):
            return BLANK
    if len(delimiters) < 2:
        return (delimiters or [delimiter for delimiter in (b",", b";") if delimiter in header] or [b","])[0].decode()

    if not any(b"," in _DECIMAL_COMMA.sub(b"", line) for line in (bare, below)):
        return ";"

    def cuts_alike(delimiter: bytes) -> bool:
        return (
            _fits_header(1 + below.count(delimiter), 1 + bare.count(delimiter))
            and _quoted_texts_are_cells(bare, delimiter)
            and _quoted_texts_are_cells(below, delimiter)
        )

    return next(iter([*filter(cuts_alike, delimiters), *delimiters]), b",").decode()


def _fits_header(cell_count: int, title_count: int) -> bool:
    """Return whether a row of `cell_count` cells (at least two) fits a header of `title_count` titles.

    R omits the title above the row names, so the row may also have one cell more than the header has titles.
    """
    return cell_count > 1 and cell_count - title_count in (0, 1)


def _quoted_texts_are_cells(line: bytes, delimiter: bytes) -> bool:
    """Return whether every quoted string is a whole cell.

    line: a line in which each quoted string is replaced by one '"'
    """
    return re.search(b'[^%b]"|"[^%b]' % (delimiter, delimiter), line) is None


def carriage_returns_error(source: str) -> InputError:
    """Return the error for text with the line ends of old Mac systems, where its lines cannot be told apart. source: name of the file"""
    return InputError(f"{source}: its lines end in carriage returns alone, as on old Macs; convert them, as with tr '\\r' '\\n'")
