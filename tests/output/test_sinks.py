"""Sinks take results in any order, with memory for a few bands, and write the same bytes."""

import io
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from work import sequence_set, two_valued

from gpualign.core.alignment.task import Task
from gpualign.core.alignment.tile_results import STATISTICS, TileScores
from gpualign.core.common._placing import put_columns
from gpualign.core.common.scatter import as_slice, put
from gpualign.core.execution.band_collectors import PairCollector, bands_in_order
from gpualign.core.execution.totals import NullProgress
from gpualign.core.output.formats.tsv import Tsv
from gpualign.core.output.matrix import MatrixSink
from gpualign.core.output.matrix_files import NpyArray
from gpualign.core.output.matrix_value import ValueMatrix
from gpualign.core.output.memory import MemoryArray
from gpualign.core.output.table import TableSink
from gpualign.core.planning.tile_plan import MIN_BAND_TARGETS, Pairing, TileLimits, make_plan
from gpualign.core.results._rows import Column, format_block
from gpualign.core.results.columns import FIELDS, parse_fields
from gpualign.core.results.filter import Filter
from gpualign.jobs.output.result_writing import write_results


def results(plan, order):
    """Made-up results: score = 1000 * query + target, -1 where the pair is not wanted."""
    tiles = list(plan.tiles())
    for index in order.permutation(len(tiles)):
        tile = tiles[index]
        rows = np.arange(tile.query_start, tile.query_stop)[:, None]
        wanted = tile.targets[None, :] >= np.array([plan.pairing.first_target(int(q)) for q in rows[:, 0]])[:, None]
        yield TileScores(tile, np.where(wanted, 1000 * rows + tile.targets[None, :], -1).astype(np.int32))


def fill(sink, task, plan, order):
    write_results(sink, plan, bands_in_order(plan, results(plan, order), partial(PairCollector, task, 2), NullProgress()))


@given(st.integers(1, 40), st.integers(1, 40), st.sampled_from(Pairing), st.integers(0, 2**32), st.integers(1, 20), st.integers(1, 3000))
def test_any_order(queries, targets, pairing, seed, lanes, cells):
    rng = np.random.default_rng(seed)
    if pairing is not Pairing.ALL:
        targets = queries
    a = sequence_set([np.zeros(n, dtype=int) for n in rng.integers(1, 9, queries)])
    b = a if pairing is not Pairing.ALL else sequence_set([np.zeros(n, dtype=int) for n in rng.integers(1, 9, targets)])
    task = Task(a, b, two_valued(4, 5, -4, 10, 1))
    memory = int(rng.integers(12 * min(targets, MIN_BAND_TARGETS), 200 * targets + 1))  # bands of parts of a row, too
    plan = make_plan(a.lengths, b.lengths, pairing, TileLimits(memory, 0, 4, lanes, cells))

    stream = io.BytesIO()
    table = TableSink(stream, task, Tsv(parse_fields("query,target,score,tlen")))
    fill(table, task, plan, rng)
    expected = "query\ttarget\tscore\ttlen\n" + "".join(
        f"s{i}\ts{j}\t{1000 * i + j}\t{b.lengths[j]}\n" for i in range(queries) for j in range(pairing.first_target(i), targets)
    )
    assert stream.getvalue().decode() == expected


@pytest.mark.parametrize("pairing", Pairing)
def test_a_tile_that_is_the_whole_band_is_not_copied(rng, pairing):
    equal = sequence_set([np.zeros(5, dtype=int) for _ in range(30)])
    lengths = rng.permutation(np.arange(1, 31))
    other = sequence_set([np.zeros(n, dtype=int) for n in lengths])
    for records, in_order in ((equal, True), (other, False)):
        task = Task(records, records, two_valued(4, 5, -4, 10, 1))
        plan = make_plan(records.lengths, records.lengths, pairing, TileLimits(1 << 20, 0, 4, 1, 1 << 30))
        for result in results(plan, rng):
            assert result.tile.band.tile_count == 1
            collector = PairCollector(task, 1, result.tile.band)
            collector.add(result)
            found = collector.finish().scores
            assert np.shares_memory(found, result.scores) == in_order
            first = result.tile.band.first_target
            np.testing.assert_array_equal(found[:, result.tile.targets - first], result.scores)


@pytest.mark.parametrize("dtype", [np.int32, np.int64, STATISTICS, np.int16], ids=str)
def test_columns_in_any_order(rng, dtype):
    band = rng.integers(0, 256, (7, 11, np.dtype(dtype).itemsize), dtype=np.uint8).view(dtype)[..., 0]
    expected = band.copy()
    for first_row, rows, columns in ((0, 7, 11), (2, 3, 5), (6, 1, 1), (4, 0, 3), (7, 0, 3), (1, 2, 0)):
        places = rng.permutation(11)[:columns].astype(np.int64)
        values = rng.integers(0, 256, (rows, columns, np.dtype(dtype).itemsize), dtype=np.uint8).view(dtype)[..., 0]
        put(band, slice(first_row, first_row + rows), places, values)
        for r in range(rows):
            for c, place in enumerate(places.tolist()):
                expected[first_row + r, place] = values[r, c]
        assert band.tobytes() == expected.tobytes()
    elements = band.view(np.uint8).reshape(7, 11, -1)
    for first_row, rows, places in ((5, 3, [0]), (8, 0, [0]), (0, 1, [11]), (0, 1, [-1])):
        with pytest.raises(IndexError, match="no such"):
            put_columns(elements, first_row, np.array(places, dtype=np.int64), np.zeros((rows, 1, elements.shape[2]), dtype=np.uint8), 1)
    with pytest.raises(ValueError, match="do not fit"):
        put_columns(elements, 0, np.zeros(2, dtype=np.int64), np.zeros((1, 1, elements.shape[2]), dtype=np.uint8), 1)
    assert band.tobytes() == expected.tobytes()


@given(st.data())
def test_rows_and_columns_in_any_order_or_in_ranges(data):
    """Beside NumPy, which sets elements one at a time."""
    dtype = np.dtype(data.draw(st.sampled_from([np.int32, np.int64, np.bool_, STATISTICS])))
    shape = data.draw(st.tuples(st.integers(0, 6), st.integers(0, 6)))

    def lines(count):
        if data.draw(st.booleans()):
            start, stop = sorted(data.draw(st.tuples(st.integers(0, count), st.integers(0, count))))
            return slice(start, stop)
        return np.array(data.draw(st.permutations(range(count)))[: data.draw(st.integers(0, count))], dtype=np.int64)

    rows, columns = map(lines, shape)
    numbers = [np.arange(count)[one] for count, one in zip(shape, (rows, columns), strict=True)]
    values = np.arange(1, 1 + len(numbers[0]) * len(numbers[1])).reshape(len(numbers[0]), -1) if len(numbers[0]) else np.zeros((0, 0))
    values = values.reshape(len(numbers[0]), len(numbers[1]))
    whole, expected = np.zeros(shape, dtype=dtype), np.zeros(shape, dtype=dtype)
    put(whole, rows, columns, values.astype(dtype))
    for r, row in enumerate(numbers[0].tolist()):
        for c, column in enumerate(numbers[1].tolist()):
            expected[row, column] = values.astype(dtype)[r, c]
    assert whole.tobytes() == expected.tobytes()


def test_consecutive_numbers_are_a_range():
    assert as_slice(np.array([3, 4, 5])) == slice(3, 6)
    for other in ([3, 5], [4, 3], []):
        assert as_slice(np.array(other, dtype=np.int64)).tolist() == other


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_many_columns_in_any_order_by_threads(rng, threads):
    values = rng.integers(0, 1 << 30, (70, 30_000), dtype=np.int32)  # some parts
    band, places = np.zeros((75, 30_001), np.int32), rng.permutation(30_001)[1:].astype(np.int64)
    put(band, slice(3, 73), places, values, threads)
    np.testing.assert_array_equal(band[3:73, places], values)
    assert not band[:3].any()
    assert not band[73:].any()
    assert not band[:, np.setdiff1d(np.arange(30_001), places)].any()


@pytest.mark.parametrize("pairing", [Pairing.ALL, Pairing.ABOVE_OR_EQUAL])
def test_matrix_is_mirrored(tmp_path, rng, pairing):
    a = sequence_set([np.zeros(n, dtype=int) for n in rng.integers(1, 9, 33)])
    task = Task(a, a, two_valued(4, 5, -4, 10, 1))
    plan = make_plan(a.lengths, a.lengths, pairing, TileLimits(4000, 0, 4, 5, 300))
    assert plan.band_count > 3
    with open(tmp_path / "m.npy", "w+b") as file:
        fill(MatrixSink(ValueMatrix(task), [partial(NpyArray, file)]), task, plan, rng)
    i, j = np.indices((33, 33))
    expected = 1000 * i + j if pairing is Pairing.ALL else 1000 * np.minimum(i, j) + np.maximum(i, j)
    np.testing.assert_array_equal(np.load(tmp_path / "m.npy"), expected)


def test_a_lost_tile_is_noticed(rng):
    a = sequence_set([[0]] * 9)
    task = Task(a, a, two_valued(4, 5, -4, 10, 1))
    plan = make_plan(a.lengths, a.lengths, Pairing.ALL, TileLimits(400, 0, 4, 2, 1))
    some = (result for number, result in enumerate(results(plan, rng)) if number)
    with pytest.raises(RuntimeError, match="results are missing"):
        list(bands_in_order(plan, some, partial(PairCollector, task, 2), NullProgress()))


def test_an_error_in_the_sink_closes_the_source(rng):
    a = sequence_set([[0]] * 9)
    task = Task(a, a, two_valued(4, 5, -4, 10, 1))
    plan = make_plan(a.lengths, a.lengths, Pairing.ALL, TileLimits(400, 0, 4, 2, 1))
    closed = []

    def source():
        try:
            yield from results(plan, rng)
        finally:
            closed.append(True)

    class Full:
        def begin(self, plan):
            pass

        def write(self, band):
            raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        write_results(Full(), plan, bands_in_order(plan, source(), partial(PairCollector, task, 2), NullProgress()))
    assert closed


def test_a_matrix_needs_the_diagonal():
    a = sequence_set([[0]] * 3)
    plan = make_plan(a.lengths, a.lengths, Pairing.ABOVE, TileLimits(400, 0, 4, 2, 1))
    with pytest.raises(ValueError, match="diagonal"):
        MatrixSink(ValueMatrix(Task(a, a, two_valued(4, 5, -4, 10, 1))), [MemoryArray]).begin(plan)


def test_every_field_has_a_meaning():
    for name, field in FIELDS.items():
        assert field.name == name
        assert field.meaning


def test_thresholds_keep_pairs_between_them():
    a = sequence_set([[0], [0], [0]])
    plan = make_plan(a.lengths, a.lengths, Pairing.ALL, TileLimits(400, 0, 4, 4, 100))
    stream = io.BytesIO()
    task = Task(a, a, two_valued(4, 5, -4, 10, 1))
    fill(TableSink(stream, task, Tsv(parse_fields("score")), Filter(1, 1001)), task, plan, np.random.default_rng(0))
    assert stream.getvalue().split() == [b"score", b"1", b"2", b"1000", b"1001"]


@pytest.mark.parametrize(
    "value", [0, 1, -1, 2**31 - 1, -(2**31), 2**63 - 1, -(2**63)], ids=["0", "1", "-1", "max32", "min32", "max64", "min64"]
)
def test_extreme_numbers(value):
    column = Column.pair_numbers(np.array([[value]], dtype=np.int64))
    assert format_block([column, column], 0, 1, 1, [0], None) == [f"{value}\t{value}\n".encode()]


def test_numbers_of_any_length(rng):
    near = [sign * 10**power + step for power in range(19) for step in (-2, -1, 0, 1) for sign in (-1, 1)]
    values = np.array([[*near, *(rng.integers(-(10**12), 10**12, 500) >> rng.integers(0, 40, 500)).tolist()]])
    text = b"".join(format_block([Column.pair_numbers(values)], 0, 1, values.size, [0], None))
    assert text.split() == [b"%d" % value for value in values[0].tolist()]


def cells(column, count):
    return b"".join(format_block([column], 0, 1, count, [0], None)).decode().split()


def as_python_writes(value, decimals):
    text = f"{value:.{decimals}f}"
    return text if float(text) else text.lstrip("-")


@pytest.mark.parametrize("decimals", [0, 1, 2, 3, 4, 6, 9])
def test_fractions_are_rounded_as_python_rounds_them(rng, decimals):
    """Also ties, numbers beside them, and numbers with more digits than a float64 holds after the point."""
    unit = 10**decimals
    halves = np.arange(-99, 100, 2) / 2 / unit
    ties = rng.integers(-(2**32), 2**32, 500) / 2.0 ** rng.integers(1, decimals + 2, 500)
    large = rng.uniform(2**51, 2**62, 500) / unit
    values = np.concatenate([[0.0, -0.0, 1.0, 0.5 - 2**-54, 2.0**53 / unit], halves, ties, large, rng.normal(0, 1, 500)])
    values = np.concatenate([values, np.nextafter(values, np.inf), np.nextafter(values, -np.inf)])
    found = cells(Column.pair_fixed(values[None], decimals), values.size)
    assert found == [as_python_writes(value, decimals) for value in values.tolist()]


@pytest.mark.parametrize(("factor", "decimals"), [(1, 6), (100, 3)], ids=["fraction", "percent"])
def test_ratios_are_rounded_as_python_rounds_them(rng, factor, decimals):
    """Of every denominator up to 100,000; of those that ties need, every numerator."""
    den = np.arange(1, 10**5 + 1)
    num = rng.integers(0, den + 1)
    tied = [(k, d) for power in range(1, 8) for d in (2**power, 5 * 2**power, 25 * 2**power, 125 * 2**power) for k in range(d + 1)]
    num, den = np.concatenate([np.stack([num, den], 1), tied]).T
    found = cells(Column.pair_ratio(num[None].copy(), den[None].copy(), factor=factor, decimals=decimals), num.size)
    assert found == [f"{factor * k / d:.{decimals}f}" for k, d in zip(num.tolist(), den.tolist(), strict=True)]


def test_ratios_at_ties():
    num, den = np.array([[125, 1, 3, 0]]), np.array([[128, 128, 128, 0]])
    assert cells(Column.pair_ratio(num, den, factor=1, decimals=6), 4) == ["0.976562", "0.007812", "0.023438", "0.000000"]


@pytest.mark.parametrize("threads", [1, 3, 40])
@pytest.mark.parametrize("filtered", [False, True])
def test_text_in_pieces(rng, threads, filtered):
    """Of rows that begin anywhere, behind the last target as well."""
    rows, targets = 60, 7000
    values, firsts = rng.integers(-(10**9), 10**9, (rows, targets)), rng.integers(0, targets + 1, rows)
    firsts[[0, 7, 8, rows - 1]] = targets, 0, targets, targets + 5
    wanted = np.arange(targets) >= firsts[:, None]
    mask = rng.random((rows, targets)) < 0.5 if filtered else None
    columns = [Column.query_numbers(np.arange(rows)), Column.pair_numbers(values)]
    pieces = format_block(columns, 0, rows, targets, firsts.tolist(), mask, threads)
    kept = np.argwhere(wanted if mask is None else wanted & mask).tolist()
    assert b"".join(pieces).decode() == "".join(f"{r}\t{values[r, t]}\n" for r, t in kept)
    assert len(pieces) > 2
    assert max(map(len, pieces)) < 1 << 21


def test_a_block_without_pairs_is_no_text():
    column = Column.pair_numbers(np.zeros((2, 3), dtype=np.int32))
    assert format_block([column], 0, 2, 3, [3, 4], None, 2) == []


@pytest.mark.parametrize("change", ["rows", "shape", "keep"])
def test_the_formatter_checks_shapes(change):
    column = Column.pair_numbers(np.zeros((2, 3), dtype=np.int32))
    mask = np.ones((2, 2), dtype=bool) if change == "keep" else None
    with pytest.raises(ValueError, match=r"block|row"):
        format_block([column], 0, 2, 4 if change == "shape" else 3, [0] * (1 if change == "rows" else 2), mask)
