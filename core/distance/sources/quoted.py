"""Cells in quotes, as spreadsheets, pandas and R write them (RFC 4180): a separator in quotes is text, a doubled quote is one."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain

_HIDDEN = {b",": b"\x1e", b";": b"\x1f"}
"""What stands for a separator in quotes until its cell is text: control characters, which no id or call has."""

_IN_QUOTES = re.compile(rb'"(?:[^"]|"")*"')

_SHOWN = {ord(hidden): mark.decode() for mark, hidden in _HIDDEN.items()}


def separator_of(header: bytes) -> str:
    """A tab, a comma, or the semicolon of spreadsheets where a comma is part of numbers."""
    bare = _IN_QUOTES.sub(b"", header)
    return next((mark for mark in "\t,;" if mark.encode() in bare), ",")


def hide_quoted(lines: Iterator[bytes]) -> Iterator[bytes]:
    """The lines of a table, in which every separator separates: those in quotes are hidden until `text_of`. Tabs are none of these, as no
    id may have one."""
    header = next(lines, None)
    if header is None:
        return
    separator = separator_of(header).encode()
    if separator not in _HIDDEN:
        yield header
        yield from lines
        return
    mark, hidden = re.escape(separator), _HIDDEN[separator]
    # Most lines have quotes around words or none at all, and need but a look: is a separator met before the quote that ends a cell?
    holds_one = re.compile(rb'(?:^|%b)"(?:[^"%b]|"")*%b' % (mark, mark, mark))
    cell = re.compile(rb'(?<![^%b])"(?:[^"]|"")*"(?=[%b\r\n]|$)' % (mark, mark))
    for line in chain([header], lines):
        hides = b'"' in line and holds_one.search(line)
        yield cell.sub(lambda found: found[0].replace(separator, hidden), line) if hides else line


def text_of(cell: bytes) -> str:
    """What a cell says."""
    text = cell.decode("utf-8", "surrogateescape").strip()
    if len(text) > 1 and text[0] == text[-1] == '"':
        return text[1:-1].replace('""', '"').translate(_SHOWN)
    return text.strip('"')
