"""Aligns listed pairs on CUDA devices, each within a band of diagonals whose width the host proves to suffice. The host aligns lists as
long as there are few pairs, and pairs whose bands would be too wide."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property
from threading import Lock
from typing import Protocol

import numpy as np

from gpualign.core.alignment.aligned_pairs import PairAlignments, PairAlignmentsBuilder
from gpualign.core.alignment.pair_list import NearPairs
from gpualign.core.alignment.task import Detail, EndGaps, Task
from gpualign.core.common.arrays import Booleans, Integers, Scores
from gpualign.core.common.errors import RunError
from gpualign.core.execution.engine import EditFindingEngine, PairAligner
from gpualign.core.planning.memory_budget import Budget
from gpualign.gpu.alignment.pair_bands import BandBatch, batches_by_weight, plan_batches
from gpualign.gpu.alignment.pair_list_worker import PairListWorker
from gpualign.gpu.alignment.recipe import Recipe, make_recipe, packed_score_type
from gpualign.gpu.alignment.sliced_bands import LETTER_CODES, plan_sliced_batches, sliced_scores
from gpualign.gpu.runtime.device import Device

MAX_BATCH_PAIRS = 1 << 15  # pairs of a list that a device aligns at a time
MIN_CELLS_PER_THREAD = 2e9
"""Minimum size of all lists so far, in cells of whole matrices for each thread of the host, for which a device is opened. The host takes
some tenths of a second for less."""

_MAX_SCORE = 1 << 28
"""Maximum score, rebased as in kernels, for which 32 bits also hold the values of cells outside of a band."""

_EXTRA_SLACK = 2
"""Diagonals added on either side of a band with the expected width, so that few pairs need a second band."""


class HostPairAligner(PairAligner, Protocol):
    """Aligner of listed pairs on the host, which also knows how wide bands must be."""

    @property
    def threads(self) -> int: ...

    @property
    def proves_bands(self) -> bool:
        """True if `needed_slacks` can tell the bands of diagonals that pairs need."""

    def needed_slacks(self, pairs: NearPairs, scores: Scores | None) -> Integers:
        """Return the number of diagonals by which each pair's band must extend beyond the diagonals of both corners, int64[pairs].

        scores: scores of the pairs, int64[pairs]; edit distances are negated; None: scores to expect with the pairs' distances
        """

    def records_of_codes_below(self, code: int) -> tuple[Booleans, Booleans]:
        """Return masks of the queries, and of the targets, whose letters all have codes below `code`."""


class HostPairEngine(EditFindingEngine, Protocol):
    """Engine of the host."""

    def prepare_pair_aligner(self, task: Task, budget: Budget) -> HostPairAligner: ...


class CudaPairEngine:
    """Engine that aligns listed pairs on CUDA devices. Implements `gpualign.core.execution.engine.EditFindingEngine`.

    find_devices: returns devices that no other engine uses, though two objects may stand for one device; called when the lists so far are
        long enough
    host: engine for whatever else is to be aligned
    note: called with a message about a failed device whose pairs the host aligns
    """

    def __init__(self, find_devices: Callable[[], Sequence[Device]], host: HostPairEngine, note: Callable[[str], None]) -> None:
        self._find_devices = find_devices
        self._host = host
        self._note = note
        self.capabilities = host.capabilities
        self.prepare = host.prepare
        self.prepare_edit_finder = host.prepare_edit_finder

    def prepare_pair_aligner(self, task: Task, budget: Budget) -> PairAligner:
        host = self._host.prepare_pair_aligner(task, budget)
        if not host.proves_bands or task.end_gaps is not EndGaps.PENALISED:
            return host
        recipe = make_recipe(replace(task, detail=Detail.STATISTICS) if task.detail is Detail.SCORE else task)
        form = recipe.rebased_form
        if form is None or form.max_value(task.queries.max_length, task.targets.max_length) > _MAX_SCORE:
            return host
        return CudaPairAligner(task, recipe, self._find_devices, host, self._note)


class CudaPairAligner:
    """Aligner of listed pairs. Implements `gpualign.core.execution.engine.PairAligner`.

    The devices are opened when the lists so far are long enough, and closed by `close`. Several threads may align lists at the same time.
    See `CudaPairEngine` for the parameters.
    """

    def __init__(
        self,
        task: Task,
        recipe: Recipe,
        find_devices: Callable[[], Sequence[Device]],
        host: HostPairAligner,
        note: Callable[[str], None],
    ) -> None:
        self._task = task
        self._recipe = recipe
        self._find_devices = find_devices
        self._host = host
        self._note = note
        self._workers: list[PairListWorker] | None = None
        self._cells = 0.0  # of all lists so far
        self._lock = Lock()  # while workers are opened or removed

    @property
    def kernel(self) -> str:
        return f"bands of diagonals; few pairs, and pairs in wide bands, {self._host.kernel}"

    @property
    def uses_device(self) -> bool:
        return True

    def align_pairs(self, pairs: NearPairs) -> PairAlignments:
        lengths = self._task.queries.lengths[pairs.queries], self._task.targets.lengths[pairs.targets]
        if (workers := self._open_workers(float((lengths[0] * lengths[1]).sum()))) is None:
            return self._host.align_pairs(pairs)
        try:
            return self._align_long_list(workers, pairs, lengths)
        except BaseException:
            self.close()
            raise

    def _open_workers(self, cells: float) -> list[PairListWorker] | None:
        """Return the workers of the devices; None if the lists so far are too short to open them. cells: size of another list"""
        with self._lock:
            self._cells += cells
            if self._workers is None and self._cells >= MIN_CELLS_PER_THREAD * self._host.threads:
                devices = self._find_devices()
                recipe = replace(self._recipe, packed_score_type=packed_score_type(device.arch for device in devices))
                self._workers = [PairListWorker(device, self._task, recipe) for device in devices]
            return self._workers

    def _align_long_list(self, workers: list[PairListWorker], pairs: NearPairs, lengths: tuple[Integers, Integers]) -> PairAlignments:
        """Align a list on the devices, and on the host what the devices leave.

        workers: workers of the devices, from which those that fail are removed
        lengths: lengths of the queries and of the targets
        """
        built = PairAlignmentsBuilder(self._task, len(pairs))
        left, for_host = np.arange(len(pairs)), list[Integers]()
        slacks = self._host.needed_slacks(pairs, None) + _EXTRA_SLACK
        while len(left) and (usable := list(workers)):  # another list may leave out a worker
            one = usable[0]
            batches, rest = self._plan_sliced_batches(one, pairs, lengths, left, slacks)
            batches += plan_batches(lengths, left[rest], slacks[rest], one.warp_lanes, one.max_packed_length, MAX_BATCH_PAIRS)
            results = self._run(workers, batches, pairs)
            is_left_out = np.zeros(len(pairs), dtype=np.bool_)
            is_left_out[left] = True
            for batch, aligned in results:
                built.put(batch.indices, aligned)  # results of a band that proves too narrow are replaced later
                is_left_out[batch.indices] = False
            for_host.append(np.flatnonzero(is_left_out))
            none = [np.zeros(0, dtype=np.int64)]
            traced = np.concatenate(none + [batch.indices for batch, _ in results])
            scores = np.concatenate(none + [aligned.scores.astype(np.int64) for _, aligned in results])
            needed = self._host.needed_slacks(pairs.select(traced), -scores if self._task.scoring.edit else scores)
            is_too_narrow = needed > np.concatenate(none + [batch.slacks for batch, _ in results])
            left, slacks = traced[is_too_narrow], needed[is_too_narrow]
        rest = np.concatenate([left, *for_host])
        if len(rest):
            built.put(rest, self._host.align_pairs(pairs.select(rest)))
        return built.build()

    @cached_property
    def _records_for_slices(self) -> tuple[Booleans, Booleans]:
        return self._host.records_of_codes_below(LETTER_CODES)

    def _plan_sliced_batches(
        self, worker: PairListWorker, pairs: NearPairs, lengths: tuple[Integers, Integers], left: Integers, slacks: Integers
    ) -> tuple[list[BandBatch], Integers]:
        """Return (batches of groups of pairs; positions in `left` of the other pairs). left: indices of the pairs to plan"""
        if sliced_scores(self._recipe) is None:
            return [], np.arange(len(left))
        of_queries, of_targets = self._records_for_slices
        is_usable = of_queries[pairs.queries[left]] & of_targets[pairs.targets[left]]
        usable = np.flatnonzero(is_usable)
        batches, rest = plan_sliced_batches(lengths, left[usable], slacks[usable], worker.warp_lanes, worker.limits_of_groups)
        return batches, np.concatenate([usable[rest], np.flatnonzero(~is_usable)])

    def _run(self, workers: list[PairListWorker], batches: Sequence[BandBatch], pairs: NearPairs) -> list[tuple[BandBatch, PairAlignments]]:
        """Return the batches, which workers may have split, with their results. Batches that fit in no device's memory, and those of a
        device that fails, are left out. Raises `RunError` if the aligner is closed meanwhile."""
        results: list[tuple[BandBatch, PairAlignments]] = []
        queue = deque(batches_by_weight(batches))

        def deliver(batch: BandBatch, aligned: PairAlignments) -> None:
            results.append((batch, aligned))

        for worker, wait in [(worker, worker.start(pairs, queue, deliver)) for worker in list(workers)]:
            try:
                wait()
            except RunError as error:
                if self._workers is not workers:
                    raise  # closed
                self._leave_out(worker, workers, error)
        if self._workers is not workers:
            raise RunError("the alignment of pairs was stopped")
        return results

    def _leave_out(self, worker: PairListWorker, workers: list[PairListWorker], error: RunError) -> None:
        """Remove and close a worker whose device has failed, unless the thread of another list already has."""
        with self._lock:
            if worker not in workers:
                return
            workers.remove(worker)
        self._note(f"{worker.name} is left out, and the CPU aligns its pairs: {error.message}")
        worker.close()

    def close(self) -> None:
        workers, self._workers = self._workers or [], None
        for worker in workers:
            worker.stop()
        for worker in workers:
            worker.close()
        self._host.close()
