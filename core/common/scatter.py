"""Copies tile results, whose columns are in any order, into a band."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from gpualign.core.common._placing import put_columns


def put(band: npt.NDArray[Any], first_row: int, columns: npt.NDArray[np.int64], values: npt.NDArray[Any], threads: int = 1) -> None:
    """Set band[first_row : first_row + rows, columns] = values.

    band: contiguous array
    values: [rows][columns], of the same type

    NumPy copies structured arrays field by field, which takes ten times as long, and copies numbers with one thread, at some ns each.
    """
    assert values.dtype == band.dtype
    put_columns(_bytes(band), first_row, columns, _bytes(np.ascontiguousarray(values)), threads)


def _bytes(values: npt.NDArray[Any]) -> npt.NDArray[np.uint8]:
    return values.view(np.uint8).reshape(*values.shape, values.itemsize)
