"""Codes of clusters at several thresholds: against scipy's single linkage, and that they stay whatever is added, in whatever batches."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("scipy")

from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import squareform

from gpualign.core.clustering import spanning_forest as forests
from gpualign.core.clustering.clusters import renumber_labels
from gpualign.core.clustering.edges import Edges
from gpualign.core.clustering.names import Merge, extend_names, no_names
from gpualign.core.clustering.spanning_forest import labels_at, spanning_forest

LEVELS = np.array([7.0, 4.0, 2.0, 0.0])


@st.composite
def matrices(draw, most=14):
    """Small whole distances, many of them equal; up to 12 records. They need not obey the triangle inequality."""
    count = draw(st.integers(1, 12))
    values = np.array(draw(st.lists(st.integers(0, most), min_size=count * count, max_size=count * count))).reshape(count, count)
    return np.triu(values, 1) + np.triu(values, 1).T


@st.composite
def batches(draw):
    """(distances of records, the batch of each record); a batch may be empty."""
    matrix = draw(matrices())
    return matrix, np.array(draw(st.lists(st.integers(0, 3), min_size=len(matrix), max_size=len(matrix))))


def near(matrix, records, mask=None):
    """The pairs of some records within the largest level, numbered among these; mask: records of which each pair must have one."""
    own = matrix[np.ix_(records, records)]
    wanted = np.triu(own <= LEVELS[0], 1)
    if mask is not None:
        wanted &= mask[records][:, None] | mask[records][None, :]
    i, j = np.nonzero(wanted)
    return Edges(len(records), i, j, own[i, j].astype(float))


def partition(matrix, level):
    if len(matrix) == 1:
        return [0]
    return renumber_labels(fcluster(linkage(squareform(matrix), "single"), level, "distance")).tolist()


def ids_of(records):
    """Ids whose order is not that of the records."""
    return [f"s{(7 * k) % 13}" for k in records]


def add(names, matrix, records, mask=None):
    return extend_names(names, ids_of(records), labels_at(spanning_forest(near(matrix, records, mask)), LEVELS))


def codes_of(names):
    return {name: tuple(codes) for name, codes in zip(names.ids, names.codes.T.tolist(), strict=True)}


def as_tuple(names):
    return list(names.ids), names.codes.tolist(), names.code_counts.tolist()


def runs(matrix, batch, records_of):
    """(names before, names after, merges) of each batch that is not empty. records_of: the records that a batch is run with."""
    names, found = no_names(len(LEVELS)), []
    for number in range(4):
        if (batch == number).any():
            after, merges = add(names, matrix, *records_of(number))
            found.append((names, after, merges))
            names = after
    return found


# ---- the forest


@given(matrices())
def test_the_forest_has_the_clusters_of_scipy_at_every_level(matrix):
    found = labels_at(spanning_forest(near(matrix, np.arange(len(matrix)))), LEVELS)
    assert [renumber_labels(row).tolist() for row in found] == [partition(matrix, level) for level in LEVELS]


@given(matrices())
def test_a_forest_of_many_parts_is_that_of_all_pairs(matrix):
    whole = near(matrix, np.arange(len(matrix)))
    expected = spanning_forest(whole)

    class Parts(Edges):
        def chunks(self):
            for k in range(len(self)):
                yield self.i[k : k + 1], self.j[k : k + 1], self.distance[k : k + 1]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(forests, "_PENDING_PAIRS", 1)
        found = spanning_forest(Parts(len(matrix), whole.i, whole.j, whole.distance))
    for name in ("i", "j", "distance"):
        assert getattr(found, name).tolist() == getattr(expected, name).tolist()


@given(matrices())
def test_the_forest_takes_the_shortest_pairs_then_the_first_ones(matrix):
    """Kruskal's algorithm, in a loop."""
    edges = near(matrix, np.arange(len(matrix)))
    label, chosen = list(range(len(matrix))), []
    for distance, i, j in sorted(zip(edges.distance.tolist(), edges.i.tolist(), edges.j.tolist(), strict=True)):
        if label[i] != label[j]:
            chosen.append((i, j, distance))
            label = [label[i] if one == label[j] else one for one in label]
    found = spanning_forest(edges)
    assert list(zip(found.i.tolist(), found.j.tolist(), found.distance.tolist(), strict=True)) == chosen


# ---- names


@given(batches())
def test_names_stay_in_any_batches(drawn):
    matrix, batch = drawn
    ever = [set() for _ in LEVELS]  # codes of each level so far, those of merged clusters included
    gone = [set() for _ in LEVELS]
    for before, after, merges in runs(matrix, batch, lambda k: (np.flatnonzero(batch <= k),)):
        replaced = {(one.level, one.merged): one.kept for one in merges}
        assert len(replaced) == len(merges)
        assert all(one.kept < one.merged for one in merges)
        new = set(after.ids) - set(before.ids)
        for name, old in codes_of(before).items():
            assert codes_of(after)[name] == tuple(replaced.get((level, code), code) for level, code in enumerate(old))
        for level in range(len(LEVELS)):
            codes = set(after.codes[level].tolist())
            gone[level] |= {one.merged for one in merges if one.level == level}
            assert not codes & gone[level]
            given_now = codes - ever[level]
            assert given_now == set(range(len(ever[level]) + 1, len(ever[level]) + 1 + len(given_now)))
            assert all(code in given_now for code in codes if code > len(ever[level]))
            ever[level] |= codes
            assert after.code_counts[level] == len(ever[level])
        for one in merges:
            members = {name for name, codes in codes_of(after).items() if codes[one.level] == one.kept}
            assert set(one.new_ids) == members & new != set()
            assert list(one.new_ids) == sorted(one.new_ids)


@given(batches())
def test_clusters_of_batches_are_those_of_one_run(drawn):
    """At every level, from scipy, whose one run knows no batches; so they are nested, too."""
    matrix, batch = drawn
    *_, (_, names, _) = runs(matrix, batch, lambda k: (np.flatnonzero(batch <= k),))
    place = {name: k for k, name in enumerate(names.ids)}
    order = [place[name] for name in ids_of(range(len(matrix)))]
    for level, codes in zip(LEVELS, names.codes, strict=True):
        assert renumber_labels(codes[order]).tolist() == partition(matrix, level)
    for coarse, fine in zip(names.codes[:-1], names.codes[1:], strict=True):
        assert len(set(zip(coarse.tolist(), fine.tolist(), strict=True))) == len(set(fine.tolist()))


@given(batches())
def test_pairs_of_the_added_records_are_enough(drawn):
    """Earlier records need not be clustered again, and may be missing if no new record is near them."""
    matrix, batch = drawn
    whole = runs(matrix, batch, lambda k: (np.flatnonzero(batch <= k),))

    def met(number):
        new = batch == number
        touched = (matrix[new] <= LEVELS[0]).any(axis=0) & (batch < number)
        return np.flatnonzero(new | touched), new

    for (_, after, merges), (_, expected, expected_merges) in zip(runs(matrix, batch, met), whole, strict=True):
        assert as_tuple(after) == as_tuple(expected)
        assert merges == expected_merges


@given(batches(), st.randoms(use_true_random=False))
def test_the_order_within_a_batch_does_not_matter(drawn, random):
    matrix, batch = drawn

    def shuffled(number):
        records = np.flatnonzero(batch <= number).tolist()
        random.shuffle(records)
        return (np.array(records),)

    expected = runs(matrix, batch, lambda k: (np.flatnonzero(batch <= k),))
    for (_, after, merges), (_, in_order, merges_in_order) in zip(runs(matrix, batch, shuffled), expected, strict=True):
        assert as_tuple(after) == as_tuple(in_order)
        assert merges == merges_in_order


@given(batches())
def test_a_batch_that_is_run_twice_changes_nothing(drawn):
    matrix, batch = drawn
    for number, (_, after, _) in enumerate(runs(matrix, batch, lambda k: (np.flatnonzero(batch <= k),))):
        known = [name in after.ids for name in ids_of(range(len(matrix)))]
        again, merges = add(after, matrix, np.flatnonzero(known))
        assert as_tuple(again) == as_tuple(after), number
        assert merges == []


def test_a_merge_keeps_the_older_code_and_the_merged_one_is_not_given_again():
    def labels(*rows):
        return np.array(rows)

    names, merges = extend_names(no_names(2), ["a", "b", "c"], labels([0, 1, 2], [0, 1, 2]))
    assert (names.codes.tolist(), merges) == ([[1, 2, 3]] * 2, [])
    names, merges = extend_names(names, ["c", "x", "b"], labels([5, 5, 5], [1, 0, 1]))  # x joins b and c, who join at the finer level too
    assert names.ids == ["a", "b", "c", "x"]
    assert names.codes.tolist() == [[1, 2, 2, 2], [1, 2, 2, 4]]
    assert merges == [Merge(0, 2, 3, ("x",)), Merge(1, 2, 3, ())]
    names, merges = extend_names(names, ["y"], labels([0], [0]))
    assert names.codes.tolist() == [[1, 2, 2, 2, 4], [1, 2, 2, 4, 5]]
    assert merges == []
