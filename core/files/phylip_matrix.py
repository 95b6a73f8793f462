"""Reads distance matrices in PHYLIP format: the number of records, then a row per record with its id first.

The rows form a square, or a triangle with or without the diagonal (mash, rapidNJ), and may continue over several lines. Ids may contain
blanks, because PHYLIP pads or truncates ids to ten characters. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np

from gpualign.core.common.errors import InputError, quoted
from gpualign.core.common.units import format_count
from gpualign.core.files.matrix_text import TextMatrix, check_triangle_without_diagonal
from gpualign.core.files.square_matrices import SquareMatrix, number_advice, parse_number, parse_square

NumberedLine = tuple[int, str]
"""(line number, text) of a line."""

_MAX_COUNT_DIGITS = 9
_ID_LENGTH = 10
_QUOTED_ID = re.compile(r'\s*"((?:[^"]|"")+)"(?:\s+|$)')
"""Pattern of the id at the start of a line that R wrote."""


def is_record_count(line: bytes) -> bool:
    """Return whether a line, the first in its file, can be the number of records in a matrix."""
    text = line.strip()
    return len(text) <= _MAX_COUNT_DIGITS and text.isdigit()


def read_phylip_matrix(lines: Sequence[NumberedLine], source: str) -> TextMatrix:
    """Read a distance matrix in PHYLIP format.

    lines: all non-empty lines; the first line is the number of records

    Raises `InputError` if the lines are not a matrix, or if they can be read as two different matrices.
    """
    number, first = lines[0]
    count = int(first)
    if not 0 < count < len(lines):
        raise InputError(f"{source}: line {number} says {quoted(first.strip())} records, but {len(lines) - 1:,} follow")
    cells_of = _cell_splitter([line for _, line in lines[1:]])
    rows = [(number, cells_of(line)) for number, line in lines[1:]]
    if count == 1 and parse_number(rows[0][1][0]) is not None:
        raise InputError(f"{source}: either one record with the id {quoted(rows[0][1][0])}, or a triangle of values; write a header of ids")
    readings = _interpretations([cells for _, cells in rows], count, names_end_in_numbers=False)

    def strict_readings() -> list[Interpretation]:
        return _interpretations([_strict_cells(line) for _, line in lines[1:]], count, names_end_in_numbers=False)

    if any(_has_no_blank_after_id(line) for _, line in lines[1:]):
        readings += strict_readings()
    repeated = next((error for ids, _ in readings if (error := _describe_repeated_id(ids))), None)
    readings = (
        _distinct_interpretations(readings)
        or _distinct_interpretations(_interpretations([cells for _, cells in rows], count, names_end_in_numbers=True))
        or _distinct_interpretations(strict_readings())
    )
    if len(readings) > 1:
        shapes = list(dict.fromkeys(square.layout for _, square in readings))
        ways = f"as a {' and as a '.join(shapes)}" if len(shapes) > 1 else "in two ways, by where its ids end"
        raise InputError(f"{source}: its rows can be read {ways}; write the whole square, one line per record, with tabs before values")
    if not readings:
        raise InputError(f"{source}: {repeated or _describe_error(rows, count, lines[0])}")
    ids, square = readings[0]
    if np.nan_to_num(np.diagonal(square.values)).any():
        return TextMatrix(square.values, ids, ids)  # similarities, as a record is at distance 0 from itself
    note = None if square.has_diagonal else check_triangle_without_diagonal(square.values, source)
    return TextMatrix(square.values, ids, ids, "distance", note)


Interpretation: TypeAlias = tuple[list[str], SquareMatrix]
"""(ids, values) of a matrix."""


def _interpretations(rows: Sequence[list[str]], record_count: int, names_end_in_numbers: bool) -> list[Interpretation]:
    """Return the interpretation of the rows for each matrix shape that they fit.

    rows: words of each line
    record_count: number of records
    names_end_in_numbers: whether every id is assumed to end in a number, and all ids are assumed to have the same number of words
    """
    readings = [_interpret_as_shape(rows, sizes, names_end_in_numbers) for sizes in _possible_row_sizes(record_count)]
    return [one for one in readings if one is not None and (record_count == 1 or one[1].is_of_one_set or one[1].layout == "square")]


def _distinct_interpretations(readings: Sequence[Interpretation]) -> list[Interpretation]:
    """Return the interpretations whose ids all differ, without duplicates."""
    distinct: list[Interpretation] = []
    for ids, square in readings:
        if _describe_repeated_id(ids) is None and not any(
            ids == known and np.array_equal(square.values, one.values, equal_nan=True) for known, one in distinct
        ):
            distinct.append((ids, square))
    return distinct


def _cell_splitter(lines: Sequence[str]) -> Callable[[str], list[str]]:
    """Return the function that splits each of these lines into an id and values, or into values alone."""
    if any(map(_QUOTED_ID.match, lines)) and all(
        _QUOTED_ID.match(line) or parse_number(line.split(None, 1)[0]) is not None for line in lines
    ):
        return _cells_after_quoted_id
    return _cells_between_tabs if any("\t" in line.strip() for line in lines) else str.split


def _cells_after_quoted_id(line: str) -> list[str]:
    match = _QUOTED_ID.match(line)
    return [match[1].replace('""', '"'), *line[match.end() :].split()] if match else line.split()


def _cells_between_tabs(line: str) -> list[str]:
    first, *values = (cell.strip() for cell in line.split("\t") if cell.strip())
    return [first, *(value for cell in values for value in cell.split())]


def _has_no_blank_after_id(line: str) -> bool:
    """Return whether a line consists of a ten-character id and values, without a blank between the id and the first value."""
    word = line.split(None, 1)[0]
    return line.startswith(word) and len(word) > _ID_LENGTH and parse_number(word[_ID_LENGTH:]) is not None


def _strict_cells(line: str) -> list[str]:
    """Split a line into a ten-character id and the values that follow."""
    return [" ".join(line[:_ID_LENGTH].split()), *line[_ID_LENGTH:].split()]


def _possible_row_sizes(record_count: int) -> list[list[int]]:
    """Return the number of values in each row, for each possible matrix shape."""
    if record_count == 1:
        return [[1]]
    triangles = [[i + diagonal for i in range(record_count)] for diagonal in (0, 1)]
    return [[record_count] * record_count, *triangles, *(sizes[::-1] for sizes in triangles)]


def _interpret_as_shape(lines: Sequence[list[str]], row_sizes: Sequence[int], names_end_in_numbers: bool) -> Interpretation | None:
    """Return (ids, values) if the lines are rows with the numbers of values in `row_sizes`; None otherwise. Each row may continue over
    several lines.

    lines: words of each line
    names_end_in_numbers: whether every id is assumed to end in a number, and all ids are assumed to have the same number of words
    """
    ids: list[str] = []
    rows: list[list[str]] = []
    at = 0
    for size in row_sizes:
        if at == len(lines):
            return None
        cells, at = lines[at], at + 1
        start = next((k for k in range(1, len(cells)) if parse_number(cells[k]) is not None), len(cells))
        if names_end_in_numbers:
            start = max(start, len(cells) - size)
        values = cells[start:]
        while len(values) < size and at < len(lines) and parse_number(lines[at][0]) is not None:
            values, at = values + lines[at], at + 1
        if len(values) != size:
            return None
        ids.append(" ".join(cells[:start]))
        rows.append(values)
    if names_end_in_numbers and not _are_numbered([name.split() for name in ids]):
        return None
    square = parse_square(rows)
    return (ids, square) if at == len(lines) and square is not None else None


def _are_numbered(names: Sequence[list[str]]) -> bool:
    """Return whether all names begin with a word, end in a number and have the same number of words, such as `Strain 1` and `Strain 2`."""
    alike = len({len(words) for words in names}) == 1
    return alike and all(parse_number(words[0]) is None and parse_number(words[-1]) is not None for words in names)


def _describe_repeated_id(ids: Sequence[str]) -> str | None:
    """Return a message that names the first two records with the same id; None if all ids differ."""
    first: dict[str, int] = {}
    for number, name in enumerate(ids, 1):
        if first.setdefault(name, number) != number:
            return f"records {first[name]:,} and {number:,} have the same id {quoted(name)}; make ids unique"
    return None


def _describe_error(rows: Sequence[tuple[int, list[str]]], record_count: int, first: NumberedLine) -> str:
    """Return why the rows, each (line number, cells), are not a matrix, for a message. first: the line with the number of records"""
    if len(rows) != record_count:
        return f"line {first[0]} says {quoted(first[1].strip())} records, but {len(rows):,} follow"
    for number, cells in rows:
        wrong = next((cell for cell in cells[1:] if parse_number(cell) is None), None)
        if wrong is not None:
            return f"line {number}: expected a number, found {quoted(wrong)}{number_advice(wrong)}"
    sizes = [len(cells) - 1 for _, cells in rows]
    shape = next((shape for shape in _possible_row_sizes(record_count) if sizes[:1] == shape[:1]), [record_count] * record_count)
    form = "each row of a square" if shape[0] == record_count == shape[-1] else "this row of a triangle"
    for (number, _), size, expected in zip(rows, sizes, shape, strict=True):
        if size != expected:
            return f"line {number} has {format_count(size, 'value')}; expected {expected:,}, as {form} has"
    return "the values of records with themselves differ; expected a matrix of distances"
