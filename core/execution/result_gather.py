"""Gathers scores and alignments of tiles, which arrive in any order, into arrays for a larger tile, a band or a list of pairs."""

from __future__ import annotations

import numpy as np

from gpualign.core.alignment.path_builder import PathBuilder
from gpualign.core.alignment.task import Detail, Task
from gpualign.core.alignment.tile_results import (
    STATISTICS,
    Runs,
    Statistics,
    TileAlignments,
    TileResult,
    TileScores,
)
from gpualign.core.common.arrays import Booleans, Scores
from gpualign.core.common.scatter import AxisIndices, as_slice, put
from gpualign.core.planning.tile_plan import Tile


class ResultGather:
    """Gathers scores and, if the task asks for them, alignments. Pairs for which no result is added have zeros.

    shape: (number of rows, number of columns)
    threads: number of threads that copy results
    """

    def __init__(self, task: Task, shape: tuple[int, int], threads: int = 1) -> None:
        self._shape = shape
        self._threads = threads
        self._dtype = task.score_dtype
        self._scores: Scores | None = None
        self._runs = PathBuilder(shape) if task.detail is Detail.PATH else None
        self.statistics: Statistics | None = None if task.detail is Detail.SCORE else np.zeros(shape, dtype=STATISTICS)
        self.is_reverse_complement: Booleans | None = np.zeros(shape, dtype=np.bool_) if task.both_strands else None

    @property
    def scores(self) -> Scores:
        if self._scores is None:
            self._scores = np.zeros(self._shape, dtype=self._dtype)
        return self._scores

    @property
    def runs(self) -> Runs | None:
        return None if self._runs is None else self._runs.build()

    def add(self, rows: AxisIndices, columns: AxisIndices, result: TileResult) -> None:
        assert isinstance(result, TileScores | TileAlignments)
        columns = as_slice(columns)
        in_order = isinstance(rows, slice) and isinstance(columns, slice)
        if in_order and result.scores.shape == self._shape and result.scores.dtype == self._dtype:
            self._scores = result.scores  # everything at once: most bands of short records are one tile
        else:
            put(self.scores, rows, columns, result.scores, self._threads)
        if self.is_reverse_complement is not None and result.is_reverse_complement is not None:
            put(self.is_reverse_complement, rows, columns, result.is_reverse_complement, self._threads)
        if isinstance(result, TileAlignments) and self.statistics is not None:
            put(self.statistics, rows, columns, result.statistics, self._threads)
            if self._runs is not None and result.runs is not None:
                self._runs.put(rows, columns, result.runs, self._threads)

    def tile_result(self, tile: Tile) -> TileScores | TileAlignments:
        if self.statistics is None:
            return TileScores(tile, self.scores, self.is_reverse_complement)
        return TileAlignments(tile, self.scores, self.statistics, self.runs, self.is_reverse_complement)
