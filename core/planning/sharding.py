"""Cuts the rows of a job into shares of about equal work. Pure: whoever knows the input makes the same shares, whatever engine it has."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

MOST_SHARDS = 100_000
"""Of a job."""


def row_bounds(work: npt.NDArray[np.float64], shares: int, together: int = 1) -> list[int]:
    """Where the shares of rows begin, and behind the last: `shares` + 1 row numbers, ascending; shares of no row where there are few.

    work: of each row, float64[rows], 0 or more. together: so many rows, from 0 on, stay in one share; len(work) is a multiple of it.
    """
    before = np.concatenate(([0.0], np.cumsum(work.reshape(-1, together).sum(axis=1))))
    wanted = before[-1] * np.arange(1, shares) / shares
    # The nearest boundary of rows to each wanted one.
    after = np.clip(np.searchsorted(before, wanted), 1, len(before) - 1) if len(before) > 1 else np.zeros(shares - 1, dtype=np.int64)
    nearer = wanted - before[after - 1] < before[after] - wanted
    rows = together * np.maximum.accumulate(np.where(nearer, after - 1, after))
    return [0, *(int(row) for row in rows), len(work)]
