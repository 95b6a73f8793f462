"""Aligns listed pairs on the CPU: threads that pass parts of the list to a vector kernel."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field
from functools import partial
from typing import Any, TypeAlias, cast

import numpy as np

from gpualign.core.alignment.aligned_pairs import PairAlignments
from gpualign.core.alignment.pair_list import NearPairs
from gpualign.core.alignment.task import Detail, Task
from gpualign.core.alignment.tile_results import STATISTICS, Runs
from gpualign.core.common.arrays import Integers
from gpualign.core.common.dataclass import dataclass
from gpualign.core.common.threads import map_in_order
from gpualign.cpu.alignment import _kernels

_MIN_PART_PAIRS, _MAX_PART_PAIRS = 2048, 32_768
"""Minimum and maximum number of pairs in a part of a list. A kernel aligns as many similar pairs together as a vector has bytes, so it
should have several times as many to choose from."""

_PARTS_PER_THREAD = 3

_Aligned: TypeAlias = tuple[Any, Any, Any, Any, Any]
"""Result of the kernel: scores, statistics, and the data, starts and sizes of the paths, or three times None."""


@dataclass(frozen=True)
class CpuPairAligner:
    """Aligner of listed pairs; implements `gpualign.core.execution.engine.PairAligner`.

    instruction_set: name of the kernel variant
    recipe: scoring in the form of the kernels
    """

    task: Task
    kernel: str
    max_pair_count: int
    threads: int
    instruction_set: str
    recipe: _kernels.PathRecipe = field(repr=False)

    def align_pairs(self, pairs: NearPairs) -> PairAlignments:
        parts, cancel = list(self._parts(pairs)), _kernels.Cancel()
        try:
            aligned = list(map_in_order(partial(self._align, cancel), map(pairs.select, parts), self.threads))
        except BaseException:
            cancel.request()
            raise
        return self._join(len(pairs), parts, aligned)

    def _parts(self, pairs: NearPairs) -> Iterator[Integers]:
        """Yield the indices of the pairs in each part of the list, the longest pairs first."""
        lengths = self.task.queries.lengths[pairs.queries], self.task.targets.lengths[pairs.targets]
        order = np.argsort(-lengths[0] * lengths[1], kind="stable")
        size = int(np.clip(len(pairs) // (_PARTS_PER_THREAD * self.threads), _MIN_PART_PAIRS, _MAX_PART_PAIRS))
        for start in range(0, len(pairs), size):
            yield order[start : start + size]

    def _align(self, cancel: _kernels.Cancel, pairs: NearPairs) -> _Aligned:
        queries, targets = self.task.queries, self.task.targets
        aligned = _kernels.align_listed(
            self.instruction_set,
            queries.codes,
            queries.offsets,
            pairs.queries,
            targets.codes,
            targets.offsets,
            pairs.targets,
            pairs.distances,
            self.recipe,
            self.task.detail is Detail.PATH,
            cancel,
        )
        return cast("_Aligned", aligned)

    def _join(self, pair_count: int, parts: list[Integers], aligned: list[_Aligned]) -> PairAlignments:
        """Return the results of all parts, in the order of the list."""
        task = self.task
        scores = np.empty(pair_count, dtype=task.score_dtype)
        statistics = np.empty(pair_count, dtype=STATISTICS) if task.detail is not Detail.SCORE else None
        starts, sizes = np.empty(pair_count, dtype=np.int64), np.empty(pair_count, dtype=np.int32)
        data, data_bytes = list[Any](), 0
        for indices, (part_scores, counts, runs, part_starts, part_sizes) in zip(parts, aligned, strict=True):
            scores[indices] = part_scores
            if statistics is not None:
                statistics[indices] = counts.view(STATISTICS)[:, 0]
            if task.detail is Detail.PATH:
                starts[indices], sizes[indices] = part_starts + data_bytes, part_sizes
                data.append(runs)
                data_bytes += len(runs)
        return PairAlignments(scores, statistics, Runs(data, starts, sizes) if task.detail is Detail.PATH else None)
