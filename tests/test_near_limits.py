"""How the CPU engine cuts the search for near pairs."""

from dataclasses import replace

import numpy as np
import pytest

from gpualign.core.alphabet import DNA
from gpualign.core.budget import Budget
from gpualign.core.engine import Task
from gpualign.core.near.bounds import EditBound
from gpualign.core.near.steps import Steps
from gpualign.core.plan import MAX_BAND_ROWS, Pairing, make_plan
from gpualign.core.scoring import ScoringOptions, make_scoring
from gpualign.core.sequences import SequenceSet
from gpualign.cpu.near.recipe import NearRecipe, near_limits

SKETCHED = NearRecipe(Steps(q=4, bits=256), nanoseconds=1.5, near=1e-5)


def task_of(count):
    codes = np.zeros(count * 4, dtype=np.uint8)
    records = SequenceSet("made up", [f"r{k}" for k in range(count)], codes, np.arange(count + 1) * 4)
    return Task(records, records, make_scoring(DNA, ScoringOptions(edit=True)), within=EditBound(0.0, 0.0, 1.0))


def limits_of(recipe=SKETCHED, count=100_000, memory=1 << 30, threads=2):
    return near_limits(task_of(count), recipe, Budget.of(memory), 4, threads)


def test_bands_of_fast_steps_are_large():
    """What is laid out of a tile's targets is for all of its queries."""
    assert limits_of().band_rows == 4096


@pytest.mark.parametrize(("nanoseconds", "rows"), [(25.0, 4000), (50.0, 2000), (500.0, MAX_BAND_ROWS), (1e6, MAX_BAND_ROWS)])
def test_results_of_slow_steps_leave_soon(nanoseconds, rows):
    """About five seconds of all threads, but never fewer queries than other bands have."""
    assert limits_of(replace(SKETCHED, nanoseconds=nanoseconds)).band_rows == rows


@pytest.mark.parametrize(("bits", "rows"), [(1024, 4096), (4096, 1024), (1 << 15, MAX_BAND_ROWS)])
def test_sketches_of_a_tiles_queries_stay_in_the_cache(bits, rows):
    assert limits_of(replace(SKETCHED, steps=Steps(q=8, bits=bits))).band_rows == rows


def test_more_threads_have_larger_bands():
    slow = replace(SKETCHED, nanoseconds=100.0)
    assert [limits_of(slow, threads=threads).band_rows for threads in (1, 2, 4)] == [500, 1000, 2000]


def test_results_of_a_band_fit_the_memory():
    """Of a quarter of all pairs."""
    found = limits_of(replace(SKETCHED, near=0.25), memory=1 << 30)
    assert 3 * found.band_rows * 100_000 * 0.25 * 100 <= found.result_bytes


def test_first_rows_do_not_wait_for_a_large_band():
    records = task_of(30_000).queries
    plan = make_plan(records.lengths, records.lengths, Pairing.ALL, limits_of(count=30_000))
    sizes = [tile.query_stop - tile.query_start for tile in plan.tiles()]
    assert sizes[0] == MAX_BAND_ROWS
    assert max(sizes) > 8 * MAX_BAND_ROWS
