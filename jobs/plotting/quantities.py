"""Columns of a table that hold numbers or dates. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date

import numpy as np
import numpy.typing as npt

from gpualign.core.common.dataclass import dataclass
from gpualign.core.files.squares import number_of

_MISSING = frozenset(("", "na", "nan", "n/a", "?", "-", "missing", "unknown", "not applicable", "not collected", "not provided"))
"""What stands in the place of a value; the last ones are those of INSDC's records."""

_DATE = re.compile(r"(\d{4})(?:([-/])(\d{1,2}|XX)(?:\2(\d{1,2}|XX))?)?(?:[T ]\d{1,2}:\d\d.*)?")
"""Year, month and day; Nextstrain writes XX for what is not known. Days and months in other orders are no dates, as they may be either."""

_NAMES = re.compile(
    r"(?<![a-z])(?:sts?|(?:cg|wg)?mlst|ccs?|hc|clusters?|clades?|lineages?|groups?|[a-z]*types?|clonal|[a-z]*complex"
    r"|patients?|wards?|rooms?|[a-z]*codes?|ids?)(?![a-z])"
)
"""Words of titles under which numbers are names, which have no order."""


@dataclass(frozen=True)
class Quantity:
    """Numbers or dates of the rows of a matrix.

    title: what they are
    values: float64[rows], nan where a row has none; of dates the number of the day, 1 of the year 1's first
    dates: whether they are dates
    """

    title: str
    values: npt.NDArray[np.float64]
    dates: bool

    def ranks(self) -> list[int]:
        """For each row the place of its value among all different ones; those without a value come last."""
        ranks: list[int] = np.unique(self.values, return_inverse=True)[1].tolist()
        return ranks


def quantity_of(title: str, cells: Sequence[str]) -> Quantity | None:
    """The numbers or dates of a column; None where a cell is neither, where fewer than two differ, and where numbers are names, as
    sequence types are. cells: of each row of the matrix, empty where the table has none."""
    given = [None if cell.lower() in _MISSING else cell for cell in cells]
    known = [cell for cell in given if cell is not None]
    numbers = [number_of(cell) for cell in known]
    if all(number is not None and np.isfinite(number) for number in numbers):
        found, dates = numbers, False
        if _NAMES.search(title.lower()):
            return None
    else:
        found, dates = [_day_of(cell) for cell in known], True
    if None in found or len(set(found)) < 2:
        return None
    values = np.full(len(cells), np.nan)
    values[[k for k, cell in enumerate(given) if cell is not None]] = found
    return Quantity(title, values, dates)


def _day_of(cell: str) -> float | None:
    """Number of the day; of a month or a year that of its first day. None for what is no date."""
    match = _DATE.fullmatch(cell)
    if match is None:
        return None
    year, _, month, day = match.groups()
    try:
        return float(date(int(year), *(1 if part in (None, "XX") else int(part) for part in (month, day))).toordinal())
    except ValueError:
        return None
