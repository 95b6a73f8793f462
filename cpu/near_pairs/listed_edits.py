"""Finds the edit distances of listed pairs, up to a maximum for each pair."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import field

import numpy as np

from gpualign.core.alignment.pair_list import NearPairs
from gpualign.core.alignment.task import Task
from gpualign.core.common.arrays import Integers, distinct
from gpualign.core.common.dataclass import dataclass
from gpualign.core.common.errors import RunError
from gpualign.core.common.threads import run_until_stopped
from gpualign.core.scoring.edit_bounds import distance_bound
from gpualign.core.sequences.sequence_set import SequenceSet
from gpualign.cpu.alignment._kernels import Cancel
from gpualign.cpu.near_pairs import _near
from gpualign.cpu.near_pairs.recipe import native_bound

_MAX_PART_LETTERS = 1 << 24
"""Maximum number of letters in the pairs of a part of a list. The records of a part are copied, and laid out as bits."""

_PART_BYTES_PER_LETTER = 2

_BITS_PER_WORD, _CLASSES_PER_OCTAVE = 64, 3
"""Pairs of a class are computed together, each within the greatest maximum of the class. The maxima of a class differ by less than a word
of 64 bits, or by a quarter."""


@dataclass(frozen=True)
class ListedEditFinder:
    """Finds the edit distances of listed pairs. Implements `gpualign.core.execution.engine.EditFinder`.

    letters: one more than the largest code in use
    instruction_set: variant of the kernels for near pairs
    threads: maximum number of threads
    scratch_bytes: memory for all threads, in bytes
    """

    task: Task
    letters: int
    instruction_set: str
    threads: int
    scratch_bytes: int
    _stops: set[Callable[[], None]] = field(default_factory=set, repr=False)  # of the lists that are being computed

    def find_edits(self, pairs: NearPairs) -> Integers:
        edits = np.full(len(pairs), -1, dtype=np.int64)
        waiting, cancel = deque(self._parts(pairs)), Cancel()
        done = deque[bool]()

        def work() -> None:
            while waiting:
                with suppress(IndexError):  # another thread may have taken the last one
                    part = waiting.popleft()
                    done.append(self._find_part(pairs.select(part), edits[part], cancel))

        def stop() -> None:
            waiting.clear()
            cancel.request()

        part_count = len(waiting)
        self._stops.add(stop)
        try:
            run_until_stopped(work, min(self.threads, part_count), stop)
        finally:
            self._stops.discard(stop)
        if sum(done) < part_count:
            raise RunError("the comparison of pairs was stopped")
        return edits

    def close(self) -> None:
        for stop in list(self._stops):
            stop()

    def _parts(self, pairs: NearPairs) -> Iterator[slice]:
        """Yield parts of the list that fit in memory, at least one for each thread if there are as many pairs."""
        if not len(pairs):
            return
        before = np.cumsum(self.task.queries.lengths[pairs.queries] + self.task.targets.lengths[pairs.targets])
        fitting = min(_MAX_PART_LETTERS, self.scratch_bytes // (self.threads * _PART_BYTES_PER_LETTER), before[-1] // self.threads)
        parts = before // max(1, fitting)
        bounds = [0, *(np.flatnonzero(np.diff(parts)) + 1).tolist(), len(pairs)]
        yield from map(slice, bounds[:-1], bounds[1:])

    def _find_part(self, pairs: NearPairs, edits: Integers, cancel: Cancel) -> bool:
        """Compute part of a list; returns False if cancelled. edits: the results, which are -1 before"""
        lengths = self.task.queries.lengths[pairs.queries], self.task.targets.lengths[pairs.targets]
        if not len(possible := np.flatnonzero(pairs.distances >= np.abs(lengths[0] - lengths[1]))):
            return True
        queries, query_numbers = self._records(self.task.queries, pairs.queries[possible])
        targets, target_numbers = self._records(self.task.targets, pairs.targets[possible])
        limits = pairs.distances[possible]
        classes = (np.log2(limits + _BITS_PER_WORD) * _CLASSES_PER_OCTAVE).astype(np.int64)
        for number in distinct(classes).tolist():
            some = np.flatnonzero(classes == number)
            bound = native_bound(distance_bound(int(limits[some].max())))
            found = _near.within(self.instruction_set, queries, targets, query_numbers[some], target_numbers[some], bound, cancel)
            if found is None:
                return False
            edits[possible[some]] = np.where(found <= limits[some], found, -1)
        return True

    def _records(self, sequences: SequenceSet, numbers: Integers) -> tuple[_near.Records, Integers]:
        """Return (the distinct records among these, as bits, their positions there). numbers: record numbers"""
        used = distinct(numbers)
        letters = sequences.gather(used)
        records = _near.Records(letters.text, letters.offsets, self.letters, 0, 0)
        records.build(0, len(used))
        return records, np.searchsorted(used, numbers)
