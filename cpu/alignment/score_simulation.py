"""Aligns random sequences on the CPU; E-value parameters are estimated from the results."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from gpualign.core.alignment.hits import Hits
from gpualign.core.alignment.task import Mode, Task
from gpualign.core.alignment.tile_results import Statistics
from gpualign.core.execution.runner import compute_pair_bands, plan_task
from gpualign.core.execution.totals import NullProgress
from gpualign.core.planning.memory_budget import Budget
from gpualign.core.planning.tile_plan import Pairing
from gpualign.core.scoring.scoring import Scoring
from gpualign.core.sequences.alphabet import Alphabet
from gpualign.core.sequences.sequence_set import SequenceSet
from gpualign.cpu.alignment.engine import CpuEngine
from gpualign.cpu.alignment.hit_tracing import HitTracer

_SIMULATION_BUDGET = Budget.from_total(256 << 20)  # a simulation takes a small part of it


class CpuSimulator:
    """Aligns random sequences on the CPU; implements `gpualign.core.search.evalue_estimation.LocalAligner`."""

    def __init__(self, scoring: Scoring, alphabet: Alphabet, engine: CpuEngine) -> None:
        self._scoring = scoring
        self._alphabet = alphabet
        self._engine = engine

    def _task(self, queries: SequenceSet, targets: SequenceSet) -> Task:
        return Task(queries, targets, self._scoring, Mode.LOCAL, alphabet=self._alphabet)

    def scores(self, queries: SequenceSet, targets: SequenceSet) -> npt.NDArray[np.int64]:
        """Return all scores: int64[queries][targets]."""
        prepared = self._engine.prepare(self._task(queries, targets), _SIMULATION_BUDGET)
        scores = np.zeros((len(queries), len(targets)), dtype=np.int64)
        for one in compute_pair_bands(plan_task(prepared, Pairing.ALL), prepared, NullProgress()):
            scores[one.band.start : one.band.stop, one.band.first_target : one.band.target_stop] = one.scores
        return scores

    def statistics(
        self, queries: SequenceSet, targets: SequenceSet, pairs: npt.NDArray[np.int64], scores: npt.NDArray[np.int64]
    ) -> Statistics:
        """Return the alignment statistics of some pairs: `STATISTICS`[pairs].

        pairs: (query, target) of each pair, int64[pairs][2]
        scores: scores of these pairs, all above 0
        """
        with HitTracer(self._task(queries, targets), self._engine, _SIMULATION_BUDGET.scratch_bytes) as tracer:
            return tracer.trace(Hits(np.ascontiguousarray(pairs[:, 0]), np.ascontiguousarray(pairs[:, 1]), scores))[0]
