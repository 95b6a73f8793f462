"""Values of all pairs of one set, as text files hold them: a whole square, or one of its triangles. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from gpualign.core.common.arrays import Reals
from gpualign.core.common.dataclass import dataclass

Cells = Sequence[str]

_ROUNDING = 1e-12
"""What is left of a value that is 0."""

_NO_VALUE = frozenset(("nan", "na", "n/a", "?", "-"))


def number_of(cell: str) -> float | None:
    """Value of a cell, nan for one that says that there is none; None for what is no number."""
    try:
        return None if "_" in cell else float(cell)  # which Python takes for a separator of thousands
    except ValueError:
        return np.nan if cell.lower() in _NO_VALUE else None


def numbers_of(cells: Cells) -> Reals | None:
    """Values of some cells; None if one is no number."""
    try:
        values = np.array(cells, dtype=np.float64)
    except ValueError:
        found = [number_of(cell) for cell in cells]
        return None if None in found else np.array(found, dtype=np.float64)
    return None if "_" in "".join(cells) else values


@dataclass(frozen=True)
class Square:
    """Values of all pairs of one set.

    values: float64[records][records], nan where there is none
    shape: of what the file holds
    has_diagonal: whether the file has the values of records with themselves; otherwise they are 0
    """

    values: Reals
    shape: str
    has_diagonal: bool = True

    @property
    def is_symmetric(self) -> bool:
        return is_symmetric(self.values)

    @property
    def is_of_one_set(self) -> bool:
        """Tell whether the values alone show that rows and columns are the same records: they are symmetric, with one value along the
        diagonal."""
        own = np.diagonal(self.values)
        own = own[~np.isnan(own)]
        return len(self.values) > 1 and self.is_symmetric and bool((own == own[:1]).all())


def is_symmetric(values: npt.NDArray[Any]) -> bool:
    """Tell whether values[i, j] equals values[j, i], but for what decimals of text leave."""
    square = values.ndim == 2 and values.shape[0] == values.shape[1]
    return square and np.allclose(values, values.T, rtol=1e-9, atol=_ROUNDING, equal_nan=values.dtype.kind == "f")


def square_of(rows: Sequence[Cells]) -> Square | None:
    """All values of n records from n rows: n cells each, or those of a triangle with or without the diagonal. Cells of the other triangle
    are empty or missing; rows of an upper triangle may begin at its first value. None if the rows are none of these."""
    count = len(rows)
    if all(len(row) == count for row in rows) and not any("" in row for row in rows):
        found = [numbers_of(row) for row in rows]
        whole = [row for row in found if row is not None]
        return without_half(np.stack(whole)) if len(whole) == count else None
    for name, upper in (("lower triangle", False), ("upper triangle", True)):
        for diagonal in (1, 0):
            values = _triangle(rows, upper, diagonal)
            if values is not None:
                return Square(values, name, bool(diagonal))
    return None


def without_half(values: Reals) -> Square:
    """A square, or a triangle beside which no value is written."""
    above = np.triu_indices(len(values), 1)
    halves = values[above], values.T[above]
    if len(values) < 2 or np.isnan(halves[0]).all() == np.isnan(halves[1]).all():
        return Square(values, "square")
    lower = bool(np.isnan(halves[0]).all())
    out = values.copy()
    out[above] = out.T[above] = halves[1 if lower else 0]
    has_diagonal = not np.isnan(np.diagonal(values)).all()
    if not has_diagonal:
        np.fill_diagonal(out, 0)
    return Square(out, "lower triangle" if lower else "upper triangle", has_diagonal)


def triangles_of(rows: Sequence[Cells]) -> list[Square]:
    """All squares of which the rows can be a triangle: with the diagonal, or without it and so without the row that would be empty."""
    found = []
    for name, upper in (("lower triangle", False), ("upper triangle", True)):
        for diagonal, some in ((1, rows), (0, [*rows, []] if upper else [[], *rows])):
            values = _triangle(some, upper, diagonal)
            if values is not None:
                found.append(Square(values, name, bool(diagonal)))
    return found


def filled(square: Square) -> Square:
    """The square with both triangles, where the file has zeros in place of the upper one, as PLINK's `square0` writes."""
    values = square.values
    lower = np.tril(values, -1)
    if square.shape != "square" or np.triu(values, 1).any() or square.is_symmetric:
        return square
    return Square(values + lower.T, "lower triangle")


def _triangle(rows: Sequence[Cells], upper: bool, diagonal: int) -> Reals | None:
    """float64[n][n] of a triangle whose row i has `diagonal` values more than those of records before it (upper: after it)."""
    count = len(rows)
    out = np.zeros((count, count))
    for i, row in enumerate(rows):
        start, size = (i + 1 - diagonal, count - i - 1 + diagonal) if upper else (0, i + diagonal)
        cells = list(row)
        while cells and not cells[-1]:
            cells.pop()
        if upper and len(cells) == start + size and not any(cells[:start]):
            cells = cells[start:]
        values = numbers_of(cells)
        if len(cells) != size or values is None:
            return None
        out[i, start : start + size] = out[start : start + size, i] = values
    return out
