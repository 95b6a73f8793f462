"""Random searches for the estimation of E-values, on the CPU."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from gpualign.core.alphabet import Alphabet
from gpualign.core.engine import Mode, Statistics, Task, TileResult
from gpualign.core.plan import Pairing, Plan
from gpualign.core.runner import plan_task, run_plan
from gpualign.core.scoring import Scoring
from gpualign.core.search.hits import Hits
from gpualign.core.sequences import SequenceSet
from gpualign.cpu.engine import CpuEngine
from gpualign.cpu.hit_paths import HitTracer

_MEMORY = 256 << 20  # of which a simulation takes a small part


class _Matrix:
    """A sink that keeps all scores."""

    def begin(self, plan: Plan) -> None:
        self.scores = np.zeros((plan.queries, plan.targets), dtype=np.int64)

    def accept(self, result: TileResult) -> None:
        self.scores[result.tile.query_start : result.tile.query_stop, result.tile.targets] = result.scores

    def finish(self) -> None:
        pass

    def advance(self, cells: int) -> None:
        pass


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
        task, sink = self._task(queries, targets), _Matrix()
        run_plan(plan_task(task, Pairing.ALL, self._engine, _MEMORY), task, self._engine, sink, _MEMORY, sink)
        return sink.scores

    def statistics(
        self, queries: SequenceSet, targets: SequenceSet, pairs: npt.NDArray[np.int64], scores: npt.NDArray[np.int64]
    ) -> Statistics:
        """STATISTICS[pairs] of some pairs with these scores."""
        with HitTracer(self._task(queries, targets), self._engine, _MEMORY) as tracer:
            return tracer.trace(Hits(np.ascontiguousarray(pairs[:, 0]), np.ascontiguousarray(pairs[:, 1]), scores))[0]
