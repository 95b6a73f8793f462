"""Computes the edit distances of similar sequences: within a bound by the kernel for near pairs, and the few beyond it in full matrices."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from gpualign.core.alignment.task import Task
from gpualign.core.alignment.tile_results import TileResult, TileScores
from gpualign.core.near_pairs.filter_cascade import FilterCascade
from gpualign.core.planning.tile_plan import Tile
from gpualign.core.scoring.edit_bounds import EditBound
from gpualign.cpu.alignment._kernels import Cancel
from gpualign.cpu.near_pairs.recipe import NearPairRecipe, record_data_bytes
from gpualign.cpu.near_pairs.tiles import CascadePairFinder

_STEPS = FilterCascade()
"""No step but the distances: most pairs pass the others."""


class BoundedScorer:
    """Computes the edit distances of a tile's pairs.

    task: the task, whose pairs have no bound
    max_edits: bound up to which distances are found in bands
    compute_full: computes the distances of a tile's pairs in full matrices
    letters: one more than the largest code in use
    instruction_set: variant of the kernels for near pairs
    threads: number of threads that lay out the records
    result_bytes: memory, in bytes, from which the maximum number of pairs per kernel call follows
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
        self._dtype, self._compute_full = task.score_dtype, compute_full
        bounded = replace(task, edit_bound=EditBound(0.0, 0.0, float(max_edits)))
        self._find_pairs = CascadePairFinder(bounded, letters, instruction_set, NearPairRecipe(_STEPS, 0.0), threads, result_bytes)

    @staticmethod
    def record_bytes(task: Task, letters: int) -> int:
        """Return the memory, in bytes, for the data that the kernel keeps for all records. letters: as for the constructor"""
        return record_data_bytes(task, letters, _STEPS)

    def __call__(self, tile: Tile, cancel: Cancel) -> TileScores | None:
        found = self._find_pairs(tile, cancel)
        if found is None:
            return None
        scores = np.full(tile.shape, -1, dtype=self._dtype)
        order = np.argsort(tile.targets, kind="stable")
        columns = order[np.searchsorted(tile.targets, found.pairs.targets, sorter=order)]
        scores[found.pairs.queries - tile.query_start, columns] = found.pairs.distances
        queries = np.arange(tile.query_start, tile.query_stop, dtype=np.int64)
        beyond = np.flatnonzero(((scores < 0) & (tile.targets >= tile.pairing.first_targets(queries)[:, None])).any(axis=0))
        if len(beyond):
            rows = tile.query_start, tile.query_stop
            full = self._compute_full(
                Tile.from_targets(tile.targets[beyond], tile.number, tile.band, rows, tile.pairing, tile.cells), cancel
            )
            if full is None:
                return None
            assert isinstance(full, TileScores)
            scores[:, beyond] = full.scores
        return TileScores(tile, np.maximum(scores, 0))
