import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from work import edit, sequence_set

from gpualign.core.alignment.task import Task
from gpualign.core.execution.remote.serialization import TileUnpacker, pack_tile
from gpualign.core.planning.target_order import RecordRange, order_by_length, ordered_targets, records_between
from gpualign.core.planning.tile_plan import Band, Pairing, Tile, TileLimits, make_plan

BANDS = st.tuples(st.integers(0, 40), st.integers(0, 40), st.integers(0, 40)).map(sorted)


@given(st.lists(st.integers(1, 9), min_size=40, max_size=40), BANDS, st.integers(1, 12))
def test_neighbours_on_the_diagonal_share_groups(lengths, band, group):
    lengths, (first, diagonal_stop, stop) = np.array(lengths), band
    order = order_by_length(lengths)
    targets = ordered_targets(order, first, stop, diagonal_stop, group)[:]
    assert sorted(targets) == list(range(first, stop))
    groups = np.split(targets, range(group, len(targets), group))
    whole = [g for g in groups if len(g) == group]
    together = [list(range(k, k + group)) for k in range(first, diagonal_stop - group + 1, group)]
    assert [sorted(g) for g in whole if g.min() < first + len(together) * group] == sorted(together, key=lambda g: lengths[g].max())
    assert all((np.diff(lengths[g]) >= 0).all() for g in groups)
    assert (np.diff([lengths[g[-1]] for g in whole]) >= 0).all()
    others = np.array([t for g in groups for t in g if t >= first + len(together) * group], dtype=int)
    assert (np.diff(lengths[others]) >= 0).all()


@given(st.lists(st.integers(1, 9), min_size=40, max_size=40), BANDS)
def test_without_groups_all_are_in_order_of_length(lengths, band):
    first, diagonal_stop, stop = band
    order = order_by_length(np.array(lengths))
    expected = sorted(range(first, stop), key=lambda record: (lengths[record], record))
    assert ordered_targets(order, first, stop, diagonal_stop, 0)[:].tolist() == expected
    assert records_between(order, first, stop)[:].tolist() == expected


@given(st.lists(st.integers(1, 9), max_size=12))
def test_sorted_records_keep_their_numbers(lengths):
    for some in (lengths, sorted(lengths), sorted(lengths, reverse=True)):
        expected = sorted(range(len(some)), key=lambda record: (some[record], record))
        assert order_by_length(np.array(some, dtype=np.int64))[:].tolist() == expected


@given(st.integers(0, 20), st.integers(0, 20), st.slices(25))
def test_slices_of_a_range_are_those_of_its_numbers(start, count, part):
    numbers = RecordRange(start, start + count)
    assert len(numbers) == count
    assert numbers[part].tolist() == np.arange(start, start + count)[part].tolist()
    assert numbers[part].dtype == np.int64


def test_lengths_beyond_16_bits_are_ordered_too():
    assert order_by_length(np.array([70_000, 3, 65_536, 65_535]))[:].tolist() == [1, 3, 2, 0]


@given(BANDS, st.integers(0, 12))
def test_of_one_length_they_stay_in_order(band, group):
    """Results of a band need no other order then."""
    first, diagonal_stop, stop = band
    assert ordered_targets(order_by_length(np.full(40, 7)), first, stop, diagonal_stop, group)[:].tolist() == list(range(first, stop))


def test_tiles_that_travel_keep_their_order(rng):
    sequences = sequence_set([[0] * length for length in rng.integers(1, 30, 50)])
    task = Task(sequences, sequences, edit(4))
    for cells in (3000, 1 << 30):
        limits = TileLimits(1 << 20, 0, 4, 3, cells, min_diagonal_bands=1, diagonal_group_size=4)
        tiles = list(make_plan(sequences.lengths, sequences.lengths, Pairing.ABOVE, limits).tiles())
        assert any((np.diff(sequences.lengths[tile.targets]) < 0).any() for tile in tiles), "all tiles are in order of length"
        maker = TileUnpacker(task)
        for tile in tiles:
            arrived = maker.unpack(pack_tile(tile))
            np.testing.assert_array_equal(arrived.targets, tile.targets)
            assert (arrived.query_start, arrived.query_stop, arrived.pairing) == (tile.query_start, tile.query_stop, tile.pairing)


def test_tiles_in_an_order_of_their_own_travel_as_they_are(rng):
    """Whoever makes tiles of other tiles keeps their order, in bands of his own."""
    sequences = sequence_set([[0] * length for length in rng.permutation(40) + 1])
    band = Band(0, 5, 0, 40, 0, 1)
    tile = Tile.from_targets(rng.permutation(40), 0, band, (0, 5), Pairing.ALL, 1)
    arrived = TileUnpacker(Task(sequences, sequences, edit(4))).unpack(pack_tile(tile))
    np.testing.assert_array_equal(arrived.targets, tile.targets)
