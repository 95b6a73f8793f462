"""Lists of pairs in memory and in a temporary file: the same pairs and clusters, also where every part has few pairs."""

import io
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpualign.core.clustering import edges, stored_edges
from gpualign.core.clustering.clusters import clustering_from_centroids, clustering_from_labels
from gpualign.core.clustering.condensed import condensed_matrices
from gpualign.core.clustering.edge_builder import EdgeListBuilder, EdgeStorage, collect_edges, distinct_edges
from gpualign.core.clustering.edges import Edges
from gpualign.core.clustering.greedy import greedy_centroids
from gpualign.core.clustering.linkage import average_linkage, complete_linkage, single_linkage
from gpualign.core.clustering.stored_edges import StoredEdges
from gpualign.core.common.errors import RunError

pytest.importorskip("scipy")

IN_FILE = EdgeStorage(0, io.BytesIO)


@pytest.fixture(scope="module", autouse=True)
def short_chunks():
    """Chunks and parts of five pairs."""
    with pytest.MonkeyPatch.context() as patch:
        for module in (edges, stored_edges):
            patch.setattr(module, "CHUNK_PAIRS", 5)
        yield


@st.composite
def graphs(draw):
    """A number of records, and pairs of these with small whole distances, in any order, none twice."""
    count = draw(st.integers(1, 14))
    every = [(i, j) for j in range(count) for i in range(j)]
    chosen = draw(st.lists(st.sampled_from(every), unique=True)) if every else []
    i, j = np.array(chosen, dtype=np.int64).reshape(-1, 2).T
    distance = np.array(draw(st.lists(st.integers(0, 4), min_size=len(i), max_size=len(i))), dtype=float)
    return Edges(count, i, j, distance)


def stored(pairs, step=3):
    """The same pairs in a file, written a few at a time."""
    builder = EdgeListBuilder(IN_FILE)
    for start in range(0, len(pairs), step):
        some = slice(start, start + step)
        builder.add(pairs.i[some], pairs.j[some], pairs.distance[some])
        assert len(builder) == min(start + step, len(pairs))
    found = builder.finish(pairs.record_count)
    assert isinstance(found, StoredEdges) == (len(pairs) > 0)
    return found


def rows(chunks):
    return [row for chunk in chunks for row in zip(*(column.tolist() for column in chunk), strict=True)]


def condensed_by_loop(pairs, members):
    known = {(i, j): distance for i, j, distance in rows(pairs.chunks())}
    return [known.get((i, j), np.nan) for k, i in enumerate(members) for j in members[k + 1 :]]


@given(graphs(), st.integers(1, 9))
def test_a_file_has_the_pairs_in_their_order(pairs, step):
    found = stored(pairs, step)
    assert len(found) == len(pairs)
    assert found.nbytes == (0 if len(pairs) else found.nbytes)
    assert rows(found.chunks()) == rows(pairs.chunks())
    first, second = found.chunks(), found.chunks()  # of one file
    assert [rows([one]) for one in first for _ in [next(second)]] == [rows([one]) for one in pairs.chunks()]


@given(graphs())
def test_parts_have_the_pairs_by_ascending_keys(pairs):
    """Keys are the later records; those of the first record are left out."""

    def key(i, j):
        return np.where(i == 0, -1, j.astype(np.int64))

    keys = key(pairs.i, pairs.j)
    counts = np.bincount(keys[keys >= 0], minlength=pairs.record_count)
    for one in (pairs, stored(pairs)):
        found, bounds = [], []
        for start, stop, chunks in one.parts(key, counts):
            part = rows(chunks)
            assert part == [row for row in rows(pairs.chunks()) if row[0] > 0 and start <= row[1] < stop]
            assert part
            assert len(part) <= 5 or len({row[1] for row in part}) == 1
            bounds.append((start, stop))
            found += part
        assert all(before[1] <= after[0] for before, after in pairwise(bounds))
        assert sorted(found) == sorted(row for row in rows(pairs.chunks()) if row[0] > 0)


@given(graphs(), st.lists(st.integers(0, 3), min_size=14, max_size=14))
def test_condensed_matrices_of_groups(pairs, group_of):
    groups = [np.array([k for k in range(pairs.record_count) if group_of[k] == group], dtype=np.int64) for group in range(3)]
    for one in (pairs, stored(pairs)):
        for members, found in zip(groups, condensed_matrices(one, groups), strict=True):
            np.testing.assert_array_equal(found, condensed_by_loop(pairs, members.tolist()))


def clusterings(pairs, order, copies):
    """Clusters by every method; far pairs are at distance 9."""

    def distances(groups):
        return (np.nan_to_num(condensed, nan=9) for condensed in condensed_matrices(pairs, groups))

    yield clustering_from_labels(single_linkage(pairs), pairs, copies)
    yield clustering_from_labels(complete_linkage(pairs), pairs, copies)
    yield clustering_from_labels(average_linkage(pairs, 4, distances), pairs, copies)
    yield clustering_from_centroids(greedy_centroids(pairs, order), pairs)


@given(graphs(), st.randoms(use_true_random=False))
def test_clusters_are_the_same_wherever_the_pairs_are(pairs, shuffler):
    order = np.array(shuffler.sample(range(pairs.record_count), pairs.record_count))
    copies = np.array([shuffler.randint(1, 3) for _ in range(pairs.record_count)])
    found = stored(pairs)
    assert found.near_pair_count(copies) == pairs.near_pair_count(copies)
    for one, other in zip(clusterings(pairs, order, copies), clusterings(found, order, copies), strict=True):
        np.testing.assert_array_equal(one.labels, other.labels)
        np.testing.assert_array_equal(one.representatives, other.representatives)
        np.testing.assert_array_equal(one.distances, other.distances)


@given(graphs(), st.lists(st.integers(0, 10**6), max_size=20), st.booleans())
def test_a_list_in_any_order_gives_each_pair_once(pairs, repeated, contradicts):
    again = [k % len(pairs) for k in repeated] if len(pairs) else []
    order = np.array([*range(len(pairs)), *again], dtype=np.int64)
    distance = pairs.distance[order]
    if contradicts and again:
        distance[-1] = 7
    wrong = sorted({(pairs.i[k], pairs.j[k]) for k in again if contradicts and k == again[-1]})
    for storage in (None, IN_FILE):
        listed = collect_edges(pairs.record_count, [(pairs.i[order], pairs.j[order], distance)], storage)
        found, contradiction = distinct_edges(listed, storage)
        assert contradiction == (wrong[0] if wrong else None)
        if not wrong:
            assert sorted(rows(found.chunks())) == sorted(rows(pairs.chunks()))
            assert (found is listed) == (not again)


def test_values_that_are_missing_twice_do_not_contradict():
    listed = Edges(3, np.array([1, 1, 0]), np.array([2, 2, 1]), np.array([np.nan, np.nan, 1.0]))
    found, contradiction = distinct_edges(listed, None)
    assert contradiction is None
    assert len(found) == 2
    assert distinct_edges(Edges(3, listed.i, listed.j, np.array([np.nan, 2.0, 1.0])), None)[1] == (1, 2)


@pytest.mark.parametrize("limit", [0, 15, 16 * 100_000, 16 * 200_000 - 1, 16 * 200_000, 10**9])
def test_pairs_are_in_memory_up_to_the_limit(rng, limit):
    """More than are reserved at first."""
    count = 200_000
    builder = EdgeListBuilder(EdgeStorage(limit, io.BytesIO))
    distance = rng.random(count)
    for k in range(0, count, 7000):
        numbers = np.arange(k, min(k + 7000, count))
        builder.add(numbers, numbers + 1, distance[numbers])
    found = builder.finish(count + 1)
    assert isinstance(found, Edges) == (limit >= count * 16)
    assert rows(found.chunks()) == [(k, k + 1, distance[k]) for k in range(count)]


class FullDisk(io.BytesIO):
    def write(self, data):
        raise OSError(28, "No space left on device")


def test_a_full_disk_is_an_error_of_the_run():
    pairs = Edges(20, np.arange(19), np.arange(1, 20), np.ones(19))
    message = r"^cannot write a temporary file in .*: No space left on device; set the environment variable TMPDIR to a folder with room$"
    with pytest.raises(RunError, match=message):
        collect_edges(20, pairs.chunks(), EdgeStorage(0, FullDisk))
    files = iter([io.BytesIO, FullDisk])
    found = collect_edges(20, pairs.chunks(), EdgeStorage(0, lambda: next(files)()))
    with pytest.raises(RunError, match=message):
        greedy_centroids(found, np.arange(20))

    def refuse():
        raise PermissionError(13, "Permission denied")

    with pytest.raises(RunError, match="Permission denied"):
        collect_edges(20, pairs.chunks(), EdgeStorage(0, refuse))
