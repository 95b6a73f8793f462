"""Array types, and functions on arrays that NumPy lacks or loads slowly. Pure.

Loading those parts of NumPy takes as long as loading all other modules of a short run.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

Integers: TypeAlias = npt.NDArray[np.int64]
Reals: TypeAlias = npt.NDArray[np.float64]
Codes: TypeAlias = npt.NDArray[np.uint8]
Booleans: TypeAlias = npt.NDArray[np.bool_]
Scores: TypeAlias = npt.NDArray[np.signedinteger]

T = TypeVar("T", bound=np.generic)


def distinct(values: npt.NDArray[T]) -> npt.NDArray[T]:
    """Return the distinct values of a vector, ascending.

    `np.unique` would import NumPy's masked arrays, only to check that it was not given one.
    """
    # The lengths of an index are already in order, and may be too many to copy.
    ordered = values if not np.less(values[1:], values[:-1]).any() else np.sort(values)
    first = np.ones(len(ordered), dtype=bool)
    np.not_equal(ordered[1:], ordered[:-1], out=first[1:])
    return ordered[first]


def expand_ranges(starts: Integers, sizes: Integers) -> tuple[Integers, Integers]:
    """Return (number of its range, number) for each number of some ranges, range by range.

    starts, sizes: first number and number of numbers of each range
    """
    places = np.repeat(np.arange(len(sizes), dtype=np.int64), sizes)
    return places, np.arange(len(places), dtype=np.int64) + (starts - (np.cumsum(sizes) - sizes))[places]


def ranges_of_limited_size(offsets: Integers, max_size: int) -> Iterator[tuple[int, int]]:
    """Yield ranges (start, stop) that cover all items in order, each with a total size of at most `max_size`, or with a single larger item.

    offsets: total size of the first 0, 1, 2 ... items, plus any constant, int64[items + 1]

    >>> list(ranges_of_limited_size(np.array([0, 2, 4, 9, 10]), 4))
    [(0, 2), (2, 3), (3, 4)]
    """
    start = 0
    while start < len(offsets) - 1:
        stop = max(start + 1, int(np.searchsorted(offsets, offsets[start] + max_size, side="right")) - 1)
        yield start, stop
        start = stop
