"""Paths of a search's hits. They are few beside the pairs that were searched, so the CPU traces them whatever engine found them."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any, cast

import numpy as np

from gpualign.core.engine import STATISTICS, Detail, EndGaps, Mode, Runs, Statistics, Task
from gpualign.core.errors import RunError
from gpualign.core.hits import Hits
from gpualign.cpu import _kernels
from gpualign.cpu.engine import CpuEngine, letters_in_use, native_local, native_paths
from gpualign.cpu.local import make_local_recipe
from gpualign.cpu.paths import make_path_recipe

_HITS_A_CALL = 256  # of one worker, about: many enough to fill vectors, few enough to stop soon


class HitTracer:
    """Traces the hits of one search.

    task: the search. engine: whose threads and instruction set are used. memory: bytes of scratch for all threads.
    """

    def __init__(self, task: Task, engine: CpuEngine, memory: int) -> None:
        if task.mode is not Mode.LOCAL or task.detail is not Detail.SCORE:
            raise ValueError("hits are those of a search by local scores")
        letters = letters_in_use(task)
        longest = int(task.queries.lengths.max()), int(task.targets.lengths.max())
        self._task = task
        self._name = engine.instruction_set.name
        self._recipe = native_local(make_local_recipe(task.scoring, letters, *longest))
        self._paths = native_paths(make_path_recipe(task.scoring, letters, EndGaps.PENALISED), memory // engine.threads)
        self._cancel = _kernels.Cancel()
        self._pool = ThreadPoolExecutor(engine.threads, thread_name_prefix="gpualign-hits")

    def __enter__(self) -> HitTracer:
        return self

    def __exit__(self, *error: object) -> None:
        self._cancel.request()
        self._pool.shutdown(cancel_futures=True)

    def trace(self, hits: Hits) -> tuple[Statistics, Runs]:
        """STATISTICS[hits] and their runs, with starts and sizes [hits]. Raises `RunError` where a pair needs more memory."""
        parts = list(self._pool.map(self._trace, _cut(hits)))
        data, starts, held = [], [], 0
        for _, part, part_starts, _ in parts:
            data.append(part)
            starts.append(part_starts + held)
            held += len(part)
        if not parts:
            return np.zeros(0, dtype=STATISTICS), Runs(np.zeros(0, np.uint8), np.zeros(0, np.int64), np.zeros(0, np.int32))
        runs = Runs(np.concatenate(data), np.concatenate(starts), np.concatenate([sizes for *_, sizes in parts]))
        return np.concatenate([counts for counts, *_ in parts]).view(STATISTICS)[:, 0], runs

    def _trace(self, hits: Hits) -> tuple[Any, Any, Any, Any]:
        queries, targets = self._task.queries, self._task.targets
        pairs = queries.codes, queries.offsets, hits.queries, targets.codes, targets.offsets, hits.targets, hits.scores
        try:
            found = _kernels.trace_local_hits(self._name, *pairs, self._recipe, self._paths, self._cancel)
        except ValueError as error:  # std::length_error
            raise RunError(f"the memory budget is too small to trace a hit ({error}); raise --memory or lower --threads") from None
        if found is None:
            raise RunError("tracing was stopped")
        _, counts, data, starts, sizes = cast("tuple[Any, Any, Any, Any, Any]", found)
        return counts, data, starts, sizes


def _cut(hits: Hits) -> list[Hits]:
    """Parts that hold all hits of their queries."""
    firsts = np.flatnonzero(np.append(True, hits.queries[1:] != hits.queries[:-1])) if len(hits) else np.zeros(0, dtype=np.int64)
    cuts, start = [], 0
    for first in [*firsts[1:].tolist(), len(hits)]:
        if first - start >= _HITS_A_CALL or first == len(hits):
            cuts.append(slice(start, first))
            start = first
    return [hits.part(cut) for cut in cuts if cut.stop > cut.start]
