from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpualign.core.common.errors import RunError
from gpualign.core.planning import tile_plan
from gpualign.core.planning.cost import FULL_MATRIX_COST, UNIT_PAIR_COST
from gpualign.core.planning.sharding import shard_boundaries
from gpualign.core.planning.target_order import order_by_length, ordered_targets
from gpualign.core.planning.tile_plan import (
    BANDS_IN_FLIGHT,
    MAX_BAND_ROWS,
    MAX_TILES_PER_WORKER,
    MIN_BAND_TARGETS,
    MIN_DIAGONAL_BANDS,
    Pairing,
    TileLimits,
    make_plan,
)

LENGTHS = st.lists(st.integers(1, 5000), min_size=1, max_size=60)


def plan_of(queries, targets, pairing, memory=1 << 20, lanes=16, cells=1 << 22, sharing=1, first_rows=0, group=0, query_lanes=1):
    limits = TileLimits(
        memory,
        0,
        4,
        lanes,
        cells,
        worker_count=sharing,
        first_band_rows=first_rows,
        diagonal_group_size=group,
        query_lane_count=query_lanes,
    )
    return make_plan(np.array(queries), np.array(targets), pairing, limits)


@given(
    LENGTHS,
    LENGTHS,
    st.sampled_from(Pairing),
    st.integers(1, 40),
    st.integers(1, 10**9),
    st.integers(BANDS_IN_FLIGHT * 4 * MIN_BAND_TARGETS, 10**5),
    st.integers(1, 5),
    st.integers(0, 9),
    st.integers(0, 9),
    st.integers(1, 9),
    st.booleans(),
)
def test_every_wanted_pair_is_in_exactly_one_tile(
    queries, targets, pairing, lanes, cells, memory, sharing, first_rows, group, query_lanes, in_order
):
    if in_order:  # as in an index
        queries, targets = sorted(queries), sorted(targets)
    if pairing is not Pairing.ALL:
        targets = queries
    plan = plan_of(queries, targets, pairing, memory, lanes, cells, sharing, first_rows, group, query_lanes)
    count = np.zeros((len(queries), len(targets)), dtype=int)
    total = 0
    tiles_of_band = {}
    for number, tile in enumerate(plan.tiles()):
        assert tile.number == number
        count[tile.query_start : tile.query_stop, tile.targets] += 1
        total += tile.cells
        tiles_of_band.setdefault(tile.band, []).append(tile)
        assert tile.band.start <= tile.query_start < tile.query_stop <= tile.band.stop
        if group == 0 or pairing is Pairing.ALL:
            assert (np.diff(np.array(targets)[tile.targets]) >= 0).all()
        assert tile.band.first_target <= tile.targets.min()
        assert tile.targets.max() < tile.band.target_stop
        assert tile.shape == (tile.query_stop - tile.query_start, len(tile.targets))
        assert tile.shape[0] < query_lanes or tile.shape[0] % query_lanes == 0 or tile.query_stop == tile.band.stop
    i, j = np.indices(count.shape)
    wanted = {Pairing.ALL: i >= 0, Pairing.ABOVE: j > i, Pairing.ABOVE_OR_EQUAL: j >= i}[pairing]
    assert (count[wanted] == 1).all()
    assert count.max(initial=0) <= 1
    assert plan.pair_count == wanted.sum()
    assert plan.cells == total == (np.outer(queries, targets) * wanted).sum()
    assert len(tiles_of_band) == plan.band_count
    for index, (band, tiles) in enumerate(tiles_of_band.items()):
        assert band.index == index
        assert band.tile_count == len(tiles)
    assert plan.result_bytes <= memory


@given(LENGTHS, LENGTHS, st.sampled_from(Pairing), st.sampled_from([FULL_MATRIX_COST, UNIT_PAIR_COST]), st.integers(1, 8))
def test_parts_have_the_pairs_of_their_rows(queries, targets, pairing, cost, shares):
    if pairing is not Pairing.ALL:
        targets = queries
    whole = make_plan(np.array(queries), np.array(targets), pairing, TileLimits(1 << 20, 0, 4, 16, 1 << 20), cost)
    bounds = shard_boundaries(whole.row_cells, shares)
    assert len(bounds) == shares + 1
    count = np.zeros((len(queries), len(targets)), dtype=int)
    for start, stop in pairwise(bounds):
        part = whole.for_queries(start, stop)
        tiles = list(part.tiles())
        assert [tile.number for tile in tiles] == list(range(len(tiles)))
        assert part.band_count == len({tile.band.index for tile in tiles})
        assert part.cells == sum(tile.cells for tile in tiles)
        assert abs(whole.row_cells[start:stop].sum() - part.cells) <= 1e-6 * part.cells
        for tile in tiles:
            assert start <= tile.query_start < tile.query_stop <= stop
            count[tile.query_start : tile.query_stop, tile.targets] += 1
    i, j = np.indices(count.shape)
    wanted = {Pairing.ALL: i >= 0, Pairing.ABOVE: j > i, Pairing.ABOVE_OR_EQUAL: j >= i}[pairing]
    assert (count[wanted] == 1).all()
    assert sum(whole.for_queries(*rows).pair_count for rows in pairwise(bounds)) == whole.pair_count == wanted.sum()


@given(st.lists(st.floats(0, 1e9), min_size=0, max_size=40), st.integers(1, 9), st.integers(1, 3))
def test_shares_are_as_equal_as_rows_allow(work, shares, together):
    work = np.array(work[: len(work) // together * together])
    bounds = shard_boundaries(work, shares, together)
    assert len(bounds) == shares + 1
    assert (bounds[0], bounds[-1]) == (0, len(work))
    assert (np.diff(bounds) >= 0).all()
    assert all(bound % together == 0 for bound in bounds)
    groups = work.reshape(-1, together).sum(axis=1)
    most = groups.max(initial=0)
    for start, stop in pairwise(bounds):
        assert abs(work[start:stop].sum() - work.sum() / shares) <= most * (1 + 1e-9) + 1e-3


def waited(tiles, workers):
    """The share of the time that the first worker waits for the last, where each takes `MAX_TILES_PER_WORKER` tiles before it has done
    any."""
    queue = [tile.cells for tile in tiles]
    ends, taken = np.zeros(workers), [[] for _ in range(workers)]
    while queue:
        worker = int(np.argmin([ends[k] + (len(taken[k]) >= MAX_TILES_PER_WORKER) * (taken[k][:1] or [0])[0] for k in range(workers)]))
        if len(taken[worker]) >= MAX_TILES_PER_WORKER:
            ends[worker] += taken[worker].pop(0)
        taken[worker].append(queue.pop(0))
    ends += [sum(rest) for rest in taken]
    return (ends.max() - ends.min()) / ends.max()


@pytest.mark.parametrize("workers", [2, 3, 8])
@pytest.mark.parametrize("pairing", Pairing)
def test_workers_that_share_end_together(pairing, workers):
    lengths = np.random.default_rng(2).integers(900, 1500, 6000)
    shared, alone = (list(plan_of(lengths, lengths, pairing, 1 << 30, 1024, 1 << 41, sharing).tiles()) for sharing in (workers, 1))
    assert waited(shared, workers) < 0.08
    assert waited(alone, 8) > 0.3
    assert max(tile.cells for tile in shared) <= max(tile.cells for tile in alone)
    assert len(shared) < 20 * workers + len(alone)


@given(LENGTHS, st.integers(1, 10**7))
def test_same_input_same_plan(lengths, cells):
    first, second = (list(plan_of(lengths, lengths, Pairing.ABOVE, cells=cells).tiles()) for _ in range(2))
    assert len(first) == len(second)
    for a, b in zip(first, second, strict=True):
        assert (a.query_start, a.query_stop, a.cells) == (b.query_start, b.query_stop, b.cells)
        assert (a.targets == b.targets).all()


@pytest.mark.parametrize(("first", "rows"), [(4, [4, 8, 16, 30, 30, 12]), (0, [30, 30, 30, 10]), (64, [30, 30, 30, 10])])
def test_the_first_bands_grow(first, rows):
    lengths = np.full(100, 7)
    plan = make_plan(lengths, lengths, Pairing.ALL, TileLimits(1 << 20, 0, 4, 16, 1 << 20, 30, first_band_rows=first))
    bands = sorted({(tile.band.start, tile.band.stop) for tile in plan.tiles()})
    assert [stop - start for start, stop in bands] == rows
    assert plan.band_rows == 30


def test_bands_that_grow_keep_queries_together():
    lengths = np.full(100, 7)
    plan = make_plan(lengths, lengths, Pairing.ALL, TileLimits(1 << 20, 0, 4, 16, 1 << 20, 30, first_band_rows=4), group_size=3)
    assert all(tile.band.start % 3 == 0 for tile in plan.tiles())
    assert min(tile.band.stop - tile.band.start for tile in plan.tiles() if tile.band.stop < 100) == 6


def test_memory_bounds_the_band_and_too_little_is_an_error():
    row = 1000 * 4
    assert plan_of([5] * 1000, [5] * 1000, Pairing.ALL, memory=BANDS_IN_FLIGHT * row * 10).band_rows == 10
    assert plan_of([5] * 1000, [5] * 1000, Pairing.ALL, memory=1 << 40).band_rows == MAX_BAND_ROWS
    assert plan_of([5] * 1000, [5] * 1000, Pairing.ABOVE, memory=1 << 40).band_rows == 1000 // MIN_DIAGONAL_BANDS
    part = plan_of([5] * 1000, [5] * 1000, Pairing.ALL, memory=BANDS_IN_FLIGHT * row - 1)
    assert (part.band_rows, part.targets_per_band, part.band_count) == (1, 999, 2000)
    with pytest.raises(RunError, match="raise memory"):
        plan_of([5] * 1000, [5] * 1000, Pairing.ALL, memory=BANDS_IN_FLIGHT * 4 * MIN_BAND_TARGETS - 1)


def test_runs_count_by_the_letters_of_a_pair():
    limits = TileLimits(1 << 20, 0, 56, 16, 1 << 22, bytes_per_letter=1)
    lengths = np.array([1000] * 50)
    plan = make_plan(lengths, lengths, Pairing.ALL, limits)
    assert plan.result_bytes == BANDS_IN_FLIGHT * plan.band_rows * 50 * (56 + 2000) <= 1 << 20


def test_tiles_are_about_as_large_as_asked():
    plan = plan_of([1500] * 2000, [1500] * 2000, Pairing.ABOVE, memory=1 << 30, lanes=64, cells=8 * 10**9)
    cells = [t.shape[0] * t.shape[1] * 1500**2 for t in plan.tiles()]
    assert max(cells) <= 64 * 256 * 1500**2
    assert np.median(cells) >= 10**9


def test_long_sequences_are_cut_by_query():
    plan = plan_of([100_000] * 20, [100_000] * 20, Pairing.ALL, memory=1 << 30, lanes=64, cells=8 * 10**9)
    assert all(t.shape[0] == 1 for t in plan.tiles())


def test_few_long_records_leave_work_for_all():
    """Queries that could share a pass are not kept together where a tile was to have fewer."""
    plan = plan_of([30_000] * 16, [30_000] * 16, Pairing.ABOVE, lanes=512, cells=30_000**2 * 4, query_lanes=16)
    assert len(list(plan.tiles())) == 15
    assert {tile.shape[0] for tile in plan.tiles()} == {1}


def test_pair_and_cell_counts_do_not_overflow():
    lengths = np.full(100_000, 1_000_000)
    plan = make_plan(lengths, lengths, Pairing.ABOVE, TileLimits(1 << 40, 0, 4, 64, 1 << 40))
    assert plan.pair_count == 100_000 * 99_999 // 2
    assert plan.cells == plan.pair_count * 10**12


def test_pairs_above_the_diagonal_need_one_set():
    with pytest.raises(ValueError, match="itself"):
        plan_of([1, 2], [2, 1, 3], Pairing.ABOVE)


@pytest.mark.parametrize("pairing", [Pairing.ABOVE, Pairing.ABOVE_OR_EQUAL])
def test_a_set_with_itself_and_more(pairing):
    plan = plan_of([1, 2], [1, 2, 3], pairing)
    wanted = {(i, j) for i in range(2) for j in range(pairing.first_target(i), 3)}
    assert plan.pair_count == len(wanted)
    assert plan.cells == sum((i + 1) * (j + 1) for i, j in wanted)
    tiles = list(plan.tiles())
    assert sum(tile.cells for tile in tiles) == plan.cells
    assert wanted <= {(i, j) for tile in tiles for i in range(tile.query_start, tile.query_stop) for j in tile.targets.tolist()}


@given(LENGTHS, LENGTHS, st.data())
def test_the_cost_of_whole_matrices(queries, targets, data):
    firsts = np.array([data.draw(st.integers(0, len(targets))) for _ in queries])
    cells = np.outer(queries, targets)
    queries, targets = np.array(queries), np.array(targets)
    assert FULL_MATRIX_COST.cells(queries, targets) == cells.sum()
    wanted = np.arange(len(targets))[None, :] >= firsts[:, None]
    assert FULL_MATRIX_COST.cells(queries, targets, firsts) == (cells * wanted).sum()
    np.testing.assert_array_equal(FULL_MATRIX_COST.cumulative_cells(queries, targets), np.cumsum([0, *cells.sum(axis=0)]))


class _Diagonal:
    """A cost that is not a product: only the diagonal of each matrix is computed."""

    ignores_lengths = False

    def cumulative_cells(self, query_lengths, target_lengths):
        return np.cumsum([0.0, *np.minimum.outer(query_lengths, target_lengths).sum(axis=0)])

    def cells(self, query_lengths, target_lengths, first_targets=None):
        firsts = np.zeros(len(query_lengths), dtype=int) if first_targets is None else first_targets
        return sum(int(np.minimum(q, target_lengths[first:]).sum()) for q, first in zip(query_lengths, firsts, strict=True))


@given(LENGTHS, st.sampled_from(Pairing), st.integers(1, 10**5))
def test_tiles_follow_the_cost_of_the_task(lengths, pairing, cells):
    lengths = np.array(lengths)
    plan = make_plan(lengths, lengths, pairing, TileLimits(10**6, 0, 4, 1, cells), _Diagonal())
    tiles = list(plan.tiles())
    assert sum(tile.cells for tile in tiles) == plan.cells
    whole = [tile for tile in tiles if tile.shape == (tile.query_stop - tile.query_start, len(tile.targets)) and min(tile.shape) > 1]
    for tile in whole:
        assert _Diagonal().cells(lengths[tile.query_start : tile.query_stop], lengths[tile.targets]) <= 2 * max(cells, 1) + 5000


@given(LENGTHS, st.sampled_from(Pairing), st.integers(1, 400), st.integers(1, 10**5))
def test_tiles_where_only_numbers_count(lengths, pairing, cells, memory):
    """Each wanted pair in one tile, targets in order of length; tiles of whole bands as well as parts of some."""
    lengths = np.array(lengths)
    try:
        plan = make_plan(lengths, lengths, pairing, TileLimits(memory, 0, 4, 1, cells, band_rows=3), UNIT_PAIR_COST)
    except RunError:
        return
    seen = np.zeros((len(lengths), len(lengths)), dtype=int)
    for tile in plan.tiles():
        wanted = np.add.outer(-pairing.first_targets(np.arange(tile.query_start, tile.query_stop)), tile.targets) >= 0
        assert tile.shape == wanted.shape
        assert tile.cells == wanted.sum() > 0
        assert (np.diff(lengths[tile.targets]) >= 0).all()
        seen[tile.query_start : tile.query_stop, tile.targets] += wanted
    firsts = pairing.first_targets(np.arange(len(lengths)))
    assert (seen == (np.arange(len(lengths)) >= firsts[:, None])).all()


@pytest.mark.parametrize(("pairing", "pairs"), [(Pairing.ALL, 18), (Pairing.ABOVE, 3 + 2 + 1), (Pairing.ABOVE_OR_EQUAL, 4 + 3 + 2)])
def test_only_selected_pairs_of_a_tile_count(pairing, pairs):
    """Targets before, among and behind queries 4, 5 and 6: above the diagonal, 4 has 5, 6 and 9, 5 has 6 and 9, 6 has 9."""
    lengths = np.full(10, 7)
    plan = make_plan(lengths, lengths, pairing, TileLimits(1 << 20, 0, 4, 1, 1 << 20), UNIT_PAIR_COST)
    targets = np.array([9, 2, 5, 0, 6, 4])
    assert plan.selected_cost(4, 7, targets) == pairs


def test_groups_of_targets_are_those_of_each_band():
    """Not of what the band before made of them."""
    lengths = np.array([5, 1, 4, 2, 3, 6, 1, 2, 8, 3, 9, 1, 7, 2, 4, 6])
    limits = TileLimits(1 << 20, 0, 4, 4, 60, band_rows=4, min_diagonal_bands=1, diagonal_group_size=2)
    plan = make_plan(lengths, lengths, Pairing.ABOVE, limits)
    order, of_band = order_by_length(lengths), {}
    for tile in plan.tiles():
        of_band.setdefault(tile.band, {}).setdefault(tile.query_start, []).append(tile.targets)
    assert len(of_band) == 4
    for band, parts in of_band.items():
        expected = ordered_targets(order, band.first_target, band.target_stop, band.stop, 2)[:].tolist()
        for targets in parts.values():
            found = np.concatenate(targets).tolist()
            assert found == [target for target in expected if target in set(found)]


@pytest.mark.parametrize("pairing", Pairing)
def test_a_query_whose_targets_take_several_bands_hides_none_from_the_next(pairing):
    lengths = np.array([3, 1, 2, 5, 4, 6, 2, 3, 9, 1])
    limits = TileLimits(1 << 20, 0, 4, 1, 2)
    plan = replace(make_plan(lengths, lengths, pairing, limits, UNIT_PAIR_COST), band_rows=1, targets_per_band=4)
    pairs = [(tile.query_start, target) for tile in plan.tiles() for target in tile.targets.tolist()]
    firsts = pairing.first_targets(np.arange(10)).tolist()
    assert sorted(pairs) == [(query, target) for query in range(10) for target in range(firsts[query], 10)]


@given(LENGTHS, st.integers(2, 4), st.integers(1, 4000))
def test_queries_that_belong_together_share_a_band(lengths, together, memory):
    queries = np.repeat(np.array(lengths), together)
    limits = TileLimits(memory, 0, 0, 1, 10**6, query_bytes=20)
    try:
        plan = make_plan(queries, np.array(lengths), Pairing.ALL, limits, group_size=together)
    except RunError:
        assert memory < BANDS_IN_FLIGHT * together * 20
        return
    assert all(tile.band.start % together == 0 and tile.band.stop % together == 0 for tile in plan.tiles())
    assert plan.result_bytes <= memory


@given(LENGTHS, LENGTHS, st.integers(1, 20), st.integers(1, 10**8), st.integers(1, 4), st.integers(1, 9))
def test_tiles_do_not_depend_on_how_many_costs_are_held(queries, targets, lanes, cells, sharing, block):
    def tiles():
        plan = plan_of(queries, targets, Pairing.ALL, lanes=lanes, cells=cells, sharing=sharing)
        return [(tile.query_start, tile.query_stop, tile.targets.tolist(), tile.cells, tile.remaining_cells) for tile in plan.tiles()]

    at_once = tiles()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tile_plan, "BLOCK_TARGETS", block)  # of 131,072: few targets have tiles that a reader can follow
        assert tiles() == at_once
