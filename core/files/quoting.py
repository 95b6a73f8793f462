"""Cells in quotes, as spreadsheets, pandas and R write them (RFC 4180): a delimiter in quotes is text, a doubled quote is one."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np

from gpualign.core.common.errors import InputError

_HIDDEN = {b",": b"\x1e", b";": b"\x1f", b" ": b"\x1d"}
"""Stand-ins for quoted delimiters until their cell becomes text: control characters, which no id or call may hold then."""

_QUOTE = ord('"')
_FEW_QUOTES = 16
"""Up to so many quotes a line is split faster than NumPy looks at it."""

_PIECE = 1 << 20
"""Bytes of a line that NumPy looks at together."""


def hide_quoted(lines: Iterator[bytes], delimiter: str, source: str, first: int) -> Iterator[bytes]:
    """The lines with quoted delimiters hidden until `text_of`, so that all others delimit. Tabs are never hidden, as no id may
    hold one. first: number of the first line, for the `InputError` raised for a line that holds a stand-in."""
    mark = delimiter.encode()
    return _hidden(lines, mark, source, first) if mark in _HIDDEN else lines


def _hidden(lines: Iterator[bytes], mark: bytes, source: str, first: int) -> Iterator[bytes]:
    hidden = _HIDDEN[mark]
    cell = re.compile(rb'(?<![^%b])"[^"]*(?:""[^"]*)*"(?=[%b\r\n]|$)' % (mark, mark))
    for number, line in enumerate(lines, first):
        if b'"' in line:
            if hidden in line:
                raise InputError(f"{source}: line {number} has quotes and the control character {hidden.decode()!a}; take that out")
            if _may_hide(line, mark):
                line = cell.sub(lambda match: match[0].replace(mark, hidden), line)
        yield line


def _may_hide(line: bytes, mark: bytes) -> bool:
    """Tell whether a delimiter follows an odd number of quotes, as it does in quotes: a doubled one changes nothing."""
    if line.count(b'"') <= _FEW_QUOTES:
        return any(mark in piece for piece in line.split(b'"')[1::2])
    odd = 0
    for start in range(0, len(line), _PIECE):
        piece = np.frombuffer(line, np.uint8, min(_PIECE, len(line) - start), start)
        inside = np.cumsum(piece == _QUOTE, dtype=np.uint8)  # from 255 to 0 it stays odd or even
        inside += np.uint8(odd)
        inside &= 1
        if (inside.view(np.bool_) & (piece == ord(mark))).any():
            return True
        odd = int(inside[-1])
    return False


def text_of(cell: bytes) -> str:
    """Text of a cell, without the quotes around it."""
    return unquoted(cell.decode("utf-8", "surrogateescape").strip())


def unquoted(text: str) -> str:
    """Text of a cell that has no blanks around it, without the quotes."""
    if is_quoted(text):
        text = text[1:-1].replace('""', '"')
        for mark, hidden in _HIDDEN.items():
            text = text.replace(hidden.decode(), mark.decode())
    return text


def is_quoted(text: str) -> bool:
    """Tell whether quotes are around all of a cell."""
    return len(text) > 1 and text[0] == text[-1] == '"'
