"""Copies values: rectangles into a larger array, to rows and columns in any order, and bytes with several threads."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from gpualign.core.common.arrays import Integers

AxisIndices: TypeAlias = "slice | Integers"
"""Rows or columns of an array: a slice with a start and a stop, or indices in any order."""

_MIN_COMPILED_COPY_BYTES = 1 << 20
"""Minimum size, in bytes, of values for which the compiled module is loaded. NumPy copies fewer bytes in less time than loading takes."""

_COPY_ROW_BYTES = 4096
"""Size of a row when `copy_bytes` copies bytes as rows of a matrix."""


def put(array: npt.NDArray[Any], rows: AxisIndices, columns: AxisIndices, values: npt.NDArray[Any], threads: int = 1) -> None:
    """Set array[rows[r], columns[c]] to values[r, c] for all r and c, using up to `threads` threads. `array` must be contiguous.

    Structured arrays are copied as bytes, because NumPy copies them field by field, which takes ten times as long. NumPy would also use
    only one thread and spend a few nanoseconds per element.
    """
    columns = as_slice(columns)
    structured = array.dtype.fields is not None
    slow = structured or not isinstance(columns, slice)
    compiled = slow and isinstance(rows, slice) and values.nbytes >= _MIN_COMPILED_COPY_BYTES
    if structured or compiled:
        array, values = _byte_view(array), _byte_view(np.ascontiguousarray(values, dtype=array.dtype))
    if compiled and isinstance(rows, slice):
        from gpualign.core.common._placing import put_columns

        numbers = np.arange(columns.start, columns.stop) if isinstance(columns, slice) else columns
        put_columns(array, rows.start, numbers, values, threads)
    elif isinstance(rows, slice) or isinstance(columns, slice):
        array[rows, columns] = values
    else:
        array[np.ix_(rows, columns)] = values


def copy_bytes(target: npt.NDArray[np.uint8], source: npt.NDArray[np.uint8], threads: int) -> None:
    """Copy bytes with several threads.

    These are not Python threads, because each Python thread would have to wait twice for whichever other one is running.
    """
    from gpualign.core.common._placing import copy_rows

    whole = len(source) // _COPY_ROW_BYTES * _COPY_ROW_BYTES
    copy_rows(target[:whole].reshape(-1, _COPY_ROW_BYTES), source[:whole].reshape(-1, _COPY_ROW_BYTES), 0, 0, threads)
    target[whole:] = source[whole:]


def as_slice(indices: AxisIndices) -> AxisIndices:
    """Return consecutive indices as a slice, because slices are copied several times as fast. Return any other indices unchanged."""
    if isinstance(indices, slice) or not len(indices):
        return indices
    first, stop = int(indices[0]), int(indices[-1]) + 1
    if stop - first != len(indices) or not np.array_equal(indices, np.arange(first, stop)):
        return indices
    return slice(first, stop)


def _byte_view(values: npt.NDArray[Any]) -> npt.NDArray[np.uint8]:
    return values.view(np.uint8).reshape(*values.shape, values.itemsize)
