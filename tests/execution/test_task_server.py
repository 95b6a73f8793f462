"""Tiles of several calls through one run of a worker's engine."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
from command import LIMIT
from relatives import related_sets, relatives
from work import edit, two_valued

from gpualign.core.alignment.task import Task
from gpualign.core.common.errors import RunError
from gpualign.core.execution.multi_device import MultiDevicePreparedTask
from gpualign.core.execution.remote.serialization import pack_result, pack_tile, unpack_result
from gpualign.core.execution.remote.task_server import TaskServer
from gpualign.core.planning.memory_budget import Budget
from gpualign.core.planning.tile_plan import Pairing, make_plan
from gpualign.core.scoring.edit_bounds import distance_bound
from gpualign.cpu.alignment.engine import CpuEngine

BUDGET = Budget.from_total(1 << 28)
LETTERS = 4


class Engine:
    """A prepared task, counting its runs. gate: results wait for it; ahead: a tile is taken before the result of the one before is handed
    on, as GPUs do; fails: so many runs fail when they have begun, early: before they take a tile."""

    def __init__(self, prepared, ahead=False, fails=0, early=False):
        self.task, self.kernel, self.hardware = prepared.task, prepared.kernel, prepared.hardware
        self.limits = replace(prepared.limits, lane_count=3, tile_cells=5_000)
        self._prepared, self._ahead, self._fails, self._early = prepared, ahead, fails, early
        self.gate, self.runs = threading.Event(), 0

    def run(self, tiles):
        self.runs += 1
        self.gate.wait(LIMIT)
        if self.runs <= self._fails:
            self._early or next(tiles)
            raise RunError("the device is lost")
        if not self._ahead:
            yield from self._prepared.run(tiles)
            return
        tile = next(tiles, None)
        while tile is not None:
            following = next(tiles, None)
            yield from self._prepared.run(iter([tile]))
            tile = following


@pytest.fixture
def task(rng):
    return Task(*related_sets(rng, [23, 31], 60, LETTERS), two_valued(LETTERS, 5, -4, 10, 1))


def tiles_of(task, prepared):
    limits = replace(prepared.limits, lane_count=7, tile_cells=20_000, band_rows=5, worker_count=1)
    return list(make_plan(task.queries.lengths, task.targets.lengths, Pairing.ALL, limits, task.cost).tiles())


def scores(task, tile, answer):
    return unpack_result(task, tile, answer).scores.tolist()


def expected_scores(prepared, tiles):
    return {one.tile.number: one.scores.tolist() for one in prepared.run(iter(tiles))}


@pytest.mark.parametrize("ahead", [False, True])
def test_calls_that_wait_share_a_run(task, ahead):
    prepared = CpuEngine(2).prepare(task, BUDGET)
    engine, tiles = Engine(prepared, ahead), tiles_of(task, prepared)
    serve = TaskServer(engine, 1e9)
    with ThreadPoolExecutor(len(tiles)) as callers:
        answers = [callers.submit(serve, pack_tile(tile)) for tile in tiles]
        end = time.monotonic() + LIMIT
        while len(serve._run._asked) < len(tiles):
            assert time.monotonic() < end, "hangs"
            time.sleep(0.001)
        engine.gate.set()
        found = {tile.number: scores(task, tile, answer.result(LIMIT)) for tile, answer in zip(tiles, answers, strict=True)}
    assert len(tiles) > 5
    assert found == expected_scores(prepared, tiles)
    assert engine.runs == 1


@pytest.mark.parametrize("ahead", [False, True])
def test_a_lone_call_waits_for_no_other(task, ahead):
    prepared = CpuEngine(1).prepare(task, BUDGET)
    engine, tiles = Engine(prepared, ahead), tiles_of(task, prepared)[:3]
    engine.gate.set()
    serve, expected = TaskServer(engine, 1e9), expected_scores(prepared, tiles)
    with ThreadPoolExecutor(1) as caller:
        for tile in tiles:
            assert scores(task, tile, caller.submit(serve, pack_tile(tile)).result(LIMIT)) == expected[tile.number]


@pytest.mark.parametrize("early", [False, True])
def test_an_error_is_that_of_the_calls_it_concerns(task, early):
    prepared = CpuEngine(1).prepare(task, BUDGET)
    engine, (tile, *_) = Engine(prepared, fails=1, early=early), tiles_of(task, prepared)
    engine.gate.set()
    serve = TaskServer(engine, 1e9)
    with ThreadPoolExecutor(1) as caller:
        with pytest.raises(RunError, match="the device is lost"):
            caller.submit(serve, pack_tile(tile)).result(LIMIT)
        answer = caller.submit(serve, pack_tile(tile)).result(LIMIT)
    assert scores(task, tile, answer) == expected_scores(prepared, [tile])[tile.number]


def test_engines_side_by_side_serve_as_one(task):
    """They tell bands apart, which wait for each other."""
    parts = [CpuEngine(threads).prepare(task, BUDGET) for threads in (1, 2)]
    limits = replace(parts[0].limits, tile_cells=5_000, lane_count=1)
    serve = TaskServer(MultiDevicePreparedTask(task, limits, parts, 0, lambda number, error: None), 1e9)
    tiles = tiles_of(task, parts[0])
    with ThreadPoolExecutor(4) as callers:
        answers = callers.map(serve, map(pack_tile, tiles), timeout=LIMIT)
        found = {tile.number: scores(task, tile, answer) for tile, answer in zip(tiles, answers, strict=True)}
    assert found == expected_scores(parts[0], tiles)


def test_near_pairs_are_served_in_one_run(rng):
    records = relatives(rng, 40, 60, LETTERS)
    task = Task(records, records, edit(LETTERS), edit_bound=distance_bound(20))
    prepared = CpuEngine(2).prepare(task, BUDGET)
    limits = replace(prepared.limits, band_rows=7)
    tiles = list(make_plan(records.lengths, records.lengths, Pairing.ABOVE, limits, task.cost).tiles())
    serve = TaskServer(prepared, 1e9)
    with ThreadPoolExecutor(4) as callers:
        found = list(callers.map(serve, map(pack_tile, tiles), timeout=LIMIT))
    assert len(tiles) > 3
    by_number = {one.tile.number: one for one in prepared.run(iter(tiles))}
    for tile, answer in zip(tiles, found, strict=True):
        for one, other in zip(answer[:3], pack_result(by_number[tile.number])[:3], strict=True):
            assert sorted(one.tolist()) == sorted(other.tolist())
