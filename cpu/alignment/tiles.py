"""Computes tiles for each kind of task, each tile in one vector-kernel call with the GIL released."""

from __future__ import annotations

from typing import Any, Protocol, cast

import numpy as np

from gpualign.core.alignment.task import Detail, Task
from gpualign.core.alignment.tile_results import STATISTICS, Runs, TileAlignments, TileHits, TileResult, TileScores
from gpualign.core.common.arrays import Codes, Integers
from gpualign.core.planning.tile_plan import Tile
from gpualign.cpu.alignment import _kernels


class TileComputer(Protocol):
    """Computes the tiles in one run, from any number of threads at once."""

    def __call__(self, tile: Tile, cancel: _kernels.Cancel) -> TileResult | None:
        """Return the result for a tile, or None if cancelled."""


def _kernel_arguments(task: Task, tile: Tile) -> tuple[Codes, Integers, Integers, Codes, Integers, Integers]:
    """Return a tile's rectangle of pairs as kernel arguments: (codes, offsets, record indices) of the queries, then of the targets."""
    numbers = np.arange(tile.query_start, tile.query_stop)
    return task.queries.codes, task.queries.offsets, numbers, task.targets.codes, task.targets.offsets, tile.targets


class GlobalScorer:
    """Computes global alignment scores."""

    def __init__(self, task: Task, instruction_set: str, recipes: _kernels.Recipes) -> None:
        self._task = task
        self._instruction_set = instruction_set
        self._recipes = recipes
        self._score = _kernels.score_tile_32 if task.score_dtype == np.int32 else _kernels.score_tile_64

    def __call__(self, tile: Tile, cancel: _kernels.Cancel) -> TileResult | None:
        scores = np.zeros(tile.shape, dtype=self._task.score_dtype)
        done = self._score(self._instruction_set, *_kernel_arguments(self._task, tile), tile.pairing.value, self._recipes, scores, cancel)
        return TileScores(tile, scores) if done else None


class LocalScorer:
    """Computes local alignment scores; in a search, the best targets for each query."""

    def __init__(self, task: Task, instruction_set: str, recipe: _kernels.LocalRecipe) -> None:
        self._task = task
        self._instruction_set = instruction_set
        self._recipe = recipe
        self._history = _kernels.LocalHistory(len(task.queries))
        self._score = _kernels.score_local_tile_32 if task.score_dtype == np.int32 else _kernels.score_local_tile_64

    def __call__(self, tile: Tile, cancel: _kernels.Cancel) -> TileResult | None:
        task = self._task
        scores = np.zeros(tile.shape, dtype=task.score_dtype)
        if not self._score(self._instruction_set, *_kernel_arguments(task, tile), self._recipe, self._history, scores, cancel):
            return None
        if task.top_count is None:
            return TileScores(tile, scores)
        from gpualign.core.alignment.hit_order import best_targets

        return TileHits(tile, *best_targets(scores, tile.targets, task.targets.file_positions, task.top_count))


class GlobalAligner:
    """Computes global alignment statistics and CIGAR runs, and scores with free end gaps."""

    def __init__(self, task: Task, instruction_set: str, recipe: _kernels.PathRecipe) -> None:
        self._task = task
        self._instruction_set = instruction_set
        self._recipe = recipe

    def __call__(self, tile: Tile, cancel: _kernels.Cancel) -> TileResult | None:
        task = self._task
        with_runs = task.detail is Detail.PATH
        aligned = _kernels.align_tile(
            self._instruction_set, *_kernel_arguments(task, tile), tile.pairing.value, self._recipe, with_runs, cancel
        )
        arrays = cast("tuple[Any, Any, Any, Any, Any] | None", aligned)  # the last three are None without runs
        if arrays is None:
            return None
        wide_scores, counts, data, starts, sizes = arrays
        scores = wide_scores.astype(task.score_dtype, copy=False)
        if task.detail is Detail.SCORE:
            return TileScores(tile, scores)
        return TileAlignments(tile, scores, counts.view(STATISTICS)[..., 0], Runs([data], starts, sizes) if with_runs else None)
