"""What separates the cells of a table in text, where its name does not say."""

from __future__ import annotations

import re

_IN_QUOTES = re.compile(rb'"[^"]*(?:""[^"]*)*"')


def separator_of(header: bytes, row: bytes = b"") -> str:
    """A tab, a comma, or the semicolon of spreadsheets where a comma is part of numbers. No cell has a tab; what is in quotes separates
    nothing. row: the line behind the header; where that has both of the others, it is commas unless semicolons alone cut both lines into
    as many cells, none of them with quotes inside: ids may end in `;size=3;`.
    """
    if b"\t" in header:
        return "\t"
    marks = [mark for mark in (b",", b";") if mark in header]
    if len(marks) < 2:
        return (marks or [b","])[0].decode()
    bare, below = (_IN_QUOTES.sub(b'"', line.rstrip(b"\r\n")) for line in (header, row))
    marks = [mark for mark in marks if mark in bare]

    def cuts_alike(mark: bytes) -> bool:
        # R writes no title over the names of rows.
        return below.count(mark) - bare.count(mark) in (0, 1) and _are_whole(bare, mark) and _are_whole(below, mark)

    return next(iter([*filter(cuts_alike, marks), *marks]), b",").decode()


def _are_whole(line: bytes, mark: bytes) -> bool:
    """Whether what is in quotes, of which a quote is left, is all of its cell."""
    return re.search(b'[^%b]"|"[^%b]' % (mark, mark), line) is None


def separator_of_text(header: str, row: str = "") -> str:
    """The same of decoded lines."""
    return separator_of(*(line.encode("utf-8", "surrogateescape") for line in (header, row)))
