"""
Results of tiles at their places in a band, and values of bands in whole matrices.
"""

from typing import Annotated, Any

import numpy
import numpy.typing
from numpy.typing import NDArray


def copy_rows(out: numpy.typing.NDArray[Any], values: numpy.typing.NDArray[Any], row: int, column: int, threads: int) -> None:
    """
    Copy `values` into `out`, of the same dtype, or uint8 or int16 into int32, from element [row][column] on.
    """

def mirror_rows(out: numpy.typing.NDArray[Any], first: int, stop: int, threads: int) -> None:
    """
    Make element [i][j] of a square matrix, where j < i, what [j][i] is, in rows first .. stop - 1. Elements of 1, 2, 4 or 8 bytes.
    """

def put_columns(band: Annotated[NDArray[numpy.uint8], dict(shape=(None, None, None), order='C', device='cpu')], first_row: int, columns: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], values: Annotated[NDArray[numpy.uint8], dict(shape=(None, None, None), order='C', device='cpu', writable=False)], threads: int) -> None:
    """
    band[first_row + r, columns[c]] = values[r, c] for all r and c; the last axis is the bytes of a value.
    """
