"""Matrices of distances that are given where a table of calls is expected."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from enum import Enum

import numpy as np
import numpy.typing as npt

from gpualign.core.files.squares import number_of

ROWS_LOOKED_AT = 256
"""Rows and columns that are enough to tell."""

_LEAST_ROWS = 4
_LEAST_PAIRS = 4
"""Fewer values that are equal on both sides of a diagonal of zeros may be calls by chance."""

_FILE = re.compile(r"(\.(f[a-z]{0,4}|txt|gz))+$")
_LETTERS = re.compile(r"[^a-z0-9]+")
_OF_R = re.compile(r"x(?=[0-9])")


class Likeness(Enum):
    """How much a square of numbers looks like a matrix of distances."""

    NONE = "none"
    BY_VALUES = "it is symmetric, with zeros on its diagonal"
    BY_IDS = "its rows and columns have the same ids"


def likeness(numbers: npt.NDArray[np.int64], ids: Sequence[str], titles: Sequence[str]) -> Likeness:
    """Compare a square with a matrix of distances. numbers: int64[rows][columns], 0 for missing calls, of the first rows and columns; ids,
    titles: of rows and columns. Ids that R or a file's name has changed count as the same."""
    pairs = np.count_nonzero(np.triu(numbers, 1))
    if not pairs or (numbers != numbers.T).any():
        return Likeness.NONE
    diagonal = numbers.diagonal()
    if list(ids) == list(titles):
        return Likeness.BY_IDS if (diagonal == diagonal[0]).all() else Likeness.NONE
    if diagonal.any():
        return Likeness.NONE
    if list(map(_plain, ids)) == list(map(_plain, titles)):
        return Likeness.BY_IDS
    return Likeness.BY_VALUES if len(numbers) >= _LEAST_ROWS and pairs >= _LEAST_PAIRS else Likeness.NONE


def _plain(name: str) -> str:
    """An id without what R and names of files change: case, signs, an X before a digit, a suffix."""
    return _OF_R.sub("", _LETTERS.sub("", _FILE.sub("", name.lower())), count=1)


class SquareOfIds:
    """Finds out whether rows and columns have the same ids, as in a matrix of distances.

    rows: number of rows so far, while their ids are those of the columns in the same order; -1 after another id
    """

    def __init__(self, titles: Sequence[str], whole: bool) -> None:
        """titles: of the columns; whole: all columns of the table are read, and the first line has their ids."""
        self._titles = titles
        self.rows = 0 if whole else -1

    def look(self, name: str, cells: Sequence[str]) -> None:
        """Compare the id of the next row. cells: of the row, after its id."""
        k = self.rows
        if k >= len(self._titles) or self._titles[k] != name:
            self.rows = -1
            return
        # Tables of calls may number rows and columns alike; only a matrix of distances has zeros on its diagonal.
        self.rows = -1 if name.isdecimal() and k < len(cells) and not _is_zero(cells[k]) else k + 1

    def is_whole(self, ids: Sequence[str]) -> bool:
        """Tell whether these ids of all rows are those of the columns, in any order, and not all are numbers: sites and samples may be
        numbered alike."""
        titles = self._titles
        if all(map(str.isdecimal, titles)):
            return False
        return self.rows == len(titles) > 1 or (len(ids) == len(titles) > 2 and set(ids) == set(titles))


def are_distances(cells: Sequence[str]) -> bool:
    """Tell whether cells are what a matrix of distances has: numbers, and nothing where there is none."""
    return all(not cell or number_of(cell) is not None for cell in cells)


def _is_zero(cell: str) -> bool:
    """Tell whether a cell can be on the diagonal of a matrix of distances."""
    value = number_of(cell) if cell else 0.0
    return value is not None and (value == 0 or math.isnan(value))
