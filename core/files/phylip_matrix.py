"""Distance matrices in PHYLIP's format: the number of records, then a row per record with its id first.

Rows are those of a square, or of a triangle with or without the diagonal (mash, rapidNJ), and may go on over several lines. Ids may have
blanks, as PHYLIP pads or cuts them to ten characters. Pure.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np

from gpualign.core.common.errors import InputError, quoted
from gpualign.core.files.matrix_text import TextMatrix
from gpualign.core.files.squares import Square, number_of, square_of

Line = tuple[int, str]
"""A line and its number."""

_MOST_DIGITS = 9
_ID_LENGTH = 10


def is_count(line: bytes) -> bool:
    """Tell whether a first line is the number of records of a matrix."""
    text = line.strip()
    return len(text) <= _MOST_DIGITS and text.isdigit()


def read_phylip_matrix(lines: Sequence[Line], source: str) -> TextMatrix:
    """Read a matrix from its lines that are not empty, the first of which is the count. Raises `InputError` naming the line."""
    number, first = lines[0]
    count = int(first)
    if not 0 < count < len(lines):
        raise InputError(f"{source}: line {number} says {quoted(first.strip())} records, but {len(lines) - 1:,} follow")
    rows = [(number, _cells(line, any("\t" in line.strip() for _, line in lines[1:]))) for number, line in lines[1:]]
    if count == 1 and number_of(rows[0][1][0]) is not None:
        raise InputError(f"{source}: either one record with the id {quoted(rows[0][1][0])}, or a triangle of values; write a header of ids")
    found = _readings([cells for _, cells in rows], count, names_end_in_numbers=False)
    if any(_has_no_blank_behind_id(line) for _, line in lines[1:]):
        found += _readings([_strict_cells(line) for _, line in lines[1:]], count, names_end_in_numbers=False)
    found = _different(found) or _different(_readings([cells for _, cells in rows], count, names_end_in_numbers=True))
    if len(found) > 1:
        shapes = list(dict.fromkeys(square.shape for _, square in found))
        ways = f"as a {' and as a '.join(shapes)}" if len(shapes) > 1 else "in two ways, by where its ids end"
        raise InputError(f"{source}: its rows can be read {ways}; write the whole square, one line per record, behind tabs")
    if not found:
        raise InputError(f"{source}: {_what_is_wrong(rows, count, lines[0])}")
    ids, square = found[0]
    return TextMatrix(square.values, ids, ids, "distance")


Reading: TypeAlias = tuple[list[str], Square]
"""Ids and values."""


def _readings(rows: Sequence[list[str]], count: int, names_end_in_numbers: bool) -> list[Reading]:
    """What the rows can be, by the forms that a matrix has."""
    read = [_read_shape(rows, shape, names_end_in_numbers) for shape in _shapes(count)]
    return [one for one in read if one is not None and (count == 1 or one[1].is_of_one_set or one[1].shape == "square")]


def _different(readings: Sequence[Reading]) -> list[Reading]:
    """Readings without repeated ones."""
    found: list[Reading] = []
    for ids, square in readings:
        if not any(ids == known and np.array_equal(square.values, one.values, equal_nan=True) for known, one in found):
            found.append((ids, square))
    return found


def _cells(line: str, tabs: bool) -> list[str]:
    if tabs and (cells := [cell.strip() for cell in line.split("\t") if cell.strip()]):
        first, *values = cells
        return [first, *(value for cell in values for value in cell.split())]
    return line.split()


def _has_no_blank_behind_id(line: str) -> bool:
    """Tell whether values follow an id of ten characters at once."""
    word = line.split(None, 1)[0]
    return line.startswith(word) and len(word) > _ID_LENGTH and number_of(word[_ID_LENGTH:]) is not None


def _strict_cells(line: str) -> list[str]:
    """The id, of ten characters, and the values behind it."""
    return [" ".join(line[:_ID_LENGTH].split()), *line[_ID_LENGTH:].split()]


def _shapes(count: int) -> list[list[int]]:
    """The numbers of values in the rows of each form that a matrix can have."""
    if count == 1:
        return [[1]]
    triangles = [[i + diagonal for i in range(count)] for diagonal in (0, 1)]
    return [[count] * count, *triangles, *(sizes[::-1] for sizes in triangles)]


def _read_shape(lines: Sequence[list[str]], sizes: Sequence[int], names_end_in_numbers: bool) -> Reading | None:
    """(ids, values) if the lines are rows with so many values each. names_end_in_numbers: so do all ids, which have equally many words."""
    ids: list[str] = []
    rows: list[list[str]] = []
    at = 0
    for size in sizes:
        if at == len(lines):
            return None
        cells, at = lines[at], at + 1
        start = next((k for k in range(1, len(cells)) if number_of(cells[k]) is not None), len(cells))
        if names_end_in_numbers:
            start = max(start, len(cells) - size)
        values = cells[start:]
        while len(values) < size and at < len(lines) and number_of(lines[at][0]) is not None:
            values, at = values + lines[at], at + 1
        if len(values) != size:
            return None
        ids.append(" ".join(cells[:start]))
        rows.append(values)
    if names_end_in_numbers and not _are_numbered([name.split() for name in ids]):
        return None
    square = square_of(rows)
    return (ids, square) if at == len(lines) and square is not None and len(set(ids)) == len(ids) else None


def _are_numbered(names: Sequence[list[str]]) -> bool:
    """Tell whether all names begin with a word and end in a number, and have equally many words: `Strain 1`, `Strain 2`."""
    alike = len({len(words) for words in names}) == 1
    return alike and all(number_of(words[0]) is None and number_of(words[-1]) is not None for words in names)


def _what_is_wrong(rows: Sequence[tuple[int, list[str]]], count: int, first: Line) -> str:
    if len(rows) != count:
        return f"line {first[0]} says {quoted(first[1].strip())} records, but {len(rows):,} follow"
    for number, cells in rows:
        wrong = next((cell for cell in cells[1:] if number_of(cell) is None), None)
        if wrong is not None:
            return f"line {number}: {quoted(wrong)} is no number"
    sizes = [len(cells) - 1 for _, cells in rows]
    wanted = next((shape for shape in _shapes(count) if sizes[:1] == shape[:1]), [count] * count)
    form = "each row of a square" if wanted[0] == count == wanted[-1] else "this row of a triangle"
    for (number, _), size, expected in zip(rows, sizes, wanted, strict=True):
        if size != expected:
            return f"line {number} has {size:,} value{'s'[: size != 1]}; expected {expected:,}, as {form} has"
    return "the values of records with themselves differ; expected a matrix of distances"
