"""Reads matrices in delimited text, with ids in the header, in the first column, in both or in neither. Pure.

A word is always an id; a number may be an id or a value. Text is accepted only if exactly one interpretation of it is a matrix. The matrix
is either a square of one set with itself (`SquareMatrix.is_of_one_set`), or a rectangle whose ids are words or appear where ids are
expected.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np

from gpualign.core.common.arrays import Reals
from gpualign.core.common.dataclass import dataclass
from gpualign.core.common.errors import InputError, quoted
from gpualign.core.common.units import format_count
from gpualign.core.files.row_numbers import INDEX_TITLES, are_row_numbers
from gpualign.core.files.square_matrices import (
    Cells,
    SquareMatrix,
    are_whole,
    fill_upper,
    may_be_percent_identities,
    mirror_triangle,
    number_advice,
    parse_number,
    parse_numbers,
    parse_square,
    squares_from_triangle_rows,
)

NumberedRow = tuple[int, list[str]]
"""(line number, cells) of a row."""

EXPECTED_LAYOUT = "expected a matrix: a line of ids after an empty cell, then a row per record with its id first"

_CORNER_TITLE = re.compile(r"(?:query|target|#?id|ids|names?|.*[ _.-](?:id|name)|.*dists?(?: .*)?)?", re.IGNORECASE)
"""Pattern of the titles that may stand above the row ids: no title, a title for ids, or the name and version of a program."""

WHOLE_PERCENT_NOTE = (
    "its whole numbers from 70 to 100, without a diagonal, are taken for distances; if they are percent identities, write 100 - value"
)
_ZEROS_ASSUMPTION = "zeros above its diagonal are taken for values that are not written"


@dataclass(frozen=True)
class TextMatrix:
    """A matrix as interpreted from text.

    values: float64[rows][columns], nan where missing
    row_ids, column_ids: ids of the rows and columns, None if the file has none
    name: name of the values, None if the file does not specify one
    assumption_note: human-readable note on what was assumed about the text, None if the file is unambiguous
    """

    values: Reals
    row_ids: list[str] | None
    column_ids: list[str] | None
    name: str | None = None
    assumption_note: str | None = None


def read_plain_matrix(rows: Iterator[NumberedRow]) -> TextMatrix | None:
    """Read a matrix with ids in the header and in the first column, without keeping its text in memory.

    Returns None if the rows have a different layout, or if the row ids are numbers that could be values.
    """
    header = next(rows, None)
    if header is None or not _may_be_id(header[1][0]) or (header[1][0] and all(map(_is_number, header[1][1:]))):
        return None
    names: list[str] = []
    values: list[Reals] = []
    width = 0
    for _, cells in rows:
        width = width or len(cells)
        row = parse_numbers(cells[1:])
        if row is None or len(cells) != width:
            return None
        names.append(cells[0])
        values.append(row)
    columns = header[1] if width == len(header[1]) + 1 else header[1][1:]
    if not columns or width != len(columns) + 1 or "" in columns or "" in names or not values:
        return None
    matrix = np.array(values)
    if all(map(_is_number, names)) and (header[1][0] or np.isnan(np.diagonal(matrix)).all()):
        return None
    if are_row_numbers(names) and _equal_numbers(columns[1:], matrix[:, 0]):
        return None
    if names == columns:  # one of the triangles may be all zeros, or without values
        last_row, last_column = matrix[-1, :-1], matrix[:-1, -1]
        if last_row.any() != last_column.any() or np.isnan(last_row).all() != np.isnan(last_column).all():
            return None
    return TextMatrix(matrix, names, columns)


def read_matrix_rows(rows: Sequence[NumberedRow], source: str, record_count: int | None = None) -> TextMatrix:
    """Interpret the rows of a text file as a matrix.

    source: name of the file, for messages
    record_count: number of records, if known from a separate id file

    Raises `InputError` if the rows are not a matrix, or if they can be interpreted as two different matrices. The message names the line or
    both interpretations.
    """
    matrix = _interpret_rows(rows, source, record_count)
    if matrix.name is None:  # not a triangle without its diagonal
        return matrix
    notes = [matrix.assumption_note, check_triangle_without_diagonal(matrix.values, source)]
    return replace(matrix, assumption_note="; ".join(note for note in notes if note) or None)


def check_triangle_without_diagonal(values: Reals, source: str) -> str | None:
    """Return a note if values that are taken for distances, because their diagonal is not in the file, may be percent identities; None
    otherwise. Raises `InputError` if they are fractions as well, which counts of differences are not."""
    if not may_be_percent_identities(values):
        return None
    if are_whole(values):
        return WHOLE_PERCENT_NOTE
    raise InputError(
        f"{source}: a triangle of decimals between 70 and 100, which may be percent identities (fastANI, skani);"
        " write 100 - value, or add the diagonal of 0 if they are distances"
    )


def _interpret_rows(rows: Sequence[NumberedRow], source: str, record_count: int | None) -> TextMatrix:
    """Read a matrix as `read_matrix_rows` does, without checking for percent identities."""
    rows = _with_header_first(_without_comment_mark(_without_row_numbers(_trim_empty_cells(rows))))
    if not rows:
        raise InputError(f"{source}: every cell is empty; {EXPECTED_LAYOUT}")
    cells = [row for _, row in rows]
    if record_count is not None and (values := _matrix_of_values(cells, record_count)) is not None:
        return values
    first = cells[0]
    corner, titles = first[0], first[1:]
    if not corner or (_may_be_id(corner) and not all(not title or _is_number(title) for title in titles)):
        return _matrix_with_header(rows, source)
    if _may_be_id(corner):
        return _matrix_with_row_ids(rows, source)
    if not all(map(_is_number, titles)):
        return _matrix_with_corner_number(rows, source)
    return _matrix_from_numbers(rows, source)


# ---- by the first line


def _matrix_with_header(rows: Sequence[NumberedRow], source: str) -> TextMatrix:
    """Read a matrix from rows of which the first contains ids: either its first cell is empty, or it contains words."""
    line, first = rows[0]
    body = rows[1:]
    if not body:
        if len(first) < 2:
            raise InputError(f"{source}: line {line} is {quoted(first[0])}; {EXPECTED_LAYOUT}")
        raise InputError(f"{source}: a header and no rows; {EXPECTED_LAYOUT}")
    cells = [row for _, row in body]
    if (square := _labelled_square(first, cells)) is not None:
        return square
    if (printed := _printed_triangle(first, cells)) is not None:
        return printed
    without_row_ids = _labelled_columns(first, cells) if first[0] else None
    numbers = all(_is_number(row[0]) for row in cells)
    if without_row_ids is not None and (numbers or len(cells[0]) == len(first) - 1):
        return without_row_ids
    columns = first if len(cells[0]) == len(first) + 1 and first[0] else first[1:]
    if not columns:
        raise InputError(f"{source}: line {line} is {quoted(first[0])}; {EXPECTED_LAYOUT}")
    names = _row_ids(body, source)
    if len(cells[0]) == 2 < len(first) and names[0] == first[1] and not _CORNER_TITLE.fullmatch(first[0]):
        raise InputError(f"{source}: line {body[0][0]} has one value, as where R prints a dist; write it with write.csv(as.matrix(...))")
    values = _parse_values(body, len(columns), source)
    if numbers and not first[0] and names == columns and np.isnan(np.diagonal(values)).all():
        raise InputError(
            f"{source}: line {line} may be a header of ids that are numbers, or a row without a value on the diagonal; write 0 or NA there"
        )
    if numbers and columns is not first and not _CORNER_TITLE.fullmatch(first[0]):
        problem = f"{source}: line {body[0][0]} begins with {quoted(names[0])}, an id or a value"
        raise InputError(f"{problem}; let the first cell of line {line} be empty if it is an id")
    if names != list(columns):
        return TextMatrix(values, names, list(columns))
    whole = mirror_triangle(values)
    return TextMatrix(whole.values, names, names, _value_name(whole))


def _matrix_with_row_ids(rows: Sequence[NumberedRow], source: str) -> TextMatrix:
    """Read a matrix from rows of which the first consists of a word and numbers. These are an id and its values, or a title and ids that
    are numbers."""
    line, first = rows[0]
    cells = [row for _, row in rows]
    if len(first) == 1:
        # Otherwise the word may be a title above the ids, or above a single column.
        if len(cells) > 2 and _labelled_rows(cells[1:]) is None and (triangle := _labelled_rows(cells)) is not None:
            return triangle
        raise InputError(f"{source}: line {line} is {quoted(first[0])}; {EXPECTED_LAYOUT}")
    with_header = _labelled_square(first, cells[1:]) if len(cells) > 1 else None
    without_header = _labelled_rows(cells)
    if without_header is not None and (with_header is not None or [row[0] for row in cells[1:]] == first[1:]):
        raise InputError(f"{source}: line {line} may be a header or a row of values; let its first cell be empty if it is a header")
    if matrix := with_header or without_header:
        return matrix
    if len(cells) > 1 and _CORNER_TITLE.fullmatch(first[0]):
        return _matrix_with_header(rows, source)
    raise InputError(f"{source}: line {line} is {quoted(first[0])} and numbers, a header or a row of values; {EXPECTED_LAYOUT}")


def _matrix_with_corner_number(rows: Sequence[NumberedRow], source: str) -> TextMatrix:
    """Read a matrix from rows of which the first begins with a number and contains words, and is therefore a header.

    The number is either the id of the first column (rows may then have ids too, if R wrote the matrix) or a number of records, in the
    corner above the row ids.
    """
    line, first = rows[0]
    cells = [row for _, row in rows[1:]]
    words = not any(map(_is_number, first[1:])) and "" not in first
    if cells and ((words and [row[0] for row in cells] == first[1:]) or len(cells[0]) == len(first) + 1):
        return _matrix_with_header(rows, source)
    if cells and (without_row_ids := _labelled_columns(first, cells)) is not None:
        return without_row_ids
    wrong = next(cell for cell in first if not _is_number(cell))
    raise _not_a_number_error(source, line, wrong)


def _matrix_from_numbers(rows: Sequence[NumberedRow], source: str) -> TextMatrix:
    """Read a matrix from rows of which the first contains only numbers."""
    line, first = rows[0]
    cells = [row for _, row in rows]
    longer = len(cells) > 1 and len(cells[1]) == len(first) + 1
    if [row[0] for row in cells[1:]] == first and (with_header := _labelled_square(first, cells[1:])) is not None:
        return with_header
    square = parse_square(cells)
    if square is not None and square.layout == "square" and (matrix := _square_matrix(square)) is not None:
        if len(cells) > 2 and _could_be_header(cells):
            raise InputError(
                f"{source}: line {line} may be a header of ids that are numbers, or a row; let its first cell be empty if it is"
            )
        return matrix
    triangles = squares_from_triangle_rows(cells)
    if triangles:
        return _triangle_matrix(cells, triangles, source)
    for one in (_labelled_columns(first, cells[1:]), _labelled_rows(cells)):
        if one is not None and longer:
            raise InputError(f"{source}: line {line} may be a header of ids that are numbers, or a row; {EXPECTED_LAYOUT}")
        if one is not None:
            return one
    if (printed := _printed_triangle(first, cells[1:])) is not None:
        return printed
    wrong = next(((number, cell) for number, row in rows for cell in row if cell and not _is_number(cell)), None)
    if wrong is not None:
        raise _not_a_number_error(source, *wrong)
    for number, row in rows:
        if len(row) != len(first):
            raise InputError(f"{source}: line {number} has {len(row):,} values; line {line} has {len(first):,}; {EXPECTED_LAYOUT}")
    raise InputError(
        f"{source}: line {line} has only numbers, and is neither a header of ids nor a row of a square matrix; {EXPECTED_LAYOUT}"
    )


# ---- interpretations


def _labelled_square(first: Cells, cells: Sequence[Cells]) -> TextMatrix | None:
    """Return the matrix if the rows are a square with the same ids in the header and in the first column; None otherwise.

    first: the header
    cells: the rows below it
    """
    names = [row[0] for row in cells]
    for columns in (first[1:], first):  # R writes no title over the ids of rows
        if names != list(columns) or "" in names:
            continue
        square = parse_square([row[1:] for row in cells])
        if square is not None:
            whole = fill_upper(square)
            assumed = _ZEROS_ASSUMPTION if whole is not square else None
            return TextMatrix(whole.values, names, list(columns), _value_name(whole), assumed)
    return None


def _printed_triangle(first: Cells, cells: Sequence[Cells]) -> TextMatrix | None:
    """Return the matrix if the rows are a lower triangle without diagonal whose header lacks the last id and whose rows lack the first, as
    R prints a `dist`; None otherwise. first: the header."""
    titles, names = first if first[0] else first[1:], [row[0] for row in cells]
    if len(cells) < 2 or len(titles) != len(names) or titles[1:] != names[:-1]:
        return None
    square = parse_square([[], *(row[1:] for row in cells)])
    if square is None or square.layout != "lower triangle" or square.has_diagonal:
        return None
    ids = [titles[0], *names]
    return TextMatrix(square.values, ids, ids, _value_name(square))


def _labelled_columns(titles: Cells, rows: Sequence[Cells]) -> TextMatrix | None:
    """Return the matrix if the header contains ids and the rows do not, as pandas writes with index=False; None otherwise.

    titles: the header
    rows: the rows below it
    """
    if len(rows) != len(titles) or "" in titles:
        return None
    square = parse_square(rows)
    if square is None or not square.is_of_one_set:
        return None
    ids = list(titles)
    return TextMatrix(
        square.values, ids, ids, _value_name(square), "no ids beside its rows; they are taken to be in the order of the columns"
    )


def _labelled_rows(cells: Sequence[Cells]) -> TextMatrix | None:
    """Return the matrix if each row begins with an id and there is no header; None otherwise."""
    ids = [row[0] for row in cells]
    square = parse_square([row[1:] for row in cells])
    if square is None or not square.is_of_one_set or len(set(ids)) < len(ids) or "" in ids:
        return None
    return TextMatrix(square.values, ids, ids, _value_name(square), "no header; its columns are taken to be in the order of the rows")


def _matrix_of_values(cells: Sequence[Cells], record_count: int) -> TextMatrix | None:
    """Return the matrix if the cells contain only values for `record_count` records, whose ids are in a separate file; None otherwise."""
    square = parse_square(cells)
    if square is not None and square.layout == "square":
        return _square_matrix(square) if len(cells) == record_count else None
    fitting = [one for one in squares_from_triangle_rows(cells) if len(one.values) == record_count]
    return TextMatrix(fitting[0].values, None, None, _value_name(fitting[0])) if len(fitting) == 1 else None


def _square_matrix(square: SquareMatrix) -> TextMatrix | None:
    """Return the matrix with the values of a square if they imply that rows and columns are the same records; None otherwise."""
    whole = fill_upper(square)
    return (
        TextMatrix(whole.values, None, None, _value_name(whole), _ZEROS_ASSUMPTION if whole is not square else None)
        if whole.is_of_one_set
        else None
    )


def _triangle_matrix(cells: Sequence[Cells], triangles: Sequence[SquareMatrix], source: str) -> TextMatrix:
    """Return the matrix that a triangle of values stands for.

    triangles: every square matrix that could have these cells as one of its triangles

    Raises `InputError` if it is unclear whether the last values are a diagonal, or whether the first values are ids.
    """
    ids = [row[0] for row in cells]
    with_diagonal = [one for one in triangles if one.has_diagonal and one.is_of_one_set]
    if with_diagonal and not (with_diagonal[0].values.any() and not np.diagonal(with_diagonal[0].values).any() and len(cells) > 2):
        raise InputError(f"{source}: a triangle with or without its diagonal; write the whole square")
    if with_diagonal:
        # Without a diagonal, these zeros would be the distances between successive records, and all distances would be 0.
        return TextMatrix(with_diagonal[0].values, None, None)
    if len(cells) > 1 and len(set(ids)) == len(ids):
        raise InputError(f"{source}: its rows may begin with ids that are numbers, or with values; write the whole square, with a header")
    without_diagonal = [one for one in triangles if not one.has_diagonal]
    if not without_diagonal:
        raise InputError(f"{source}: a triangle with different values on its diagonal; {EXPECTED_LAYOUT}")
    return TextMatrix(without_diagonal[0].values, None, None, "distance")


def _could_be_header(cells: Sequence[Cells]) -> bool:
    """Return whether the numbers in the first row and column may be ids.

    They may be ids if the numbers in the first row are consecutive, or if the first cell of the diagonal has no value but a later one has.
    """
    titles = cells[0][1:]
    counting = all(title.isdecimal() for title in titles) and all(int(b) == int(a) + 1 for a, b in pairwise(titles))
    has_value = [parse_number(row[k]) == parse_number(row[k]) for k, row in enumerate(cells)]  # nan differs from itself
    return counting or (not has_value[0] and any(has_value))


# ---- cells


def _is_number(cell: str) -> bool:
    return parse_number(cell) is not None


def _may_be_id(cell: str) -> bool:
    """Return whether a cell is empty or a word."""
    return not cell or parse_number(cell) is None


def _value_name(square: SquareMatrix) -> str | None:
    """Return the name of the values: "distance" for a triangle without a diagonal, otherwise None."""
    return None if square.has_diagonal else "distance"


def _row_ids(body: Sequence[NumberedRow], source: str) -> list[str]:
    """Return the ids at the beginning of the rows. Raises `InputError` for an empty id."""
    for number, row in body:
        if not row[0]:
            raise InputError(f"{source}: line {number} has an empty id; {EXPECTED_LAYOUT}")
    return [row[0] for _, row in body]


def _parse_values(body: Sequence[NumberedRow], column_count: int, source: str) -> Reals:
    """Return the values that follow the ids in the rows: float64[rows][column_count], nan for an empty cell.

    Raises `InputError` for a row with the wrong number of values, and for a value that is not a number.
    """
    block = []
    for number, (_, *cells) in body:
        if len(cells) != column_count:
            have = format_count(len(cells), "value")
            raise InputError(f"{source}: line {number} has {have}; expected {column_count:,}, one for each column")
        values = parse_numbers([cell or "nan" for cell in cells])
        if values is None:
            raise _not_a_number_error(source, number, next(cell for cell in cells if cell and not _is_number(cell)))
        block.append(values)
    return np.array(block)


def _not_a_number_error(source: str, line: int, cell: str) -> InputError:
    return InputError(f"{source}: line {line}: expected a number, found {quoted(cell)}{number_advice(cell)}")


def _trim_empty_cells(rows: Sequence[NumberedRow]) -> list[NumberedRow]:
    """Remove trailing rows and columns in which every cell is empty. Spreadsheets write such rows and columns."""
    used = list(rows)
    while used and not any(used[-1][1]):
        used.pop()
    if not used:
        return []
    (number, header), *body = used
    width = max((_used_width(row) for _, row in body), default=0)
    header_width = max(_used_width(header), 1 if header[0] else width)  # a column of values with an empty title is not removed
    return [(number, header[: header_width or 1]), *((number, row[: max(width, 1)]) for number, row in body)]


def _without_row_numbers(rows: list[NumberedRow]) -> list[NumberedRow]:
    """Remove a first column of row numbers, before the ids, as R and pandas write tables."""
    if len(rows) < 2 or any(len(row) < 2 for _, row in rows):
        return rows
    (line, header), *body = rows
    titles = ["", *header] if len(body[0][1]) == len(header) + 1 else header
    ids = [row[1] for _, row in body]
    if titles[0] not in INDEX_TITLES or _is_number(titles[1]) or not are_row_numbers([row[0] for _, row in body]):
        return rows
    if ids != titles[2:] and all(map(_is_number, ids)):
        return rows
    return [(number, row[1:]) for number, row in [(line, titles), *body]]


def _without_comment_mark(rows: list[NumberedRow]) -> list[NumberedRow]:
    """Remove the mark of a comment before a header of ids, as `numpy.savetxt` writes it, if the rows below are as many numbers."""
    if not rows or not re.match(r"#(\s|$)", rows[0][1][0]):
        return rows
    (line, header), *body = rows
    first = header[0][1:].strip()
    titles = [first, *header[1:]] if first else header[1:]
    if len(body) != len(titles) or any(len(row) != len(titles) or not all(map(_is_number, row)) for _, row in body):
        return rows
    return [(line, titles), *body]


def _with_header_first(rows: list[NumberedRow]) -> list[NumberedRow]:
    """Move a header from the end of the rows to their start. Biopython prints a `DistanceMatrix` as a lower triangle with the ids below."""
    *body, (line, footer) = rows or [(0, [""])]
    names = [row[0] for _, row in body]
    if len(body) < 2 or footer not in (names, ["", *names]) or any(len(row) != k + 2 for k, (_, row) in enumerate(body)):
        return rows
    return [(line, ["", *names]), *body]


def _equal_numbers(cells: Cells, values: Reals) -> bool:
    numbers = parse_numbers(cells)
    return numbers is not None and np.array_equal(numbers, values)


def _used_width(row: Cells) -> int:
    """Return the number of cells up to and including the last non-empty cell."""
    count = len(row)
    while count and not row[count - 1]:
        count -= 1
    return count
