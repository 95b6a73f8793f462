"""Selects the kind of output for a task."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from gpualign.core.alignment.task import Task
from gpualign.core.planning.tile_plan import Tile
from gpualign.gpu.alignment.recipe import Recipe
from gpualign.gpu.alignment.results.base import TileOutput
from gpualign.gpu.alignment.results.hits import TileHitsOutput
from gpualign.gpu.alignment.results.host_traceback import BatchHostPaths
from gpualign.gpu.alignment.results.paths import BatchPaths, TilePathsOutput
from gpualign.gpu.alignment.results.scores import TileScoresOutput
from gpualign.gpu.runtime.host_buffers import ResultBufferPool


def tile_output_factory(task: Task, recipe: Recipe, pool: ResultBufferPool) -> Callable[[Tile], TileOutput]:
    """Return a function that creates the output for each tile. pool: host memory for scores and paths."""
    if recipe.host_traceback:
        return partial(TilePathsOutput, task, BatchHostPaths, pool)
    if recipe.needs_paths:
        return partial(TilePathsOutput, task, BatchPaths, pool)
    if task.top_count is not None:
        return partial(TileHitsOutput, task, task.top_count)
    return partial(TileScoresOutput, task, recipe, pool)
