"""Samples on which speed is measured: they represent the records, wherever these are, and are large enough to be timed."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from work import edit, sequence_set

from gpualign.core.alignment.task import Task
from gpualign.core.execution import runner
from gpualign.core.execution.runner import measure_cell_rate
from gpualign.core.planning.memory_budget import Budget
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
