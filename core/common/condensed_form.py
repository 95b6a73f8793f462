"""The condensed form of a symmetric matrix, as in scipy.spatial.distance: a vector of the pairs i < j, row by row. Pure."""

from __future__ import annotations

from gpualign.core.common.arrays import Integers


def condensed_start(row: int, count: int) -> int:
    """Return the index of the first pair of a row of a `count` x `count` matrix."""
    return row * count - row * (row + 1) // 2


def condensed_index(i: Integers, j: Integers, count: int) -> Integers:
    """Return the indices of pairs of a `count` x `count` matrix: int64[pairs]. i, j: row and column of each pair, i < j"""
    return i * (2 * count - i - 1) // 2 + j - i - 1
