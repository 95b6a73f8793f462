"""Counts the Hamming distances of listed pairs. Pure."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from gpualign.core.alignment.aligned_pairs import PairAlignments
from gpualign.core.alignment.pair_list import NearPairs
from gpualign.core.alignment.task import Task
from gpualign.core.common.arrays import Integers, Scores
from gpualign.core.common.dataclass import dataclass
from gpualign.core.scoring.listed_distances import UNEQUAL_LENGTHS

_MAX_LETTERS = 1 << 22
"""Maximum number of letters of all queries whose pairs are compared at once, unless a single query has more."""


@dataclass(frozen=True)
class HammingCounter:
    """Counts the unequal letters of listed pairs. Implements `gpualign.core.execution.engine.PairAligner`.

    task: task of the pairs

    The Hamming distance of sequences of equal lengths is the number of unequal letters, the edits of an alignment without gaps. It is at
    least the edit distance, so that pairs within a Hamming distance are among those within this edit distance. An edit distance of 0 or 1
    between sequences of equal lengths needs no gap, and is the Hamming distance.
    """

    task: Task

    kernel: ClassVar[str] = "Hamming distance"
    uses_device: ClassVar[bool] = False

    def align_pairs(self, pairs: NearPairs) -> PairAlignments:
        lengths = self.task.queries.lengths[pairs.queries]
        is_equal = lengths == self.task.targets.lengths[pairs.targets]
        distances = np.where(is_equal, pairs.distances, UNEQUAL_LENGTHS).astype(np.int32)
        counted = np.flatnonzero(is_equal & (pairs.distances > 1))
        for part in _split_by_letters(counted, lengths[counted]):
            distances[part] = self._count_unequal(pairs.queries[part], pairs.targets[part])
        return PairAlignments(distances, None, None)

    def _count_unequal(self, queries: Integers, targets: Integers) -> Scores:
        letters, other = self.task.queries.gather(queries), self.task.targets.gather(targets)
        before = np.concatenate(([0], np.cumsum(letters.text != other.text)))
        counts: Scores = np.diff(before[letters.offsets]).astype(np.int32)
        return counts

    def close(self) -> None:
        """Do nothing, because nothing is kept between lists."""


def _split_by_letters(items: Integers, letters: Integers) -> list[Integers]:
    """Return items in parts of limited size. letters: number of letters of each item."""
    if not len(items):
        return []
    part = np.cumsum(letters) // _MAX_LETTERS
    return np.split(items, np.flatnonzero(np.diff(part)) + 1)
