"""Bytes of a file by which it is known again."""

import zlib
from itertools import accumulate

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from gpualign.core.files.file_pieces import StridedRange
from gpualign.core.output.matrix_files import condensed_locator, matrix_locator


def places(piece):
    return [at for start, length in piece.stretches() for at in range(start, start + length)]


@given(st.integers(1, 12), st.integers(0, 12), st.integers(0, 12), st.booleans())
def test_pieces_of_matrices_have_what_rows_have(rows, first, more, mirrored):
    first, columns = min(first, rows), rows if mirrored else 7
    stop = min(rows, first + more)
    numbers = np.arange(rows * columns).reshape(rows, columns)
    expected = [int(n) for i in range(first, stop) for n in numbers[i, i if mirrored else 0 :]]
    assert places(matrix_locator(0, columns, mirrored)(first, stop)) == expected
    pairs = [(i, j) for i in range(rows) for j in range(i + 1, rows)]
    condensed = condensed_locator(0, rows)(first, stop)
    assert [pairs[at] for at in places(condensed)] == [pair for pair in pairs if first <= pair[0] < stop]
    assert matrix_locator(first, 7, False)(first, stop) == StridedRange(0, (stop - first) * 7)
    assert condensed_locator(first, rows)(first, stop) == StridedRange(0, condensed.length)


STEPPED = st.builds(
    lambda start, last, count, less, gap: StridedRange(start, last + count * less, count + 1, last + count * less + gap, less),
    *[st.integers(0, 20) for _ in range(3)],
    *[st.integers(0, 5) for _ in range(2)],
)


@given(STEPPED, st.integers(1, 4), st.integers(0, 9), st.integers(1, 99))
def test_the_end_of_a_piece_is_its_last_bytes(piece, size, offset, most):
    scaled = piece.scaled_to_bytes(size, offset)
    whole, ending = places(scaled), places(scaled.tail(most))
    assert whole == [offset + size * at + k for at in places(piece) for k in range(size)]
    assert (len(whole), whole[-1:]) == (scaled.size, [scaled.stop - 1][: len(whole[-1:])] if scaled.last_stretch_length else whole[-1:])
    assert ending == whole[len(whole) - len(ending) :]
    lengths = [length for _, length in scaled.stretches()][::-1]
    fitting = max(total for total in accumulate(lengths, initial=0) if total <= most)
    assert len(ending) == (fitting if lengths[0] <= most else most)


def test_the_checksum_is_that_of_the_bytes(tmp_path):
    (tmp_path / "x").write_bytes(data := bytes(range(256)))
    with open(tmp_path / "x", "rb") as file:
        for piece in (
            StridedRange(0, 0),
            StridedRange(3, 9),
            StridedRange(10, 6, 3, 20, 2),
            StridedRange(250, 99),
            StridedRange(300, 5),
            StridedRange(5, 5, 0),
        ):
            expected = b"".join(data[start : start + length] for start, length in piece.stretches())
            assert piece.checksum(file.fileno()) == zlib.crc32(expected)
