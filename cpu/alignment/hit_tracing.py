"""Traces the paths of search hits. Hits are few compared with the pairs searched, so the CPU traces them for every engine."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterable
from functools import partial
from itertools import pairwise
from typing import Any, TypeAlias, TypeVar

import numpy as np

from gpualign.core.alignment.hits import Hits
from gpualign.core.alignment.hsps import Hsps, join_hsps
from gpualign.core.alignment.path_builder import PathBuilder
from gpualign.core.alignment.task import Detail, EndGaps, Mode, Task
from gpualign.core.alignment.tile_results import STATISTICS, Runs, Statistics
from gpualign.core.common.arrays import Integers
from gpualign.core.common.errors import RunError, TooLittleMemory
from gpualign.core.common.threads import ThreadPool
from gpualign.cpu.alignment import _kernels
from gpualign.cpu.alignment.engine import CpuEngine, code_count
from gpualign.cpu.alignment.local_recipe import LocalRecipe, make_local_recipe
from gpualign.cpu.alignment.native_recipes import native_local_recipe, native_path_recipe
from gpualign.cpu.alignment.path_recipe import make_path_recipe

Item = TypeVar("Item")
Result = TypeVar("Result")
MapBatches: TypeAlias = Callable[[Callable[[Integers], Any], list[Integers]], list[Any]]

_MAX_CALL_HITS = 256  # per kernel call, so that a call stops soon after it is cancelled
_MIN_CALL_HITS = 8  # per kernel call, for short queries
MAX_UNTHREADED_CELLS = 1e7  # computing these takes about as long as starting threads
_CALLS_PER_THREAD = 4  # at least, if there are enough queries, so that threads end at about the same time


def split_hits(queries: Integers, cells: Integers, threads: int) -> list[Integers]:
    """Split hits among kernel calls, and return the indices of the hits of each call. The calls with the most cells come first, so that
    threads end at about the same time.

    queries: the query of each hit, int64[hits]
    cells: number of DP cells of each hit, int64[hits]

    A pass over a query takes as long for one hit as for a full vector of hits. So the hits of a query are split only if they have more than
    a thread's share of all cells, or if a single kernel call may not have that many.
    """
    if not len(queries):
        return []
    order = np.argsort(queries, kind="stable")
    bounds = [0, *(np.flatnonzero(np.diff(queries[order])) + 1).tolist(), len(order)]
    cells_before = np.concatenate(([0.0], np.cumsum(cells[order], dtype=np.float64)))
    share = max(1.0, cells_before[-1] / threads)
    call_hits = max(_MIN_CALL_HITS, min(_MAX_CALL_HITS, len(order) // (_CALLS_PER_THREAD * threads)))
    cuts = [0]
    for start, stop in pairwise(bounds):
        hits = stop - start
        pieces = round((cells_before[stop] - cells_before[start]) / share)
        size = -(-hits // max(1, min(pieces, hits), -(-hits // _MAX_CALL_HITS)))
        if start > cuts[-1] and (size < hits or stop - cuts[-1] > _MAX_CALL_HITS):
            cuts.append(start)
        cuts += range(start + size, stop, size)
        if size < hits or stop - cuts[-1] >= call_hits:
            cuts.append(stop)
    if cuts[-1] < len(order):
        cuts.append(len(order))
    calls = sorted(pairwise(cuts), key=lambda call: cells_before[call[0]] - cells_before[call[1]])
    return [order[start:stop] for start, stop in calls]


class HitTracer:
    """Traces the hits of one search.

    task: the search
    engine: the engine whose threads and instruction set are used; fewer threads are used if not all fit in memory, and one at a time for
        hits that do not fit in its share
    memory: scratch memory for all threads, in bytes

    Raises `TooLittleMemory` if the memory is too small for one thread.
    """

    def __init__(self, task: Task, engine: CpuEngine, memory: int) -> None:
        if task.mode is not Mode.LOCAL or task.detail is not Detail.SCORE:
            raise ValueError("expected the task of a search by local scores")
        letters = code_count(task)
        longest = task.queries.max_length, task.targets.max_length
        self._task = task
        self._instruction_set = engine.instruction_set.name
        recipe = make_local_recipe(task.scoring, letters, *longest)
        # One half is for the passes that find the ends, one for checkpoints of paths.
        vector_bytes = engine.instruction_set.vector_bytes
        bytes_per_thread = bounds_bytes(recipe, task, vector_bytes)
        self._threads = min(engine.threads, memory // 2 // bytes_per_thread)
        if self._threads < 1:
            raise TooLittleMemory(
                f"the memory budget is too small: tracing hits of up to {longest[0]:,} and {longest[1]:,} letters needs "
                f"{bytes_per_thread:,} bytes of scratch, {memory // 2:,} are left",
                bytes_per_thread,
                available_bytes=memory // 2,
            )
        self._recipe = native_local_recipe(recipe.fit_scratch(vector_bytes, memory // 2 // self._threads))
        path_recipe = make_path_recipe(task.scoring, letters, EndGaps.PENALISED)
        self._path_recipe = native_path_recipe(path_recipe, memory // 2 // self._threads)
        # For one thread that uses all of the scratch memory.
        self._lone_path_recipe = native_path_recipe(path_recipe, memory - bytes_per_thread)
        self._lone_recipe = native_local_recipe(recipe.fit_scratch(vector_bytes, bytes_per_thread))
        self._alone = threading.Lock()  # held by the thread that uses all of the scratch memory
        self._cancel = _kernels.Cancel()
        self._cells = 0.0  # of all hits so far
        self._pool = ThreadPool(self._threads)

    @property
    def threads(self) -> int:
        """Maximum number of threads."""
        return self._threads

    def __enter__(self) -> HitTracer:
        return self

    def __exit__(self, *error: object) -> None:
        self._cancel.request()
        self._pool.close()

    def trace(self, hits: Hits) -> tuple[Statistics, Runs]:
        """Return the statistics (`STATISTICS`[hits]) and the paths (`Runs` of shape [hits]) of the hits. Raises `TooLittleMemory` if a pair
        needs more memory than is available."""
        statistics, runs = np.zeros(len(hits), dtype=STATISTICS), PathBuilder((len(hits),))
        batches = self._split(hits)
        self._cells += float(self._pair_cells(hits).sum())
        traced = self.trace_batches(self._map, partial(self._trace, hits, _kernels.trace_local_hits), batches)
        for batch, (_, counts, data, starts, sizes) in zip(batches, traced, strict=True):
            statistics[batch] = counts.view(STATISTICS)[:, 0]
            runs.add(batch, Runs([data], starts, sizes))
        return statistics, runs.build()

    def bounds(self, hits: Hits) -> Integers:
        """Return the bounds of the alignments that `trace` finds: int64[hits][4] (query start, end, target start, end)."""
        bounds = np.zeros((len(hits), 4), dtype=np.int64)
        batches = self._split(hits)
        self._cells += float(self._pair_cells(hits).sum())
        for batch, found in zip(batches, self._map(self._find_bounds, map(hits.select, batches)), strict=True):
            bounds[batch] = found
        return bounds

    def trace_hsps(self, hits: Hits, max_count: int, min_scores: Integers) -> Hsps:
        """Return up to `max_count` alignments of each hit that share no pair of letters: the one that `trace` finds, and then those with at
        least `min_scores`, int64[hits]. Raises `TooLittleMemory` if a pair needs more memory than is available."""
        batches = self._split(hits)
        self._cells += max_count * float(self._pair_cells(hits).sum())

        def trace(batch: Integers, alone: bool) -> Hsps:
            limits = {"max_count": max_count, "min_scores": min_scores[batch]}
            return hsps_of_arrays(self._trace(hits, _kernels.trace_hsps, batch, alone, **limits))

        return join_hsps(list(zip(batches, self.trace_batches(self._map, trace, batches), strict=True)))

    def score(self, queries: Integers, targets: Integers) -> Integers:
        """Return the scores of pairs of sequences: int64[pairs].

        queries, targets: numbers of the sequences, int64[pairs]
        """
        pairs = Hits(queries, targets, np.zeros(len(queries), dtype=np.int64))
        self._cells += float(self._pair_cells(pairs).sum())
        batches = [pairs.select(slice(start, start + _MAX_CALL_HITS)) for start in range(0, len(pairs), _MAX_CALL_HITS)]
        scores: Integers = np.concatenate([pairs.scores[:0], *self._map(self._score, batches)])
        return scores

    def trace_batches(self, map_batches: MapBatches, trace: Callable[[Integers, bool], Result], batches: list[Integers]) -> list[Result]:
        """Return the result of `trace` for each batch of hits. Batches with a hit that needs more scratch memory than a thread's share are
        traced last, by one thread with all of it.

        map_batches: applies a function to each batch, with several threads
        trace: called with a batch, and whether it may use all of the scratch memory; raises `TooLittleMemory`
        """

        def trace_in_share(batch: Integers) -> Result | None:
            try:
                return trace(batch, False)
            except TooLittleMemory:
                return None

        def trace_alone(batch: Integers) -> Result:
            with self._alone:
                return trace(batch, True)

        results = map_batches(trace_in_share, batches)
        return [trace_alone(batch) if result is None else result for batch, result in zip(batches, results, strict=True)]

    def _map(self, function: Callable[[Item], Result], items: Iterable[Item]) -> list[Result]:
        """Apply the function to each item. If there is little work, no threads are used, because loading the thread library alone takes
        several milliseconds."""
        return self._pool.map(function, items) if self._cells > MAX_UNTHREADED_CELLS else list(map(function, items))

    def _pair_cells(self, hits: Hits) -> Integers:
        cells: Integers = self._task.queries.lengths[hits.queries] * self._task.targets.lengths[hits.targets]
        return cells

    def _split(self, hits: Hits) -> list[Integers]:
        return split_hits(hits.queries, self._pair_cells(hits), self._threads)

    def _call(self, kernel: Callable[..., Any], hits: Hits, *arguments: Any, **options: Any) -> Any:
        """Return the result of a kernel for the pairs of some hits."""
        queries, targets = self._task.queries, self._task.targets
        pairs = queries.codes, queries.offsets, hits.queries, targets.codes, targets.offsets, hits.targets
        recipes = {"recipe": self._recipe, **options}
        return call_kernel(kernel, self._instruction_set, *pairs, *arguments, cancel=self._cancel, **recipes)

    def _trace(self, hits: Hits, kernel: Callable[..., Any], batch: Integers, alone: bool, **limits: Any) -> Any:
        recipe, path_recipe = (self._lone_recipe, self._lone_path_recipe) if alone else (self._recipe, self._path_recipe)
        selected = hits.select(batch)
        return self._call(kernel, selected, selected.scores, recipe=recipe, path_recipe=path_recipe, **limits)

    def _find_bounds(self, hits: Hits) -> Integers:
        bounds: Integers = self._call(_kernels.find_hit_bounds, hits, hits.scores)
        return bounds

    def _score(self, pairs: Hits) -> Integers:
        scores: Integers = self._call(_kernels.score_local_pairs, pairs)
        return scores


def bounds_bytes(recipe: LocalRecipe, task: Task, vector_bytes: int) -> int:
    """Return the minimum scratch memory, in bytes, with which a thread finds the bounds of any hit of a search. recipe: for its hits"""
    longest = task.queries.max_length, task.targets.max_length
    return recipe.min_scratch_bytes(vector_bytes, *longest) + sum(longest)


def hsps_of_arrays(arrays: Any) -> Hsps:
    """Return the alignments in the arrays of `_kernels.trace_hsps`."""
    hit_indices, (scores, counts, data, starts, sizes) = arrays
    return Hsps(hit_indices, scores, counts.view(STATISTICS)[:, 0], Runs([data], starts, sizes))


def call_kernel(kernel: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
    """Return the result of a kernel that traces or scores hits. Raises `TooLittleMemory` if a pair needs more scratch memory than a thread
    has, and `RunError` if the kernel was cancelled."""
    try:
        result = kernel(*arguments, **options)
    except _kernels.ScratchTooSmall as error:
        needed, available = map(int, re.findall(r"\d+", str(error)))
        problem = f"the memory budget is too small: tracing a hit needs {needed:,} bytes of scratch, {available:,} are left"
        raise TooLittleMemory(problem, needed, available_bytes=available) from None
    if result is None:
        raise RunError("tracing was stopped")
    return result
