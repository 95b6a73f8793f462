"""Alignments for listed pairs."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpualign.core.alignment.path_builder import PathBuilder
from gpualign.core.alignment.task import Detail, Task
from gpualign.core.alignment.tile_results import STATISTICS, Runs, Statistics
from gpualign.core.common.arrays import Booleans, Integers, Scores
from gpualign.core.common.dataclass import dataclass


@dataclass(frozen=True)
class PairAlignments:
    """Results for listed pairs.

    scores: int32 or int64[pairs]
    statistics: `STATISTICS`[pairs] if the task's detail includes statistics, otherwise None
    runs: paths, shape [pairs], if the task's detail includes paths, otherwise None
    is_reverse_complement: with `Task.both_strands`, whether the query's reverse complement is aligned, bool[pairs]; otherwise None
    part_scores: scores whose sum is the score, if it has parts, int64[pairs][parts]; otherwise None
    """

    scores: Scores
    statistics: Statistics | None
    runs: Runs | None
    is_reverse_complement: Booleans | None = None
    part_scores: Integers | None = None

    def select(self, indices: Any) -> PairAlignments:  # any index of an array
        """Return the results for the pairs `indices`, which may contain duplicates."""
        statistics = None if self.statistics is None else self.statistics[indices]
        flipped = None if self.is_reverse_complement is None else self.is_reverse_complement[indices]
        parts = None if self.part_scores is None else self.part_scores[indices]
        return PairAlignments(self.scores[indices], statistics, self.runs and self.runs.select(indices), flipped, parts)


class PairAlignmentsBuilder:
    """Assembles the results for listed pairs from parts, which may arrive in any order. Results that arrive later replace earlier ones.

    task: task of the pairs, on one strand
    pair_count: number of pairs in the list
    """

    def __init__(self, task: Task, pair_count: int) -> None:
        self._scores = np.zeros(pair_count, dtype=task.score_dtype)
        self._statistics = None if task.detail is Detail.SCORE else np.zeros(pair_count, dtype=STATISTICS)
        self._paths = PathBuilder((pair_count,)) if task.detail is Detail.PATH else None

    def put(self, indices: Integers, part: PairAlignments) -> None:
        """Put the results for the pairs with these indices in the list."""
        self._scores[indices] = part.scores
        if self._statistics is not None:
            self._statistics[indices] = part.statistics
        if self._paths is not None and part.runs is not None:
            self._paths.add(indices, part.runs)

    def build(self) -> PairAlignments:
        """Return the results for all pairs."""
        return PairAlignments(self._scores, self._statistics, None if self._paths is None else self._paths.build())
