"""Paths put together from parts."""

import numpy as np
import pytest

from gpualign.core.alignment.path_builder import PathBuilder
from gpualign.core.alignment.tile_results import Runs


def some_runs(rng, pairs, most):
    sizes = rng.integers(0, most, pairs).astype(np.int32)
    starts = np.cumsum(sizes, dtype=np.int64) - sizes
    return Runs([rng.integers(0, 256, int(sizes.sum())).astype(np.uint8)], starts, sizes)


def paths(runs):
    return [runs.data[start : start + size].tobytes() for start, size in zip(runs.starts, runs.sizes, strict=True)]


@pytest.mark.parametrize("most", [20, 500_000], ids=["few bytes", "megabytes"])
def test_parts_in_any_order(rng, most):
    places = np.array_split(rng.permutation(60), 9)
    builder, expected = PathBuilder((60,)), [b""] * 60
    for place in places:
        part = some_runs(rng, len(place), most)
        builder.add(place, part)
        for at, path in zip(place, paths(part), strict=True):
            expected[at] = path
    built = builder.build()
    assert paths(built) == expected
    assert paths(built.select([5, 5, 0])) == [expected[5], expected[5], expected[0]]
    assert (len(built.pieces) == 1) == (most == 20)


def test_large_pieces_are_not_copied(rng):
    builder = PathBuilder((5, 12))
    parts = [some_runs(rng, 12, most) for most in (3, 3, 600_000, 600_000, 3)]
    for row, part in enumerate(parts):
        builder.put(slice(row, row + 1), np.arange(12), Runs(part.pieces, part.starts[None], part.sizes[None]), 1)
    pieces = builder.build().pieces
    assert [piece is parts[2].pieces[0] or piece is parts[3].pieces[0] for piece in pieces] == [False, True, True, False]


def test_no_parts():
    assert PathBuilder((0,)).build().data.size == 0
