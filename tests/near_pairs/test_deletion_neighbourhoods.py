"""Near pairs of short strings by deletion neighbourhoods: against every pair's edit distance."""

from functools import cache
from itertools import combinations

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gpualign.cpu.alignment._kernels import Cancel
from gpualign.cpu.near_pairs._neighbours import MAX_DELETIONS, Neighbourhoods, max_neighbours

MANY = 1 << 40


def packed(strings):
    """codes and offsets of strings of small integers."""
    offsets = np.cumsum([0, *map(len, strings)], dtype=np.int64)
    return np.array([code for string in strings for code in string], np.uint8), offsets


@cache
def edit_distance(a, b):
    """The recurrence, a row at a time."""
    row = list(range(len(b) + 1))
    for i, letter in enumerate(a, 1):
        before, row[0] = row[0], i
        for j, other in enumerate(b, 1):
            before, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, before + (letter != other))
    return row[-1]


def found(index, ids, firsts, most=MANY, threads=None):
    result = index.candidates(np.array(ids, np.int64), np.array(firsts, np.int64), most, Cancel(), threads)
    assert not result.overflow
    return list(zip(result.queries.tolist(), result.targets.tolist(), result.distances.tolist(), strict=True))


def expected(queries, targets, ids, firsts, k):
    pairs = []
    for i, first in zip(ids, firsts, strict=True):
        for j in range(max(first, 0), len(targets)):
            if abs(len(queries[i]) - len(targets[j])) <= k and (distance := edit_distance(queries[i], targets[j])) <= k:
                pairs.append((i, j, distance))
    return pairs


def near_strings(rng, count, letters, longest):
    """Strings, half of them a few edits from another: with runs, repeats and equal ones."""
    strings = []
    while len(strings) < count:
        string = list(rng.integers(0, letters, rng.integers(1, longest + 1)))
        strings.append(bytes(string))
        for _ in range(rng.integers(0, 5)):
            place = int(rng.integers(0, len(string) + 1))
            string[place : place + int(rng.integers(0, 2))] = list(rng.integers(0, letters, rng.integers(0, 2)))
            if string:
                strings.append(bytes(string))
    return strings[:count]


strings = st.sampled_from([1, 2, 4, 20]).flatmap(
    lambda letters: st.lists(st.lists(st.integers(0, letters - 1), max_size=12).map(bytes), max_size=12)
)


@given(strings, strings, st.integers(0, MAX_DELETIONS), st.integers(1, 3))
@example([], [], 2, 1)
@example([b"\0\1\0\1\0\1", b"\1\0\1\0\1\0", b"", b"\0"], [b"\0\0\1\1"], 2, 2)
def test_small_sets(queries, targets, k, threads):
    ids = list(range(len(queries)))
    own = Neighbourhoods(*packed(queries), k, threads)
    for firsts in (ids, [i + 1 for i in ids], [0] * len(ids), [i - 2 for i in ids]):
        assert found(own, ids, firsts) == expected(queries, queries, ids, firsts, k)
    both = Neighbourhoods(*packed(queries), k, threads, None, *packed(targets))
    for firsts in ([0] * len(ids), [i // 2 for i in ids]):
        assert found(both, ids, firsts) == expected(queries, targets, ids, firsts, k)


@pytest.mark.parametrize("k", range(MAX_DELETIONS + 1))
@pytest.mark.parametrize(("letters", "count"), [(1, 60), (2, 150), (4, 150), (20, 200)])
def test_near_strings(rng, letters, count, k):
    strings = near_strings(rng, count, letters, 40 if k < 3 else 20)
    index = Neighbourhoods(*packed(strings), k, 2)
    ids = rng.permutation(count)[: count // 2].tolist()
    firsts = [i + 1 for i in ids]
    assert found(index, ids, firsts) == expected(strings, strings, ids, firsts, k)


@pytest.mark.parametrize(("longest", "k"), [(700, 1), (120, 2)])
def test_long_strings(rng, longest, k):
    strings = near_strings(rng, 60, 4, longest)
    ids = list(range(len(strings)))
    pairs = found(Neighbourhoods(*packed(strings), k, 2), ids, [i + 1 for i in ids])
    assert pairs == expected(strings, strings, ids, [i + 1 for i in ids], k)
    assert len(pairs) > 20


def test_edits_at_any_places(rng):
    """Pairs of exactly k edits of one string are found, wherever the edits lie, also beside one another."""
    string = bytes(rng.integers(0, 3, 9).tolist())
    others = [string]
    for a, b in combinations(range(len(string)), 2):
        others.append(string[:a] + b"\7" + string[a + 1 : b] + b"\7" + string[b + 1 :])
        others.append(string[:a] + string[a + 1 : b] + b"\7" + string[b:])
        others.append(string[:a] + b"\7" + string[a : b + 1] + b"\7" + string[b + 1 :])
        others.append(string[:a] + string[a + 1 : b] + string[b + 1 :])
    pairs = found(Neighbourhoods(*packed(others), 2, 1), [0], [1])
    assert pairs == expected(others, others, [0], [1], 2)
    assert len(pairs) == len(others) - 1


def test_threads_give_the_same(rng):
    strings = near_strings(rng, 3000, 4, 16)
    ids = np.arange(len(strings))
    first = None
    for threads in (1, 2, 7):
        index = Neighbourhoods(*packed(strings), 2, threads)
        for workers in (None, 3):
            pairs = found(index, ids, ids + 1, threads=workers)
            first = first or pairs
            assert pairs == first
    assert len(first) > 1000


def test_more_than_wanted(rng):
    strings = near_strings(rng, 300, 2, 10)
    index, ids = Neighbourhoods(*packed(strings), 2, 2), np.arange(300)
    count = len(found(index, ids, ids + 1))
    assert count > 0
    assert len(found(index, ids, ids + 1, most=count)) == count
    for most in (count - 1, 0):
        result = index.candidates(ids, ids + 1, most, Cancel())
        assert result.overflow
        assert len(result.queries) == len(result.targets) == len(result.distances) == 0


def test_cancelled(rng):
    strings, cancel = near_strings(rng, 300, 4, 10), Cancel()
    ids = np.arange(300)
    whole = Neighbourhoods(*packed(strings), 2, 2, cancel)
    assert whole.candidates(ids, ids, MANY, cancel) is not None
    cancel.request()
    assert whole.candidates(ids, ids, MANY, cancel) is None
    assert Neighbourhoods(*packed(strings), 2, 2, cancel).candidates(ids, ids, MANY, Cancel()) is None


def test_numbers_of_deletion_neighbours():
    assert max_neighbours(np.array([15]), 2) == 1 + 15 + 105
    assert max_neighbours(np.array([15, 1, 0]), 3) == 1 + 15 + 105 + 455 + 2 + 1
    with pytest.raises(ValueError, match="2\\^62"):
        max_neighbours(np.array([1 << 40]), 3)


def test_memory(rng):
    strings = near_strings(rng, 2000, 20, 16)
    codes, offsets = packed(strings)
    index = Neighbourhoods(codes, offsets, 2, 1)
    assert codes.nbytes + offsets.nbytes < index.nbytes < codes.nbytes + 2 * offsets.nbytes + 8 * max_neighbours(np.diff(offsets), 2)


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"k": -1}, ValueError),
        ({"k": MAX_DELETIONS + 1}, ValueError),
        ({"threads": 0}, ValueError),
        ({"offsets": np.array([0, 9])}, ValueError),
        ({"offsets": np.array([0, 3, 2])}, ValueError),
        ({"target_codes": np.zeros(3, np.uint8)}, ValueError),
    ],
)
def test_refused_sets(change, error):
    call = {"codes": np.zeros(3, np.uint8), "offsets": np.array([0, 1, 3]), "k": 1, "threads": 1} | change
    with pytest.raises(error):
        Neighbourhoods(**call)


def test_refused_queries():
    index = Neighbourhoods(np.zeros(3, np.uint8), np.array([0, 1, 3]), 1, 1)
    for ids in ([2], [-1]):
        with pytest.raises(IndexError):
            index.candidates(np.array(ids), np.array([0]), MANY, Cancel())
    with pytest.raises(ValueError, match="firsts"):
        index.candidates(np.array([0, 1]), np.array([0]), MANY, Cancel())
