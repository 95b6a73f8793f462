"""Finds the pairs within an alignment distance (core/scoring/alignment_distance.py) from the scores of pairs, which an inner engine
computes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import field, replace
from functools import cached_property

import numpy as np

from gpualign.core.alignment.aligned_pairs import PairAlignments
from gpualign.core.alignment.pair_list import NearPairs
from gpualign.core.alignment.task import Task
from gpualign.core.alignment.tile_results import TilePairs, TileScores
from gpualign.core.common.arrays import Integers
from gpualign.core.common.dataclass import dataclass
from gpualign.core.common.iterators import closing_iterator
from gpualign.core.execution.engine import Capabilities, Engine, PairAligner, PairAligningEngine, PreparedTask
from gpualign.core.planning.memory_budget import Budget
from gpualign.core.planning.tile_plan import Tile, TileLimits
from gpualign.core.scoring.alignment_distance import diagonal_scores
from gpualign.core.sequences.sequence_set import SequenceSet

_NEAR_PAIR_BYTES = 24
"""Memory, in bytes, of a pair that may be near. Any number of pairs may be."""

_SELVES_AT_ONCE = 1 << 18
"""Number of sequences that are aligned with themselves together."""


class AlignmentDistanceEngine:
    """Engine for tasks whose results are alignment distances, which uses an inner engine for the scores. For listed pairs, the inner engine
    must be a `PairAligningEngine`. Implements `gpualign.core.execution.engine.Engine`."""

    def __init__(self, inner: Engine) -> None:
        self._inner = inner

    @property
    def capabilities(self) -> Capabilities:
        return replace(self._inner.capabilities, supports_near_pairs=True)

    def prepare(self, task: Task, budget: Budget) -> AlignmentDistancePreparedTask:
        """Prepare a search for the pairs within `Task.edit_bound`, by the scores of all pairs. Raises the same `RunError` as the inner
        engine."""
        inner = self._inner.prepare(_score_task(task), budget)
        # Tiles of the outer task are measured in pairs, as in every search for near pairs.
        cells_per_pair = max(1, int(inner.task.approximate_cell_count / inner.task.approximate_pair_count))
        tile_pairs = max(1, inner.limits.tile_cells // cells_per_pair)
        limits = replace(inner.limits, tile_cells=tile_pairs, pair_bytes=inner.limits.pair_bytes + _NEAR_PAIR_BYTES)
        return AlignmentDistancePreparedTask(task, limits, inner)

    def prepare_pair_aligner(self, task: Task, budget: Budget) -> AlignmentDistanceAligner:
        """Prepare the distances of listed pairs. Raises the same `RunError` as the inner engine."""
        assert isinstance(self._inner, PairAligningEngine)
        return AlignmentDistanceAligner(task, self._inner, budget, self._inner.prepare_pair_aligner(_score_task(task), budget))


def _score_task(task: Task) -> Task:
    """Return the inner engine's task, which computes scores."""
    return replace(task, scoring=task.scoring.of_alignments, edit_bound=None)


@dataclass(frozen=True)
class AlignmentDistancePreparedTask:
    """Prepared task that computes the scores of all pairs, and keeps the pairs that may be within the distance. Implements
    `gpualign.core.execution.engine.PreparedTask`.

    inner: the task of the scores, prepared by the inner engine

    The scores of sequences with themselves are taken to be those without gaps. If gaps raise them, some of the pairs that are kept are not
    within the distance.
    """

    task: Task
    limits: TileLimits
    inner: PreparedTask = field(repr=False)

    @property
    def kernel(self) -> str:
        return f"scores of all pairs ({self.inner.kernel})"

    @property
    def hardware(self) -> str:
        return self.inner.hardware

    def run(self, tiles: Iterator[Tile]) -> Iterator[TilePairs]:
        assert self.task.edit_bound is not None
        scoring, max_distance = self.task.scoring.of_alignments, int(self.task.edit_bound.constant)
        least = [diagonal_scores(one, scoring) - max_distance for one in (self.task.queries, self.task.targets)]
        with closing_iterator(self.inner.run(tiles)) as results:
            for result in results:
                assert isinstance(result, TileScores)
                yield _select_near(result, *least)


def _select_near(result: TileScores, least_of_queries: Integers, least_of_targets: Integers) -> TilePairs:
    """Return the pairs of a tile whose score is at least the lower of two scores.

    least_of_queries, least_of_targets: these scores of each query, and of each target
    """
    tile, scores = result.tile, result.scores
    queries, targets = np.arange(tile.query_start, tile.query_stop, dtype=np.int64), tile.targets
    limits = np.iinfo(scores.dtype)
    rows, columns = (
        np.clip(least, limits.min, limits.max).astype(scores.dtype) for least in (least_of_queries[queries], least_of_targets[targets])
    )
    is_near = (scores >= rows[:, None]) | (scores >= columns[None, :])
    is_near &= targets[None, :] >= tile.pairing.first_targets(queries)[:, None]
    row, column = np.divmod(np.flatnonzero(is_near), len(targets))
    distances = np.minimum(least_of_queries[queries[row]], least_of_targets[targets[column]]) - scores[row, column]
    distances -= distances.min(initial=0)  # they only serve as expected numbers of edits
    return TilePairs(tile, NearPairs(queries[row], targets[column], distances), {"pairs": tile.cells, "scores": len(row)})


@dataclass(frozen=True)
class AlignmentDistanceAligner:
    """Computes the distances of listed pairs. Implements `gpualign.core.execution.engine.PairAligner`.

    engine: inner engine, which aligns sequences with themselves if gaps may raise their scores
    budget: memory of the inner engine
    inner: the inner engine's aligner of the pairs
    """

    task: Task
    engine: PairAligningEngine = field(repr=False)
    budget: Budget = field(repr=False)
    inner: PairAligner = field(repr=False)

    @property
    def kernel(self) -> str:
        return self.inner.kernel

    @property
    def uses_device(self) -> bool:
        return self.inner.uses_device

    @cached_property
    def self_scores(self) -> tuple[Integers, Integers]:
        """Scores of the queries and of the targets with themselves: int64[records] each."""
        of_queries = self._self_scores(self.task.queries)
        return of_queries, of_queries if self.task.targets is self.task.queries else self._self_scores(self.task.targets)

    def _self_scores(self, sequences: SequenceSet) -> Integers:
        scoring = self.task.scoring.of_alignments
        if scoring.self_alignment_is_gapless(sequences.used_codes):
            return diagonal_scores(sequences, scoring)
        task, scores = replace(_score_task(self.task), queries=sequences, targets=sequences), np.zeros(len(sequences), dtype=np.int64)
        with closing(self.engine.prepare_pair_aligner(task, self.budget)) as aligner:
            for start in range(0, len(sequences), _SELVES_AT_ONCE):
                numbers = np.arange(start, min(start + _SELVES_AT_ONCE, len(sequences)), dtype=np.int64)
                scores[numbers] = aligner.align_pairs(NearPairs(numbers, numbers, np.zeros_like(numbers))).scores
        return scores

    def align_pairs(self, pairs: NearPairs) -> PairAlignments:
        of_queries, of_targets = self.self_scores
        scores = self.inner.align_pairs(pairs).scores
        distances = np.minimum(of_queries[pairs.queries], of_targets[pairs.targets]) - scores
        return PairAlignments(distances.astype(self.task.score_dtype), None, None)

    def close(self) -> None:
        self.inner.close()
