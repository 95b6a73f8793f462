"""Combines several engines on one machine into one engine."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import field, replace
from functools import partial
from itertools import chain

from gpualign.core.alignment.task import Task
from gpualign.core.alignment.tile_results import TileResult
from gpualign.core.common.dataclass import dataclass
from gpualign.core.common.errors import RunError
from gpualign.core.common.iterators import closing_iterator
from gpualign.core.execution.engine import Capabilities, TimedEngine, TimedPreparedTask
from gpualign.core.execution.load_balancing import ESTIMATE_SAFETY_FACTOR
from gpualign.core.execution.retiling import run_retiled
from gpualign.core.execution.tile_queue import LoadBalancing
from gpualign.core.execution.worker_pool import WorkerFunction, WorkerHandle, describe_failed_device, run_workers
from gpualign.core.planning.memory_budget import Budget
from gpualign.core.planning.tile_plan import MAX_TILES_PER_WORKER, Tile, TileLimits, row_bytes

_PLAN_MEMORY_DIVISOR = 4
"""The memory for results is divided by this number. One such part limits the size of the plan's bands. A second part is for assembling
tiles. The remainder is for bands that wait for a slower engine."""

_PLANNER_SCRATCH_DIVISOR = 4
"""The engines' scratch memory is divided by this number, and one such part goes to the engine that plans. That engine is a GPU, which needs
little host memory; a CPU needs some for each thread."""

_MAX_WAITING_RESULTS, _MAX_WAITING_HIT_RESULTS = 2, 64  # results of each engine that wait for the consumer; hits are small


@dataclass(frozen=True)
class MultiDevicePreparedTask:
    """Task prepared by several engines, which share its tiles. Implements `gpualign.core.execution.engine.PreparedTask`.

    prepared_tasks: the task as prepared by each engine; the first engine computes the plan's tiles unchanged
    max_waiting_bytes: memory for the results of bands in progress, in bytes
    on_engine_failure: called with the number and the error of an engine that fails while others continue
    """

    task: Task
    limits: TileLimits
    prepared_tasks: Sequence[TimedPreparedTask] = field(repr=False)
    max_waiting_bytes: int
    on_engine_failure: Callable[[int, RunError], None] = field(repr=False)

    @property
    def kernel(self) -> str:
        first, *others = self.prepared_tasks
        return "; ".join([first.kernel, *(f"on {other.hardware} {other.kernel}" for other in others)])

    @property
    def hardware(self) -> str:
        return " + ".join(one.hardware for one in self.prepared_tasks)

    @property
    def estimated_seconds(self) -> float:
        return 1 / sum(1 / one.estimated_seconds for one in self.prepared_tasks)

    def run(self, tiles: Iterator[Tile]) -> Iterator[TileResult]:
        if (tile := next(tiles, None)) is None:
            return
        first, *others = self.prepared_tasks
        workers = [_make_worker_function(first.run), *(_make_worker_function(partial(run_retiled, other)) for other in others)]
        waiting = (_MAX_WAITING_RESULTS if self.task.top_count is None else _MAX_WAITING_HIT_RESULTS) * len(workers)
        sharing = LoadBalancing(
            [self.task.approximate_cell_count / one.estimated_seconds for one in self.prepared_tasks], self._max_open_bands(tile)
        )
        results = run_workers(
            chain([tile], tiles), workers, waiting, "gpualign-engine", on_worker_failure=self.on_engine_failure, load_balancing=sharing
        )
        with closing_iterator(results):
            yield from results

    def _max_open_bands(self, tile: Tile) -> int:
        """Return how many bands of the size of this tile's band may be in progress. This is at least the number of tiles that all workers
        together may hold."""
        rows, targets = tile.band.shape
        bytes_per_row = row_bytes(self.limits, self.task.queries.lengths, self.task.targets.lengths, targets)
        return max(MAX_TILES_PER_WORKER * self.limits.worker_count, self.max_waiting_bytes // max(1, rows * bytes_per_row))


def _make_worker_function(run: Callable[[Iterator[Tile]], Iterator[TileResult]]) -> WorkerFunction[TileResult]:
    def work(handle: WorkerHandle[TileResult]) -> None:
        with closing_iterator(run(iter(handle.next_tile, None))) as results:
            for result in results:
                handle.deliver(result)

    return work


class MultiDeviceEngine:
    """Engine that consists of several engines, which pull tiles from one plan, each at its own speed (core/execution/load_balancing.py).
    Implements `gpualign.core.execution.engine.Engine`.

    engines: the first of these that can perform a task plans it; the others split the planned tiles to sizes that suit them
    on_note: receives notes for the user on engines that fail or have too little memory
    on_detail: receives notes on engines that are too slow to help

    As long as other engines remain, an engine is left out if it has too little memory, if it fails, or if it would take longer for one tile
    than the first engine for the whole task. Near pairs (`Task.edit_bound`) are found by a single engine, because finding them needs whole
    bands.
    """

    def __init__(self, engines: Sequence[TimedEngine], on_note: Callable[[str], None], on_detail: Callable[[str], None]) -> None:
        if not engines:
            raise ValueError("expected at least one engine")
        self._engines = engines
        self._note = on_note
        self._detail = on_detail

    @property
    def capabilities(self) -> Capabilities:
        """Modes and features supported by at least one of the engines."""
        each = [engine.capabilities for engine in self._engines]
        return Capabilities(
            frozenset().union(*(c.modes for c in each)), any(c.supports_paths for c in each), any(c.supports_near_pairs for c in each)
        )

    def prepare(self, task: Task, budget: Budget) -> TimedPreparedTask:
        """Prepare a task for all engines that help to finish it sooner.

        Raises `RunError` if no engine can perform the task, or if no engine has enough memory even when it works alone.
        """
        able = [engine for engine in self._engines if not engine.capabilities.unsupported_reason(task)]
        if not able:
            raise RunError(f"no device can do this: {self._engines[0].capabilities.unsupported_reason(task)}")
        if task.edit_bound is not None or len(able) == 1:
            return _prepare_first_fitting(able, task, budget)
        planner = budget.scratch_bytes // _PLANNER_SCRATCH_DIVISOR
        shares = [planner] + [(budget.scratch_bytes - planner) // (len(able) - 1)] * (len(able) - 1)
        ready: list[tuple[TimedEngine, TimedPreparedTask]] = []
        for engine, scratch in zip(able, shares, strict=True):
            try:
                ready.append((engine, engine.prepare(task, replace(budget, scratch_bytes=scratch))))
            except RunError as error:
                failed = error
        if not ready:  # one alone may have enough memory
            return _prepare_first_fitting(able, task, budget)
        if len(ready) < len(able):
            self._note(f"using only {_hardware_names(ready)}: {failed.message}")
        return self._combine(task, budget, ready)

    def _combine(self, task: Task, budget: Budget, prepared_engines: Sequence[tuple[TimedEngine, TimedPreparedTask]]) -> TimedPreparedTask:
        (engine, first), *others = prepared_engines
        limits = replace(
            first.limits,
            result_bytes=budget.result_bytes // _PLAN_MEMORY_DIVISOR,
            worker_count=first.limits.worker_count + len(others),
            scratch_bytes=budget.scratch_bytes,
        )
        tile = limits.next_tile_cells(int(task.approximate_cell_count)) / max(1.0, task.approximate_cell_count)
        used: list[TimedPreparedTask] = []
        for _, other in others:
            if ESTIMATE_SAFETY_FACTOR * tile * other.estimated_seconds <= first.estimated_seconds:
                used.append(other)
            else:
                self._detail(f"{other.hardware} is left out: it may take longer for one tile than {first.hardware} for everything")
        if not used:
            return engine.prepare(task, budget)
        prepared = [first, *used]

        def on_engine_failure(number: int, error: RunError) -> None:
            self._note(describe_failed_device(prepared[number].hardware, error))

        return MultiDevicePreparedTask(task, limits, prepared, budget.result_bytes - 2 * limits.result_bytes, on_engine_failure)


def _prepare_first_fitting(engines: Sequence[TimedEngine], task: Task, budget: Budget) -> TimedPreparedTask:
    """Prepare the task with the first engine that has enough memory. Raises `RunError` if no engine does."""
    *others, last = engines
    for engine in others:
        try:
            return engine.prepare(task, budget)
        except RunError:
            continue
    return last.prepare(task, budget)


def _hardware_names(prepared_engines: Sequence[tuple[TimedEngine, TimedPreparedTask]]) -> str:
    return " + ".join(prepared.hardware for _, prepared in prepared_engines)
