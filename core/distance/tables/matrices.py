"""Detects distance matrices given where a call table is expected."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from enum import Enum

import numpy as np
import numpy.typing as npt

from gpualign.core.files.square_matrices import parse_number

EXAMINED_ROWS = 256
"""Number of rows and columns that suffice to decide whether a table is a distance matrix."""

_MIN_ROWS = 4
_MIN_NONZERO_PAIRS = 4
"""Minimum number of nonzero values that are mirrored across a diagonal of zeros; with fewer, calls may look like a distance matrix by
chance."""

_FILE_SUFFIX_PATTERN = re.compile(r"(\.(f[a-z]{0,4}|txt|gz))+$")
_PUNCTUATION_PATTERN = re.compile(r"[^a-z0-9]+")
_R_PREFIX_PATTERN = re.compile(r"x(?=[0-9])")


class MatrixEvidence(Enum):
    """Evidence that a square table of numbers is a distance matrix."""

    NONE = "none"
    BY_VALUES = "it is symmetric, with zeros on its diagonal"
    BY_IDS = "its rows and columns have the same ids"


def matrix_evidence(numbers: npt.NDArray[np.int64], ids: Sequence[str], titles: Sequence[str]) -> MatrixEvidence:
    """Return the evidence that a square table is a distance matrix. Ids that differ only by the changes that R or file names make count as
    equal.

    numbers: numbers in the first rows and columns, int64[rows][columns]; 0 for missing calls
    ids, titles: row ids, column titles
    """
    pairs = np.count_nonzero(np.triu(numbers, 1))
    if not pairs or (numbers != numbers.T).any():
        return MatrixEvidence.NONE
    diagonal = numbers.diagonal()
    if list(ids) == list(titles):
        return MatrixEvidence.BY_IDS if (diagonal == diagonal[0]).all() else MatrixEvidence.NONE
    if diagonal.any():
        return MatrixEvidence.NONE
    if list(map(_normalized_id, ids)) == list(map(_normalized_id, titles)):
        return MatrixEvidence.BY_IDS
    return MatrixEvidence.BY_VALUES if len(numbers) >= _MIN_ROWS and pairs >= _MIN_NONZERO_PAIRS else MatrixEvidence.NONE


def _normalized_id(name: str) -> str:
    """Return an id without the parts that R and file names change: case, punctuation, an X before a digit, a suffix."""
    return _R_PREFIX_PATTERN.sub("", _PUNCTUATION_PATTERN.sub("", _FILE_SUFFIX_PATTERN.sub("", name.lower())), count=1)


class MatrixIdCheck:
    """Decides whether rows and columns have the same ids, as in a distance matrix.

    matched_rows: number of rows so far, if their ids match the column ids in order; -1 after a mismatch
    """

    def __init__(self, titles: Sequence[str], has_all_columns: bool) -> None:
        """Create an object that compares row ids with these column titles.

        has_all_columns: whether all columns of the table are read, and the first line holds their ids
        """
        self._titles = titles
        self.matched_rows = 0 if has_all_columns else -1

    def add_row(self, name: str, cells: Sequence[str]) -> None:
        """Compare the id of the next row with the id of the column at the same place. cells: cells of the row after its id."""
        k = self.matched_rows
        if k >= len(self._titles) or self._titles[k] != name:
            self.matched_rows = -1
            return
        # Tables of calls may number rows and columns alike; only a matrix of distances has zeros on its diagonal.
        self.matched_rows = -1 if name.isdecimal() and k < len(cells) and not _could_be_zero(cells[k]) else k + 1

    def has_same_ids(self, ids: Sequence[str]) -> bool:
        """Return whether the ids of all rows are among the column ids, or those of all columns among the row ids, in any order: a matrix or
        a part of one. Returns False if all ids are numbers, because sites and samples may have the same numbers."""
        titles = self._titles
        if all(map(str.isdecimal, titles)):
            return False
        if self.matched_rows == len(titles) > 1:
            return True
        rows = set(ids)
        shared = sum(title in rows for title in titles)
        return len(titles) > 2 and shared > 1 and shared in (len(rows), len(titles))


def could_be_distances(cells: Sequence[str]) -> bool:
    """Return whether every cell is a number, perhaps with a decimal comma, or empty, as in a distance matrix."""
    return all(not cell or parse_number(cell.replace(",", ".")) is not None for cell in cells)


def _could_be_zero(cell: str) -> bool:
    """Return whether a cell can lie on the diagonal of a distance matrix."""
    value = parse_number(cell.replace(",", ".")) if cell else 0.0
    return value is not None and (value == 0 or math.isnan(value))
