"""Paths of a search's hits. They are few beside the pairs that were searched, so the CPU traces them whatever engine found them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from gpualign.core.alignment.hits import Hits
from gpualign.core.alignment.path_builder import RunsBuilder
from gpualign.core.alignment.task import Detail, EndGaps, Mode, Task
from gpualign.core.alignment.tile_results import STATISTICS, Runs, Statistics
from gpualign.core.common.arrays import Integers
from gpualign.core.common.errors import RunError, TooLittleMemory
from gpualign.cpu.alignment import _kernels
from gpualign.cpu.alignment.engine import MORE_MEMORY_OR_FEWER_THREADS, CpuEngine, letters_in_use
from gpualign.cpu.alignment.local_recipe import lane_bytes, make_local_recipe
from gpualign.cpu.alignment.native_recipes import native_local, native_paths
from gpualign.cpu.alignment.path_recipe import make_path_recipe

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

_MOST_HITS, _FEWEST_HITS = 256, 8  # of one call: few enough to stop soon, many enough to share the passes of their query
_AT_ONCE = 1e7  # cells; they take the caller's thread about as long as other threads take to be there
_CALLS_A_THREAD = 4  # at least, where there are queries enough, so that threads end together


def cut_hits(queries: Integers, threads: int) -> list[Integers]:
    """The hits of each call, by their queries int64[hits]. A pass over a query takes as long for one of its hits as for as many as a vector
    has lanes: so a query is cut only where there are fewer of them than threads, or it has more hits than a call."""
    if not len(queries):
        return []
    order = np.argsort(queries, kind="stable")
    bounds = [0, *(np.flatnonzero(np.diff(queries[order])) + 1).tolist(), len(order)]
    parts = max(1, threads // (len(bounds) - 1))  # of a query
    together = max(_FEWEST_HITS, min(_MOST_HITS, len(order) // (_CALLS_A_THREAD * threads)))
    cuts = [0]
    for start, stop in pairwise(bounds):
        hits = stop - start
        size = -(-hits // max(min(parts, hits // _FEWEST_HITS), -(-hits // _MOST_HITS)))
        if stop - cuts[-1] > _MOST_HITS and start > cuts[-1]:
            cuts.append(start)
        cuts += range(start + size, stop, size)
        if stop - cuts[-1] >= together:
            cuts.append(stop)
    if cuts[-1] < len(order):
        cuts.append(len(order))
    return [order[start:stop] for start, stop in pairwise(cuts)]


class HitTracer:
    """Traces the hits of one search.

    task: the search. engine: whose threads and instruction set are used; fewer threads where `memory`, bytes of scratch for all of them,
    holds no more. Raises `TooLittleMemory` where it does not hold one.
    """

    def __init__(self, task: Task, engine: CpuEngine, memory: int) -> None:
        if task.mode is not Mode.LOCAL or task.detail is not Detail.SCORE:
            raise ValueError("hits are those of a search by local scores")
        letters = letters_in_use(task)
        longest = task.queries.longest, task.targets.longest
        self._task = task
        self._name = engine.instruction_set.name
        recipe = make_local_recipe(task.scoring, letters, *longest)
        # One half for the passes that find the ends, one for checkpoints of paths.
        vector_bytes = engine.instruction_set.vector_bytes
        least = lane_bytes(vector_bytes, *longest)
        self._threads = min(engine.threads, memory // 2 // least)
        if self._threads < 1:
            raise TooLittleMemory(
                f"the memory budget is too small: tracing hits of up to {longest[0]:,} and {longest[1]:,} letters needs {least:,} bytes of "
                f"scratch, {memory // 2:,} are left",
                least,
            )
        self._recipe = native_local(recipe.within(vector_bytes, memory // 2 // self._threads))
        self._paths = native_paths(make_path_recipe(task.scoring, letters, EndGaps.PENALISED), memory // 2 // self._threads)
        self._cancel = _kernels.Cancel()
        self._cells = 0.0  # of the hits until now
        self._pool: ThreadPoolExecutor | None = None

    def __enter__(self) -> HitTracer:
        return self

    def __exit__(self, *error: object) -> None:
        self._cancel.request()
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)

    def trace(self, hits: Hits) -> tuple[Statistics, Runs]:
        """STATISTICS[hits] and their runs, with starts and sizes [hits]. Raises `TooLittleMemory` where a pair needs more memory."""
        statistics, runs = np.zeros(len(hits), dtype=STATISTICS), RunsBuilder((len(hits),))
        places = sorted(cut_hits(hits.queries, self._threads), key=lambda some: -self._longest_pass(hits.part(some)))
        self._cells += float(self._pair_cells(hits).sum())
        for place, (counts, found) in zip(places, self._traced(map(hits.part, places)), strict=True):
            statistics[place] = counts
            runs.add(place, found)
        return statistics, runs.build()

    def _traced(self, parts: Iterable[Hits]) -> Iterator[tuple[Statistics, Runs]]:
        """Of each part. The hits of a few short queries need no threads, whose library alone takes some ms to load."""
        if self._pool is None and self._cells > _AT_ONCE:
            from concurrent.futures import ThreadPoolExecutor

            self._pool = ThreadPoolExecutor(self._threads, thread_name_prefix="gpualign-hits")
        return map(self._trace, parts) if self._pool is None else self._pool.map(self._trace, parts)

    def _pair_cells(self, hits: Hits) -> Integers:
        cells: Integers = self._task.queries.lengths[hits.queries] * self._task.targets.lengths[hits.targets]
        return cells

    def _longest_pass(self, hits: Hits) -> int:
        """What a call takes goes by it: the longest are begun first, so that threads end together."""
        return int(self._pair_cells(hits).max())

    def _trace(self, hits: Hits) -> tuple[Statistics, Runs]:
        queries, targets = self._task.queries, self._task.targets
        pairs = queries.codes, queries.offsets, hits.queries, targets.codes, targets.offsets, hits.targets, hits.scores
        try:
            found = _kernels.trace_local_hits(self._name, *pairs, self._recipe, self._paths, self._cancel)
        except _kernels.ScratchTooSmall as error:
            problem = f"the memory budget is too small to trace a hit ({error})"
            raise TooLittleMemory(problem, advice=MORE_MEMORY_OR_FEWER_THREADS) from None
        if found is None:
            raise RunError("tracing was stopped")
        _, counts, data, starts, sizes = cast("tuple[Any, Any, Any, Any, Any]", found)
        return counts.view(STATISTICS)[:, 0], Runs([data], starts, sizes)
