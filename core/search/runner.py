"""Runs a search. The engine keeps only the best few targets for each query, yet no hit that passes a threshold is lost.

A search for the best hits is a single run. A search for every passing hit first asks for the `FIRST_PASS_TOP` best targets, or more for a
large E-value, which is nearly always enough, and then repeats the search, keeping all targets or as many as fit in memory, for queries that
may have more hits (core/execution/hit_collectors.py tells which). Queries are searched in batches because hits are written in query order:
hits of later queries wait for a query that is searched again.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from gpualign.core.alignment.hits import HitBatch
from gpualign.core.alignment.task import Task
from gpualign.core.alignment.tile_results import TileResult
from gpualign.core.common.arrays import Integers
from gpualign.core.common.dataclass import dataclass
from gpualign.core.common.errors import TooLittleMemory, parameter, quoted
from gpualign.core.execution.band_collectors import bands_in_order
from gpualign.core.execution.engine import Engine, PreparedTask
from gpualign.core.execution.hit_collectors import BestHitCollector, CutoffHitCollector, QueryHits
from gpualign.core.execution.runner import plan_task
from gpualign.core.execution.totals import ExtendableProgress, Totals
from gpualign.core.execution.worker_pool import calling_thread, run_is_stopping
from gpualign.core.planning.memory_budget import Budget
from gpualign.core.planning.tile_plan import BANDS_IN_FLIGHT, Pairing, Plan, Tile
from gpualign.core.scoring.evalues import SearchSpace
from gpualign.core.search.hit_reorder_buffer import HitReorderBuffer
from gpualign.core.search.hit_selection import HitFilter
from gpualign.core.search.score_cutoffs import EvalueScoreCutoffs, score_cutoffs
from gpualign.core.sequences.strands_frames import QueryTargetFrames

if TYPE_CHECKING:
    from gpualign.core.sequences.index_check import IndexCheck

FIRST_PASS_TOP = 1000
"""Minimum number of targets initially kept per query in a search for every hit above a threshold, if there are as many."""

FIRST_PASS_TOP_PER_EVALUE = 30
"""Number of targets initially kept per query for each unit of the maximum E-value, if they fit in memory. When real proteins were searched
against 20,000, with a maximum E-value of 100, 1 to 21 targets for each unit reached the score cutoff."""

_WAITING_HITS_DIVISOR = 8
"""The memory of a search is divided by this number; one such part is for hits that wait for an earlier query's hits."""

_HIT_BYTES = 24

PROBE_QUERY_COUNT = 256
"""Number of queries in the first batch of a large search. If most of these must be searched again, later batches keep all targets from the
start."""


@dataclass(frozen=True)
class SearchPlan:
    """Plan of a search.

    prepared: the search as prepared by an engine; its task says how many targets are kept for each query at first
    filter: selects the hits to write
    frame_sets: strands or frames of queries and targets
    plan: plan for searching all queries at once
    budget: memory for the engine
    group_size: number of queries that are searched before any of them is searched again
    index_check: check of the targets' index, which may still be running; None if all letters may be used
    """

    prepared: PreparedTask
    filter: HitFilter
    frame_sets: QueryTargetFrames
    plan: Plan
    budget: Budget
    group_size: int
    index_check: IndexCheck | None = None

    @property
    def task(self) -> Task:
        return self.prepared.task

    def compute_tiles(self, plan: Plan, prepared: PreparedTask) -> Iterator[TileResult]:
        """Compute every tile of a plan for these targets, each as soon as its targets have been checked. Raises `InputError` if their index
        is damaged."""
        return prepared.run(plan.tiles() if self.index_check is None else _checked_tiles(plan, self.index_check, self.task.targets.offsets))

    def slice(self, start: int, stop: int) -> SearchPlan:
        """Return the plan with only records [start, stop) as queries."""
        per_record = self.frame_sets.queries.sequences_per_record
        return replace(self, plan=self.plan.for_queries(start * per_record, stop * per_record))


def _checked_tiles(plan: Plan, check: IndexCheck, offsets: Integers) -> Iterator[Tile]:
    """Yield the tiles of a plan, each as soon as the letters of its targets have been checked. Workers call this in their threads: one that
    asks for a tile has read the letters of its previous tile.

    offsets: where each target begins and ends in the letters
    """
    read: defaultdict[int, deque[tuple[int, int]]] = defaultdict(deque)  # letters of previous tiles, by thread
    max_held = min(plan.limits.worker_count, 2)  # a worker may take a tile that another one asked for, once it has read its previous tile
    for tile in plan.tiles():
        held, letters = read[calling_thread()], (int(offsets[tile.targets.min()]), int(offsets[tile.targets.max() + 1]))
        if len(held) == max_held:
            check.drop_letters(*held.popleft())
        if not check.wait_for_letters(letters[1], run_is_stopping):
            return
        held.append(letters)
        yield tile


def plan_search(task: Task, frame_sets: QueryTargetFrames, filter: HitFilter, engine: Engine, memory: int) -> SearchPlan:
    """Plan a search for an engine.

    frame_sets: strands or frames to compare, which replace the task's sequences
    memory: memory for the search in bytes, in addition to the sequences
    """
    task = replace(task, queries=frame_sets.queries.sequences, targets=frame_sets.targets.sequences)
    targets, group, held = len(task.targets), len(task.queries), 0
    if filter.target_limit is not None:
        # The best may all be strands or frames of the same records.
        top = min(filter.target_limit * frame_sets.targets.sequences_per_record, targets)
    elif filter.max_evalue is None and filter.min_score <= 1:
        top = targets  # every hit may pass
    else:
        by_evalue = 0 if filter.max_evalue is None else int(FIRST_PASS_TOP_PER_EVALUE * min(filter.max_evalue, targets))
        held = memory // _WAITING_HITS_DIVISOR
        in_memory = _hits_in_memory(task, Budget.from_total(memory - held))
        top = min(max(FIRST_PASS_TOP, min(by_evalue, in_memory)), targets)
    if filter.target_limit is None and top < targets:
        memory -= held
        group = max(1, held // (_HIT_BYTES * top))
    budget = Budget.from_total(memory)
    prepared = engine.prepare(replace(task, top_count=top), budget)
    return SearchPlan(
        prepared, filter, frame_sets, plan_task(prepared, Pairing.ALL, frame_sets.queries.sequences_per_record), budget, group
    )


def _hits_in_memory(task: Task, budget: Budget) -> int:
    """Return how many hits of a query the memory for results holds."""
    return budget.result_bytes // (BANDS_IN_FLIGHT * replace(task, top_count=1).query_bytes)


def find_hits(
    search: SearchPlan, space: SearchSpace | None, engine: Engine, progress: ExtendableProgress, totals: Totals
) -> Iterator[HitBatch]:
    """Yield the hits that may pass the filter, in record order; a record's hits are never split.

    space: search space, from which E-values follow; required if the filter has an E-value threshold
    totals: the work of repeated searches is added to them

    Closing the iterator stops all work.
    """
    plan, prepared = search.plan, search.prepared
    if search.filter.target_limit is not None:
        make_collector = partial(BestHitCollector, search.task, search.filter.min_score, search.frame_sets.queries.sequences_per_record)
        return bands_in_order(plan, search.compute_tiles(plan, prepared), make_collector, progress)
    return _MultiPassSearch(search, _score_cutoffs(search, space), engine, progress, totals).hits()


def _score_cutoffs(search: SearchPlan, space: SearchSpace | None) -> Integers:
    by_evalue = None
    if search.filter.max_evalue is not None:
        assert space is not None
        best = int(search.task.scoring.substitution.max())
        by_evalue = EvalueScoreCutoffs(space, search.filter.max_evalue, search.frame_sets.targets.evalue_lengths, best)
    return score_cutoffs(search.task.queries.lengths, search.filter.min_score, by_evalue)


@dataclass(frozen=True)
class _MultiPassSearch:
    """Search for every hit that reaches its query's score cutoff. cutoffs: cutoff of each query, int64[queries]"""

    search: SearchPlan
    cutoffs: Integers
    engine: Engine
    progress: ExtendableProgress
    totals: Totals

    def hits(self) -> Iterator[HitBatch]:
        """Search all queries in the plan and yield their hits, in record order."""
        task, order = self.search.task, HitReorderBuffer(self.search.frame_sets.queries.sequences_per_record)
        first, query_stop, most = self.search.plan.start, self.search.plan.query_stop, self._max_top_count
        top_count, start = task.top_count or 0, first
        while start < query_stop:
            probe = start == first and query_stop - first >= 2 * PROBE_QUERY_COUNT and top_count < most
            stop = min(query_stop, start + (min(PROBE_QUERY_COUNT, self.search.group_size) if probe else self.search.group_size))
            for result in self._run_pass(np.arange(start, stop), top_count):
                yield order.add_first_pass(result)
            if len(again := order.missing_queries):
                self.totals.work += (cells := task.cost.cells(task.queries.lengths[again], task.targets.lengths))
                self.progress.expect(cells)
                for result in self._run_pass(again, most):
                    self._refuse_truncated(result)
                    yield order.add_repeated(result)
                if 2 * len(again) > stop - start:
                    top_count = most
            start = stop

    @property
    def _max_top_count(self) -> int:
        """Number of targets that a repeated search keeps for each query: all, or as many as fit in memory for one query."""
        task = self.search.task
        return min(len(task.targets), max(task.top_count or 0, _hits_in_memory(task, self.search.budget)))

    def _refuse_truncated(self, result: QueryHits) -> None:
        """Raise `TooLittleMemory` if a query has more hits than a repeated search keeps."""
        if result.is_truncated.any():
            task, most = self.search.task, self._max_top_count
            query = task.queries.ids[int(result.queries[int(np.argmax(result.is_truncated))])]
            raise TooLittleMemory(
                f"the memory budget is too small: it holds {most:,} hits of a query, and at least as many of {quoted(query)} may pass",
                advice=f"raise {parameter('memory')} or set a stricter threshold",
            )

    def _run_pass(self, query_numbers: Integers, top: int) -> Iterator[QueryHits]:
        """Search some queries, keeping the `top` best targets for each, and yield their hits."""
        task, prepared = self.search.task, self.search.prepared
        if top != task.top_count or len(query_numbers) < len(task.queries):
            queries = task.queries.select(query_numbers) if len(query_numbers) < len(task.queries) else task.queries
            prepared = self.engine.prepare(replace(task, queries=queries, top_count=top), self.search.budget)
        plan = plan_task(prepared, Pairing.ALL)
        make_collector = partial(CutoffHitCollector, prepared.task, query_numbers, self.cutoffs[query_numbers])
        for band in bands_in_order(plan, self.search.compute_tiles(plan, prepared), make_collector, self.progress):
            yield from band
