"""Computes the edit distances of similar sequences: within a bound by the kernel for near pairs, and the few beyond it in full matrices."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from gpualign.core.alignment.task import Task
from gpualign.core.alignment.tile_results import TileResult, TileScores
from gpualign.core.common.arrays import Integers, Scores
from gpualign.core.near_pairs.filter_cascade import FilterCascade
from gpualign.core.planning.tile_plan import Tile
from gpualign.core.scoring.edit_bounds import EditBound
from gpualign.cpu.alignment._kernels import Cancel
from gpualign.cpu.near_pairs.recipe import NearPairRecipe, record_data_bytes
from gpualign.cpu.near_pairs.tiles import CascadePairFinder

_STEPS = FilterCascade()
"""No filters before the distances, since most pairs would pass them."""


class BoundedScorer:
    """Computes the edit distances of a tile's pairs.

    task: the task, whose pairs have no bound
    max_edits: largest distance that is found in bands
    compute_full: computes the distances of a tile's pairs in full matrices
    letters: one more than the largest code in use
    instruction_set: variant of the kernels for near pairs
    threads: number of threads that lay out the records
    result_bytes: memory for the results of a thread, in bytes
    """

    def __init__(
        self,
        task: Task,
        max_edits: int,
        compute_full: Callable[[Tile, Cancel], TileResult | None],
        letters: int,
        instruction_set: str,
        threads: int,
        result_bytes: int,
    ) -> None:
        self._dtype, self._compute_full, self._target_lengths = task.score_dtype, compute_full, task.targets.lengths
        bounded = replace(task, edit_bound=EditBound(0.0, 0.0, float(max_edits)))
        self._find_pairs = CascadePairFinder(bounded, letters, instruction_set, NearPairRecipe(_STEPS, 0.0), threads, result_bytes)

    @staticmethod
    def record_bytes(task: Task, letters: int) -> int:
        """Return the memory, in bytes, for the data that the kernel keeps for all records. letters: as for the constructor"""
        return record_data_bytes(task, letters, _STEPS)

    def __call__(self, tile: Tile, cancel: Cancel) -> TileScores | None:
        by_length = tile.targets[np.argsort(self._target_lengths[tile.targets], kind="stable")]  # as the kernel expects them
        found = self._find_pairs(_part(tile, (tile.query_start, tile.query_stop), by_length), cancel)
        if found is None:
            return None
        scores = np.full(tile.shape, -1, dtype=self._dtype)
        order = np.argsort(tile.targets, kind="stable")
        found_columns = order[np.searchsorted(tile.targets, found.pairs.targets, sorter=order)]
        scores[found.pairs.queries - tile.query_start, found_columns] = found.pairs.distances
        first_targets = tile.pairing.first_targets(np.arange(tile.query_start, tile.query_stop, dtype=np.int64))
        wanted = tile.targets >= first_targets[:, None]
        beyond = wanted & (scores < 0)
        # A sequence unlike the others is in one row or column, which must not make all others expensive.
        for row in np.flatnonzero(2 * beyond.sum(axis=1) > wanted.sum(axis=1)).tolist():
            if not self._put_full(tile, slice(row, row + 1), np.flatnonzero(wanted[row]), scores, cancel):
                return None
            beyond[row] = False
        columns = np.flatnonzero(beyond.any(axis=0))
        if len(columns) and not self._put_full(tile, slice(0, len(scores)), columns, scores, cancel):
            return None
        return TileScores(tile, np.maximum(scores, 0))

    def _put_full(self, tile: Tile, rows: slice, columns: Integers, scores: Scores, cancel: Cancel) -> bool:
        """Put the distances of some pairs of a tile, from full matrices, into `scores`. Returns False if cancelled."""
        queries = tile.query_start + rows.start, tile.query_start + rows.stop
        full = self._compute_full(_part(tile, queries, tile.targets[columns]), cancel)
        if full is None:
            return False
        assert isinstance(full, TileScores)
        scores[rows, columns] = full.scores
        return True


def _part(tile: Tile, queries: tuple[int, int], targets: Integers) -> Tile:
    """Return the part of a tile with the queries [start, stop) and some of its targets."""
    return Tile.from_targets(targets, tile.number, tile.band, queries, tile.pairing, tile.cells)
