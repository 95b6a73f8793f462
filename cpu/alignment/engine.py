"""The CPU engine: threads that pull tiles and pass each to a vector kernel."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import numpy as np

from gpualign.core.alignment.task import Detail, Mode, Task
from gpualign.core.alignment.tile_results import STATISTICS, Runs, TileAlignments, TileHits, TileResult, TileScores
from gpualign.core.common.arrays import Codes, Integers
from gpualign.core.common.dataclass import dataclass
from gpualign.core.common.errors import RunError, TooLittleMemory, parameter
from gpualign.core.common.units import format_count
from gpualign.core.execution.engine import Capabilities
from gpualign.core.execution.worker_pool import WorkerHandle, run_workers
from gpualign.core.planning.memory_budget import Budget
from gpualign.core.planning.tile_plan import MIN_BAND_ROWS, Tile, TileLimits
from gpualign.cpu.alignment import _kernels
from gpualign.cpu.alignment.native_recipes import native_local_recipe, native_path_recipe, native_recipes
from gpualign.cpu.alignment.recipe import Recipe, make_recipe, queries_per_vector, targets_per_query
from gpualign.cpu.processor import describe_cpu, pick_instruction_set, usable_cpu_count

if TYPE_CHECKING:
    from gpualign.cpu.alignment.pair_list import CpuPairAligner
    from gpualign.cpu.alignment.path_recipe import PathRecipe
    from gpualign.cpu.near_pairs.listed_edits import ListedEditFinder

# About a tenth of a second of work: short enough for a smooth progress bar and balanced threads, long enough that packing a
# block of targets takes little of it.
DIFFERENCE_TILE_CELLS = 8_000_000_000
BITSLICED_TILE_CELLS, BANDED_TILE_CELLS = 60_000_000_000, 1_000_000_000_000
PATH_TILE_CELLS, SLICED_PATH_TILE_CELLS = 4_000_000_000, 12_000_000_000
LOCAL_TILE_CELLS = 4_000_000_000

# Cells per second of a core with AVX2, for the slower scorings and machines: two threads of a core share its rate.
_CELLS_PER_SECOND_DIFFERENCE, _CELLS_PER_SECOND_BITSLICED, _CELLS_PER_SECOND_EDIT, _CELLS_PER_SECOND_LOCAL = 12e9, 40e9, 110e9, 10e9
_CELLS_PER_SECOND_PATHS, _CELLS_PER_SECOND_SLICED_PATHS = 6e9, 50e9

_NEAR_PAIR_WORK_PER_SECOND = 5.5e8
"""Work that a thread with AVX2 does per second in a search for near pairs. Work is the sum of the costs of the filter steps, in nanoseconds
of a thread that has a core to itself."""

_JOIN_WORK_PER_SECOND = 2.5e8
"""Work that a thread does per second when records are joined (`JoinPairFinder`), with vectors of any size. Work is measured in nanoseconds,
as estimated for the join."""

_BAND_SECONDS = 10
"""Approximate time per band, in seconds. An interrupted run loses at most about this time, and results are written at this interval."""

_FIRST_BAND_ROWS = 2
"""Number of queries in the first band. For so few queries, packing the targets takes half as long as the alignments; in later bands, which
have many queries, packing takes almost no time."""

_BEST_TARGET_BYTES = 48
"""Memory, in bytes per pair of a tile, for finding the best targets of each query among the tile's scores."""

_MAX_SHORT_RUN_SECONDS = 0.2
"""Runs with a shorter estimated time, in seconds, get no small first band."""

SCRATCH_MEMORY_ADVICE = f"raise {parameter('memory')} or lower {parameter('threads')}"
"""Advice in messages if threads need more scratch memory than is available."""

_MIN_SECONDS_TO_SAMPLE = 0.5
"""Runs with a shorter estimated time of one thread, in seconds, are not sampled for similar pairs, which takes some milliseconds."""

_MIN_BAND_EDITS = 16
"""Minimum bound on edits within which edit distances are found in bands. A narrower band would not be faster."""

_TILES_PER_THREAD = 8
_MIN_TILE_CELLS = 30_000_000  # a millisecond: packing targets and passing on a tile take some tens of microseconds

TileComputer: TypeAlias = Callable[[Tile, _kernels.Cancel], TileResult | None]
"""Function that computes the tiles of one run. It may be called from any number of threads at once, and returns None if cancelled."""


@dataclass(frozen=True)
class InstructionSet:
    """One kernel variant.

    name: name of the instruction set
    vector_bytes: vector size in bytes
    ternary_logic: whether the instruction set has three-input logic instructions
    is_supported: whether this processor supports the variant
    """

    name: str
    vector_bytes: int
    ternary_logic: bool
    is_supported: bool


def instruction_sets() -> list[InstructionSet]:
    """Return all kernel variants in this build, fastest first."""
    return [InstructionSet(*entry) for entry in _kernels.instruction_sets()]


@dataclass(frozen=True)
class CpuPreparedTask:
    """A task prepared for the CPU; implements `gpualign.core.execution.engine.PreparedTask`.

    estimated_seconds: estimated time of a run, conservative (too long rather than too short)
    make_computer: returns the function that computes the tiles in one run
    """

    task: Task
    limits: TileLimits
    kernel: str
    hardware: str
    threads: int
    estimated_seconds: float
    make_computer: Callable[[], TileComputer] = field(repr=False)

    def run(self, tiles: Iterator[Tile]) -> Iterator[TileResult]:
        compute, cancel = self.make_computer(), _kernels.Cancel()

        def work(handle: WorkerHandle[TileResult]) -> None:
            while (tile := handle.next_tile()) is not None:
                if (result := compute(tile, cancel)) is not None:
                    handle.deliver(result)

        return run_workers(tiles, [work] * self.threads, 2 * self.threads, "gpualign-cpu", cancel.request)


class CpuEngine:
    """The CPU engine for alignments and near pairs; implements `gpualign.core.execution.engine.EditFindingEngine`.

    threads: number of workers (default: the number of CPUs that this process may use minus `spare_cpus`, or as many as fit in memory)
    instruction_set: variant name (default: the fastest that this processor supports; the environment variable GPUALIGN_INSTRUCTION_SET
        overrides the default, for tests and bug reports)
    spare_cpus: number of CPUs left for threads that feed other engines

    Raises `InputError` for a variant that this build or processor lacks.
    """

    capabilities = Capabilities(frozenset({Mode.GLOBAL, Mode.LOCAL}), supports_paths=True, supports_near_pairs=True)

    def __init__(self, threads: int | None = None, instruction_set: str | None = None, spare_cpus: int = 0) -> None:
        self.threads = threads or max(1, usable_cpu_count() - spare_cpus)
        self._threads_requested = threads is not None
        self._instruction_set_requested = instruction_set
        usable = {s.name: s for s in instruction_sets() if s.is_supported}
        self.instruction_set = usable[pick_instruction_set(list(usable), instruction_set)]

    def prepare(self, task: Task, budget: Budget) -> CpuPreparedTask:
        if refusal := self.capabilities.unsupported_reason(task):
            raise RunError(f"the CPU engine cannot do this: {refusal}")
        if task.edit_bound is not None:
            return self._prepare_near_pairs(task, budget)
        if task.mode is Mode.LOCAL:
            return self._prepare_local(task, budget)
        return self._prepare_paths(task, budget) if task.needs_more_than_final_cell else self._prepare_scores(task, budget)

    def _make_prepared_task(
        self, task: Task, limits: TileLimits, kernel: str, threads: int, cells_per_second: float, make_computer: Callable[[], TileComputer]
    ) -> CpuPreparedTask:
        seconds = self._estimate_seconds(task, threads, cells_per_second)
        if task.edit_bound is None:
            rows = int(_BAND_SECONDS * len(task.queries) / max(seconds, 1e-9))
            limits = replace(limits, band_rows=min(limits.band_rows, max(MIN_BAND_ROWS, rows)))
        return CpuPreparedTask(task, limits, kernel, describe_cpu(self.instruction_set.name, threads), threads, seconds, make_computer)

    def _estimate_seconds(self, task: Task, threads: int, cells_per_second: float) -> float:
        """Return the estimated time for a task, in seconds. Threads share the work equally, but no run is shorter than its longest pair
        takes on one thread. In a search for near pairs, single pairs are too quick to matter.

        cells_per_second: number of DP cells that a core with AVX2 processes per second; in a search for near pairs, number of pairs
        """
        if task.edit_bound is None:
            work = max(task.approximate_cell_count / threads, task.longest_pair_cells)
        else:
            work = task.approximate_pair_count / threads
        return work / (cells_per_second * self.instruction_set.vector_bytes / 32)

    def _fit_threads(self, needed_scratch: Callable[[int], int], available_bytes: int, work_description: str) -> int:
        """Return how many threads can run in `available_bytes` of scratch memory. If the caller requested a number of threads, return that
        number. Raises `TooLittleMemory` if the requested threads, or even a single thread, do not fit.

        needed_scratch: maps a number of threads to the scratch memory that they need, in bytes
        work_description: what the threads work on, for the message
        """
        threads = self.threads
        while (needed_bytes := needed_scratch(threads)) > available_bytes and threads > 1 and not self._threads_requested:
            threads -= 1
        if needed_bytes > available_bytes:
            need = "needs" if threads == 1 else "need"
            raise TooLittleMemory(
                f"the memory budget is too small: {format_count(threads, 'thread')} {work_description} {need} "
                f"{needed_bytes:,} bytes of scratch, {available_bytes:,} are left",
                needed_bytes,
                SCRATCH_MEMORY_ADVICE,
                available_bytes,
            )
        return threads

    def make_score_recipe(self, task: Task, worker_bytes: int) -> Recipe:
        """Return the recipe for a task's global scores, with `worker_bytes` of scratch per worker."""
        longest = task.targets.max_length
        return make_recipe(task.scoring, code_count(task), len(task.targets), longest, self.instruction_set.vector_bytes, worker_bytes)

    def _prepare_scores(self, task: Task, budget: Budget) -> CpuPreparedTask:
        longest, vector_bytes = task.targets.max_length, self.instruction_set.vector_bytes

        def scratch(threads: int) -> int:
            return threads * self.make_score_recipe(task, budget.scratch_bytes // threads).scratch_bytes(vector_bytes, longest)

        threads = self._fit_threads(scratch, budget.scratch_bytes, f"on targets of up to {longest:,} letters")
        recipe = self.make_score_recipe(task, budget.scratch_bytes // threads)
        cells = _tile_cells(task, threads, BITSLICED_TILE_CELLS if recipe.bitsliced else DIFFERENCE_TILE_CELLS)
        if recipe.bitsliced and len(task.targets) < recipe.lane_count(vector_bytes):
            cells = max(cells, _shared_vector_tile_cells(task, threads, vector_bytes))
        rate = (
            _CELLS_PER_SECOND_DIFFERENCE
            if not recipe.bitsliced
            else _CELLS_PER_SECOND_EDIT
            if task.scoring.edit
            else _CELLS_PER_SECOND_BITSLICED
        )
        edits = self._edits_in_bands(task, budget, rate)
        if edits is not None and not task.scoring.edit:
            return self._prepare_paths(task, budget)
        limits = TileLimits(
            budget.result_bytes, scratch(threads), task.pair_bytes, recipe.lane_count(vector_bytes), cells, first_band_rows=_FIRST_BAND_ROWS
        )
        if recipe.bitsliced:
            queries = queries_per_vector(vector_bytes)
            first_rows = queries if self._estimate_seconds(task, threads, rate) > _MAX_SHORT_RUN_SECONDS else 0
            limits = replace(
                limits, query_lane_count=queries, first_band_rows=first_rows, diagonal_group_size=targets_per_query(vector_bytes)
            )
        score = partial(_score_tile, task, self.instruction_set.name, native_recipes(recipe, vector_bytes))
        if edits is not None and (bounded := self._prepare_bounded_scores(task, budget, limits, threads, rate, edits, score)) is not None:
            return bounded
        return self._make_prepared_task(task, limits, recipe.kernel, threads, rate, lambda: score)

    def _prepare_bounded_scores(
        self, task: Task, budget: Budget, limits: TileLimits, threads: int, cells_per_second: float, edits: int, score: TileComputer
    ) -> CpuPreparedTask | None:
        """Prepare a task whose edit distances are mostly small; None if there is too little memory for a second copy of its records.

        edits: as `_edits_in_bands` returns it
        score: computes scores in full matrices, for pairs that exceed the bound
        """
        from gpualign.cpu.alignment.similarity import BOUND_PER_EDIT
        from gpualign.cpu.near_pairs.bounded_scores import BoundedScorer
        from gpualign.cpu.near_pairs.recipe import near_pair_instruction_set

        letters, max_edits = code_count(task), max(_MIN_BAND_EDITS, BOUND_PER_EDIT * edits)
        scratch = limits.scratch_bytes + BoundedScorer.record_bytes(task, letters)
        if scratch > budget.scratch_bytes:
            return None
        limits = replace(limits, scratch_bytes=scratch, tile_cells=_tile_cells(task, threads, BANDED_TILE_CELLS))
        name, results = near_pair_instruction_set(self._instruction_set_requested), budget.result_bytes // threads
        begin = partial(BoundedScorer, task, max_edits, score, letters, name, threads, results)
        kernel = f"edit distance, in bands of up to {max_edits:,} edits"
        return self._make_prepared_task(task, limits, kernel, threads, cells_per_second, begin)

    def _edits_in_bands(self, task: Task, budget: Budget, cells_per_second: float) -> int | None:
        """Return the largest number of edits of sampled pairs that are faster in bands of diagonals, or None if bands would not make the
        task faster. cells_per_second: as for `_estimate_seconds`, of the score kernels"""
        if self._estimate_seconds(task, 1, cells_per_second) < _MIN_SECONDS_TO_SAMPLE:
            return None
        from gpualign.cpu.alignment import similarity

        vector_bytes = self.instruction_set.vector_bytes
        rate = cells_per_second * vector_bytes / 32
        sample_bytes = similarity.SAMPLED_PAIRS * (task.queries.max_length + task.targets.max_length)
        if sample_bytes > budget.scratch_bytes or not similarity.may_prefer_bands(task, rate, vector_bytes):
            return None
        sampled, pairs = similarity.sample_pairs(task)
        if task.scoring.edit:
            seconds = similarity.edit_distance_seconds(sampled, pairs, vector_bytes)
            return similarity.edits_in_bands(sampled, pairs, seconds, rate, similarity.FULL_DISTANCE_COST)
        try:
            threads = self._fit_path_recipe(task, budget)[1]
        except TooLittleMemory:
            return None
        aligner, worker_bytes = self.prepare_pair_aligner(sampled, budget), budget.scratch_bytes // threads
        seconds = similarity.path_seconds(sampled, aligner, pairs, vector_bytes, worker_bytes)
        return similarity.edits_in_bands(sampled, pairs, seconds, rate, similarity.FULL_PATH_COST)

    def _prepare_local(self, task: Task, budget: Budget) -> CpuPreparedTask:
        from gpualign.cpu.alignment.local_recipe import make_local_recipe

        vector_bytes = self.instruction_set.vector_bytes
        longest = task.queries.max_length, task.targets.max_length
        recipe = make_local_recipe(task.scoring, code_count(task), *longest)
        bytes_per_thread = recipe.min_scratch_bytes(vector_bytes, *longest)
        threads = self._fit_threads(
            lambda count: count * bytes_per_thread, budget.scratch_bytes, f"on targets of up to {min(longest):,} letters"
        )
        lanes, cells = recipe.lane_count(vector_bytes), _tile_cells(task, threads, LOCAL_TILE_CELLS)
        if len(task.queries) * len(task.targets) < threads * lanes:
            lanes = 1  # too few pairs to fill the lanes of all threads: pairs are aligned on their own, and each thread should get some
        elif len(task.targets) < lanes:  # queries then lie in the lanes, and a tile should have enough of them
            cells = max(cells, lanes * int(task.queries.offsets[-1]) // len(task.queries) * int(task.targets.offsets[-1]))
        if task.top_count is not None:  # with short queries and targets, a tile of the usual size would have very many pairs
            pairs = max(lanes, budget.scratch_bytes // (threads * _BEST_TARGET_BYTES))
            cells = min(cells, pairs * max(1, int(task.approximate_cell_count / task.approximate_pair_count)))
        limits = TileLimits(budget.result_bytes, threads * bytes_per_thread, task.pair_bytes, lanes, cells, query_bytes=task.query_bytes)
        native = native_local_recipe(recipe.fit_scratch(vector_bytes, budget.scratch_bytes // threads))
        score, count = partial(_score_local_tile, task, self.instruction_set.name, native), len(task.queries)
        return self._make_prepared_task(
            task, limits, recipe.kernel, threads, _CELLS_PER_SECOND_LOCAL, lambda: partial(score, _kernels.LocalHistory(count))
        )

    def prepare_pair_aligner(self, task: Task, budget: Budget) -> CpuPairAligner:
        from gpualign.cpu.alignment.pair_list import CpuPairAligner

        recipe, threads, _ = self._fit_path_recipe(task, budget)
        native = native_path_recipe(recipe, budget.scratch_bytes // threads)
        return CpuPairAligner(task, recipe.kernel, threads, self.instruction_set.name, native)

    def prepare_edit_finder(self, task: Task, budget: Budget) -> ListedEditFinder:
        from gpualign.cpu.near_pairs.listed_edits import ListedEditFinder
        from gpualign.cpu.near_pairs.recipe import near_pair_instruction_set

        name = near_pair_instruction_set(self._instruction_set_requested)
        return ListedEditFinder(task, code_count(task), name, self.threads, budget.scratch_bytes)

    def _fit_path_recipe(self, task: Task, budget: Budget) -> tuple[PathRecipe, int, int]:
        """Return the recipe for tracing a task's pairs, the number of threads that fit in the budget, and the scratch memory, in bytes,
        with which a thread can align the longest pairs in blocks of lanes."""
        from gpualign.cpu.alignment.path_recipe import make_path_recipe

        queries, targets = task.queries.max_length, task.targets.max_length
        recipe = make_path_recipe(task.scoring, code_count(task), task.end_gaps)
        whole = native_path_recipe(recipe, budget.scratch_bytes // self.threads)
        block, pair = _kernels.path_bytes(self.instruction_set.name, whole, queries, targets)
        bytes_per_thread = min(block, pair)
        what = f"tracing pairs of up to {queries:,} and {targets:,} letters"
        return recipe, self._fit_threads(lambda count: count * bytes_per_thread, budget.scratch_bytes, what), block

    def _prepare_paths(self, task: Task, budget: Budget) -> CpuPreparedTask:
        recipe, threads, block = self._fit_path_recipe(task, budget)
        lanes = recipe.lane_count(self.instruction_set.vector_bytes)
        cells = _tile_cells(task, threads, SLICED_PATH_TILE_CELLS if recipe.sliced else PATH_TILE_CELLS)
        scratch = min(budget.scratch_bytes, threads * block)
        limits = TileLimits(
            budget.result_bytes,
            scratch,
            task.pair_bytes,
            lanes,
            cells,
            first_band_rows=_FIRST_BAND_ROWS,
            bytes_per_letter=task.path_bytes_per_letter,
        )
        native = native_path_recipe(recipe, budget.scratch_bytes // threads)
        rate = _CELLS_PER_SECOND_SLICED_PATHS if recipe.sliced else _CELLS_PER_SECOND_PATHS
        return self._make_prepared_task(
            task, limits, recipe.kernel, threads, rate, lambda: partial(_align_tile, task, self.instruction_set.name, native)
        )

    def _prepare_near_pairs(self, task: Task, budget: Budget) -> CpuPreparedTask:
        if task.scoring.listed_distance is not None:
            return self._prepare_columns(task, budget)
        # Imported here: few runs need these kernels.
        from gpualign.cpu.near_pairs.recipe import make_near_pair_recipe, near_pair_instruction_set, near_pair_tile_limits
        from gpualign.cpu.near_pairs.tiles import CascadePairFinder, FullMatrixPairFinder, JoinPairFinder

        letters, name = code_count(task), near_pair_instruction_set(self._instruction_set_requested)
        whole = None
        with suppress(RunError):  # there is too little memory for whole matrices, but perhaps enough for other steps
            whole = self._prepare_scores(replace(task, edit_bound=None), budget)
        recipe = make_near_pair_recipe(task, letters, name, budget.scratch_bytes, whole is not None)
        limits = near_pair_tile_limits(task, recipe, budget, letters, self.threads)
        if recipe.cascade.full_matrix and (all_pairs := whole):
            limits = replace(limits, scratch_bytes=all_pairs.limits.scratch_bytes, lane_count=all_pairs.limits.lane_count)
            kernel = f"{recipe.kernel} ({all_pairs.kernel})"
            return replace(
                all_pairs,
                task=task,
                limits=limits,
                kernel=kernel,
                make_computer=lambda: FullMatrixPairFinder(task, all_pairs.make_computer()),
            )
        results = budget.result_bytes // self.threads

        def begin() -> TileComputer:
            if deletions := recipe.cascade.max_deletions:
                return JoinPairFinder(task, deletions, self.threads, results)
            return CascadePairFinder(task, letters, name, recipe, self.threads, results)

        work_per_second = (
            _JOIN_WORK_PER_SECOND * 32 / self.instruction_set.vector_bytes if recipe.cascade.max_deletions else _NEAR_PAIR_WORK_PER_SECOND
        )
        return self._make_prepared_task(task, limits, recipe.kernel, self.threads, work_per_second / recipe.pair_nanoseconds, begin)

    def _prepare_columns(self, task: Task, budget: Budget) -> CpuPreparedTask:
        from gpualign.cpu.near_pairs import columns
        from gpualign.cpu.near_pairs.recipe import near_pair_instruction_set

        name, distance = near_pair_instruction_set(self._instruction_set_requested), columns.column_distance(task)
        limits = columns.tile_limits(task, distance, budget, name, self.threads)
        find = partial(columns.ColumnPairFinder, task, distance, name, self.threads, budget.result_bytes // self.threads)
        return self._make_prepared_task(task, limits, distance.kernel, self.threads, columns.PAIRS_PER_SECOND, find)


def _tile_cells(task: Task, threads: int, usual_cells: int) -> int:
    """Return the number of cells per tile: fewer than `usual_cells` if there is so little work that threads would wait for each other."""
    if threads == 1:
        return usual_cells
    cells = int(task.queries.offsets[-1]) * int(task.targets.offsets[-1])
    return min(usual_cells, max(_MIN_TILE_CELLS, cells // (_TILES_PER_THREAD * threads)))


def _shared_vector_tile_cells(task: Task, threads: int, vector_bytes: int) -> int:
    """Return the number of cells per tile for tasks with few targets. Each tile gets as many queries as fit in one bit-sliced vector, or
    fewer if some threads would otherwise get no tile."""
    queries, targets = int(task.queries.offsets[-1]), int(task.targets.offsets[-1])
    return min(queries_per_vector(vector_bytes) * queries // len(task.queries) * targets, queries * targets // (2 * threads))


def code_count(task: Task) -> int:
    """Return the number of codes from 0 to the largest code that a task uses."""
    return int(max(task.queries.used_codes[-1], task.targets.used_codes[-1])) + 1


def _kernel_arguments(task: Task, tile: Tile) -> tuple[Codes, Integers, Integers, Codes, Integers, Integers]:
    """Return a tile's rectangle of pairs as kernel arguments: (codes, offsets, record numbers) of the queries, then of the targets."""
    numbers = np.arange(tile.query_start, tile.query_stop)
    return task.queries.codes, task.queries.offsets, numbers, task.targets.codes, task.targets.offsets, tile.targets


def _score_tile(task: Task, instruction_set: str, recipes: _kernels.Recipes, tile: Tile, cancel: _kernels.Cancel) -> TileScores | None:
    """Compute the global alignment scores of a tile. Returns None if cancelled."""
    score = _kernels.score_tile_32 if task.score_dtype == np.int32 else _kernels.score_tile_64
    scores = np.zeros(tile.shape, dtype=task.score_dtype)
    done = score(instruction_set, *_kernel_arguments(task, tile), tile.pairing.value, recipes, scores, cancel)
    return TileScores(tile, scores) if done else None


def _score_local_tile(
    task: Task,
    instruction_set: str,
    recipe: _kernels.LocalRecipe,
    history: _kernels.LocalHistory,
    tile: Tile,
    cancel: _kernels.Cancel,
) -> TileScores | TileHits | None:
    """Compute the local alignment scores of a tile or, in a search, the best targets for each query. Returns None if cancelled."""
    score = _kernels.score_local_tile_32 if task.score_dtype == np.int32 else _kernels.score_local_tile_64
    scores = np.zeros(tile.shape, dtype=task.score_dtype)
    if not score(instruction_set, *_kernel_arguments(task, tile), recipe, history, scores, cancel):
        return None
    if task.top_count is None:
        return TileScores(tile, scores)
    from gpualign.core.alignment.hit_order import best_targets

    return TileHits(tile, *best_targets(scores, tile.targets, task.targets.file_positions, task.top_count))


def _align_tile(
    task: Task, instruction_set: str, recipe: _kernels.PathRecipe, tile: Tile, cancel: _kernels.Cancel
) -> TileScores | TileAlignments | None:
    """Compute the global alignments of a tile, with or without free end gaps, in the detail that the task asks for. Returns None if
    cancelled."""
    with_runs = task.detail is Detail.PATH
    aligned = _kernels.align_tile(instruction_set, *_kernel_arguments(task, tile), tile.pairing.value, recipe, with_runs, cancel)
    arrays = cast("tuple[Any, Any, Any, Any, Any] | None", aligned)  # the last three are None without runs
    if arrays is None:
        return None
    wide_scores, counts, data, starts, sizes = arrays
    scores = wide_scores.astype(task.score_dtype, copy=False)
    if task.detail is Detail.SCORE:
        return TileScores(tile, scores)
    return TileAlignments(tile, scores, counts.view(STATISTICS)[..., 0], Runs([data], starts, sizes) if with_runs else None)
