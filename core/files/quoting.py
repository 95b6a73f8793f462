"""Handles quoted cells, as written by spreadsheets, pandas and R (RFC 4180). Delimiters inside quotes are text, and a doubled quote stands
for one quote."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np

from gpualign.core.common.errors import InputError

_DELIMITER_STAND_INS = {b",": b"\x1e", b";": b"\x1f", b" ": b"\x1d"}
"""Stand-ins for quoted delimiters until their cell becomes text. They are control characters, which lines with quotes must not contain."""

_QUOTE = ord('"')
_MAX_QUOTES_FOR_FAST_SPLIT = 16
"""Maximum number of quotes in a line for which splitting the line is faster than scanning it with NumPy."""

_SCAN_BYTES = 1 << 20
"""Number of bytes of a line that NumPy scans in one step."""


def replace_quoted_delimiters(lines: Iterator[bytes], delimiter: str, source: str, first_line: int) -> Iterator[bytes]:
    """Replace quoted delimiters by stand-ins, which `cell_text` restores, so that lines can be split at every remaining delimiter.

    first_line: line number, in the file, of the first of `lines`

    Tabs are never replaced, because no id may contain a tab.

    Raises `InputError`, with the line number, for a line that ends within quotes and has too few cells, and for a line with quotes that
    contains a stand-in.
    """
    delimiter_byte = delimiter.encode()
    return _replace_delimiters(lines, delimiter_byte, source, first_line) if delimiter_byte in _DELIMITER_STAND_INS else lines


def _replace_delimiters(lines: Iterator[bytes], delimiter_byte: bytes, source: str, first_line: int) -> Iterator[bytes]:
    hidden = _DELIMITER_STAND_INS[delimiter_byte]
    cell = re.compile(rb'(?<![^%b])"[^"]*(?:""[^"]*)*"(?=[%b\r\n]|$)' % (delimiter_byte, delimiter_byte))
    open_cell = re.compile(rb'(?<![^%b])"[^"]*(?:""[^"]*)*[\r\n]*$' % delimiter_byte)
    delimiters: int | None = None  # of the first line
    for number, line in enumerate(lines, first_line):
        if b'"' in line:
            if line.count(b'"') % 2 and open_cell.search(line) and (delimiters is None or line.count(delimiter_byte) < delimiters):
                raise InputError(f"{source}: line {number} ends within quotes; remove the line break in its last cell, or that quote")
            if hidden in line:
                raise InputError(f"{source}: line {number} has quotes and the control character {hidden.decode()!a}; remove that")
            if _may_have_quoted_delimiter(line, delimiter_byte):
                line = cell.sub(lambda match: match[0].replace(delimiter_byte, hidden), line)
        if delimiters is None:
            delimiters = line.count(delimiter_byte)
        yield line


def _may_have_quoted_delimiter(line: bytes, delimiter_byte: bytes) -> bool:
    """Return whether any delimiter follows an odd number of quotes and may thus be inside quotes. Doubled quotes do not affect the
    result."""
    if line.count(b'"') <= _MAX_QUOTES_FOR_FAST_SPLIT:
        return any(delimiter_byte in piece for piece in line.split(b'"')[1::2])
    odd = 0
    for start in range(0, len(line), _SCAN_BYTES):
        piece = np.frombuffer(line, np.uint8, min(_SCAN_BYTES, len(line) - start), start)
        inside = np.cumsum(piece == _QUOTE, dtype=np.uint8)  # an overflow from 255 to 0 preserves odd and even
        inside += np.uint8(odd)
        inside &= 1
        if (inside.view(np.bool_) & (piece == ord(delimiter_byte))).any():
            return True
        odd = int(inside[-1])
    return False


def cell_text(cell: bytes) -> str:
    """Return the text of a cell, without surrounding blanks and quotes."""
    return unquoted_text(cell.decode("utf-8", "surrogateescape").strip())


def unquoted_text(text: str) -> str:
    """Return the text of a cell, without surrounding quotes.

    text: the cell, which must have no surrounding blanks
    """
    if is_quoted(text):
        text = text[1:-1].replace('""', '"')
        for delimiter_byte, hidden in _DELIMITER_STAND_INS.items():
            text = text.replace(hidden.decode(), delimiter_byte.decode())
    return text


def is_quoted(text: str) -> bool:
    """Return whether quotes enclose the whole cell."""
    return len(text) > 1 and text[0] == text[-1] == '"'
