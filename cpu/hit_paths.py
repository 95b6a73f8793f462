"""Paths of a search's hits. They are few beside the pairs that were searched, so the CPU traces them whatever engine found them."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any, cast

import numpy as np

from gpualign.core.engine import STATISTICS, Detail, EndGaps, Mode, Runs, Statistics, Task
from gpualign.core.errors import RunError
from gpualign.core.runs import RunsBuilder
from gpualign.core.search.hits import Hits
from gpualign.cpu import _kernels
from gpualign.cpu.engine import CpuEngine, letters_in_use
from gpualign.cpu.local import lane_bytes, make_local_recipe
from gpualign.cpu.native import native_local, native_paths
from gpualign.cpu.paths import make_path_recipe

_MOST_HITS, _FEWEST_HITS = 256, 8  # of one call: few enough to stop soon, many enough to share the passes of their query
_CALLS_A_THREAD = 4  # at least, where there are hits enough, so that threads end together


class HitTracer:
    """Traces the hits of one search.

    task: the search. engine: whose threads and instruction set are used; fewer threads where `memory`, bytes of scratch for all of them,
    holds no more. Raises `RunError` where it does not hold one.
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
            raise RunError(
                f"the memory budget is too small: tracing hits of up to {longest[0]:,} and {longest[1]:,} letters needs {least:,} bytes of "
                f"scratch, {memory // 2:,} are left; raise --memory"
            )
        self._recipe = native_local(recipe.within(vector_bytes, memory // 2 // self._threads))
        self._paths = native_paths(make_path_recipe(task.scoring, letters, EndGaps.PENALISED), memory // 2 // self._threads)
        self._cancel = _kernels.Cancel()
        self._pool = ThreadPoolExecutor(self._threads, thread_name_prefix="gpualign-hits")

    def __enter__(self) -> HitTracer:
        return self

    def __exit__(self, *error: object) -> None:
        self._cancel.request()
        self._pool.shutdown(cancel_futures=True)

    def trace(self, hits: Hits) -> tuple[Statistics, Runs]:
        """STATISTICS[hits] and their runs, with starts and sizes [hits]. Raises `RunError` where a pair needs more memory."""
        statistics, runs = np.zeros(len(hits), dtype=STATISTICS), RunsBuilder((len(hits),))
        start = 0
        for counts, found in self._pool.map(self._trace, self._cut(hits)):
            place = slice(start, start + len(counts))
            statistics[place] = counts
            runs.add(place, found)
            start = place.stop
        return statistics, runs.build()

    def _cut(self, hits: Hits) -> list[Hits]:
        step = max(_FEWEST_HITS, min(_MOST_HITS, len(hits) // (_CALLS_A_THREAD * self._threads)))
        return [hits.part(slice(start, start + step)) for start in range(0, len(hits), step)]

    def _trace(self, hits: Hits) -> tuple[Statistics, Runs]:
        queries, targets = self._task.queries, self._task.targets
        pairs = queries.codes, queries.offsets, hits.queries, targets.codes, targets.offsets, hits.targets, hits.scores
        try:
            found = _kernels.trace_local_hits(self._name, *pairs, self._recipe, self._paths, self._cancel)
        except _kernels.ScratchTooSmall as error:
            raise RunError(f"the memory budget is too small to trace a hit ({error}); raise --memory or lower --threads") from None
        if found is None:
            raise RunError("tracing was stopped")
        _, counts, data, starts, sizes = cast("tuple[Any, Any, Any, Any, Any]", found)
        return counts.view(STATISTICS)[:, 0], Runs(data, starts, sizes)
