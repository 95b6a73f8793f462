"""Parses table columns that contain numbers or dates. Opens no files."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date

import numpy as np

from gpualign.core.common.arrays import Reals
from gpualign.core.common.dataclass import dataclass
from gpualign.core.files.square_matrices import parse_number

_MISSING_WORDS = frozenset(
    (
        *("", "na", "nan", "n/a", "#n/a", "<na>", "none", "null", "?", "-", "."),
        *("missing", "unknown", "not applicable", "not collected", "not provided"),
    )
)
"""Cells without a value, as R, pandas, SQL and spreadsheets write them, and the words of INSDC records."""

_DATE_PATTERN = re.compile(r"(\d{4})(?:([-/])(\d{1,2}|XX)(?:\2(\d{1,2}|XX))?)?(?:[T ]\d{1,2}:\d\d.*)?")
"""Year, month and day; Nextstrain writes XX for unknown parts. Dates in a different day and month order are ambiguous and not read as
dates."""

_NAME_TITLE_PATTERN = re.compile(
    r"^t\d+(?:\.\d+)?$|(?<![a-z])(?:sts?|(?:cg|wg)?mlst|ccs?|hc|clusters?|clades?|lineages?|groups?|[a-z]*types?|clonal|[a-z]*complex"
    r"|patients?|wards?|rooms?|[a-z]*codes?|ids?)(?![a-z])"
)
"""Words in titles of columns whose numbers are names, which have no order. t5 is the title of clusters at a distance of 5 in tables of
cluster names."""


@dataclass(frozen=True)
class Quantity:
    """Numbers or dates for the rows of a matrix.

    title: what the values are
    values: float64[rows], NaN for rows without a value; dates are day numbers, where 1 is the first day of year 1
    are_dates: whether the values are dates
    """

    title: str
    values: Reals
    are_dates: bool

    def sort_keys(self) -> list[int]:
        """Return each row's rank among all distinct values; rows without a value come last."""
        ranks: list[int] = np.unique(self.values, return_inverse=True)[1].tolist()
        return ranks


def parse_quantity(title: str, cells: Sequence[str]) -> Quantity | None:
    """Return the numbers or dates in a column. Returns None if a cell is neither, if there are fewer than two distinct values, or if the
    numbers are names, such as sequence types.

    cells: one cell per row of the matrix, empty if the table has none
    """
    present = [None if cell.lower() in _MISSING_WORDS else cell for cell in cells]
    known = [cell for cell in present if cell is not None]
    numbers = [parse_number(cell) for cell in known]
    if all(number is not None and np.isfinite(number) for number in numbers):
        parsed, dates = numbers, False
        if _NAME_TITLE_PATTERN.search(title.lower()):
            return None
    else:
        parsed, dates = [_day_of(cell) for cell in known], True
    if None in parsed or len(set(parsed)) < 2:
        return None
    values = np.full(len(cells), np.nan)
    values[[k for k, cell in enumerate(present) if cell is not None]] = parsed
    return Quantity(title, values, dates)


def parse_days(cells: Sequence[str]) -> Reals | None:
    """Return the day number of each date in a column, where 1 is the first day of year 1: float64[cells], NaN for cells without a value.
    Returns None if there is no date, or if a cell is something else."""
    days = [np.nan if cell.lower() in _MISSING_WORDS else _day_of(cell) for cell in cells]
    if None in days:
        return None
    values = np.array(days, dtype=np.float64)
    return None if np.isnan(values).all() else values


def _day_of(cell: str) -> float | None:
    """Return the day number of a date, where 1 is the first day of year 1. A date without a day or month is the first day of its month or
    year. Returns None if `cell` is not a date."""
    match = _DATE_PATTERN.fullmatch(cell)
    if match is None:
        return None
    year, _, month, day = match.groups()
    try:
        return float(date(int(year), *(1 if part in (None, "XX") else int(part) for part in (month, day))).toordinal())
    except ValueError:
        return None
