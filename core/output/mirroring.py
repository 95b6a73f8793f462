"""Where the values of bands belong in a whole matrix."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from gpualign.core.common._placing import copy_rows, mirror_rows
from gpualign.core.output.matrix_files import FilledArray

_TOGETHER = 4096
"""Rows that are mirrored together. What they mirror is read from all rows above: runs of 16 KB and more where these are not in memory."""

_NEAR_END = 8
"""Where less than so many times `_TOGETHER` rows are left, they are mirrored one part in so many of what is left at a time."""

_AT_ONCE = 256
"""Rows of a call of the compiled function, so that an interrupt waits for a moment alone."""


class MatrixFiller:
    """Puts the values of bands, which come in the order of their rows, in a whole matrix `array`, in so many threads.

    mirror: it is symmetric, and values below the diagonal may be anything. Bands are then written as they come, and what is left of the
    diagonal follows by whole rows, up to `finish`: values go to a file once, in runs, and not a few at a time to each later row.
    origin: the row and column of the matrix with which `out` begins, if it is a part of it, which is not mirrored.
    """

    def __init__(self, array: FilledArray, mirror: bool, threads: int = 1, origin: tuple[int, int] = (0, 0)) -> None:
        self._array = array
        self._out = array.values
        self._origin = origin
        self._mirror = mirror
        self._threads = threads
        self._there = 0  # rows, right of the diagonal
        self._mirrored = 0  # rows, left of it

    def place(self, values: npt.NDArray[Any], rows: tuple[int, int], columns: tuple[int, int]) -> None:
        """values: of rows x columns, each first, stop. Several parts of the same rows come from left to right."""
        if values.size:
            row, column = rows[0] - self._origin[0], columns[0] - self._origin[1]
            self._array.reserve(row + len(values))
            copy_rows(self._out, np.ascontiguousarray(values, self._out.dtype), row, column, self._threads)
        if columns[1] == self._out.shape[1]:
            self._there = rows[1]
        # Near the end in ever smaller parts: bands come faster there, devices wait for them soon, and little is to be left after the last.
        if self._there - self._mirrored >= min(_TOGETHER, max(_AT_ONCE, (len(self._out) - self._there) // _NEAR_END)):
            self._mirror_all()

    def finish(self) -> None:
        """Every band is there, those of an earlier run as well, with which this one may have had nothing left to place."""
        self._there = len(self._out)
        self._array.reserve(self._there)
        self._mirror_all()

    def _mirror_all(self) -> None:
        while self._mirror and self._mirrored < self._there:
            first, self._mirrored = self._mirrored, min(self._there, self._mirrored + _AT_ONCE)
            mirror_rows(self._out, first, self._mirrored, self._threads)
