"""Places the values of bands in a whole matrix, and mirrors a symmetric one."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from gpualign.core.common._placing import copy_rows, mirror_rows
from gpualign.core.output.matrix_files import FilledArray

_MIRROR_ROWS = 4096
"""Rows mirrored at a time. Their values are read from all rows above, in runs of 16 KB and more where these are not in memory."""

_END_STEPS = 8
"""If fewer than this many times `_MIRROR_ROWS` rows remain, rows are mirrored in steps of the remaining rows divided by this."""

_ROWS_PER_CALL = 256
"""Rows in one call of the compiled function: few, so that an interrupt waits only a moment."""


class MatrixFiller:
    """Places the values of bands, which come in the order of their rows, in a whole matrix.

    array: the matrix, or rows and columns of it
    mirror: whether the matrix is symmetric; the bands' values below the diagonal may then be anything
    threads: threads that copy values
    origin: row and column of the matrix with which `array` begins; an array that is only part of the matrix is not mirrored

    If `mirror`, bands are written as they come, and the values to the left of the diagonal follow in whole rows, the last in `finish`:
    values go to a file once, in runs, and not a few at a time to each later row.
    """

    def __init__(self, array: FilledArray, mirror: bool, threads: int = 1, origin: tuple[int, int] = (0, 0)) -> None:
        self._array = array
        self._out = array.values
        self._origin = origin
        self._mirror = mirror
        self._threads = threads
        self._filled = 0  # rows, right of the diagonal
        self._mirrored = 0  # rows, left of it

    def place(self, values: npt.NDArray[Any], rows: tuple[int, int], columns: tuple[int, int]) -> None:
        """Place the values of rows x columns, each (start, stop). Several pieces of the same rows come from left to right."""
        if values.size:
            row, column = rows[0] - self._origin[0], columns[0] - self._origin[1]
            self._array.reserve(row + len(values))
            copy_rows(self._out, np.ascontiguousarray(values, self._out.dtype), row, column, self._threads)
        if columns[1] == self._out.shape[1]:
            self._filled = rows[1]
        # Steps become smaller near the end: bands come faster there, devices soon wait for them, and little should remain after the last.
        if self._filled - self._mirrored >= min(_MIRROR_ROWS, max(_ROWS_PER_CALL, (len(self._out) - self._filled) // _END_STEPS)):
            self._mirror_all()

    def finish(self) -> None:
        """Mirror the remaining rows. All bands are placed, by this run or an earlier one, which may have left nothing to place."""
        self._filled = len(self._out)
        self._array.reserve(self._filled)
        self._mirror_all()

    def _mirror_all(self) -> None:
        while self._mirror and self._mirrored < self._filled:
            first, self._mirrored = self._mirrored, min(self._filled, self._mirrored + _ROWS_PER_CALL)
            mirror_rows(self._out, first, self._mirrored, self._threads)
