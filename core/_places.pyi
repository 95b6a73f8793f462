"""Puts results of tiles at their places in a band."""

from typing import Annotated

import numpy
from numpy.typing import NDArray


def put_columns(band: Annotated[NDArray[numpy.uint8], dict(shape=(None, None, None), order='C', device='cpu')], first_row: int, columns: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], values: Annotated[NDArray[numpy.uint8], dict(shape=(None, None, None), order='C', device='cpu', writable=False)]) -> None:
    """
    band[first_row + r, columns[c]] = values[r, c] for all r and c; the last axis is the bytes of a value.
    """
