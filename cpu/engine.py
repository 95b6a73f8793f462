"""The CPU engine: threads that pull tiles and hand each to a vector kernel with the GIL released."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias, cast

import numpy as np
import numpy.typing as npt

from gpualign.core.collect import collect_results
from gpualign.core.engine import STATISTICS, Capabilities, Detail, Mode, Runs, Task, TileResult
from gpualign.core.errors import RunError
from gpualign.core.plan import Limits, Tile
from gpualign.core.search.hits import best_targets
from gpualign.cpu import _kernels
from gpualign.cpu.local import LocalRecipe, lane_bytes, make_local_recipe
from gpualign.cpu.machine import describe_cpu, pick_instruction_set, usable_cpus
from gpualign.cpu.paths import PathRecipe, make_path_recipe
from gpualign.cpu.recipe import Recipe, make_recipe

# About a tenth of a second of work: short enough for a smooth progress bar and even threads, long enough that packing a
# block of targets is small beside it.
_TILE_CELLS_DIFFERENCE = 8_000_000_000
_TILE_CELLS_BITSLICED = 60_000_000_000
_TILE_CELLS_PATHS = 4_000_000_000
_TILE_CELLS_LOCAL = 4_000_000_000


Codes: TypeAlias = npt.NDArray[np.uint8]
Numbers: TypeAlias = npt.NDArray[np.int64]


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


class _Workers:
    """Threads around one task; `results` yields as they finish, `stop` ends them soon."""

    def __init__(self, engine: CpuEngine, task: Task, memory: int, tiles: Iterator[Tile]) -> None:
        self._instruction_set = engine.instruction_set.name
        self._task = task
        if task.mode is Mode.LOCAL:
            recipe = engine.local_recipe(task).within(engine.instruction_set.vector_bytes, memory // engine.threads)
            self._local = native_local(recipe)
            self._history = _kernels.LocalHistory(len(task.queries))
        elif task.needs_paths:
            self._paths = engine.native_paths(task, memory)
        else:
            self._recipes = native_recipes(engine.recipe(task, memory), engine.instruction_set.vector_bytes)
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
                result = self._align(tile) if self._task.needs_paths else self._score(tile)
                if result is not None:
                    self._done.put(result)
        except BaseException as error:  # handed to the consumer, which raises it
            self._done.put(error)
        self._done.put(None)

    def _place(self, tile: Tile) -> tuple[str, Codes, Numbers, Numbers, Codes, Numbers, Numbers]:
        """The first arguments of the kernels: which rectangle of pairs."""
        queries, targets = self._task.queries, self._task.targets
        numbers = np.arange(tile.query_start, tile.query_stop)
        return self._instruction_set, queries.codes, queries.offsets, numbers, targets.codes, targets.offsets, tile.targets

    def _score(self, tile: Tile) -> TileResult:
        task, pairing = self._task, tile.pairing.value
        scores = np.zeros(tile.shape, dtype=task.dtype)
        narrow = task.dtype == np.int32
        if task.mode is Mode.GLOBAL:
            score_tile = _kernels.score_tile_32 if narrow else _kernels.score_tile_64
            score_tile(*self._place(tile), pairing, self._recipes, scores, self._cancel)
            return TileResult(tile, scores)
        score_local = _kernels.score_local_tile_32 if narrow else _kernels.score_local_tile_64
        score_local(*self._place(tile), self._local, self._history, scores, self._cancel)
        if task.top is None:
            return TileResult(tile, scores)
        best, targets = best_targets(scores, tile.targets, task.targets.ranks, task.top)
        return TileResult(tile, best, targets=targets)

    def _align(self, tile: Tile) -> TileResult | None:
        """None if cancelled."""
        task = self._task
        aligned = _kernels.align_tile(*self._place(tile), tile.pairing.value, self._paths, task.detail is Detail.PATH, self._cancel)
        done = cast("tuple[Any, Any, Any, Any, Any] | None", aligned)  # arrays; the last three None where no runs are wanted
        if done is None:
            return None
        scores, counts, data, starts, sizes = done
        statistics = None if task.detail is Detail.SCORE else counts.view(STATISTICS)[..., 0]
        runs = Runs(data, starts, sizes) if task.detail is Detail.PATH else None
        return TileResult(tile, scores.astype(task.dtype, copy=False), statistics, runs)


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


def native_paths(recipe: PathRecipe, worker_bytes: int) -> _kernels.PathRecipe:
    """The recipe for paths as the extension takes it, with `worker_bytes` of scratch for one worker."""
    out = _kernels.PathRecipe()
    out.differences = _native(recipe.differences)
    for name in ("extend", "free_query", "free_target", "negate"):
        setattr(out, name, getattr(recipe, name))
    out.worker_bytes = worker_bytes
    out.set_usable(recipe.usable)
    return out


def native_local(recipe: LocalRecipe) -> _kernels.LocalRecipe:
    """The recipe for local scores as the extension takes it."""
    out = _kernels.LocalRecipe()
    for name in ("letters", "padding", "open", "extend", "byte_scores", "narrowest", "widest", "most_columns"):
        setattr(out, name, getattr(recipe, name))
    out.set_table(np.ascontiguousarray(recipe.table))
    return out


class CpuEngine:
    """Implements `gpualign.core.engine.Engine`.

    threads: workers (default: the CPUs this process may use, or as many as `limits` finds memory for). instruction_set: name of a
    variant (default: the fastest that this processor runs; the environment variable GPUALIGN_INSTRUCTION_SET overrides it, for
    tests and bug reports).
    Raises `InputError` for a variant that this build or processor does not have.
    """

    name = "cpu"
    capabilities = Capabilities(frozenset({Mode.GLOBAL, Mode.LOCAL}), paths=True)

    def __init__(self, threads: int | None = None, instruction_set: str | None = None) -> None:
        self.threads = threads or usable_cpus()
        self._threads_asked_for = threads is not None
        usable = {s.name: s for s in instruction_sets() if s.supported}
        self.instruction_set = usable[pick_instruction_set(list(usable), instruction_set)]

    def unavailable_reason(self) -> str | None:
        return None

    def describe(self) -> str:
        return describe_cpu(self.instruction_set.name, self.threads)

    def kernel(self, task: Task, memory: int) -> str:
        if task.mode is Mode.LOCAL:
            return self.local_recipe(task).kernel
        return self._path_recipe(task).kernel if task.needs_paths else self.recipe(task, memory // 2).kernel

    def _path_recipe(self, task: Task) -> PathRecipe:
        return make_path_recipe(task.scoring, letters_in_use(task), task.end_gaps)

    def native_paths(self, task: Task, memory: int) -> _kernels.PathRecipe:
        """The recipe for paths as the extension takes it, with `memory` bytes of scratch for all workers."""
        return native_paths(self._path_recipe(task), memory // self.threads)

    def local_recipe(self, task: Task) -> LocalRecipe:
        """The recipe for local scores of a task."""
        return make_local_recipe(task.scoring, letters_in_use(task), int(task.queries.lengths.max()), int(task.targets.lengths.max()))

    def recipe(self, task: Task, memory: int) -> Recipe:
        """The recipe for a task with `memory` bytes of scratch for all workers."""
        letters = letters_in_use(task)
        longest = int(task.targets.lengths.max())
        return make_recipe(task.scoring, letters, len(task.targets), longest, self.instruction_set.vector_bytes, memory // self.threads)

    def limits(self, task: Task, memory: int) -> Limits:
        """Half of `memory` is for the kernels' scratch, half for results."""
        if refusal := self.capabilities.refusal(task):
            raise RunError(f"the CPU engine cannot do this: {refusal}")
        if task.mode is Mode.LOCAL:
            return self._local_limits(task, memory)
        if task.needs_paths:
            return self._path_limits(task, memory)
        longest = int(task.targets.lengths.max())
        vector_bytes = self.instruction_set.vector_bytes

        def scratch() -> int:
            return self.threads * self.recipe(task, memory // 2).scratch_bytes(vector_bytes, longest)

        needed = self._scratch(scratch, memory // 2, longest)
        recipe = self.recipe(task, memory // 2)
        cells = _TILE_CELLS_BITSLICED if recipe.bitsliced else _TILE_CELLS_DIFFERENCE
        return Limits(memory - memory // 2, needed, task.item_bytes, recipe.lanes(vector_bytes), cells)

    def _scratch(self, wanted: Callable[[], int], memory: int, longest: int) -> int:
        """What `wanted` says of the threads that fit. Raises `RunError` if not even those that were asked for, or one, do."""
        needed = self._fit_threads(wanted, memory)
        if needed > memory:
            raise RunError(
                f"the memory budget is too small: {self.threads} threads on targets of up to {longest:,} letters need "
                f"{needed:,} bytes of scratch, {memory:,} are left; raise --memory or lower --threads"
            )
        return needed

    def _local_limits(self, task: Task, memory: int) -> Limits:
        vector_bytes = self.instruction_set.vector_bytes
        longest = int(task.queries.lengths.max()), int(task.targets.lengths.max())
        least = lane_bytes(vector_bytes, *longest)
        needed = self._scratch(lambda: self.threads * least, memory // 2, min(longest))
        lanes = self.local_recipe(task).lanes(vector_bytes)
        cells = _TILE_CELLS_LOCAL
        if len(task.targets) < lanes:  # then queries lie in the lanes, and shall fill them
            cells = max(cells, lanes * int(task.queries.offsets[-1]) // len(task.queries) * int(task.targets.offsets[-1]))
        return Limits(memory - memory // 2, needed, task.item_bytes, lanes, cells, query_bytes=task.query_bytes)

    def _fit_threads(self, needed: Callable[[], int], memory: int) -> int:
        """What `needed` says of the threads; as many of them go as do not fit, unless their number was asked for."""
        while (found := needed()) > memory and self.threads > 1 and not self._threads_asked_for:
            self.threads -= 1
        return found

    def _path_limits(self, task: Task, memory: int) -> Limits:
        native = self.native_paths(task, memory // 2)
        queries, targets = int(task.queries.lengths.max()), int(task.targets.lengths.max())
        block, pair = _kernels.path_bytes(self.instruction_set.name, native, queries, targets)
        least = self._fit_threads(lambda: self.threads * min(block, pair), memory // 2)
        if least > memory // 2:
            raise RunError(
                f"the memory budget is too small: {self.threads} threads tracing pairs of up to {queries:,} and {targets:,} letters need "
                f"{least:,} bytes of scratch, {memory // 2:,} are left; raise --memory or lower --threads"
            )
        scratch = min(memory // 2, self.threads * block)
        lanes = self.instruction_set.vector_bytes * 8 // self._path_recipe(task).differences.width
        return Limits(memory - memory // 2, scratch, task.item_bytes, lanes, _TILE_CELLS_PATHS, letter_bytes=task.letter_bytes)

    def run(self, task: Task, tiles: Iterator[Tile], memory: int) -> Iterator[TileResult]:
        workers = _Workers(self, task, memory // 2, tiles)
        try:
            yield from workers.results()
        finally:
            workers.stop()


def letters_in_use(task: Task) -> int:
    """Codes that a task uses are below this."""
    return int(max(task.queries.used_codes[-1], task.targets.used_codes[-1])) + 1
