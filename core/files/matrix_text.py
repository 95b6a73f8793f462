"""Matrices in delimited text, with ids in a header, beside the rows, in both places or in none. Pure.

Only one reading of a file may be possible. Ids that are numbers cannot be told from values by themselves; what tells is which of the
readings makes a square of one set with itself (`Square.is_of_one_set`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from gpualign.core.dataclass import dataclass
from gpualign.core.errors import InputError, quoted
from gpualign.core.files.squares import Cells, Floats, Square, number_of, numbers_of, square_of

Row = tuple[int, list[str]]
"""The number of a line, and its cells."""

EXPECTED = "expected a matrix: a line of ids after an empty cell, then a row per record with its id first"


@dataclass(frozen=True)
class TextMatrix:
    """A matrix as its text is understood.

    values: float64[rows][columns], nan where there is none
    rows, columns: ids, None where the file has none
    name: what the values are, None where the file does not say
    assumed: what was assumed, None where the file leaves no choice
    """

    values: Floats
    rows: list[str] | None
    columns: list[str] | None
    name: str | None = None
    assumed: str | None = None


def read_plain_matrix(rows: Iterator[Row]) -> TextMatrix | None:
    """Read a matrix with ids in its header and beside its rows, holding no text of it; None for any other, and where ids may be values."""
    header = next(rows, None)
    if header is None or (header[1][0] and all(number_of(cell) is not None for cell in header[1][1:])):
        return None
    names: list[str] = []
    values: list[Floats] = []
    width = 0
    for _, cells in rows:
        width = width or len(cells)
        row = numbers_of(cells[1:])
        if row is None or len(cells) != width:
            return None
        names.append(cells[0])
        values.append(row)
    columns = header[1] if width == len(header[1]) + 1 else header[1][1:]
    if not columns or width != len(columns) + 1 or "" in columns:
        return None
    if len(names) == len(header[1]) and all(number_of(name) is not None for name in names):
        return None  # perhaps values, under a header alone
    return TextMatrix(np.array(values), names, columns)


def read_matrix_rows(rows: Sequence[Row], source: str) -> TextMatrix:
    """Understand the rows of a text as a matrix. Raises `InputError` naming the line, and both readings of a text that has two."""
    if not rows:
        raise InputError(f"{source}: every cell is empty; {EXPECTED}")
    rows = _without_empty_columns(rows)
    line, first = rows[0]
    titles = first[1:]
    if any(cell and number_of(cell) is None for cell in titles) or not first[0]:
        return _with_header(rows, source)
    cells = [row for _, row in rows]
    beside = _titled_rows(cells)
    if number_of(first[0]) is None:
        if len(cells) > 1 and beside is not None and [row[0] for row in cells[1:]] == titles:
            raise InputError(f"{source}: line {line} may be a header or a row of values; let its first cell be empty if it is a header")
        if beside is not None:
            return beside
        if len(set(titles)) == len(titles) and all(title.isdecimal() for title in titles):
            return _with_header(rows, source)  # which refuses a line without titles
        raise InputError(f"{source}: line {line} is {quoted(first[0])} and numbers; {EXPECTED}")
    bare = _without_ids(cells, source)
    if bare is not None:
        return bare
    if len(cells) > 1 and [row[0] for row in cells[1:]] in (titles, first):
        return _with_header(rows, source)
    without_corner = len(cells) > 1 and len(cells[1]) == len(first) + 1
    for one in (_titled_columns(cells), beside):
        if one is not None and without_corner:
            raise InputError(f"{source}: line {line} may be a header of ids that are numbers, or a row; {EXPECTED}")
        if one is not None:
            return one
    if without_corner or any(len(row) != len(first) for row in cells):
        return _with_header(rows, source)  # which says which line is shorter or longer
    raise InputError(f"{source}: line {line} has only numbers, and is neither a header of ids nor a row of a square matrix; {EXPECTED}")


def _without_empty_columns(rows: Sequence[Row]) -> list[Row]:
    """Rows without the columns on the right that are empty everywhere, as spreadsheets leave them."""
    (number, header), *body = rows
    width = max((_width(row) for _, row in body), default=0)
    titled = max(_width(header), 1 if header[0] else width)  # an empty title above values is no such column
    return [(number, header[:titled]), *((number, row[:width]) for number, row in body)]


def _width(row: Cells) -> int:
    """Cells up to the last that is not empty."""
    count = len(row)
    while count and not row[count - 1]:
        count -= 1
    return count


def _with_header(rows: Sequence[Row], source: str) -> TextMatrix:
    """The first line has the ids of the columns, the first cell of each other line the id of its row."""
    first, body = rows[0][1], rows[1:]
    if not body:
        if len(first) < 2:
            raise InputError(f"{source}: line {rows[0][0]} is {quoted(first[0])}; {EXPECTED}")
        raise InputError(f"{source}: a header and no rows; {EXPECTED}")
    cells = [row for _, row in body]
    names = [row[0] for row in cells]
    for columns in (first[1:], first):  # R writes no title over the ids of rows
        if names == columns and (square := square_of([row[1:] for row in cells])) is not None:
            return TextMatrix(square.values, names, columns, None if square.has_diagonal else "distance")
    if first[0] and (titled := _titled_columns([first, *cells])) is not None:
        return titled
    columns = first if len(cells[0]) == len(first) + 1 and first[0] else first[1:]
    if not columns:
        raise InputError(f"{source}: line {rows[0][0]} is {quoted(first[0])}; {EXPECTED}")
    return TextMatrix(_block(body, len(columns), source), names, columns)


def _block(body: Sequence[Row], count: int, source: str) -> Floats:
    """float64[rows][count]."""
    found = []
    for number, (_, *cells) in body:
        if len(cells) != count:
            raise InputError(f"{source}: line {number} has {len(cells):,} values; expected {count:,}, one for each column")
        values = numbers_of(cells)
        if values is None:
            wrong = next(cell for cell in cells if number_of(cell) is None)
            point = "; write a point in decimals" if number_of(wrong.replace(",", ".")) is not None else ""
            raise InputError(f"{source}: line {number}: {quoted(wrong)} is no number{point}")
        found.append(values)
    return np.array(found)


def _titled_columns(cells: Sequence[Cells]) -> TextMatrix | None:
    """A header of ids above rows that have none, as pandas writes without an index."""
    titles, *rows = cells
    if len(rows) != len(titles):
        return None
    square = square_of(rows)
    if square is None or not square.is_of_one_set:
        return None
    ids = list(titles)
    return TextMatrix(square.values, ids, ids, None, "no ids beside its rows; they are taken to be in the order of the columns")


def _titled_rows(cells: Sequence[Cells]) -> TextMatrix | None:
    """Rows that begin with an id, without a header."""
    ids = [row[0] for row in cells]
    square = square_of([row[1:] for row in cells])
    if square is None or not square.is_of_one_set or len(set(ids)) < len(ids):
        return None
    return TextMatrix(square.values, ids, ids, _name(square), "no header; its columns are taken to be in the order of the rows")


def _without_ids(cells: Sequence[Cells], source: str) -> TextMatrix | None:
    """Values alone, as PLINK writes them. Raises `InputError` for a triangle that may or may not have a diagonal."""
    square = square_of(cells)
    if square is not None and square.shape == "square":
        return TextMatrix(square.values, None, None) if square.is_of_one_set else None
    closed = square is not None and square.has_diagonal and not np.diagonal(square.values).any()
    opened = next((one for rows in (([], *cells), (*cells, [])) if (one := square_of(rows)) is not None and not one.has_diagonal), None)
    if opened is None:
        return None
    ids = [row[0] for row in cells]
    if closed and square is not None and square.values.any():
        # Distances between neighbours in the file could be 0 only where all are.
        return TextMatrix(square.values, None, None, "distance")
    if closed:
        raise InputError(f"{source}: a triangle of zeros, with or without the diagonal; write the whole square")
    if len(cells) > 1 and len(set(ids)) == len(ids) and all(name.isdecimal() for name in ids):
        raise InputError(f"{source}: its rows may begin with ids that are numbers, or with values; write the whole square, with a header")
    return TextMatrix(opened.values, None, None, "distance")


def _name(square: Square) -> str | None:
    return None if square.has_diagonal else "distance"
