"""Several engines side by side on one machine, as one engine."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import field, replace
from functools import partial
from itertools import chain
from typing import cast

from gpualign.core.alignment.task import Task
from gpualign.core.alignment.tile_results import TileResult
from gpualign.core.common.dataclass import dataclass
from gpualign.core.common.errors import RunError
from gpualign.core.execution.engine import Capabilities, Timed, TimedEngine
from gpualign.core.execution.load_balancing import ESTIMATE_SAFETY_FACTOR
from gpualign.core.execution.pipeline import Closable
from gpualign.core.execution.retiling import run_resplit
from gpualign.core.execution.tile_queue import LoadBalancing
from gpualign.core.execution.worker_pool import Worker, WorkerPort, run_workers
from gpualign.core.planning.memory_budget import Budget
from gpualign.core.planning.tile_plan import TILES_AHEAD, Limits, Tile, row_bytes

_PLANNED = 4
"""Of the memory for results, one part in so many is planned with, so that bands are small; bands that wait for a slower engine take the
others, but for one, in which tiles are put together."""

_PLANNER = 4
"""Of the scratch memory, one part in so many is for the engine that plans: a GPU, which takes little of the host's. A CPU takes it for each
thread."""

_WAITING, _WAITING_HITS = 2, 64  # results of each engine that wait for the consumer; hits are small


@dataclass(frozen=True)
class SideBySidePrepared:
    """Implements `gpualign.core.execution.engine.Prepared`. parts: what each engine has prepared; the first one's tiles are those of the
    plan.
    waiting_bytes: memory for bands that are under way."""

    task: Task
    limits: Limits
    parts: Sequence[Timed] = field(repr=False)
    waiting_bytes: int
    lost: Callable[[int, RunError], None] = field(repr=False)

    @property
    def kernel(self) -> str:
        first, *others = self.parts
        return "; ".join([first.kernel, *(f"on {part.hardware} {part.kernel}" for part in others)])

    @property
    def hardware(self) -> str:
        return " + ".join(part.hardware for part in self.parts)

    @property
    def seconds(self) -> float:
        return 1 / sum(1 / part.seconds for part in self.parts)

    def run(self, tiles: Iterator[Tile]) -> Iterator[TileResult]:
        if (tile := next(tiles, None)) is None:
            return
        first, *others = self.parts
        workers = [_worker(first.run), *(_worker(partial(run_resplit, part)) for part in others)]
        waiting = (_WAITING if self.task.top is None else _WAITING_HITS) * len(workers)
        sharing = LoadBalancing([self.task.cells_about / part.seconds for part in self.parts], self._bands(tile))
        results = run_workers(chain([tile], tiles), workers, waiting, "gpualign-engine", lost=self.lost, sharing=sharing)
        with closing(cast("Closable", results)):
            yield from results

    def _bands(self, tile: Tile) -> int:
        """How many bands such as that of a tile may be under way: no fewer than workers hold, of tiles that are whole bands."""
        rows, targets = tile.band.shape
        a_row = row_bytes(self.limits, self.task.queries.lengths, self.task.targets.lengths, targets)
        return max(TILES_AHEAD * self.limits.sharing, self.waiting_bytes // max(1, rows * a_row))


def _worker(run: Callable[[Iterator[Tile]], Iterator[TileResult]]) -> Worker[TileResult]:
    def work(counter: WorkerPort[TileResult]) -> None:
        with closing(cast("Closable", results := run(iter(counter.next_tile, None)))):
            for result in results:
                counter.deliver(result)

    return work


class MultiDeviceEngine:
    """Implements `gpualign.core.execution.engine.Engine`: engines that pull tiles from one plan, as it suits their speed
    (core/execution/load_balancing.py).

    engines: the first one that can do a task plans it, others cut its tiles to their own size. One that would take longer for a tile than
    the first for everything is left out, and so is one that has too little memory, or fails, while there are others. Near pairs
    (`Task.within`) are one engine's alone: joins want whole bands. note: told of what fails; detail: of what is not worth it.
    """

    def __init__(self, engines: Sequence[TimedEngine], note: Callable[[str], None], detail: Callable[[str], None]) -> None:
        if not engines:
            raise ValueError("somebody must do the work")
        self._engines = engines
        self._note = note
        self._detail = detail

    @property
    def capabilities(self) -> Capabilities:
        """What any of them computes."""
        each = [engine.capabilities for engine in self._engines]
        return Capabilities(frozenset().union(*(c.modes for c in each)), any(c.paths for c in each), any(c.near for c in each))

    def prepare(self, task: Task, budget: Budget) -> Timed:
        """Raises `RunError` where none can do the task, or has the memory for it alone."""
        able = [engine for engine in self._engines if not engine.capabilities.refusal(task)]
        if not able:
            raise RunError(f"no device can do this: {self._engines[0].capabilities.refusal(task)}")
        if task.within is not None or len(able) == 1:
            return _first_of(able, task, budget)
        planner = budget.scratch // _PLANNER
        shares = [planner] + [(budget.scratch - planner) // (len(able) - 1)] * (len(able) - 1)
        ready: list[tuple[TimedEngine, Timed]] = []
        for engine, scratch in zip(able, shares, strict=True):
            try:
                ready.append((engine, engine.prepare(task, replace(budget, scratch=scratch))))
            except RunError as error:
                failed = error
        if not ready:  # each alone may have enough
            return _first_of(able, task, budget)
        if len(ready) < len(able):
            self._note(f"{_names(ready)} does all of the work: {failed.message}")
        return self._together(task, budget, ready)

    def _together(self, task: Task, budget: Budget, ready: Sequence[tuple[TimedEngine, Timed]]) -> Timed:
        (engine, first), *others = ready
        limits = replace(
            first.limits, result_bytes=budget.results // _PLANNED, sharing=first.limits.sharing + len(others), scratch_bytes=budget.scratch
        )
        tile = limits.cells_of_tile(int(task.cells_about)) / max(1.0, task.cells_about)
        used: list[Timed] = []
        for _, part in others:
            if ESTIMATE_SAFETY_FACTOR * tile * part.seconds <= first.seconds:
                used.append(part)
            else:
                self._detail(f"{part.hardware} is left out: for a tile it may take longer than {first.hardware} for all")
        if not used:
            return engine.prepare(task, budget)
        parts = [first, *used]

        def lost(number: int, error: RunError) -> None:
            self._note(f"{parts[number].hardware} is left out, the others do its work: {error.message}")

        return SideBySidePrepared(task, limits, parts, budget.results - 2 * limits.result_bytes, lost)


def _first_of(engines: Sequence[TimedEngine], task: Task, budget: Budget) -> Timed:
    """What the first engine prepares that has the memory. Raises `RunError` where none has."""
    *some, last = engines
    for engine in some:
        try:
            return engine.prepare(task, budget)
        except RunError:
            continue
    return last.prepare(task, budget)


def _names(ready: Sequence[tuple[TimedEngine, Timed]]) -> str:
    return " + ".join(part.hardware for _, part in ready)
