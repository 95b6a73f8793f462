"""
Writes results of tiles into bands, and values of bands into whole matrices.
"""

from typing import Annotated, Any

import numpy
import numpy.typing
from numpy.typing import NDArray


def copy_rows(out: numpy.typing.NDArray[Any], values: numpy.typing.NDArray[Any], row: int, column: int, threads: int) -> None:
    """
    Copy `values` to `out` from element [row][column] on. Both have the same dtype, or values are uint8 or int16 and out is int32.
    """

def mirror_rows(out: numpy.typing.NDArray[Any], first: int, stop: int, threads: int) -> None:
    """
    Copy element [j][i] of a square matrix to [i][j] for all j < i, in the rows first .. stop - 1. Elements have 1, 2, 4 or 8 bytes.
    """

def put_columns(band: Annotated[NDArray[numpy.uint8], dict(shape=(None, None, None), order='C', device='cpu')], first_row: int, columns: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], values: Annotated[NDArray[numpy.uint8], dict(shape=(None, None, None), order='C', device='cpu', writable=False)], threads: int) -> None:
    """
    Set band[first_row + r, columns[c]] = values[r, c] for all r and c; the last axis is the bytes of a value.
    """
