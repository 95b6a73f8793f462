"""Plans alignments, and has an engine compute the tiles of a plan, as whole bands in order."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import numpy as np

from gpualign.core.alignment.band_results import BandResults
from gpualign.core.alignment.task import Task
from gpualign.core.execution.band_collectors import PairCollector, bands_in_order
from gpualign.core.execution.engine import Engine, PreparedTask
from gpualign.core.execution.totals import NullProgress, Progress
from gpualign.core.planning.memory_budget import Budget
from gpualign.core.planning.tile_plan import Pairing, Plan, make_plan
from gpualign.core.sequences.sequence_set import SequenceSet

_MAX_SAMPLE_RECORDS = 2_000, 50_000
"""Maximum numbers of queries and targets in the sample on which speed is measured."""


def plan_task(prepared: PreparedTask, pairing: Pairing, group_size: int = 1) -> Plan:
    """Plan a prepared task. group_size: number of consecutive queries that form a group and must stay in one band"""
    task = prepared.task
    return make_plan(task.queries.lengths, task.targets.lengths, pairing, prepared.limits, task.cost, group_size)


def compute_pair_bands(plan: Plan, prepared: PreparedTask, progress: Progress, threads: int = 1) -> Iterator[BandResults]:
    """Compute every tile of the plan and yield whole bands in order. Closing the iterator stops all work.

    threads: number of threads for copying results into a band
    """
    return bands_in_order(plan, prepared.run(plan.tiles()), partial(PairCollector, prepared.task, threads), progress)


def time_plan(plan: Plan, prepared: PreparedTask) -> float:
    """Compute every tile of the plan, discard the results, and return the seconds taken."""
    start = time.perf_counter()
    for _ in compute_pair_bands(plan, prepared, NullProgress()):
        pass
    return time.perf_counter() - start


def measure_cell_rate(
    task: Task, engine: Engine, budget: Budget, max_length: int = 2000, letters: tuple[int, int] = (40_000, 1_000_000)
) -> float:
    """Measure the engine's speed, in DP cells per second, on a sample of the task: its first records, truncated to `max_length` letters.

    letters: approximate total number of letters in the sample's queries, and in its targets. Sets of very short records have fewer:
    their sample is limited by its pairs, because results are then most of the work
    """

    def sample(sequences: SequenceSet, total: int, max_records: int) -> SequenceSet:
        lengths = np.minimum(sequences.lengths[:max_records], max_length)
        count = max(1, int(np.searchsorted(np.cumsum(lengths), total)))
        codes = np.concatenate([sequences.codes[o : o + n] for o, n in zip(sequences.offsets[:count], lengths[:count], strict=False)])
        offsets = np.concatenate(([0], np.cumsum(lengths[:count]))).astype(np.int64)
        return SequenceSet(sequences.source, sequences.ids[:count], codes, offsets)

    subset = replace(
        task,
        queries=sample(task.queries, letters[0], _MAX_SAMPLE_RECORDS[0]),
        targets=sample(task.targets, letters[1], _MAX_SAMPLE_RECORDS[1]),
        top_count=None,
    )
    prepared = engine.prepare(subset, budget)
    plan = plan_task(prepared, Pairing.ALL)
    return plan.cells / max(time_plan(plan, prepared), 1e-9)
