"""The CPU engine: threads that pull tiles and hand each to a vector kernel with the GIL released."""

from __future__ import annotations

import os
import queue
import threading
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from gpualign.core.collect import collect_results
from gpualign.core.engine import Capabilities, Detail, Mode, Task, TileResult
from gpualign.core.errors import InputError, RunError
from gpualign.core.plan import Limits, Tile
from gpualign.cpu import _kernels
from gpualign.cpu.recipe import Recipe, make_recipe

# About a tenth of a second of work: short enough for a smooth progress bar and even threads, long enough that packing a
# block of targets is small beside it.
_TILE_CELLS_DIFFERENCE = 8_000_000_000
_TILE_CELLS_BITSLICED = 60_000_000_000


@dataclass(frozen=True)
class InstructionSet:
    """One variant of the kernels: `supported` says whether this processor runs it."""

    name: str
    vector_bytes: int
    ternary_logic: bool
    supported: bool


def instruction_sets() -> list[InstructionSet]:
    """All variants of this build, fastest first."""
    return [InstructionSet(*entry) for entry in _kernels.instruction_sets()]


def usable_cpus() -> int:
    """CPUs that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class _Workers:
    """Threads around one task; `results` yields as they finish, `stop` ends them soon."""

    def __init__(self, engine: CpuEngine, task: Task, recipe: Recipe, tiles: Iterator[Tile]) -> None:
        self._instruction_set = engine.instruction_set.name
        self._task = task
        self._recipes = native_recipes(recipe, engine.instruction_set.vector_bytes)
        self._tiles = tiles
        self._lock = threading.Lock()
        self._cancel = _kernels.Cancel()
        self._stopped = threading.Event()
        # Bounded, so that a slow sink slows the workers down rather than filling memory.
        self._done: queue.Queue[TileResult | BaseException | None] = queue.Queue(maxsize=2 * engine.threads)
        self._threads = [threading.Thread(target=self._work, name=f"gpualign-cpu-{i}", daemon=True) for i in range(engine.threads)]

    def results(self) -> Iterator[TileResult]:
        for thread in self._threads:
            thread.start()
        yield from collect_results(self._done, len(self._threads))

    def stop(self) -> None:
        self._stopped.set()
        self._cancel.request()
        for thread in self._threads:
            while thread.is_alive():
                thread.join(timeout=0.01)
                while not self._done.empty():  # a worker may be waiting for room
                    self._done.get_nowait()

    def _work(self) -> None:
        try:
            while not self._stopped.is_set():
                with self._lock:
                    tile = next(self._tiles, None)
                if tile is None:
                    break
                self._done.put(self._score(tile))
        except BaseException as error:  # handed to the consumer, which raises it
            self._done.put(error)
        self._done.put(None)

    def _score(self, tile: Tile) -> TileResult:
        task = self._task
        scores = np.zeros(tile.shape, dtype=task.dtype)
        score_tile = _kernels.score_tile_32 if task.dtype == np.int32 else _kernels.score_tile_64
        score_tile(
            self._instruction_set,
            task.queries.codes,
            task.queries.offsets,
            np.arange(tile.query_start, tile.query_stop),
            task.targets.codes,
            task.targets.offsets,
            tile.targets,
            tile.pairing.value,
            self._recipes,
            scores,
            self._cancel,
        )
        return TileResult(tile, scores)


def _native(recipe: Recipe) -> _kernels.Recipe:
    out = _kernels.Recipe()
    for name in (
        "bitsliced",
        "width",
        "letters",
        "open_extra",
        "tight",
        "match_steps",
        "mismatch_steps",
        "pairs",
        "slice_columns",
        "sum_factor",
        "per_letter",
        "per_column",
        "constant",
    ):
        setattr(out, name, getattr(recipe, name))
    out.set_table(np.ascontiguousarray(recipe.table))
    return out


def native_recipes(recipe: Recipe, vector_bytes: int) -> _kernels.Recipes:
    """The recipe as the extension takes it."""
    return _kernels.Recipes(_native(recipe), _native(recipe.rest or recipe), recipe.rest_below(vector_bytes))


class CpuEngine:
    """Implements `gpualign.core.engine.Engine`.

    threads: workers (default: the CPUs this process may use). instruction_set: name of a variant (default: the fastest that
    this processor runs; the environment variable GPUALIGN_INSTRUCTION_SET overrides it, for tests and bug reports).
    Raises `InputError` for a variant that this build or processor does not have.
    """

    name = "cpu"
    capabilities = Capabilities(frozenset({Mode.GLOBAL}), frozenset({Detail.SCORE}))

    def __init__(self, threads: int | None = None, instruction_set: str | None = None) -> None:
        self.threads = threads or usable_cpus()
        wanted = instruction_set or os.environ.get("GPUALIGN_INSTRUCTION_SET")
        usable = [s for s in instruction_sets() if s.supported]
        matching = [s for s in usable if wanted is None or s.name == wanted]
        if not matching:
            raise InputError(f"this machine has no kernels for the instruction set {wanted!r}; it has {', '.join(s.name for s in usable)}")
        self.instruction_set = matching[0]

    def unavailable_reason(self) -> str | None:
        return None

    def describe(self) -> str:
        threads = "1 thread" if self.threads == 1 else f"{self.threads} threads"
        return f"cpu ({self.instruction_set.name}, {threads})"

    def kernel(self, task: Task, memory: int) -> str:
        return self.recipe(task, memory // 2).kernel

    def recipe(self, task: Task, memory: int) -> Recipe:
        """The recipe for a task with `memory` bytes of scratch for all workers."""
        letters = int(max(task.queries.used_codes[-1], task.targets.used_codes[-1])) + 1
        longest = int(task.targets.lengths.max())
        return make_recipe(task.scoring, letters, len(task.targets), longest, self.instruction_set.vector_bytes, memory // self.threads)

    def limits(self, task: Task, memory: int) -> Limits:
        """Half of `memory` is for the kernels' scratch, half for results."""
        if refusal := self.capabilities.refusal(task):
            raise RunError(f"the CPU engine cannot do this: {refusal}")
        recipe = self.recipe(task, memory // 2)
        longest = int(task.targets.lengths.max())
        scratch = self.threads * recipe.scratch_bytes(self.instruction_set.vector_bytes, longest)
        if scratch > memory // 2:
            raise RunError(
                f"the memory budget is too small: {self.threads} threads on targets of up to {longest:,} letters need "
                f"{scratch:,} bytes of scratch, {memory // 2:,} are left; raise --memory or lower --threads"
            )
        cells = _TILE_CELLS_BITSLICED if recipe.bitsliced else _TILE_CELLS_DIFFERENCE
        return Limits(memory - memory // 2, scratch, task.dtype.itemsize, recipe.lanes(self.instruction_set.vector_bytes), cells)

    def run(self, task: Task, tiles: Iterator[Tile], memory: int) -> Iterator[TileResult]:
        workers = _Workers(self, task, self.recipe(task, memory // 2), tiles)
        try:
            yield from workers.results()
        finally:
            workers.stop()
