"""Values of bands in whole matrices, by several threads."""

from typing import Any

import numpy.typing


def copy_rows(out: numpy.typing.NDArray[Any], values: numpy.typing.NDArray[Any], row: int, column: int, threads: int) -> None:
    """
    Copy `values` into `out`, of the same dtype, from element [row][column] on.
    """

def mirror_rows(out: numpy.typing.NDArray[Any], first: int, stop: int, threads: int) -> None:
    """
    Make element [i][j] of a square matrix, where j < i, what [j][i] is, in rows first .. stop - 1. Elements of 1, 2, 4 or 8 bytes.
    """
