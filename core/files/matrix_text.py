"""Matrices in delimited text, with ids in a header, beside the rows, in both places or in none. Pure.

Words are ids, and numbers may be ids or values. A file is read only if one reading makes a matrix of it: of a square of one set with
itself (`Square.is_of_one_set`), or of a rectangle whose ids are words or stand where ids do.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np

from gpualign.core.common.arrays import Reals
from gpualign.core.common.dataclass import dataclass
from gpualign.core.common.errors import InputError, quoted
from gpualign.core.files.squares import Cells, Square, filled, number_of, numbers_of, square_of, triangles_of, without_half

Row = tuple[int, list[str]]
"""The number of a line, and its cells."""

EXPECTED = "expected a matrix: a line of ids after an empty cell, then a row per record with its id first"

_CORNER = re.compile(r"(?:query|target|#?id|ids|names?|.*[ _.-](?:id|name)|.*dists?(?: .*)?)?", re.IGNORECASE)
"""What stands over the ids of rows: nothing, a title of ids, or a program and its version."""

_ZEROS = "zeros above its diagonal are taken for values that are not written"


@dataclass(frozen=True)
class TextMatrix:
    """A matrix as its text is understood.

    values: float64[rows][columns], nan where there is none
    rows, columns: ids, None where the file has none
    name: what the values are, None where the file does not say
    assumed: what was assumed, None where the file leaves no choice
    """

    values: Reals
    rows: list[str] | None
    columns: list[str] | None
    name: str | None = None
    assumed: str | None = None


def read_plain_matrix(rows: Iterator[Row]) -> TextMatrix | None:
    """Read a matrix with ids in its header and beside its rows, without holding its text. Returns None for any other layout, and where ids
    could be values."""
    header = next(rows, None)
    if header is None or not _is_id(header[1][0]) or (header[1][0] and all(map(_is_number, header[1][1:]))):
        return None
    names: list[str] = []
    values: list[Reals] = []
    width = 0
    for _, cells in rows:
        width = width or len(cells)
        row = numbers_of(cells[1:])
        if row is None or len(cells) != width:
            return None
        names.append(cells[0])
        values.append(row)
    columns = header[1] if width == len(header[1]) + 1 else header[1][1:]
    if not columns or width != len(columns) + 1 or "" in columns or "" in names or not values:
        return None
    found = np.array(values)
    if all(map(_is_number, names)) and (header[1][0] or np.isnan(np.diagonal(found)).all()):
        return None
    if names == columns:  # one of the triangles may be zeros alone, or without values
        last, column = found[-1, :-1], found[:-1, -1]
        if last.any() != column.any() or np.isnan(last).all() != np.isnan(column).all():
            return None
    return TextMatrix(found, names, columns)


def read_matrix_rows(rows: Sequence[Row], source: str, count: int | None = None) -> TextMatrix:
    """Understand the rows of a text as a matrix. count: of its records, where a list of ids beside the file tells. Raises `InputError`
    naming the line, and both readings of a text that has two."""
    rows = _without_empty_cells(rows)
    if not rows:
        raise InputError(f"{source}: every cell is empty; {EXPECTED}")
    cells = [row for _, row in rows]
    if count is not None and (values := _values_alone(cells, count)) is not None:
        return values
    first = cells[0]
    corner, titles = first[0], first[1:]
    if not corner or (_is_id(corner) and not all(not title or _is_number(title) for title in titles)):
        return _with_header(rows, source)
    if _is_id(corner):
        return _words_beside(rows, source)
    if not all(map(_is_number, titles)):
        return _number_in_the_corner(rows, source)
    return _numbers(rows, source)


# ---- what the first line shows


def _with_header(rows: Sequence[Row], source: str) -> TextMatrix:
    """The first line has ids: its first cell is empty, or it has words."""
    line, first = rows[0]
    body = rows[1:]
    if not body:
        if len(first) < 2:
            raise InputError(f"{source}: line {line} is {quoted(first[0])}; {EXPECTED}")
        raise InputError(f"{source}: a header and no rows; {EXPECTED}")
    cells = [row for _, row in body]
    if (square := _titled_square(first, cells)) is not None:
        return square
    alone = _titled_columns(first, cells) if first[0] else None
    numbers = all(_is_number(row[0]) for row in cells)
    if alone is not None and (numbers or len(cells[0]) == len(first) - 1):
        return alone
    columns = first if len(cells[0]) == len(first) + 1 and first[0] else first[1:]
    if not columns:
        raise InputError(f"{source}: line {line} is {quoted(first[0])}; {EXPECTED}")
    names = _names(body, source)
    values = _block(body, len(columns), source)
    if numbers and not first[0] and names == columns and np.isnan(np.diagonal(values)).all():
        raise InputError(
            f"{source}: line {line} may be a header of ids that are numbers, or a row without a value on the diagonal; write 0 or NA there"
        )
    if numbers and columns is not first and not _CORNER.fullmatch(first[0]):
        where = f"{source}: line {body[0][0]} begins with {quoted(names[0])}, an id or a value"
        raise InputError(f"{where}; let the first cell of line {line} be empty if it is an id")
    if names != list(columns):
        return TextMatrix(values, names, list(columns))
    whole = without_half(values)
    return TextMatrix(whole.values, names, names, _name(whole))


def _words_beside(rows: Sequence[Row], source: str) -> TextMatrix:
    """The first line is a word and numbers: an id and its values, or ids that are numbers."""
    line, first = rows[0]
    if len(first) == 1:
        raise InputError(f"{source}: line {line} is {quoted(first[0])}; {EXPECTED}")
    cells = [row for _, row in rows]
    headed = _titled_square(first, cells[1:]) if len(cells) > 1 else None
    beside = _titled_rows(cells)
    if beside is not None and (headed is not None or [row[0] for row in cells[1:]] == first[1:]):
        raise InputError(f"{source}: line {line} may be a header or a row of values; let its first cell be empty if it is a header")
    if found := headed or beside:
        return found
    if len(cells) > 1 and _CORNER.fullmatch(first[0]):
        return _with_header(rows, source)
    raise InputError(f"{source}: line {line} is {quoted(first[0])} and numbers, a header or a row of values; {EXPECTED}")


def _number_in_the_corner(rows: Sequence[Row], source: str) -> TextMatrix:
    """The first line is a number, and words: ids of columns alone, or of R's header, or ids of both behind a count."""
    line, first = rows[0]
    cells = [row for _, row in rows[1:]]
    words = not any(map(_is_number, first[1:])) and "" not in first
    if cells and ((words and [row[0] for row in cells] == first[1:]) or len(cells[0]) == len(first) + 1):
        return _with_header(rows, source)
    if cells and (alone := _titled_columns(first, cells)) is not None:
        return alone
    wrong = next(cell for cell in first if not _is_number(cell))
    raise _no_number(source, line, wrong)


def _numbers(rows: Sequence[Row], source: str) -> TextMatrix:
    """The first line is numbers alone."""
    line, first = rows[0]
    cells = [row for _, row in rows]
    longer = len(cells) > 1 and len(cells[1]) == len(first) + 1
    if [row[0] for row in cells[1:]] == first and (headed := _titled_square(first, cells[1:])) is not None:
        return headed
    square = square_of(cells)
    if square is not None and square.shape == "square" and (found := _whole(square)) is not None:
        if len(cells) > 2 and _could_be_header(cells):
            raise InputError(
                f"{source}: line {line} may be a header of ids that are numbers, or a row; let its first cell be empty if it is"
            )
        return found
    triangles = triangles_of(cells)
    if triangles:
        return _triangle_alone(cells, triangles, source)
    for one in (_titled_columns(first, cells[1:]), _titled_rows(cells)):
        if one is not None and longer:
            raise InputError(f"{source}: line {line} may be a header of ids that are numbers, or a row; {EXPECTED}")
        if one is not None:
            return one
    wrong = next(((number, cell) for number, row in rows for cell in row if cell and not _is_number(cell)), None)
    if wrong is not None:
        raise _no_number(source, *wrong)
    for number, row in rows:
        if len(row) != len(first):
            raise InputError(f"{source}: line {number} has {len(row):,} values; line {line} has {len(first):,}; {EXPECTED}")
    raise InputError(f"{source}: line {line} has only numbers, and is neither a header of ids nor a row of a square matrix; {EXPECTED}")


# ---- readings


def _titled_square(first: Cells, cells: Sequence[Cells]) -> TextMatrix | None:
    """A square under a header, of the same ids as beside its rows."""
    names = [row[0] for row in cells]
    for columns in (first[1:], first):  # R writes no title over the ids of rows
        if names != list(columns) or "" in names:
            continue
        square = square_of([row[1:] for row in cells])
        if square is not None:
            whole = filled(square)
            assumed = _ZEROS if whole is not square else None
            return TextMatrix(whole.values, names, list(columns), _name(whole), assumed)
    return None


def _titled_columns(titles: Cells, rows: Sequence[Cells]) -> TextMatrix | None:
    """A header of ids above rows that have none, as pandas writes without an index."""
    if len(rows) != len(titles) or "" in titles:
        return None
    square = square_of(rows)
    if square is None or not square.is_of_one_set:
        return None
    ids = list(titles)
    return TextMatrix(square.values, ids, ids, _name(square), "no ids beside its rows; they are taken to be in the order of the columns")


def _titled_rows(cells: Sequence[Cells]) -> TextMatrix | None:
    """Rows that begin with an id, without a header."""
    ids = [row[0] for row in cells]
    square = square_of([row[1:] for row in cells])
    if square is None or not square.is_of_one_set or len(set(ids)) < len(ids) or "" in ids:
        return None
    return TextMatrix(square.values, ids, ids, _name(square), "no header; its columns are taken to be in the order of the rows")


def _values_alone(cells: Sequence[Cells], count: int) -> TextMatrix | None:
    """Values of so many records, whose ids are elsewhere."""
    square = square_of(cells)
    if square is not None and square.shape == "square":
        return _whole(square) if len(cells) == count else None
    fitting = [one for one in triangles_of(cells) if len(one.values) == count]
    return TextMatrix(fitting[0].values, None, None, _name(fitting[0])) if len(fitting) == 1 else None


def _whole(square: Square) -> TextMatrix | None:
    """A square of values of one set, None for any other one."""
    whole = filled(square)
    return TextMatrix(whole.values, None, None, _name(whole), _ZEROS if whole is not square else None) if whole.is_of_one_set else None


def _triangle_alone(cells: Sequence[Cells], triangles: Sequence[Square], source: str) -> TextMatrix:
    """A triangle of values. Raises `InputError` where its last values may be a diagonal, or its first ones ids."""
    ids = [row[0] for row in cells]
    closed = [one for one in triangles if one.has_diagonal and one.is_of_one_set]
    if closed and not (closed[0].values.any() and not np.diagonal(closed[0].values).any() and len(cells) > 2):
        raise InputError(f"{source}: a triangle with or without its diagonal; write the whole square")
    if closed:
        return TextMatrix(closed[0].values, None, None)  # distances between neighbours in the file could be 0 only where all are
    if len(cells) > 1 and len(set(ids)) == len(ids):
        raise InputError(f"{source}: its rows may begin with ids that are numbers, or with values; write the whole square, with a header")
    found = [one for one in triangles if not one.has_diagonal]
    if not found:
        raise InputError(f"{source}: a triangle with different values on its diagonal; {EXPECTED}")
    return TextMatrix(found[0].values, None, None, "distance")


def _could_be_header(cells: Sequence[Cells]) -> bool:
    """Tell whether numbers of the first row and column may be ids: they count on, or the corner has no value and others have."""
    titles = cells[0][1:]
    counting = all(title.isdecimal() for title in titles) and all(int(b) == int(a) + 1 for a, b in pairwise(titles))
    has_value = [number_of(row[k]) == number_of(row[k]) for k, row in enumerate(cells)]
    return counting or (not has_value[0] and any(has_value))


# ---- cells


def _is_number(cell: str) -> bool:
    return number_of(cell) is not None


def _is_id(cell: str) -> bool:
    """Tell whether a cell is empty or a word."""
    return not cell or number_of(cell) is None


def _name(square: Square) -> str | None:
    """What a triangle without a diagonal holds."""
    return None if square.has_diagonal else "distance"


def _names(body: Sequence[Row], source: str) -> list[str]:
    """Ids of rows. Raises `InputError` for an empty one."""
    for number, row in body:
        if not row[0]:
            raise InputError(f"{source}: line {number} has an empty id; {EXPECTED}")
    return [row[0] for _, row in body]


def _block(body: Sequence[Row], count: int, source: str) -> Reals:
    """float64[rows][count]; an empty cell is no value."""
    found = []
    for number, (_, *cells) in body:
        if len(cells) != count:
            have = f"{len(cells):,} value{'s'[: len(cells) != 1]}"
            raise InputError(f"{source}: line {number} has {have}; expected {count:,}, one for each column")
        values = numbers_of([cell or "nan" for cell in cells])
        if values is None:
            raise _no_number(source, number, next(cell for cell in cells if cell and not _is_number(cell)))
        found.append(values)
    return np.array(found)


def _no_number(source: str, line: int, cell: str) -> InputError:
    point = "; write a point in decimals" if _is_number(cell.replace(",", ".")) else ""
    return InputError(f"{source}: line {line}: {quoted(cell)} is no number{point}")


def _without_empty_cells(rows: Sequence[Row]) -> list[Row]:
    """Rows without those at the end, and columns on the right, in which every cell is empty, as spreadsheets leave them."""
    some = list(rows)
    while some and not any(some[-1][1]):
        some.pop()
    if not some:
        return []
    (number, header), *body = some
    width = max((_width(row) for _, row in body), default=0)
    titled = max(_width(header), 1 if header[0] else width)  # an empty title above values is no such column
    return [(number, header[: titled or 1]), *((number, row[: max(width, 1)]) for number, row in body)]


def _width(row: Cells) -> int:
    """Cells up to the last that is not empty."""
    count = len(row)
    while count and not row[count - 1]:
        count -= 1
    return count
