"""Distance matrices in PHYLIP's format: the number of records, then a row per record with its id first.

Rows are those of a square, or of a triangle with or without the diagonal (mash, rapidNJ), and may go on over several lines. Ids may have
blanks, as PHYLIP pads or cuts them to ten characters. Pure.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gpualign.core.errors import InputError, quoted
from gpualign.core.files.matrix_text import TextMatrix
from gpualign.core.files.squares import Square, number_of, square_of

Line = tuple[int, str]
"""A line and its number."""

_MOST_DIGITS = 9


def is_count(line: bytes) -> bool:
    """Whether a first line is the number of records of a matrix."""
    text = line.strip()
    return len(text) <= _MOST_DIGITS and text.isdigit()


def read_phylip_matrix(lines: Sequence[Line], source: str) -> TextMatrix:
    """Read a matrix from its lines that are not empty, the first of which is the count. Raises `InputError` naming the line."""
    count = int(lines[0][1])
    rows = [(number, _cells(line)) for number, line in lines[1:]]
    if not 0 < count <= len(rows):
        raise InputError(f"{source}: line {lines[0][0]} says {quoted(lines[0][1].strip())} records, but {len(rows):,} follow")
    found: list[tuple[list[str], Square]] = []
    for shape in _shapes(count):
        read = _read_shape([cells for _, cells in rows], shape)
        if read is not None and not any(ids == read[0] and np.array_equal(one.values, read[1].values) for ids, one in found):
            found.append(read)
    if count == 1 and number_of(rows[0][1][0]) is not None:
        raise InputError(f"{source}: either one record with the id {quoted(rows[0][1][0])}, or a triangle of values; write a header of ids")
    if len(found) > 1:
        shapes = " and as a ".join(square.shape for _, square in found)
        raise InputError(f"{source}: its rows can be read as a {shapes}; write the whole square, one line per record")
    if not found:
        raise InputError(f"{source}: {_what_is_wrong(rows, count, lines[0])}")
    ids, square = found[0]
    return TextMatrix(square.values, ids, ids, "distance")


def _cells(line: str) -> list[str]:
    if "\t" in line.strip():
        return [cell.strip() for cell in line.split("\t") if cell.strip()]
    return line.split()


def _shapes(count: int) -> list[list[int]]:
    """The numbers of values in the rows of each form that a matrix can have."""
    if count == 1:
        return [[1]]
    triangles = [[i + diagonal for i in range(count)] for diagonal in (0, 1)]
    return [[count] * count, *triangles, *(sizes[::-1] for sizes in triangles)]


def _read_shape(lines: Sequence[list[str]], sizes: Sequence[int]) -> tuple[list[str], Square] | None:
    """(ids, values) if the lines are rows with so many values each."""
    ids: list[str] = []
    rows: list[list[str]] = []
    at = 0
    for size in sizes:
        if at == len(lines):
            return None
        cells, at = lines[at], at + 1
        start = next((k for k in range(1, len(cells)) if number_of(cells[k]) is not None), len(cells))
        values = cells[start:]
        while len(values) < size and at < len(lines) and number_of(lines[at][0]) is not None:
            values, at = values + lines[at], at + 1
        if len(values) != size:
            return None
        ids.append(" ".join(cells[:start]))
        rows.append(values)
    square = square_of(rows)
    return (ids, square) if at == len(lines) and square is not None else None


def _what_is_wrong(rows: Sequence[tuple[int, list[str]]], count: int, first: Line) -> str:
    if len(rows) != count:
        return f"line {first[0]} says {quoted(first[1].strip())} records, but {len(rows):,} follow"
    for number, cells in rows:
        wrong = next((cell for cell in cells[1:] if number_of(cell) is None), None)
        if wrong is not None:
            return f"line {number}: {quoted(wrong)} is no number"
    sizes = [len(cells) - 1 for _, cells in rows]
    wanted = next((shape for shape in _shapes(count) if sizes[:1] == shape[:1]), [count] * count)
    number, size, expected = next(
        ((rows[k][0], have, want) for k, (have, want) in enumerate(zip(sizes, wanted, strict=True)) if have != want), (1, 0, count)
    )
    form = "each row of a square" if wanted[0] == count == wanted[-1] else "this row of a triangle"
    return f"line {number} has {size:,} values; expected {expected:,}, as {form} has"
