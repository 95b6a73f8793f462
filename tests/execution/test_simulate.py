"""The simulator of benchmarks/: the planner and load balancing on a simulated clock."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from simulate import AFFINE, EDIT, SHORT, Fit, check_rows, prepared_for, task_of
from simulation import Gpu, Link, Node, Sink, excerpt, fleet_seconds, node_seconds, pool_seconds, whole

from gpualign.core.execution.remote.coordinator import CALLS_PER_WORKER
from gpualign.core.execution.retiling import split_by_limits
from gpualign.core.execution.runner import plan_task
from gpualign.core.execution.tile_queue import LoadBalancing
from gpualign.core.planning.tile_plan import Pairing, TileLimits, make_plan

RATE = 1e9
LENGTHS = np.full(1000, 100)


def plan_of(workers, tile_cells=20_000_000, rows=50, lengths=LENGTHS, pairing=Pairing.ABOVE):
    limits = TileLimits(1 << 40, 0, 4, 16, tile_cells, rows, worker_count=workers)
    return make_plan(lengths, lengths, pairing, limits)


def largest(part):
    return max(tile.cells for tile in part.tiles)


def gpus(count, tile_seconds=0.0):
    return [Gpu(RATE, tile_seconds)] * count


def nodes(count):
    return [Node(lambda tile: tile.cells / RATE)] * count


@pytest.mark.parametrize("pairing", [Pairing.ALL, Pairing.ABOVE])
def test_one_worker_takes_cells_by_rate(pairing, rng):
    plan = plan_of(1, lengths=rng.integers(50, 150, 700), pairing=pairing)
    assert pool_seconds(whole(plan), gpus(1)) == pytest.approx(plan.cells / RATE)
    assert fleet_seconds(whole(plan), nodes(1)) == pytest.approx(plan.cells / RATE)


def test_starts_and_tiles_cost_what_they_cost():
    part = whole(plan_of(1))
    seconds = pool_seconds(part, [Gpu(RATE, 0.5, 3.0)])
    assert seconds == pytest.approx(plan_of(1).cells / RATE + 0.5 * len(part.tiles) + 3)


@pytest.mark.parametrize("seconds", [lambda part, n: pool_seconds(part, gpus(n)), lambda part, n: fleet_seconds(part, nodes(n))])
@pytest.mark.parametrize("workers", [2, 3, 8, 20])
def test_equal_workers_are_within_a_tile_of_their_share(seconds, workers):
    """Never better than it. A GPU has three tiles when the last one is taken, a node two; near the end they are small."""
    part = whole(plan_of(workers))
    share = plan_of(1).cells / RATE / workers
    assert share * (1 - 1e-9) <= seconds(part, workers) <= share + largest(part) / RATE


@pytest.mark.parametrize("seconds", [lambda part, n: pool_seconds(part, gpus(n)), lambda part, n: fleet_seconds(part, nodes(n))])
def test_more_workers_are_no_slower(seconds):
    parts = [whole(plan_of(n)) for n in range(1, 12)]
    found = [seconds(part, n) for n, part in enumerate(parts, 1)]
    assert all(more <= fewer + largest(part) / RATE for fewer, more, part in zip(found, found[1:], parts, strict=False))
    assert found[-1] < found[0] / 8


def test_the_coordinator_bounds():
    plan = plan_of(8)
    write = 10 * plan.cells / RATE / plan.pair_count
    assert pool_seconds(whole(plan), gpus(8), Sink(0.0, write)) == pytest.approx(write * plan.pair_count, rel=0.02)
    assert fleet_seconds(whole(plan), nodes(8), sink=Sink(0.0, write)) == pytest.approx(write * plan.pair_count, rel=0.02)


def test_the_link_bounds():
    """All results go through one link, whatever the nodes; what is not wanted on the diagonal goes as well."""
    plan = plan_of(8)
    part = whole(plan)
    carried = sum(math.prod(tile.shape) for tile in part.tiles) * 2 / 1e4
    assert carried > 10 * plan.cells / RATE
    assert fleet_seconds(part, nodes(8), Link(0.0, 1e4, 2.0)) == pytest.approx(carried, rel=0.01)


def test_calls_bound():
    part = whole(plan_of(8))
    assert fleet_seconds(part, nodes(8), Link(call_seconds=1.0)) == pytest.approx(len(part.tiles), rel=0.01)


def test_a_journey_hides_behind_the_tile_before():
    """Two calls of a node are on their way; with a journey of a hundredth of a tile only the first and the last are waited for."""
    part = whole(plan_of(4))
    journey = 1e-4
    assert fleet_seconds(part, nodes(4), Link(journey)) == pytest.approx(fleet_seconds(part, nodes(4)) + 2 * journey, rel=0.01)


def test_a_late_node_does_what_it_can():
    """What is left to the others is shared as if it had not been there."""
    part = whole(plan_of(2))
    late = [Node(nodes(1)[0].seconds), Node(nodes(1)[0].seconds, ready=1e9)]
    assert fleet_seconds(part, late) >= 1e9  # it holds the calls that it was sent first
    assert pool_seconds(part, [Gpu(RATE), Gpu(RATE, ready=0.5)]) == pytest.approx((plan_of(1).cells / RATE + 0.5) / 2, rel=0.01)


def test_nobody_waits_for_a_slow_gpu_by_the_rules_of_the_dispatcher():
    part = whole(plan_of(2))
    slow = [Gpu(RATE), Gpu(RATE / 1000)]
    alone = plan_of(1).cells / RATE
    assert pool_seconds(part, slow, load_balancing=LoadBalancing([RATE, RATE / 1000], 100)) <= alone * (1 + 1e-9)
    assert pool_seconds(part, slow) > 2 * alone


@settings(max_examples=30)
@given(st.integers(2, 300), st.integers(1, 5))
def test_an_excerpt_of_a_short_plan_is_all_of_it(records, workers):
    plan = plan_of(workers, tile_cells=500_000, rows=16, lengths=np.full(records, 30))
    part = excerpt(plan, workers)
    assert not part.gaps
    assert [(t.number, t.band, t.shape, t.cells, t.remaining_cells) for t in part.tiles] == [
        (t.number, t.band, t.shape, t.cells, t.remaining_cells) for t in whole(plan).tiles
    ]


@pytest.mark.parametrize("workers", [1, 3])
@pytest.mark.parametrize("sink", [Sink(), Sink(2e-9, 4e-6), Sink(2e-9, 6e-5)], ids=["free", "beside", "bound"])
def test_an_excerpt_takes_as_long_as_the_plan(workers, sink):
    """Of unequal lengths, whether GPUs or the coordinator are what is waited for."""
    lengths = np.random.default_rng(1).integers(80, 120, 8000)
    plan = plan_of(workers, tile_cells=100_000_000, rows=100, lengths=lengths)
    part, every = excerpt(plan, workers), whole(plan)
    assert len(part.tiles) < len(every.tiles) / 2
    assert plan.cells == sum(tile.cells for tile in part.tiles) + sum(gap.cells for gap in part.gaps)
    pool = [pool_seconds(tiles, gpus(workers, 1e-3), sink) for tiles in (part, every)]
    fleet = [fleet_seconds(tiles, nodes(workers), Link(1e-3, 1e7, 2.0, 1e-3), sink) for tiles in (part, every)]
    assert pool[0] == pytest.approx(pool[1], rel=0.02)
    assert fleet[0] == pytest.approx(fleet[1], rel=0.02)


def test_a_node_cuts_what_it_is_sent():
    """Its GPUs share the pieces, and each piece takes time beside its cells."""
    task = task_of(EDIT, 2000, 100)
    tile = max(plan_of(1, tile_cells=10**8).tiles(), key=lambda tile: tile.cells)
    limits = TileLimits(1 << 40, 0, 4, 16, 10**6, 100)
    assert node_seconds(task, limits, [Gpu(RATE)] * 4)(tile) == pytest.approx(tile.cells / RATE / 4)
    pieces = len(split_by_limits(task, tile, limits))
    assert pieces >= tile.cells / 10**6
    assert node_seconds(task, limits, [Gpu(RATE, 0.5)] * 2)(tile) == pytest.approx((tile.cells / RATE + 0.5 * pieces) / 2)
    rows, targets = tile.shape
    assert node_seconds(task, limits, [Gpu(RATE)] * 4, Sink(gather=1.0))(tile) == rows * targets


def test_a_node_that_had_nothing_to_do_begins_again():
    """With a journey longer than a tile it has nothing to do between two of them."""
    part = whole(plan_of(1))
    again = [replace(nodes(1)[0], again=5.0)]
    assert fleet_seconds(part, again) == pytest.approx(fleet_seconds(part, nodes(1)))
    far = Link(10.0)
    runs = len(part.tiles) / CALLS_PER_WORKER  # as many tiles as are sent together are one run
    assert fleet_seconds(part, again, far) - fleet_seconds(part, nodes(1), far) == pytest.approx(5.0 * runs, abs=5.0)


def test_the_real_engine_plans_without_a_device():
    one, two = (prepared_for(task_of(AFFINE, 5000, 1500), count, 2 << 30) for count in (1, 2))
    assert one.limits.worker_count == 1
    assert two.limits.worker_count == 2
    assert len(whole(plan_task(two, Pairing.ABOVE)).tiles) > len(whole(plan_task(one, Pairing.ABOVE)).tiles)


def test_two_gpus_of_jobs_that_were_timed():
    """Scores within a tenth of what was measured; only the first GPU's times are fitted."""
    rows = [row for row in check_rows(SHORT, Fit(0.0, 0.0136)) if row[0] != "identity"]
    for row in rows:
        assert float(row[5]) == pytest.approx(float(row[4]), rel=0.1), row
