"""Aligns listed pairs on the CPU: threads that pass parts of the list to a vector kernel."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import field
from functools import cached_property
from typing import Any, ClassVar, TypeAlias, cast

import numpy as np
import numpy.typing as npt

from gpualign.core.alignment.aligned_pairs import PairAlignments, PairAlignmentsBuilder
from gpualign.core.alignment.pair_list import NearPairs
from gpualign.core.alignment.task import Detail, Task
from gpualign.core.alignment.tile_results import STATISTICS, Runs
from gpualign.core.common.arrays import Booleans, Codes, Integers, Scores
from gpualign.core.common.dataclass import dataclass
from gpualign.core.common.errors import RunError
from gpualign.core.common.threads import run_until_stopped
from gpualign.core.sequences._records import count_codes_in_records
from gpualign.core.sequences.sequence_set import SequenceSet
from gpualign.cpu.alignment import _kernels

_MIN_PART_PAIRS, _MAX_PART_PAIRS = 2048, 32_768
"""Minimum and maximum number of pairs in a part of a list. A kernel aligns as many similar pairs together as a vector has bytes, so it
should have several times as many to choose from."""

_PARTS_PER_THREAD = 3

LetterTable: TypeAlias = tuple[npt.NDArray[np.uint32], npt.NDArray[np.uint8]]
"""(number of letters of each record with each of some codes, uint32[records][codes]; these codes)."""


@dataclass(frozen=True)
class CpuPairAligner:
    """Aligner of listed pairs; implements `gpualign.core.execution.engine.PairAligner`, and `HostPairAligner` for a GPU's aligner.

    instruction_set: name of the kernel variant
    recipe: scoring in the form of the kernels
    """

    task: Task
    kernel: str
    threads: int
    instruction_set: str
    recipe: _kernels.PathRecipe = field(repr=False)
    _stops: set[Callable[[], None]] = field(default_factory=set, repr=False)  # of the lists that are being aligned

    uses_device: ClassVar[bool] = False

    @property
    def proves_bands(self) -> bool:
        """True if `needed_slacks` can determine the bands of diagonals that pairs need."""
        return self.recipe.banded

    def align_pairs(self, pairs: NearPairs) -> PairAlignments:
        waiting, cancel = deque(self._parts(pairs)), _kernels.Cancel()
        aligned: list[tuple[Integers, PairAlignments]] = []

        def work() -> None:
            while waiting:
                with suppress(IndexError):  # another thread may have taken the last one
                    indices = waiting.popleft()
                    if (part := self._align(cancel, pairs.select(indices))) is not None:
                        aligned.append((indices, part))

        def stop() -> None:
            waiting.clear()
            cancel.request()

        self._stops.add(stop)
        try:
            run_until_stopped(work, min(self.threads, len(waiting)), stop)
        finally:
            self._stops.discard(stop)
        if sum(len(indices) for indices, _ in aligned) < len(pairs):
            raise RunError("the alignment of pairs was stopped")
        built = PairAlignmentsBuilder(self.task, len(pairs))
        for indices, part in aligned:
            built.put(indices, part)
        return built.build()

    def close(self) -> None:
        for stop in list(self._stops):
            stop()

    def needed_slacks(self, pairs: NearPairs, scores: Scores | None) -> Integers:
        """Return the number of diagonals by which each pair's band must extend beyond the diagonals of both corners, int64[pairs]: the
        smallest with which its score proves that the band contains every best path.

        scores: scores of the pairs, int64[pairs]; edit distances are negated; None: the scores expected from the pairs' distances
        """
        (queries, query_codes), (targets, target_codes) = self._letter_tables
        sets = queries, query_codes, pairs.queries, targets, target_codes, pairs.targets
        return cast("Integers", _kernels.listed_slacks(*sets, pairs.distances, self.recipe, scores, self.threads))

    def records_of_codes_below(self, code: int) -> tuple[Booleans, Booleans]:
        """Return masks of the queries, and of the targets, whose letters all have codes below `code`."""
        of_queries, of_targets = (counts[:, codes >= code].sum(axis=1) == 0 for counts, codes in self._letter_tables)
        return of_queries, of_targets

    @cached_property
    def _letter_tables(self) -> tuple[LetterTable, LetterTable]:
        """Numbers of letters of the queries, and of the targets."""
        queries, targets = self.task.queries, self.task.targets
        of_queries = self._count_letters(queries)
        return of_queries, of_queries if targets is queries else self._count_letters(targets)

    def _count_letters(self, records: SequenceSet) -> LetterTable:
        return count_codes_in_records(records.codes, records.offsets, records.used_codes, self.threads), records.used_codes

    def _parts(self, pairs: NearPairs) -> Iterator[Integers]:
        """Yield the indices of the pairs in each part of the list, the longest pairs first."""
        lengths = self.task.queries.lengths[pairs.queries], self.task.targets.lengths[pairs.targets]
        order = np.argsort(-lengths[0] * lengths[1], kind="stable")
        size = int(np.clip(len(pairs) // (_PARTS_PER_THREAD * self.threads), _MIN_PART_PAIRS, _MAX_PART_PAIRS))
        for start in range(0, len(pairs), size):
            yield order[start : start + size]

    def _arguments(self, pairs: NearPairs) -> tuple[Codes, Integers, Integers, Codes, Integers, Integers, Integers]:
        """Return the pairs as kernel arguments: (codes, offsets, record numbers) of the queries, then of the targets, and the distances."""
        queries, targets = self.task.queries, self.task.targets
        return queries.codes, queries.offsets, pairs.queries, targets.codes, targets.offsets, pairs.targets, pairs.distances

    def _align(self, cancel: _kernels.Cancel, pairs: NearPairs) -> PairAlignments | None:
        """Align a part of the list. Returns None if cancelled."""
        with_runs = self.task.detail is Detail.PATH
        aligned = _kernels.align_listed(self.instruction_set, *self._arguments(pairs), self.recipe, with_runs, cancel)
        if aligned is None:
            return None
        scores, counts, data, starts, sizes = cast("tuple[Any, Any, Any, Any, Any]", aligned)  # the last three are None without runs
        return PairAlignments(scores, counts.view(STATISTICS)[:, 0], Runs([data], starts, sizes) if with_runs else None)
