"""Several engines on one plan: the results of one of them alone, whoever is slow, fails, or lacks memory."""

import threading
from dataclasses import replace

import numpy as np
import pytest
from command import LIMIT
from host_device import FailingDevice, HostDevice, WaitingDevice, compiler
from relatives import related_sets, relatives
from several_engines import RecordedEngines
from work import CollectPaths, collect, edit, two_valued

from gpualign.core.alignment.task import Detail, Mode, Task
from gpualign.core.common.errors import RunError
from gpualign.core.execution.multi_device import MultiDeviceEngine
from gpualign.core.execution.runner import plan_task
from gpualign.core.planning.memory_budget import Budget
from gpualign.core.planning.tile_plan import Pairing
from gpualign.core.scoring.edit_bounds import distance_bound
from gpualign.cpu.alignment.engine import CpuEngine
from gpualign.gpu.alignment.engine import CudaEngine

LETTERS = 4
BUDGET = Budget.from_total(1 << 29)
AFFINE = two_valued(LETTERS, 5, -4, 10, 1)
needs_compiler = pytest.mark.skipif(compiler() is None, reason="no C++ compiler on this machine")


class Small:
    """The CPU with tiles of few cells. seconds: what it says that the task takes it; begin: called before each tile, with the number of
    those before. tiles: that it has begun."""

    def __init__(self, threads=1, seconds=1.0, begin=None):
        self._engine = CpuEngine(threads)
        self.capabilities = self._engine.capabilities
        self._seconds = seconds
        self._begin = begin
        self.tiles = []

    def prepare(self, task, budget):
        prepared = self._engine.prepare(task, budget)
        if task.edit_bound is not None:
            return prepared
        limits = replace(prepared.limits, lane_count=3, tile_cells=5000, band_rows=4)
        begin = self._watched(prepared.make_computer)
        return replace(prepared, limits=limits, estimated_seconds=self._seconds, hardware=f"small {len(self.tiles)}", make_computer=begin)

    def _watched(self, begin):
        def watched():
            compute = begin()

            def work(tile, cancel):
                if self._begin is not None:
                    self._begin(len(self.tiles))
                self.tiles.append(tile.number)
                return compute(tile, cancel)

            return work

        return watched


@pytest.fixture
def told():
    return RecordedEngines(MultiDeviceEngine)


@pytest.mark.parametrize("pairing", list(Pairing))
@pytest.mark.parametrize("detail", list(Detail))
def test_results_are_those_of_one(rng, told, together, pairing, detail):
    queries = relatives(rng, 23, 60, LETTERS)
    task = Task(queries, relatives(rng, 31, 60, LETTERS) if pairing is Pairing.ALL else queries, AFFINE, detail=detail)
    expected = collect(CpuEngine(1).prepare(task, BUDGET), pairing, keep=CollectPaths)
    engines = Small(1, begin=together(0)), Small(2, begin=together(1))
    prepared = told.engine(*engines).prepare(task, BUDGET)
    plan, found = plan_task(prepared, pairing), CollectPaths(plan_task(prepared, pairing))
    for result in prepared.run(plan.tiles()):
        found.accept(result)
    wanted = np.arange(len(task.targets))[None, :] >= pairing.first_targets(np.arange(len(queries)))[:, None]
    assert (found.delivered[wanted] == 1).all()
    assert (found.scores[wanted] == expected.scores[wanted]).all()
    assert found.statistics == expected.statistics
    assert found.paths == expected.paths
    assert all(engine.tiles for engine in engines)
    assert told.notes == told.details == []


def scores(prepared, pairing=Pairing.ALL):
    plan = plan_task(prepared, pairing)
    found = np.zeros((plan.query_count, plan.target_count), dtype=np.int64)
    for result in prepared.run(plan.tiles()):
        found[result.tile.query_start : result.tile.query_stop, result.tile.targets] += result.scores
    return found


@pytest.fixture
def task(rng):
    return Task(*related_sets(rng, [40, 31], 60, LETTERS), AFFINE)


@pytest.fixture
def expected(task):
    return scores(CpuEngine(1).prepare(task, BUDGET))


def test_a_slow_engine_is_not_waited_for(task, expected, told):
    quick, slow = Small(seconds=1.0), Small(seconds=1000.0)
    prepared = told.engine(quick, slow).prepare(task, BUDGET)
    assert (scores(prepared) == expected).all()
    assert not slow.tiles
    assert "is left out: it may take longer for one tile than" in told.details[0]
    assert prepared.limits.worker_count == 1


@pytest.mark.parametrize("which", [0, 1])
def test_an_engine_that_fails_is_left_out(task, expected, told, together, which):
    begin, other, failed = together(which), together(1 - which), threading.Event()

    def fails(tiles_before):
        begin(tiles_before)
        if tiles_before == 2:
            failed.set()
            raise RunError("lost")

    def goes_on(tiles_before):
        other(tiles_before)
        assert tiles_before == 0 or failed.wait(LIMIT)

    engines = [Small(begin=goes_on), Small(begin=goes_on)]
    engines[which] = Small(begin=fails)
    assert (scores(told.engine(*engines).prepare(task, BUDGET)) == expected).all()
    assert told.notes == ["small 0 is left out, the others do its work: lost"]


def test_the_last_error_is_raised(task, told):
    def fails(tiles_before):
        raise RunError("lost")

    with pytest.raises(RunError, match="lost"):
        scores(told.engine(Small(begin=fails), Small(begin=fails)).prepare(task, BUDGET))
    assert len(told.notes) == 1


class Poor(Small):
    """Needs more memory than a share."""

    least = BUDGET.scratch_bytes

    def prepare(self, task, budget):
        if budget.scratch_bytes < self.least:
            raise RunError("the memory budget is too small")
        return super().prepare(task, budget)


def test_an_engine_without_memory_is_left_out(task, expected, told):
    engine = Small()
    assert (scores(told.engine(Poor(), engine).prepare(task, BUDGET)) == expected).all()
    assert engine.tiles
    assert told.notes == ["using only small 0: the memory budget is too small"]


def test_one_alone_may_have_the_memory(task, expected, told):
    assert (scores(told.engine(Poor(), Poor()).prepare(task, BUDGET)) == expected).all()
    poorest = Poor()
    poorest.least = 1 << 60
    with pytest.raises(RunError, match="too small"):
        told.engine(poorest, poorest).prepare(task, BUDGET)


def test_near_pairs_are_one_engines(rng, told):
    records = relatives(rng, 60, 50, LETTERS)
    task = Task(records, records, edit(LETTERS), edit_bound=distance_bound(12))
    prepared = told.engine(Small(), Small()).prepare(task, BUDGET)
    assert type(prepared) is type(CpuEngine(1).prepare(task, BUDGET))


def test_what_nobody_can_do_is_refused(task, told):
    with pytest.raises(RunError, match="computes only scores of local alignments"):
        told.engine(Small(), Small()).prepare(replace(task, mode=Mode.LOCAL, detail=Detail.PATH), BUDGET)


def test_closing_stops_everybody(task, told, together):
    engines = Small(begin=together(0)), Small(2, begin=together(1))
    prepared = told.engine(*engines).prepare(task, BUDGET)
    results = prepared.run(plan_task(prepared, Pairing.ALL).tiles())
    next(results)
    results.close()
    assert not [thread for thread in threading.enumerate() if thread.name.startswith(("gpualign-engine", "gpualign-cpu"))]


def test_bands_under_way_fit_the_memory(task, told):
    prepared = told.engine(Small(), Small()).prepare(task, Budget(40_000, 1 << 28))
    plan = plan_task(prepared, Pairing.ALL)
    assert plan.result_bytes <= 10_000
    tile = next(plan.tiles())
    bands = prepared._max_open_bands(tile)
    assert bands * tile.band.shape[0] * tile.band.shape[1] * task.pair_bytes <= 20_000
    assert bands > 6


@needs_compiler
@pytest.mark.slow
@pytest.mark.parametrize("mode", list(Mode))
def test_cuda_beside_the_cpu(task, told, together, monkeypatch, mode):
    from gpualign.gpu.alignment import engine as cuda_engine

    # Several tiles for both; of real sizes an emulated device takes minutes for one.
    for name, value in (("TILE_SECONDS", 1e-7), ("TARGET_COUNT_STEP", 4), ("BAND_ROWS", 5)):
        monkeypatch.setattr(cuda_engine, name, value)
    task = replace(task, mode=mode, top_count=3 if mode is Mode.LOCAL else None)
    cpu, device = Small(2, seconds=1e-9, begin=together(0)), WaitingDevice(together(1))
    prepared = told.engine(CudaEngine([device]), cpu).prepare(task, BUDGET)
    assert prepared.hardware == "cuda (host) + small 0"
    plan = plan_task(prepared, Pairing.ALL)
    if mode is Mode.GLOBAL:
        assert (scores(prepared) == scores(CpuEngine(1).prepare(task, BUDGET))).all()
    else:
        best = {}
        alone = CpuEngine(1).prepare(task, BUDGET)
        for result in alone.run(plan.tiles()):
            best[result.tile.number] = result
        for result in prepared.run(plan.tiles()):
            other = best.pop(result.tile.number)
            hits = other.scores > 0
            assert (result.scores == other.scores).all()
            assert (result.targets[hits] == other.targets[hits]).all()
        assert not best
    assert device.launched
    assert cpu.tiles
    assert device.used == 0
    assert not device.opened


@needs_compiler
@pytest.mark.slow
def test_a_device_that_fails_leaves_all_to_the_cpu(task, expected, told, monkeypatch):
    monkeypatch.setattr("gpualign.gpu.alignment.engine.TILE_SECONDS", 1e-7)

    broken = FailingDevice()

    def begin(_):
        assert broken.failed.wait(LIMIT)

    cpu = Small(2, seconds=1.5 * CudaEngine([HostDevice()]).prepare(task, BUDGET).estimated_seconds, begin=begin)
    engine = told.engine(CudaEngine([broken]), cpu)
    assert (scores(engine.prepare(task, BUDGET)) == expected).all()
    assert told.notes == ["cuda (broken) is left out, the others do its work: the CUDA device failed: made up"]
