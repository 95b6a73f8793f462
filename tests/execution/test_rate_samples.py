"""Samples on which speed is measured: they represent the records, wherever these are, and are large enough to be timed."""

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from work import edit, sequence_set

from gpualign.core.alignment.task import Task
from gpualign.core.execution import runner
from gpualign.core.execution.runner import estimate_seconds, measure_cell_rate, plan_task
from gpualign.core.planning.memory_budget import Budget
from gpualign.core.planning.tile_plan import Pairing, TileLimits
from gpualign.cpu.alignment.engine import CpuEngine


@given(st.lists(st.integers(1, 12), min_size=1, max_size=90), st.integers(1, 400), st.integers(1, 100), st.integers(1, 15))
def test_a_sample_has_the_starts_of_different_records(lengths, letters, max_records, max_length):
    records = sequence_set([np.arange(length) + k % 3 for k, length in enumerate(lengths)])
    sample = runner._sample(records, letters, max_records, max_length)
    numbers = [records.ids.index(name) for name in sample.ids]
    assert numbers == sorted(set(numbers))
    assert 1 <= len(sample) <= min(max_records, letters, len(lengths))
    for place, number in enumerate(numbers):
        start, stop = sample.offsets[place : place + 2]
        first = records.offsets[number]
        assert stop - start == min(lengths[number], max_length)
        np.testing.assert_array_equal(sample.codes[start:stop], records.codes[first : first + stop - start])


def test_a_sample_of_sorted_records_has_short_and_long_ones(rng):
    lengths = np.sort(rng.lognormal(5, 0.6, 4000).astype(int) + 1)
    sample = runner._sample(sequence_set([np.zeros(length, dtype=int) for length in lengths]), 20_000, 4000, 10_000)
    assert sample.lengths.mean() == pytest.approx(lengths.mean(), rel=0.1)
    assert sample.offsets[-1] == pytest.approx(20_000, rel=0.1)


class Recorded:
    """An engine that remembers how many targets it was given."""

    def __init__(self):
        self.counts = []
        self._engine = CpuEngine(1)

    def prepare(self, task, budget):
        self.counts.append(len(task.targets))
        return self._engine.prepare(task, Budget.from_total(1 << 30))


def test_short_measurements_are_repeated_with_more_targets(rng):
    queries, targets = (sequence_set(list(rng.integers(0, 4, (count, 50)))) for count in (2, 3000))
    task = Task(queries, targets, edit(4))
    for seconds, scratch, expected in (
        (0.0, 1 << 20, [20]),  # long enough
        (1e6, 1 << 20, [20, 320, 3000]),  # nothing is: until all targets are in the sample
        (1e6, 8000, [20, 160, 80]),  # as memory is short; then half as many
    ):
        engine = Recorded()
        assert measure_cell_rate(task, engine, Budget(0, scratch), letters=(100, 1000), min_seconds=seconds) > 0
        assert engine.counts == expected


def test_the_time_of_compiling_kernels_is_not_measured(rng, monkeypatch):
    """A sample that took long is timed again: a GPU's kernels are compiled when they first run, others for a larger sample."""
    task = Task(*(sequence_set(list(rng.integers(0, 4, (count, 50)))) for count in (2, 3000)), edit(4))
    times = [600.0, 0.25, 300.0, 2.0, 500.0, 1.0]
    monkeypatch.setattr(runner, "time_plan", lambda plan, prepared: times.pop(0))
    rate = measure_cell_rate(task, CpuEngine(1), Budget.from_total(1 << 30), letters=(100, 1000), min_seconds=0.5)
    assert rate == 2 * 50 * 50 * 50 / 2.0
    assert not times


def test_a_sample_limited_by_memory_is_timed_several_times(rng, monkeypatch):
    """The whole sample as well as half of it, so that noise does not look like a low speed."""
    task = Task(*(sequence_set(list(rng.integers(0, 4, (count, 50)))) for count in (2, 3000)), edit(4))
    cells, times = [], [0.03, 0.3, 0.2, 0.22, 0.5, 0.12, 0.14, 0.11, 0.15, 0.16]
    monkeypatch.setattr(runner, "time_plan", lambda plan, prepared: cells.append(plan.cells) or times.pop(0))
    found = measure_cell_rate(task, Recorded(), Budget(0, 8000), letters=(100, 1000), min_seconds=0.5)
    assert found == pytest.approx((cells[1] - cells[-1]) / (0.2 - 0.11))
    assert not times


@pytest.mark.parametrize("half", [1.5, 1.02, 0.5, 1.95, 2.5])
def test_a_start_is_not_part_of_the_speed(rng, monkeypatch, half):
    """A sample takes 2 s. If half of it takes 1.5 s, the start takes 1 s. Small differences, and half a sample that takes longer, are
    noise."""
    task = Task(*(sequence_set(list(rng.integers(0, 4, (count, 50)))) for count in (2, 3000)), edit(4))
    cells, times = [], [2.0, 2.0, half, half]
    monkeypatch.setattr(runner, "time_plan", lambda plan, prepared: cells.append(plan.cells) or times.pop(0))
    found = measure_cell_rate(task, CpuEngine(1), Budget.from_total(1 << 30), letters=(100, 1000), min_seconds=0.5)
    more = (cells[0] - cells[-1]) / (2 - half) if half == 1.5 else cells[0] / 2
    assert found == pytest.approx(more)
    assert not times


class Clocked:
    """A prepared task that takes time by a clock of its own: `start_seconds` before the first tile of each run, `first_seconds` more in its
    first run, and a second for every `rate` cells.

    estimated_seconds: estimated time for the whole task
    numbers: numbers of the tiles computed, in order
    runs: tiles of each run
    """

    def __init__(self, clock, rate, start_seconds, first_seconds, estimated_seconds=1.0):
        self.clock, self.rate, self.start_seconds, self.first_seconds = clock, rate, start_seconds, first_seconds
        self.estimated_seconds, self.numbers, self.runs = estimated_seconds, [], []

    def run(self, tiles):
        self.clock[0] += self.start_seconds + (0 if self.numbers else self.first_seconds)
        self.runs.append([])
        for tile in tiles:
            self.clock[0] += tile.cells / self.rate
            self.numbers.append(tile.number)
            self.runs[-1].append(tile)
            yield SimpleNamespace(tile=tile)


@pytest.fixture
def clock(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(runner.time, "perf_counter", lambda: now[0])
    return now


def tiled_plan(rng, queries, targets, band_rows, tile_cells):
    task = Task(*(sequence_set(list(rng.integers(0, 4, (count, 50)))) for count in (queries, targets)), edit(4))
    limits = TileLimits(1 << 30, 1 << 30, 4, 1, tile_cells, band_rows)
    return plan_task(SimpleNamespace(task=task, limits=limits), Pairing.ALL)


@pytest.mark.parametrize(("queries", "rows"), [(1, 1), (9, 2), (40, 8)])
def test_a_run_is_estimated_by_tiles_from_all_parts_of_it(rng, clock, queries, rows):
    """Neither a start nor kernels that are compiled count for each tile; the start counts once."""
    plan = tiled_plan(rng, queries, 6400, rows, 250_000 * rows)
    tiles = 64 * -(-queries // rows)
    rate = plan.cells / 100
    prepared = Clocked(clock, rate, start_seconds=0.3, first_seconds=50)
    assert estimate_seconds(plan, prepared, min_seconds=12.5 * 64 / tiles) == pytest.approx(100.3)
    computed = [number % 64 for number in prepared.numbers[1:]]
    assert len({number // 64 for number in prepared.numbers}) == 1  # of one band
    assert 7 <= len(computed) <= 8
    assert max(np.diff(sorted(computed))) <= 16


def test_a_run_that_is_short_is_measured_whole(rng, clock):
    plan = tiled_plan(rng, 1, 6400, 1, 250_000)
    prepared = Clocked(clock, plan.cells, start_seconds=0.3, first_seconds=50)
    assert estimate_seconds(plan, prepared, min_seconds=2) == pytest.approx(1.3)
    assert sorted(prepared.numbers[1:]) == list(range(64))


@pytest.mark.parametrize(("letters", "estimated", "count"), [(3 * 5000, 1.0, 3), (1, 1.0, 1), (1 << 40, 400.0, 2), (1 << 40, 1e-9, 64)])
def test_targets_of_an_estimate_fit_in_memory(rng, clock, letters, estimated, count):
    """All of them are there before the measurement, which takes about as long as computing them does. Tiles that are computed again have
    numbers and bands of their own, so that several devices can share them."""
    plan = tiled_plan(rng, 1, 6400, 1, 250_000)
    prepared = Clocked(clock, plan.cells / 100, start_seconds=0.3, first_seconds=50, estimated_seconds=estimated)
    assert estimate_seconds(plan, prepared, min_seconds=12.5, max_letters=letters) == pytest.approx(100.3)
    read, timed = prepared.runs
    assert len(read) == count
    places = [tuple(tile.targets) for tile in read]
    assert [tuple(tile.targets) for tile in timed] == (places * 9)[: len(timed)]
    assert [tile.number for tile in timed] == list(range(len(timed)))
    assert [tile.band.index for tile in timed] == [number // count for number in range(len(timed))]
    assert {tile.band.tile_count for tile in timed} == {count}


def test_no_more_is_computed_again_than_the_run_has(rng, clock):
    """The estimate of a short run would be the small difference of long times."""
    plan = tiled_plan(rng, 1, 6400, 1, 250_000)
    prepared = Clocked(clock, plan.cells, start_seconds=0.3, first_seconds=50)
    assert estimate_seconds(plan, prepared, min_seconds=20, max_letters=1 << 40) == pytest.approx(1.3)
    assert len(prepared.runs[1]) == 64


def test_tiles_that_take_long_are_not_computed_for_an_estimate(rng, clock):
    prepared = Clocked(clock, 1e9, 0, 0, estimated_seconds=64 * 2.5)
    assert estimate_seconds(tiled_plan(rng, 1, 6400, 1, 250_000), prepared, min_seconds=2) is None
    assert not prepared.numbers


def test_a_part_of_a_run_is_estimated_by_its_tiles(rng, clock):
    """The engine's estimate is one of the whole run, of which a tile is a smaller fraction than of the part."""
    plan = tiled_plan(rng, 4, 6400, 1, 250_000).for_queries(1, 2)
    prepared = Clocked(clock, plan.cells / 100, start_seconds=0, first_seconds=0, estimated_seconds=4 * 64 * 1.0)
    assert estimate_seconds(plan, prepared, min_seconds=2) == pytest.approx(100)
