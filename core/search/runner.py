"""The road of a search: its engine keeps only the best few targets of a query, and yet no hit that passes a threshold is lost.

A search for the best hits is one run. A search for every hit that passes first asks for the `_FIRST` best, which is nearly always
enough (core/search/floors.py says when it is), and then searches the queries again that may have more, keeping all targets. Queries
are searched a group at a time, because hits are written in their order: those behind a query that is searched again wait for it.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from gpualign.core.engine import Engine, Task
from gpualign.core.plan import Pairing, Plan
from gpualign.core.road import Progress
from gpualign.core.runner import Totals, plan_task, run_plan
from gpualign.core.search.floors import EvalueFloors, score_floors
from gpualign.core.search.hits import Integers
from gpualign.core.search.significance import SearchSpace
from gpualign.core.sinks.hits import BestHitsSink, HitFilter, HitsWriter
from gpualign.core.sinks.passing import Found, HitOrder, PassingSink

_FIRST = 1000
"""Targets of a query that are kept at first, where every hit above a threshold is wanted."""

_HELD_SHARE = 8
"""Of the memory, one part in so many holds hits that wait for those of an earlier query."""

_HIT_BYTES = 24

_PROBE = 256
"""Queries of the first group of a large search: where most of them must be searched again, later ones keep all targets at once."""


class GrowingProgress(Progress, Protocol):
    """Told of work that was not expected."""

    def expect(self, work: int, /) -> None: ...


@dataclass(frozen=True)
class SearchPlan:
    """task: of stranded queries, with the targets that are kept at first; plan: of its run, `memory` bytes for the engine, were all
    queries searched at once; group: queries that are searched before any is searched again."""

    task: Task
    filter: HitFilter
    plan: Plan
    memory: int
    group: int


def plan_search(task: Task, filter: HitFilter, engine: Engine, memory: int) -> SearchPlan:
    """Plan a search for an engine with `memory` bytes beyond the sequences."""
    targets, group = len(task.targets), len(task.queries)
    if filter.top is not None:
        top = min(filter.top, targets)
    elif filter.most_evalue is None and filter.least_score <= 1:
        top = targets  # whatever has a score may pass
    else:
        top = min(_FIRST, targets)
    if filter.top is None and top < targets:
        held = memory // _HELD_SHARE
        memory -= held
        group = max(1, held // (_HIT_BYTES * top))
    task = replace(task, top=top)
    return SearchPlan(task, filter, plan_task(task, Pairing.ALL, engine, memory), memory, group)


def run_search(search: SearchPlan, space: SearchSpace | None, engine: Engine, writer: HitsWriter, progress: GrowingProgress) -> Totals:
    """Find the hits that the filter keeps, and hand them to the writer. Cells are those computed, a second time included.

    space: what E-values are counted in; there is one where the filter has a threshold of them.
    """
    writer.begin()
    if search.filter.top is not None:
        sink = BestHitsSink(search.task, search.filter.least_score, writer)
        return run_plan(search.plan, search.task, engine, sink, search.memory, progress)
    start = time.perf_counter()
    cells = _Passing(search, _floors(search, space), engine, HitOrder(writer.add), progress).run()
    return Totals(search.plan.pairs, cells, time.perf_counter() - start)


def _floors(search: SearchPlan, space: SearchSpace | None) -> Integers:
    by_evalue = None
    if search.filter.most_evalue is not None:
        assert space is not None
        best = int(search.task.scoring.substitution.max())
        by_evalue = EvalueFloors(space, search.filter.most_evalue, search.task.targets.lengths, best)
    return score_floors(search.task.queries.lengths, search.filter.least_score, by_evalue)


@dataclass(frozen=True)
class _Passing:
    """A search for every hit above the floors."""

    search: SearchPlan
    floors: Integers
    engine: Engine
    order: HitOrder
    progress: GrowingProgress

    def run(self) -> int:
        """Search every query, and return the cells computed."""
        task = self.search.task
        queries, targets = len(task.queries), len(task.targets)
        top, start, cells = self.search.task.top or 0, 0, 0
        while start < queries:
            probe = start == 0 and queries >= 2 * _PROBE and top < targets
            stop = min(queries, start + (min(_PROBE, self.search.group) if probe else self.search.group))
            cells += self._pass(np.arange(start, stop), top, self.order.first)
            if len(again := self.order.missing):
                work = int(task.queries.lengths[again].sum()) * int(task.targets.offsets[-1])
                self.progress.expect(work)
                cells += self._pass(again, targets, self.order.again)
                if 2 * len(again) > stop - start:
                    top = targets
            start = stop
        return cells

    def _pass(self, numbers: Integers, top: int, found: Found) -> int:
        """Search some queries and return the cells."""
        task = replace(self.search.task, top=top)
        if len(numbers) < len(task.queries):
            task = replace(task, queries=task.queries.select(numbers))
        plan = plan_task(task, Pairing.ALL, self.engine, self.search.memory)
        sink = PassingSink(task, numbers, self.floors[numbers], found)
        return run_plan(plan, task, self.engine, sink, self.search.memory, self.progress).cells
