"""Splits a job's rows into shards of approximately equal work. Pure: the same input gives the same shards, whatever the engine."""

from __future__ import annotations

import numpy as np

from gpualign.core.common.arrays import Reals

MAX_SHARDS = 100_000
"""Maximum number of shards per job."""


def shard_boundaries(work: Reals, shard_count: int, group_size: int = 1) -> list[int]:
    """Return the row numbers at which shards begin and end: `shard_count` + 1 numbers, ascending. If there are few rows, some shards are
    empty.

    work: work per row, float64[rows], non-negative
    group_size: size of the groups of consecutive rows, starting at row 0, that must each stay in one shard; len(work) must be a multiple of
        it
    """
    before = np.concatenate(([0.0], np.cumsum(work.reshape(-1, group_size).sum(axis=1))))
    ideal = before[-1] * np.arange(1, shard_count) / shard_count
    # The row boundary nearest to each ideal one.
    after = np.clip(np.searchsorted(before, ideal), 1, len(before) - 1) if len(before) > 1 else np.zeros(shard_count - 1, dtype=np.int64)
    nearer = ideal - before[after - 1] < before[after] - ideal
    rows = group_size * np.maximum.accumulate(np.where(nearer, after - 1, after))
    return [0, *(int(row) for row in rows), len(work)]
