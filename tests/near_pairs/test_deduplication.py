"""Equal records once: near pairs of groups become those of all records, as brute force has them."""

import mmap
import sys
from pathlib import Path

import numpy as np
import pytest
from command import gpualign_here
from hypothesis import given, settings
from hypothesis import strategies as st
from work import sequence_set

from gpualign.core.alignment.pair_list import NearPairs, join_pairs
from gpualign.core.common.errors import RunError
from gpualign.core.near_pairs import _expansion
from gpualign.core.near_pairs.deduplication import DuplicateExpansion, expansion_bytes, group_equal
from gpualign.core.planning.tile_plan import Pairing

words = st.lists(st.lists(st.integers(0, 1), min_size=1, max_size=3), min_size=1, max_size=14)


def distance(one, other):
    """Any function of two records will do."""
    return 0 if one == other else 1 + (sum(one) + sum(other) + 3 * abs(len(one) - len(other))) % 4


def near_groups(queries, targets, both, shared, most):
    """Near pairs of the first records of groups; where sets are shared, of later ones only."""
    rows, columns = (one.first_records.tolist() for one in both)
    found = [
        (u, v, distance(queries[a], targets[b]))
        for u, a in enumerate(rows)
        for v, b in enumerate(columns)
        if (u < v or not shared) and distance(queries[a], targets[b]) <= most
    ]
    return NearPairs(*(np.array([pair[k] for pair in found], dtype=np.int64) for k in range(3)))


def expand(queries, targets, pairing, most, cuts):
    one_set = pairing is not Pairing.ALL
    first = group_equal(sequence_set(queries))
    second = first if one_set else group_equal(sequence_set(targets))
    found = near_groups(queries, targets, (first, second), one_set, most)
    expansion = DuplicateExpansion(first, second, one_set, pairing is Pairing.ABOVE_OR_EQUAL, max_pairs=5)
    ends = sorted({min(cut, len(first)) for cut in cuts} | {len(first)})
    parts, start = [], 0
    for low, high in zip([0, *ends[:-1]], ends, strict=True):
        stop = int(first.first_records[high]) if high < len(first) else len(queries)
        wanted = found.select((found.queries >= low) & (found.queries < high))
        band = list(expansion.expand_band(start, stop, wanted))
        assert all(((part.queries >= start) & (part.queries < stop)).all() for part in band)
        parts += band
        start = stop
    assert expansion.held_pair_count == 0
    whole = join_pairs(parts)
    return list(zip(whole.queries.tolist(), whole.targets.tolist(), whole.distances.tolist(), strict=True))


@pytest.mark.parametrize("longest", [1, 7, 8, 9, 64, 65])
def test_groups(rng, longest):
    """Records with the same beginning, and equal ones."""
    word = rng.integers(0, 2, longest)
    records = [word[: rng.integers(1, longest + 1)].copy() for _ in range(40)]
    for record in records[::3]:
        record[-1] ^= 1
    records.append(word)
    found = group_equal(sequence_set(records))
    texts = [tuple(record) for record in records]
    assert found.first_records.tolist() == [k for k, text in enumerate(texts) if text not in texts[:k]]
    assert [texts[found.first_records[group]] for group in found.group_of] == texts


@settings(max_examples=200, deadline=None)
@given(words, st.sampled_from([Pairing.ABOVE, Pairing.ABOVE_OR_EQUAL]), st.integers(0, 4), st.lists(st.integers(0, 9), max_size=3))
def test_one_set(records, pairing, most, cuts):
    expected = [
        (i, j, distance(records[i], records[j]))
        for i in range(len(records))
        for j in range(pairing.first_target(i), len(records))
        if distance(records[i], records[j]) <= most
    ]
    assert expand(records, records, pairing, most, cuts) == expected


@settings(max_examples=100, deadline=None)
@given(words, words, st.integers(0, 4), st.lists(st.integers(0, 9), max_size=3))
def test_two_sets(queries, targets, most, cuts):
    expected = [(i, j, distance(q, t)) for i, q in enumerate(queries) for j, t in enumerate(targets) if distance(q, t) <= most]
    assert expand(queries, targets, Pairing.ALL, most, cuts) == expected


def test_pairs_of_many_copies_come_in_parts():
    """However many records are equal, so many pairs are held at a time and those of one query."""
    groups = group_equal(sequence_set([[1]] * 300 + [[0]] + [[1]] * 300))
    bands = list(
        DuplicateExpansion(groups, groups, queries_are_targets=True, with_self=False, max_pairs=1000).expand_band(0, 601, join_pairs([]))
    )
    assert sum(map(len, bands)) == 600 * 599 // 2
    assert max(map(len, bands)) <= 1000
    queries = [np.unique(part.queries) for part in bands]
    assert len(np.unique(np.concatenate(queries))) == sum(map(len, queries))


def test_groups_are_numbered_by_their_first_records():
    groups = group_equal(sequence_set([[1], [0, 1], [1], [0], [0, 1], [1]]))
    assert groups.group_of.tolist() == [0, 1, 0, 2, 1, 0]
    assert groups.first_records.tolist() == [0, 1, 3]
    assert groups.last_records.tolist() == [5, 4, 3]
    assert groups.repeated_count == 3


@settings(max_examples=200, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(0, 40), st.sampled_from([1, 5, 2**20, 2**40]))
def test_pairs_in_order(seed, count, most):
    """Small numbers are packed in one, larger ones are not; lists that are in order stay as they are."""
    rng = np.random.default_rng(seed)
    pairs = NearPairs(*(rng.integers(0, most, count) for _ in range(3)))
    ordered = pairs.sorted()
    expected = sorted(zip(pairs.queries.tolist(), pairs.targets.tolist(), pairs.distances.tolist(), strict=True))
    assert list(zip(ordered.queries.tolist(), ordered.targets.tolist(), ordered.distances.tolist(), strict=True)) == expected
    assert len(set(zip(ordered.queries.tolist(), ordered.targets.tolist(), strict=True))) < count or ordered.sorted() is ordered


def test_threads_share_the_rows(rng):
    """More rows than one thread takes at a time, in any order of the groups' pairs."""
    groups = group_equal(sequence_set(rng.integers(0, 4, (5000, 6)).astype(np.uint8)))
    first, second = rng.integers(0, len(groups), (2, 20_000))
    keys = np.unique(np.minimum(first, second) * len(groups) + np.maximum(first, second))
    keys = rng.permutation(keys[keys // len(groups) != keys % len(groups)])
    pairs = NearPairs(keys // len(groups), keys % len(groups), np.arange(len(keys)))
    found = [
        join_pairs(list(DuplicateExpansion(groups, groups, True, False, 1 << 40, threads).expand_band(0, 5000, pairs)))
        for threads in (1, 4)
    ]
    for column in ("queries", "targets", "distances"):
        np.testing.assert_array_equal(getattr(found[1], column), getattr(found[0], column))
    order = found[1].queries * 5000 + found[1].targets
    assert (np.diff(order) > 0).all()
    assert len(order) > len(keys)


def test_groups_of_equal_records_count_as_memory(tmp_path):
    """3,000 records of four letters take 36 kB, and which of them are equal takes another 24."""
    path = tmp_path / "x.fa"
    path.write_text("".join(f">r{k}\n{'ACGT'[k % 4] * 4}\n" for k in range(3000)))
    arguments = "nw", path, "--device", "cpu", "--threads", "1", "--edit", "--max-distance", "1", "-o", tmp_path / "x.tsv", "--memory"
    with pytest.raises(RunError, match="take 60,144 bytes of 51,200"):
        gpualign_here(*arguments, "50K")
    gpualign_here(*arguments, "70K")
    groups = group_equal(sequence_set([[k % 4] for k in range(3000)]))
    assert expansion_bytes(groups, groups) == 60_144 - 3000 * (4 + 8) - 8
    unique = group_equal(sequence_set([[0], [1]]))
    assert expansion_bytes(unique, unique) == 0
    assert expansion_bytes(unique, groups) > 0


def test_what_does_not_fit_is_refused():
    def array(*numbers):
        return np.array(numbers, dtype=np.int64)

    for members, starts in (
        (array(0, 2, 1, 3), array(0, 2, 3)),
        (array(0, 1), array(0, 2, 2)),
        (array(), array()),
        (array(0), array(1, 1)),
    ):
        with pytest.raises(ValueError, match="do not fit"):
            _expansion.PairExpansion(1, members, starts, 1)
    with pytest.raises(ValueError, match="more groups of queries"):
        _expansion.PairExpansion(2, array(0, 1), array(0, 2), 1)
    sound = _expansion.PairExpansion(2, array(0, 2, 1, 3), array(0, 2, 4), 1)
    for pairs in ((array(2), array(0), array(5)), (array(0), array(-1), array(5)), (array(0, 1), array(1), array(5))):
        with pytest.raises((ValueError, IndexError)):
            sound.add(*pairs, 1)
    for call in (sound.max_pairs, sound.forget, lambda groups, threads: sound.expand(0, groups, threads)):
        with pytest.raises(IndexError):
            call(array(2), 1)
        with pytest.raises(ValueError, match="thread"):
            call(array(0), 0)
    with pytest.raises(ValueError, match="thread"):
        sound.add(array(0), array(1), array(5), 0)
    assert sound.held == 0


@pytest.mark.parametrize("offset", [-1, 0, 1])
def test_pairs_held_by_several_threads(rng, offset):
    """Enough pairs for four threads, of groups of up to three records that stand apart."""
    count = 1000
    sizes = rng.integers(1, 4, count)
    members = np.concatenate([np.sort(part) for part in np.split(rng.permutation(sizes.sum()), np.cumsum(sizes)[:-1])]).astype(np.int64)
    starts = np.concatenate(([0], np.cumsum(sizes)))
    pairs = np.unique(np.sort(rng.integers(0, count, (60_000, 2)), axis=1), axis=0)
    pairs = pairs[pairs[:, 0] < pairs[:, 1]]
    assert len(pairs) > 4 * 8192
    columns = [*np.ascontiguousarray(pairs.T), rng.integers(0, 50, len(pairs))]
    alone, together = (_expansion.PairExpansion(count, members, starts, offset) for _ in range(2))
    alone.add(*columns, 1)
    together.add(*columns, 4)
    assert together.held == alone.held >= len(pairs)
    groups = np.arange(count)
    assert all(np.array_equal(one, other) for one, other in zip(alone.expand(0, groups, 1), together.expand(0, groups, 3), strict=True))
    np.testing.assert_array_equal(alone.max_pairs(groups, 1), together.max_pairs(groups, 3))
    for expansion, threads in ((alone, 1), (together, 4)):
        expansion.forget(np.repeat(groups[groups % 5 > 0], 30), threads)
    assert 0 < together.held == alone.held < len(pairs)
    kept = together.expand(0, groups, 3)
    assert not np.isin(kept[0], np.flatnonzero(groups % 5 > 0)).any()
    assert all(np.array_equal(one, other) for one, other in zip(alone.expand(0, groups, 1), kept, strict=True))
    together.forget(groups, 4)
    assert together.held == 0


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs the resident memory of this process")
def test_long_lists_of_forgotten_groups_take_no_memory():
    """Memory stays flat when one group in each band is near 200,000 others: a group with one neighbour could take over the long list."""
    count, band, hub = 4096, 64, 200_000
    numbers = np.arange(count + hub, dtype=np.int64)
    expansion = _expansion.PairExpansion(count, numbers, np.append(numbers, count + hub), 1)
    targets, distances, resident = numbers[count:], np.zeros(hub, dtype=np.int64), []
    for start in range(0, count, band):
        few = numbers[start : start + band]
        expansion.add(few, few + band, np.zeros_like(few), 1)
        expansion.add(np.full(hub, start + band - 1), targets, distances, 1)
        expansion.forget(few, 1)
        resident.append(int(Path("/proc/self/statm").read_text().split()[1]) * mmap.PAGESIZE)
    assert expansion.held == 0
    assert resident[-1] - resident[4] < 10 * hub * 16
