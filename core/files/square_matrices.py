"""Interprets text cells as values for all pairs of one set: a whole square or one of its triangles. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from gpualign.core.common.arrays import Reals
from gpualign.core.common.dataclass import dataclass

Cells = Sequence[str]

_ROUNDING_TOLERANCE = 1e-12
"""Absolute tolerance in comparisons of values near 0."""

_RELATIVE_ROUNDING_TOLERANCE = 1e-6
"""Tolerance relative to the largest value: programs compute in single precision too, and write the result of 1 - 1."""

_MAX_ROUNDING_TOLERANCE = 0.1
"""Maximum tolerance, because whole numbers have no rounding errors: -1 may stand for a missing value."""

_LOWEST_GENOME_IDENTITY, _HIGHEST_IDENTITY = 70, 100
"""Range of the average nucleotide identities that programs report, in percent."""

LOWEST_IDENTITY = 1
"""Lowest identity of genes and proteins, in percent, where a diagonal is left empty as Geneious does."""

_MISSING_MARKERS = frozenset(("nan", "na", "n/a", "#n/a", "<na>", "null", "none", "?", "-"))

_THOUSANDS_PATTERN = re.compile(r"-?[1-9][0-9]{0,2}(?:,[0-9]{3})+(?:\.[0-9]+)?")
"""Pattern of numbers with commas between thousands."""
_THOUSANDS_BEFORE_COMMA_PATTERN = re.compile(r"-?[1-9][0-9]{0,2}(?:\.[0-9]{3})+(?:,[0-9]+)?")
"""Pattern of numbers with points between thousands, where commas are decimal."""


def parse_number(cell: str) -> float | None:
    """Return the value of a cell, nan for a missing-value marker; None if the cell is not a number."""
    try:
        return None if "_" in cell else float(cell)  # Python accepts underscores as separators of thousands
    except ValueError:
        return np.nan if cell.lower() in _MISSING_MARKERS else None


def number_advice(cell: str) -> str:
    """Return the end of a message about a cell that is not a number: how to write decimals and thousands; "" if it has neither."""
    if _THOUSANDS_PATTERN.fullmatch(cell):
        plain = cell.replace(",", "")
        may_be_decimal = cell.count(",") == 1 and "." not in cell
        other, written = (" or a decimal", f", or {cell.replace(',', '.')}") if may_be_decimal else ("", "")
        return f", which may be {plain} with commas between thousands{other}; write {plain}{written}"
    if _THOUSANDS_BEFORE_COMMA_PATTERN.fullmatch(cell):
        plain = cell.replace(".", "").replace(",", ".")
        return f", which may be {plain} with points between thousands; write {plain}"
    return "; write a point in decimals" if "," in cell and parse_number(cell.replace(",", ".")) is not None else ""


def parse_numbers(cells: Cells) -> Reals | None:
    """Return the values of some cells, float64[cells]; None if any cell is not a number."""
    try:
        values = np.array(cells, dtype=np.float64)
    except ValueError:
        numbers = [parse_number(cell) for cell in cells]
        return None if None in numbers else np.array(numbers, dtype=np.float64)
    return None if "_" in "".join(cells) else values


@dataclass(frozen=True)
class SquareMatrix:
    """Values for all pairs of records of one set.

    values: float64[records][records], nan where missing
    layout: shape of the values in the file: "square", "lower triangle" or "upper triangle"
    has_diagonal: whether the file contains diagonal values; otherwise the diagonal is 0
    """

    values: Reals
    layout: str
    has_diagonal: bool = True

    @property
    def is_symmetric(self) -> bool:
        """True if the values are symmetric, up to rounding."""
        return is_symmetric(self.values)

    @property
    def is_of_one_set(self) -> bool:
        """True if the values imply that rows and columns are the same records: they are symmetric, with a constant diagonal."""
        diagonal = np.diagonal(self.values)
        known = diagonal[~np.isnan(diagonal)]
        return len(self.values) > 1 and self.is_symmetric and bool((np.abs(known - known[:1]) <= rounding_tolerance(self.values)).all())


def is_symmetric(values: npt.NDArray[Any]) -> bool:
    """Return whether values[i, j] equals values[j, i], up to rounding of decimal text."""
    square = values.ndim == 2 and values.shape[0] == values.shape[1]
    return square and np.allclose(values, values.T, rtol=1e-9, atol=_ROUNDING_TOLERANCE, equal_nan=values.dtype.kind == "f")


def rounding_tolerance(values: npt.NDArray[Any]) -> float:
    """Return the difference up to which values count as equal where rounding errors are expected: on the diagonal, and beside 0 and 1."""
    largest = float(np.max(np.abs(values), initial=0, where=np.isfinite(values)))
    return min(_RELATIVE_ROUNDING_TOLERANCE * largest, _MAX_ROUNDING_TOLERANCE)


def without_rounding_errors(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return the values of one set, with exactly 0 or 1 where rounding errors were: on the diagonal of distances and similarities, below 0,
    and above 1.

    values: float[records][records], or the vector of pairs; it is returned itself if it has no rounding errors
    """
    tolerance = rounding_tolerance(values)
    low, high = np.min(values, initial=0, where=~np.isnan(values)), np.max(values, initial=0, where=~np.isnan(values))
    if -tolerance <= low < 0 or 1 < high <= 1 + tolerance:
        values = np.clip(values, 0 if -tolerance <= low else None, 1 if high <= 1 + tolerance else None)
    diagonal = np.diagonal(values) if values.ndim == 2 else values[:0]
    exact = 0 if (np.abs(diagonal[~np.isnan(diagonal)]) <= tolerance).all() else 1
    has_error = (np.abs(diagonal - exact) <= tolerance) & (diagonal != exact)
    if has_error.any() and (exact == 0 or high <= 1 + tolerance):
        values = values.copy()
        np.fill_diagonal(values, np.where(has_error, exact, diagonal))
    return values


def may_be_percent_identities(values: npt.NDArray[Any], lowest: float = _LOWEST_GENOME_IDENTITY) -> bool:
    """Return whether values, a matrix or a vector of pairs, may be percent identities, by default of genomes. The diagonal does not count,
    nor does 0, which skani writes for a pair without an identity. Whole numbers may also be counts of differences."""
    pairs = values if values.ndim == 1 else values[~np.eye(*values.shape, dtype=np.bool_)]
    known = pairs[~np.isnan(pairs) & (pairs != 0)]
    return bool(len(known) and known.min() >= lowest and known.max() <= _HIGHEST_IDENTITY)


def are_whole(values: npt.NDArray[Any]) -> bool:
    """Return whether all known values are whole numbers."""
    return not (values[~np.isnan(values)] % 1).any()


def parse_square(rows: Sequence[Cells]) -> SquareMatrix | None:
    """Return the values for n records from n rows. The rows have n cells each, or are a triangle with or without the diagonal.

    Cells outside the triangle are empty or missing; rows of an upper triangle may begin at their first value. Returns None for any other
    rows.
    """
    count = len(rows)
    if all(len(row) == count for row in rows) and not any("" in row for row in rows):
        parsed = [parse_numbers(row) for row in rows]
        numbers = [row for row in parsed if row is not None]
        return mirror_triangle(np.stack(numbers)) if len(numbers) == count else None
    for name, upper in (("lower triangle", False), ("upper triangle", True)):
        for diagonal in (1, 0):
            values = _parse_triangle(rows, upper, diagonal)
            if values is not None:
                return SquareMatrix(values, name, bool(diagonal))
    return None


def mirror_triangle(values: Reals) -> SquareMatrix:
    """Return the square matrix with these values. If one triangle has only nan, it is filled with the mirror image of the other.

    values: float64[records][records]
    """
    above = np.triu_indices(len(values), 1)
    halves = values[above], values.T[above]
    if len(values) < 2 or np.isnan(halves[0]).all() == np.isnan(halves[1]).all():
        return SquareMatrix(values, "square")
    lower = bool(np.isnan(halves[0]).all())
    out = values.copy()
    out[above] = out.T[above] = halves[1 if lower else 0]
    has_diagonal = not np.isnan(np.diagonal(values)).all()
    if not has_diagonal:
        np.fill_diagonal(out, 0)
    return SquareMatrix(out, "lower triangle" if lower else "upper triangle", has_diagonal)


def squares_from_triangle_rows(rows: Sequence[Cells]) -> list[SquareMatrix]:
    """Return every square matrix that could have these rows as one of its triangles. A triangle without the diagonal has one row fewer than
    the matrix."""
    squares = []
    for name, upper in (("lower triangle", False), ("upper triangle", True)):
        for diagonal, triangle_rows in ((1, rows), (0, [*rows, []] if upper else [[], *rows])):
            values = _parse_triangle(triangle_rows, upper, diagonal)
            if values is not None:
                squares.append(SquareMatrix(values, name, bool(diagonal)))
    return squares


def fill_upper(square: SquareMatrix) -> SquareMatrix:
    """Mirror the lower triangle if the upper one contains only zeros, as in files of PLINK's `square0`. Returns any other square
    unchanged."""
    values = square.values
    lower = np.tril(values, -1)
    if square.layout != "square" or np.triu(values, 1).any() or square.is_symmetric:
        return square
    return SquareMatrix(values + lower.T, "lower triangle")


def _parse_triangle(rows: Sequence[Cells], upper: bool, diagonal: int) -> Reals | None:
    """Return the symmetric matrix that has these rows as one of its triangles: float64[rows][rows]; None if the rows are not a triangle.

    upper: whether the rows are the upper triangle instead of the lower one
    diagonal: 1 if the triangle includes the diagonal, otherwise 0

    Each row must have a value for each earlier record (for each later record in an upper triangle) and, if `diagonal` is 1, for its own
    record.
    """
    count = len(rows)
    out = np.zeros((count, count))
    for i, row in enumerate(rows):
        start, size = (i + 1 - diagonal, count - i - 1 + diagonal) if upper else (0, i + diagonal)
        cells = list(row)
        while cells and not cells[-1]:
            cells.pop()
        if upper and len(cells) == start + size and not any(cells[:start]):
            cells = cells[start:]
        values = parse_numbers(cells)
        if len(cells) != size or values is None:
            return None
        out[i, start : start + size] = out[start : start + size, i] = values
    return out
