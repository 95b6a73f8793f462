"""Whole matrices are put together from bands, by any number of threads."""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gpualign.core.common._placing import copy_rows, mirror_rows, put_columns
from gpualign.core.output.mirroring import MatrixFiller

TYPES = [np.int8, np.int16, np.int32, np.int64, np.float32, np.float64]
SIZES = st.one_of(st.sampled_from([0, 1]), st.integers(2, 20), st.integers(63, 130))


def numbers(rng, shape, dtype):
    return rng.integers(-100, 100, shape).astype(dtype)


def mirrored(matrix):
    """Element by element."""
    found = matrix.copy()
    for i in range(len(matrix)):
        for j in range(i):
            found[i, j] = matrix[j, i]
    return found


def bands(rng, rows, columns, upper, panel):
    """(rows, columns) of rectangles as plans make them: some rows and all that they are compared with, or, with `panel`, parts of a row."""
    start, step = 0, panel or max(1, columns)
    while start < rows:
        stop = start + 1 if panel else min(rows, start + int(rng.integers(1, 80)))
        first = start if upper else 0
        for part in range(first, columns, step):
            yield (start, stop), (part, min(columns, part + step))
        start = stop


class Reserved:
    """An array that may be written up to a row."""

    def __init__(self, values):
        self.values, self.rows = values, 0

    def reserve(self, stop):
        self.rows = max(self.rows, stop)

    def flush(self):
        pass


@given(SIZES, SIZES, st.booleans(), st.sampled_from(TYPES), st.integers(0, 40), st.integers(1, 3), st.integers(0, 2**32))
@example(1100, 1100, True, np.int32, 400, 2, 1)  # more rows than are mirrored together
@example(1030, 1030, True, np.int32, 0, 1, 2)
def test_bands_make_the_matrix(rows, columns, mirror, dtype, panel, threads, seed):
    rng = np.random.default_rng(seed)
    values = numbers(rng, (rows, rows if mirror else columns), dtype)
    out = np.full_like(values, 111)
    array = Reserved(out)
    placement = MatrixFiller(array, mirror, threads)
    for (start, stop), (first, last) in bands(rng, *values.shape, mirror, panel):
        part = values[start:stop, first:last]
        if rng.integers(2):
            part = np.asfortranarray(part)
        placement.copy_values(part, (start, stop), (first, last))
        assert (out[array.rows :] == 111).all()
    placement.finish()
    assert array.rows == rows
    np.testing.assert_array_equal(out, mirrored(values) if mirror else values)


def test_little_is_left_to_mirror_at_the_end(rng):
    """Rows that are there are mirrored before, 256 of them at a time or more."""
    size, band = 2100, 300
    values, out = numbers(rng, (size, size), np.int32), np.zeros((size, size), np.int32)
    placement = MatrixFiller(Reserved(out), True)
    for start in range(0, size - band, band):
        placement.copy_values(values[start : start + band, start:], (start, start + band), (start, size))
    np.testing.assert_array_equal(out[: size - band], mirrored(values)[: size - band])


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("size", [255, 256, 257, 261, 770, 1601])
@pytest.mark.parametrize("threads", [1, 3])
def test_all_squares_are_mirrored(rng, dtype, size, threads):
    """1,601 rows are enough for several threads, whatever the type."""
    out = numbers(rng, (size, size), dtype)
    first, stop = sorted(rng.integers(0, size + 1, 2).tolist())
    expected = out.copy()
    below = np.tril(np.ones_like(out, dtype=bool), -1)
    below[:first] = below[stop:] = False
    expected[below] = out.T[below]
    mirror_rows(out, first, stop, threads)
    np.testing.assert_array_equal(out, expected)


@pytest.mark.parametrize("threads", [1, 2, 16])
def test_rows_are_copied_to_their_place(rng, threads):
    values = numbers(rng, (1500, 700), np.int32)
    out = np.zeros((1600, 901), np.int32)
    copy_rows(out, values, 33, 200, threads)
    expected = np.zeros_like(out)
    expected[33:1533, 200:900] = values
    np.testing.assert_array_equal(out, expected)


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("narrow", [np.uint8, np.int16])
def test_narrow_rows_are_widened(rng, narrow, threads):
    """Sign and all; 1,500 rows are enough for several threads."""
    bounds = np.iinfo(narrow)
    values = rng.integers(bounds.min, bounds.max, (1500, 701), dtype=narrow, endpoint=True)
    values[0, :2] = bounds.min, bounds.max
    out = np.full((1600, 901), 7, np.int32)
    expected = out.copy()
    expected[33:1533, 199:900] = values
    copy_rows(out, values, 33, 199, threads)
    np.testing.assert_array_equal(out, expected)


def test_what_does_not_fit_is_refused():
    out = np.zeros((4, 4), np.int32)
    for row, column in ((3, 0), (0, 2), (9, 0), (0, 9)):
        with pytest.raises(ValueError, match="do not fit"):
            copy_rows(out, np.zeros((2, 3), np.int32), row, column, 1)
    for dtype in (np.float32, np.int64, np.uint16):
        with pytest.raises(ValueError, match="one type"):
            copy_rows(out, np.zeros((2, 3), dtype), 0, 0, 1)
    with pytest.raises(ValueError, match="not square"):
        mirror_rows(np.zeros((4, 5), np.int32), 0, 4, 1)
    for first, stop in ((0, 5), (3, 2)):
        with pytest.raises(ValueError, match="no such rows"):
            mirror_rows(out, first, stop, 1)
    with pytest.raises(ValueError, match="1, 2, 4 or 8 bytes"):
        mirror_rows(np.zeros((4, 4), np.complex128), 0, 4, 1)


def test_places_with_gaps_are_refused():
    """A copy of them would be filled, and nobody would see it."""
    out = np.zeros((4, 8), np.int32)[:, ::2]
    with pytest.raises(TypeError, match="incompatible"):
        copy_rows(out, np.ones((2, 3), np.int32), 0, 0, 1)
    with pytest.raises(TypeError, match="incompatible"):
        mirror_rows(out, 0, 4, 1)
    band = np.zeros((2, 6, 8), np.uint8)[:, ::2]
    with pytest.raises(TypeError, match="incompatible"):
        put_columns(band, 0, np.array([0], np.int64), np.ones((2, 1, 8), np.uint8), 1)
