"""The one road of the data: plan -> engine -> sink."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from typing import cast

import numpy as np

from gpualign.core.engine import Engine, Task, TileResult
from gpualign.core.plan import Pairing, Plan, make_plan
from gpualign.core.road import Progress
from gpualign.core.sequences import SequenceSet
from gpualign.core.sinks.base import Sink


@dataclass(frozen=True)
class Totals:
    """What a run did, for its summary."""

    pairs: int
    cells: int
    seconds: float

    @property
    def gcups(self) -> float:
        """10^9 DP cells a second."""
        return self.cells / max(self.seconds, 1e-9) / 1e9


def plan_task(task: Task, pairing: Pairing, engine: Engine, memory: int) -> Plan:
    """Plan a task for an engine with `memory` bytes beyond the sequences."""
    return make_plan(task.queries.lengths, task.targets.lengths, pairing, engine.limits(task, memory))


def run_plan(plan: Plan, task: Task, engine: Engine, sink: Sink, memory: int, progress: Progress) -> Totals:
    """Compute every tile of the plan and hand it to the sink."""
    start = time.perf_counter()
    sink.begin(plan)
    # closing(): an error in the sink must stop the engine's workers at once.
    with closing(cast("_Closable", engine.run(task, plan.tiles(), memory))) as results:
        for result in results:
            sink.accept(result)
            progress.advance(result.tile.cells)
    sink.finish()
    return Totals(plan.pairs, plan.cells, time.perf_counter() - start)


class _Closable(Iterator[TileResult]):
    def close(self) -> None: ...


class Discard:
    """A sink, and a progress, that take everything and keep nothing: for timing."""

    def begin(self, plan: Plan) -> None:
        pass

    def accept(self, result: TileResult) -> None:
        pass

    def finish(self) -> None:
        pass

    def advance(self, work: int) -> None:
        pass


def estimate_rate(task: Task, engine: Engine, memory: int, longest: int = 2000) -> float:
    """DP cells a second, measured on a small part of the task: its first records, cut at `longest` letters."""

    def sample(sequences: SequenceSet, letters: int) -> SequenceSet:
        lengths = np.minimum(sequences.lengths, longest)
        count = max(1, int(np.searchsorted(np.cumsum(lengths), letters)))
        codes = np.concatenate([sequences.codes[o : o + n] for o, n in zip(sequences.offsets[:count], lengths[:count], strict=False)])
        offsets = np.concatenate(([0], np.cumsum(lengths[:count]))).astype(np.int64)
        return SequenceSet(sequences.source, sequences.ids[:count], codes, offsets)

    part = replace(task, queries=sample(task.queries, 40_000), targets=sample(task.targets, 1_000_000))
    plan = plan_task(part, Pairing.ALL, engine, memory)
    nowhere = Discard()
    return run_plan(plan, part, engine, nowhere, memory, nowhere).gcups * 1e9
