"""Handles quoted cells, as written by spreadsheets, pandas and R (RFC 4180): quoted delimiters are text, a doubled quote is one quote."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np

from gpualign.core.common.errors import InputError

_HIDDEN = {b",": b"\x1e", b";": b"\x1f", b" ": b"\x1d"}
"""Stand-ins for quoted delimiters until their cell becomes text: control characters, which lines with quotes must not contain."""

_QUOTE = ord('"')
_FEW_QUOTES = 16
"""Maximum number of quotes at which splitting a line is faster than scanning it with NumPy."""

_PIECE = 1 << 20
"""Number of bytes of a line that NumPy scans at a time."""


def hide_quoted(lines: Iterator[bytes], delimiter: str, source: str, first: int) -> Iterator[bytes]:
    """Hide quoted delimiters until `text_of`, so that all visible ones delimit. Tabs are never hidden, because no id may contain a tab.

    first: number of the first line

    Raises `InputError`, with the line number, for a line with quotes that contains a stand-in.
    """
    mark = delimiter.encode()
    return _hidden(lines, mark, source, first) if mark in _HIDDEN else lines


def _hidden(lines: Iterator[bytes], mark: bytes, source: str, first: int) -> Iterator[bytes]:
    hidden = _HIDDEN[mark]
    cell = re.compile(rb'(?<![^%b])"[^"]*(?:""[^"]*)*"(?=[%b\r\n]|$)' % (mark, mark))
    for number, line in enumerate(lines, first):
        if b'"' in line:
            if hidden in line:
                raise InputError(f"{source}: line {number} has quotes and the control character {hidden.decode()!a}; remove that")
            if _may_hide(line, mark):
                line = cell.sub(lambda match: match[0].replace(mark, hidden), line)
        yield line


def _may_hide(line: bytes, mark: bytes) -> bool:
    """Return whether any delimiter follows an odd number of quotes and may thus be quoted; doubled quotes make no difference."""
    if line.count(b'"') <= _FEW_QUOTES:
        return any(mark in piece for piece in line.split(b'"')[1::2])
    odd = 0
    for start in range(0, len(line), _PIECE):
        piece = np.frombuffer(line, np.uint8, min(_PIECE, len(line) - start), start)
        inside = np.cumsum(piece == _QUOTE, dtype=np.uint8)  # an overflow from 255 to 0 preserves odd and even
        inside += np.uint8(odd)
        inside &= 1
        if (inside.view(np.bool_) & (piece == ord(mark))).any():
            return True
        odd = int(inside[-1])
    return False


def text_of(cell: bytes) -> str:
    """Text of a cell, without surrounding quotes."""
    return unquoted(cell.decode("utf-8", "surrogateescape").strip())


def unquoted(text: str) -> str:
    """Text of a cell, without surrounding quotes. text: must have no surrounding blanks."""
    if is_quoted(text):
        text = text[1:-1].replace('""', '"')
        for mark, hidden in _HIDDEN.items():
            text = text.replace(hidden.decode(), mark.decode())
    return text


def is_quoted(text: str) -> bool:
    """Return whether a whole cell is quoted."""
    return len(text) > 1 and text[0] == text[-1] == '"'
