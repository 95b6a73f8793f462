"""Cells in quotes, as spreadsheets, pandas and R write them (RFC 4180): a separator in quotes is text, a doubled quote is one."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np

from gpualign.core.errors import InputError

_HIDDEN = {b",": b"\x1e", b";": b"\x1f"}
"""What stands for a separator in quotes until its cell is text: control characters, which no id or call may have then."""

_QUOTE = ord('"')
_FEW_QUOTES = 16
"""Between so many a line is cut sooner than looked at by NumPy."""

_PART = 1 << 20
"""Bytes of a line that are looked at together."""


def hide_quoted(lines: Iterator[bytes], separator: str, source: str, first: int) -> Iterator[bytes]:
    """The lines of a table, in which every separator separates: those in quotes are hidden until `text_of`. Tabs are none of these, as no
    id may have one. first: the number of the first line, for the `InputError` that is raised for a line with what hides them."""
    mark = separator.encode()
    if mark not in _HIDDEN:
        yield from lines
        return
    hidden = _HIDDEN[mark]
    cell = re.compile(rb'(?<![^%b])"[^"]*(?:""[^"]*)*"(?=[%b\r\n]|$)' % (mark, mark))
    for number, line in enumerate(lines, first):
        if b'"' in line:
            if hidden in line:
                raise InputError(f"{source}: line {number} has quotes and the control character {hidden.decode()!a}; take that out")
            if _may_hide(line, mark):
                line = cell.sub(lambda found: found[0].replace(mark, hidden), line)
        yield line


def _may_hide(line: bytes, mark: bytes) -> bool:
    """Whether a separator stands behind an odd number of quotes, as it does in quotes: a doubled one changes nothing."""
    if line.count(b'"') <= _FEW_QUOTES:
        return any(mark in part for part in line.split(b'"')[1::2])
    odd = 0
    for start in range(0, len(line), _PART):
        part = np.frombuffer(line, np.uint8, min(_PART, len(line) - start), start)
        inside = np.cumsum(part == _QUOTE, dtype=np.uint8)  # from 255 to 0 it stays odd or even
        inside += np.uint8(odd)
        inside &= 1
        if (inside.view(np.bool_) & (part == ord(mark))).any():
            return True
        odd = int(inside[-1])
    return False


def text_of(cell: bytes) -> str:
    """What a cell says."""
    text = cell.decode("utf-8", "surrogateescape").strip()
    if len(text) > 1 and text[0] == text[-1] == '"':
        text = text[1:-1].replace('""', '"')
        for mark, hidden in _HIDDEN.items():
            text = text.replace(hidden.decode(), mark.decode())
        return text
    return text.strip('"')
