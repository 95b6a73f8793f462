"""Random searches for the estimation of E-values, on the CPU."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from gpualign.core.alphabet import Alphabet
from gpualign.core.budget import Budget
from gpualign.core.plan import Pairing
from gpualign.core.runner import Discard, plan_task, run_plan
from gpualign.core.scoring import Scoring
from gpualign.core.search.hits import Hits
from gpualign.core.sequences import SequenceSet
from gpualign.core.sinks.matrix import MatrixSink
from gpualign.core.sinks.memory import MemoryArray
from gpualign.core.task import Mode, Task
from gpualign.core.tile_results import Statistics
from gpualign.cpu.engine import CpuEngine
from gpualign.cpu.hit_paths import HitTracer

_BUDGET = Budget.of(256 << 20)  # of which a simulation takes a small part


class CpuSimulator:
    """Implements `gpualign.core.search.estimate.Simulator`."""

    def __init__(self, scoring: Scoring, alphabet: Alphabet, engine: CpuEngine) -> None:
        self._scoring = scoring
        self._alphabet = alphabet
        self._engine = engine

    def _task(self, queries: SequenceSet, targets: SequenceSet) -> Task:
        return Task(queries, targets, self._scoring, Mode.LOCAL, alphabet=self._alphabet)

    def scores(self, queries: SequenceSet, targets: SequenceSet) -> npt.NDArray[np.int64]:
        """int64[queries][targets]."""
        prepared = self._engine.prepare(self._task(queries, targets), _BUDGET)
        sink = MatrixSink(MemoryArray, prepared.task)
        run_plan(plan_task(prepared, Pairing.ALL), prepared, sink, Discard())
        return sink.matrix.values.astype(np.int64, copy=False)

    def statistics(
        self, queries: SequenceSet, targets: SequenceSet, pairs: npt.NDArray[np.int64], scores: npt.NDArray[np.int64]
    ) -> Statistics:
        """STATISTICS[pairs] of some pairs with these scores."""
        with HitTracer(self._task(queries, targets), self._engine, _BUDGET.scratch) as tracer:
            return tracer.trace(Hits(np.ascontiguousarray(pairs[:, 0]), np.ascontiguousarray(pairs[:, 1]), scores))[0]
