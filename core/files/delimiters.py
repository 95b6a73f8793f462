"""Determines a text table's delimiter from its first lines, whatever the file name."""

from __future__ import annotations

import re

_IN_QUOTES = re.compile(rb'"[^"]*(?:""[^"]*)*"')

_DECIMAL_COMMA = re.compile(rb"(?<![0-9,])[0-9]+,[0-9]+(?![0-9,])")

BLANK = " "
"""Delimiter that stands for any number of blanks."""


def delimiter_of(header: bytes, row: bytes = b"") -> str:
    """Determine a table's delimiter: a tab, a comma, a semicolon (spreadsheets with decimal commas) or blanks.

    row: the line after the header

    Quoted characters do not delimit, and no cell contains a tab. If the header has both commas and semicolons, the delimiter is a comma
    unless all commas are decimal commas, or only semicolons split both lines into matching numbers of cells with no quotes inside: ids may
    end in `;size=3;`. Blanks delimit only if neither line contains any of the other delimiters.
    """
    if b"\t" in header:
        return "\t"
    bare, below = (_IN_QUOTES.sub(b'"', line.rstrip(b"\r\n")) for line in (header, row))
    marks = [mark for mark in (b",", b";") if mark in bare]
    if not marks:
        words, titles = len(below.split()), len(bare.split())
        marks = [mark for mark in (b"\t", b",", b";") if mark in below]  # of a header that is a single cell
        if (not marks and max(words, titles) > 1) or (b"\t" not in marks and titles > 1 and _fits_header(words, titles)):
            return BLANK
    if len(marks) < 2:
        return (marks or [mark for mark in (b",", b";") if mark in header] or [b","])[0].decode()

    if not any(b"," in _DECIMAL_COMMA.sub(b"", line) for line in (bare, below)):
        return ";"

    def cuts_alike(mark: bytes) -> bool:
        return _fits_header(1 + below.count(mark), 1 + bare.count(mark)) and _are_whole(bare, mark) and _are_whole(below, mark)

    return next(iter([*filter(cuts_alike, marks), *marks]), b",").decode()


def _fits_header(cells: int, titles: int) -> bool:
    """Return whether a row of `cells` cells (at least two) fits a header of `titles` titles; R omits the title above the row names."""
    return cells > 1 and cells - titles in (0, 1)


def _are_whole(line: bytes, mark: bytes) -> bool:
    """Return whether every quoted text is a whole cell. line: contains a single quote in place of each quoted text."""
    return re.search(b'[^%b]"|"[^%b]' % (mark, mark), line) is None
