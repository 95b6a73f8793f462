"""Aligns listed pairs on CUDA devices. A warp takes a pair, within a band of diagonals whose width the host proves to suffice. The host
aligns short lists, and pairs whose bands would be too wide."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol

import numpy as np

from gpualign.core.alignment.aligned_pairs import PairAlignments, PairAlignmentsBuilder
from gpualign.core.alignment.pair_list import NearPairs
from gpualign.core.alignment.task import Detail, EndGaps, Task
from gpualign.core.common.arrays import Integers, Scores
from gpualign.core.execution.engine import PairAligner, PairAligningEngine
from gpualign.core.planning.memory_budget import Budget
from gpualign.gpu.alignment.pair_bands import BandBatch, batches_by_weight, plan_batches
from gpualign.gpu.alignment.pair_list_worker import PairListWorker
from gpualign.gpu.alignment.recipe import Recipe, make_recipe
from gpualign.gpu.runtime.device import Device

_MAX_BATCH_PAIRS = 1 << 15
_MIN_CELLS_PER_THREAD = 2e9
"""Minimum size of a list, in cells of whole matrices for each thread of the host, for which a device is opened. The host takes some tenths
of a second for a shorter list."""

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


class HostPairEngine(PairAligningEngine, Protocol):
    """Engine of the host."""

    def prepare_pair_aligner(self, task: Task, budget: Budget) -> HostPairAligner: ...


class CudaPairEngine:
    """Engine that aligns listed pairs on CUDA devices. Implements `gpualign.core.execution.engine.PairAligningEngine`.

    devices: devices that no other engine uses; two objects may stand for one device
    host: engine for whatever else is to be aligned
    """

    def __init__(self, devices: Sequence[Device], host: HostPairEngine) -> None:
        self._devices = devices
        self._host = host
        self.capabilities = host.capabilities
        self.prepare = host.prepare

    def prepare_pair_aligner(self, task: Task, budget: Budget) -> PairAligner:
        host = self._host.prepare_pair_aligner(task, budget)
        if not host.proves_bands or task.end_gaps is not EndGaps.PENALISED:
            return host
        recipe = make_recipe(replace(task, detail=Detail.STATISTICS) if task.detail is Detail.SCORE else task)
        form = recipe.rebased_form
        if form is None or form.max_value(task.queries.max_length, task.targets.max_length) > _MAX_SCORE:
            return host
        return CudaPairAligner(task, recipe, self._devices, host)


class CudaPairAligner:
    """Aligner of listed pairs. Implements `gpualign.core.execution.engine.PairAligner`.

    The devices are opened for the first long list, and closed by `close`.
    """

    def __init__(self, task: Task, recipe: Recipe, devices: Sequence[Device], host: HostPairAligner) -> None:
        self._task = task
        self._recipe = recipe
        self._devices = devices
        self._host = host
        self._workers: list[PairListWorker] = []

    @property
    def kernel(self) -> str:
        return f"bands in warps; few pairs, and pairs in wide bands, {self._host.kernel}"

    @property
    def max_pair_count(self) -> int:
        return self._host.max_pair_count

    def align_pairs(self, pairs: NearPairs) -> PairAlignments:
        lengths = self._task.queries.lengths[pairs.queries], self._task.targets.lengths[pairs.targets]
        if not self._workers:
            if float((lengths[0] * lengths[1]).sum()) < _MIN_CELLS_PER_THREAD * self._host.threads:
                return self._host.align_pairs(pairs)
            self._workers = [PairListWorker(device, self._task, self._recipe) for device in self._devices]
        built = PairAlignmentsBuilder(self._task, len(pairs))
        left, slacks = np.arange(len(pairs)), self._host.needed_slacks(pairs, None) + _EXTRA_SLACK
        for_host: list[Integers] = []
        while len(left):
            batches, too_wide = plan_batches(lengths, left, slacks, self._devices[0].hardware.warp_lanes, _MAX_BATCH_PAIRS)
            for_host.append(too_wide)
            traced, reached, scores = ([np.zeros(0, dtype=np.int64)] for _ in range(3))
            for batch, aligned in self._run(batches, pairs):
                if aligned is None:  # it does not fit in the device's memory
                    for_host.append(batch.indices)
                    continue
                built.put(batch.indices, aligned)
                traced.append(batch.indices)
                reached.append(batch.slacks)
                scores.append(-aligned.scores.astype(np.int64) if self._task.scoring.edit else aligned.scores.astype(np.int64))
            left = np.concatenate(traced)
            slacks = self._host.needed_slacks(pairs.select(left), np.concatenate(scores))
            unproven = slacks > np.concatenate(reached)
            left, slacks = left[unproven], slacks[unproven]
        if len(rest := np.concatenate([np.zeros(0, dtype=np.int64), *for_host])):
            built.put(rest, self._host.align_pairs(pairs.select(rest)))
        return built.build()

    def _run(self, batches: Sequence[BandBatch], pairs: NearPairs) -> list[tuple[BandBatch, PairAlignments | None]]:
        """Return every batch with its results, or with None if it does not fit in the memory of a device."""
        results: list[tuple[BandBatch, PairAlignments | None]] = []
        queue = deque(batches_by_weight(batches))

        def deliver(batch: BandBatch, aligned: PairAlignments | None) -> None:
            results.append((batch, aligned))

        for wait in [worker.start(pairs, queue, deliver) for worker in self._workers]:
            wait()
        return results

    def close(self) -> None:
        workers, self._workers = self._workers, []
        for worker in workers:
            worker.close()
        self._host.close()
