"""Tiles of one plan computed by an engine that cuts them to its own size."""

from dataclasses import replace

import numpy as np
import pytest
from relatives import related_sets, relatives
from work import CollectPaths, collect, edit, two_valued

from gpualign.core.alignment.task import Detail, Mode, Task
from gpualign.core.execution.retiling import run_retiled, split_by_limits
from gpualign.core.execution.runner import plan_task
from gpualign.core.planning.memory_budget import Budget
from gpualign.core.planning.tile_plan import Pairing, make_plan
from gpualign.core.scoring.edit_bounds import distance_bound
from gpualign.cpu.alignment.engine import CpuEngine

MEMORY = 1 << 28
LETTERS = 4


class Within:
    """A prepared task whose tiles are cut small; it plans large ones."""

    def __init__(self, task, threads):
        whole = CpuEngine(threads).prepare(task, Budget.from_total(MEMORY))
        self.task, self.limits = task, replace(whole.limits, lane_count=7, tile_cells=1 << 40)
        self._small = replace(whole, limits=replace(whole.limits, lane_count=3, tile_cells=5_000))

    def run(self, tiles):
        return run_retiled(self._small, tiles)


@pytest.fixture
def sets(rng):
    return related_sets(rng, [23, 31], 60, LETTERS)


@pytest.mark.parametrize("pairing", list(Pairing))
@pytest.mark.parametrize("detail", list(Detail))
@pytest.mark.parametrize("threads", [1, 3])
def test_results_are_those_of_the_whole(sets, pairing, detail, threads):
    queries, targets = sets if pairing is Pairing.ALL else (sets[0], sets[0])
    task = Task(queries, targets, two_valued(LETTERS, 5, -4, 10, 1), detail=detail)
    expected = collect(CpuEngine(1).prepare(task, Budget.from_total(MEMORY)), pairing, keep=CollectPaths)
    for tile_cells in (None, 40_000):
        found = collect(Within(task, threads), pairing, tile_cells, CollectPaths)
        wanted = np.arange(len(targets))[None, :] >= pairing.first_targets(np.arange(len(queries)))[:, None]
        assert (found.delivered[wanted] == 1).all()
        assert (found.scores[wanted] == expected.scores[wanted]).all()
        assert found.statistics == expected.statistics
        assert found.paths == expected.paths


def test_best_targets_of_a_search_are_those_of_the_whole(sets):
    task = Task(*sets, two_valued(LETTERS, 5, -4, 10, 1), Mode.LOCAL, top_count=4)
    plan = plan_task(CpuEngine(1).prepare(task, Budget.from_total(MEMORY)), Pairing.ALL)
    plan = make_plan(sets[0].lengths, sets[1].lengths, Pairing.ALL, replace(plan.limits, lane_count=2, tile_cells=20_000))
    tiles = list(plan.tiles())
    assert len(tiles) > 3
    whole = {result.tile.number: result for result in CpuEngine(1).prepare(task, Budget.from_total(MEMORY)).run(iter(tiles))}
    found = {result.tile.number: result for result in Within(task, 2).run(iter(tiles))}
    assert found.keys() == whole.keys()
    for number, result in whole.items():
        hits = result.scores > 0  # a place without a hit names any target
        assert (found[number].scores == result.scores).all()
        assert (found[number].targets[hits] == result.targets[hits]).all()


def test_near_pairs_are_those_of_the_whole(rng):
    records = relatives(rng, 60, 50, LETTERS)
    task = Task(records, records, edit(LETTERS), edit_bound=distance_bound(12))
    engine = CpuEngine(1)
    prepared = engine.prepare(task, Budget.from_total(MEMORY))

    def found(prepared):
        tiles = make_plan(
            records.lengths, records.lengths, Pairing.ABOVE, replace(prepared.limits, lane_count=2, tile_cells=300), task.cost
        )
        results = list(prepared.run(tiles.tiles()))
        pairs = sorted(p for r in results for p in zip(r.pairs.queries, r.pairs.targets, r.pairs.distances, strict=True))
        return pairs, sum(r.survivor_counts["pairs"] for r in results)

    expected = found(prepared)
    assert len(expected[0]) > 10
    assert found(Within(task, 2)) == expected


def test_tiles_have_no_more_queries_than_a_band(sets):
    """Of some tasks a tile is one thread's, whatever its size."""
    task = Task(*sets, two_valued(LETTERS, 5, -4, 10, 1))
    limits = replace(CpuEngine(1).prepare(task, Budget.from_total(MEMORY)).limits, tile_cells=1 << 40, band_rows=5, lane_count=1)
    whole = next(make_plan(sets[0].lengths, sets[1].lengths, Pairing.ALL, replace(limits, band_rows=256, first_band_rows=0)).tiles())
    parts = [piece.tile for piece in split_by_limits(task, whole, limits)]
    assert [(part.query_start, part.query_stop) for part in parts] == [(0, 5), (5, 10), (10, 15), (15, 20), (20, 23)]
    assert sum(part.cells for part in parts) == whole.cells


def test_they_shrink_near_the_end_of_what_is_known_to_follow(sets):
    """Workers share them, and none is to wait long for the last one; where other tiles follow, nobody waits."""
    task = Task(*sets, two_valued(LETTERS, 5, -4, 10, 1))
    limits = replace(
        CpuEngine(1).prepare(task, Budget.from_total(MEMORY)).limits, lane_count=1, tile_cells=60_000, worker_count=2, first_band_rows=0
    )
    whole = replace(
        next(make_plan(sets[0].lengths, sets[1].lengths, Pairing.ALL, replace(limits, tile_cells=1 << 40)).tiles()), remaining_cells=0
    )
    alone, followed = (
        [piece.tile for piece in split_by_limits(task, replace(whole, remaining_cells=left), limits)] for left in (0, 2 * whole.cells)
    )
    assert len(alone) > len(followed)
    assert alone[-1].cells < followed[-1].cells
    assert [alone[0].remaining_cells, alone[-1].remaining_cells] == [whole.cells, alone[-1].cells]
    assert followed[0].remaining_cells == 2 * whole.cells


def test_closing_stops_all_work(sets):
    task = Task(*sets, two_valued(LETTERS, 5, -4, 10, 1))
    within = Within(task, 2)
    plan = make_plan(sets[0].lengths, sets[1].lengths, Pairing.ALL, replace(within.limits, lane_count=1, tile_cells=1))
    taken = []

    def tiles():
        for tile in plan.tiles():
            taken.append(tile.number)
            yield tile

    results = within.run(tiles())
    next(results)
    results.close()
    assert len(taken) < sum(1 for _ in plan.tiles())
