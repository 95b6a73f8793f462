"""Copies band values into a whole matrix, and mirrors symmetric matrices."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from gpualign.core.common._placing import copy_rows, mirror_rows
from gpualign.core.output.matrix_files import FilledArray

_MIRROR_ROWS = 4096
"""Number of rows that are mirrored together. Their values are read from all rows above them, in runs of 16 KB or more, in case these rows
are on disk."""

_FINAL_MIRROR_STEPS = 8
"""Divisor for the last steps, which become smaller: once the number of rows that are yet to come, divided by this number, is less than
`_MIRROR_ROWS`, only that many rows are mirrored together (but at least `_ROWS_PER_CALL`)."""

_ROWS_PER_CALL = 256
"""Number of rows that the compiled function copies before it returns: small, so that interrupts are handled quickly."""


class MatrixFiller:
    """Copies band values into a whole matrix; bands come in row order.

    array: the matrix, or some of its rows and columns
    mirror: whether the matrix is symmetric, so that the bands' values below the diagonal are ignored
    threads: copying threads
    origin: row and column of the matrix at which `array` begins
    is_part: whether `array` has only some rows of the matrix, so that it is not mirrored; if the matrix is symmetric, the part has zeros
        below its diagonal

    If `mirror`, bands are written as they arrive, and the lower triangle is filled later, in whole rows (the last ones by `finish`). Each
    part of a file is thus written once, in long runs; otherwise each band would write a few values to every later row.
    """

    def __init__(self, array: FilledArray, mirror: bool, threads: int = 1, origin: tuple[int, int] = (0, 0), is_part: bool = False) -> None:
        self._array = array
        self._out = array.values
        self._origin = origin
        self._mirror = mirror and not is_part
        self._clear = mirror and is_part
        self._threads = threads
        self._filled = 0  # rows, right of the diagonal
        self._mirrored = 0  # rows, left of it

    def copy_values(self, values: npt.NDArray[Any], rows: tuple[int, int], columns: tuple[int, int]) -> None:
        """Copy values into a rectangle of the matrix. Several rectangles in the same rows must be passed from left to right.

        rows, columns: (start, stop) of the rectangle's rows and columns
        """
        if values.size:
            row, column = rows[0] - self._origin[0], columns[0] - self._origin[1]
            self._array.reserve(row + len(values))
            copy_rows(self._out, np.ascontiguousarray(values, self._out.dtype), row, column, self._threads)
            # How many values there are depends on the size of the bands.
            for below in range(rows[0], rows[1] if self._clear else rows[0]):
                self._out[below - self._origin[0], column : min(below, columns[1]) - self._origin[1]] = 0
        if columns[1] == self._out.shape[1]:
            self._filled = rows[1]
        # Steps become smaller near the end: bands come faster there, devices soon wait for them, and little should remain after the last.
        if self._filled - self._mirrored >= min(_MIRROR_ROWS, max(_ROWS_PER_CALL, (len(self._out) - self._filled) // _FINAL_MIRROR_STEPS)):
            self._mirror_all()

    def finish(self) -> None:
        """Mirror the remaining rows. Call once all bands have been copied; a resumed run may have no bands to copy."""
        self._filled = len(self._out)
        self._array.reserve(self._filled)
        self._mirror_all()

    def _mirror_all(self) -> None:
        while self._mirror and self._mirrored < self._filled:
            first, self._mirrored = self._mirrored, min(self._filled, self._mirrored + _ROWS_PER_CALL)
            mirror_rows(self._out, first, self._mirrored, self._threads)
