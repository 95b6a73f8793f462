"""Diameters, longest links and dates of clusters, against plain loops."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("scipy")

from gpualign.core.clustering.edges import Edges
from gpualign.core.clustering.linkage_report import cluster_diameters, first_and_last, longest_links
from gpualign.core.clustering.spanning_forest import spanning_forest


@st.composite
def cases(draw):
    """(distances of up to 10 records, nan where a pair is not known; the cluster of each record)."""
    count = draw(st.integers(1, 10))
    values = np.array(draw(st.lists(st.sampled_from([0, 1, 1, 2, 3, 7, np.nan]), min_size=count**2, max_size=count**2)), dtype=float)
    labels = draw(st.lists(st.integers(0, 3), min_size=count, max_size=count))
    numbers = {label: k for k, label in enumerate(sorted(set(labels)))}
    upper = np.triu(values.reshape(count, count), 1)
    return upper + upper.T, np.array([numbers[label] for label in labels])


def known(matrix):
    i, j = np.nonzero(np.triu(~np.isnan(matrix), 1))
    return Edges(len(matrix), i, j, matrix[i, j])


def members(labels):
    return [np.flatnonzero(labels == k).tolist() for k in range(labels.max() + 1)]


@given(cases(), cases())
def test_diameters(case, other):
    matrix, labels = case
    second = np.resize(other[1], len(labels))
    second = np.unique(second, return_inverse=True)[1].reshape(-1)
    edges = known(matrix)
    chunks = [(edges.i[:3], edges.j[:3], edges.distance[:3]), (edges.i[3:], edges.j[3:], edges.distance[3:])]
    for own, found in zip((labels, second), cluster_diameters((labels, second), chunks), strict=True):
        expected = [max([0.0, *(matrix[a, b] for a, b in itertools.combinations(some, 2))], key=nan_first) for some in members(own)]
        np.testing.assert_array_equal(found, expected)


def nan_first(value):
    return (np.isnan(value), value)


def tree_links(matrix, some):
    """The longest pairs of all minimum spanning trees of some records, by Kruskal's algorithm; None if the pairs do not connect them."""
    label, longest = {k: k for k in some}, []
    for distance, a, b in sorted((matrix[a, b], a, b) for a, b in itertools.combinations(some, 2) if not np.isnan(matrix[a, b])):
        if label[a] != label[b]:
            longest.append((distance, a, b))
            label = {k: label[a] if one == label[b] else one for k, one in label.items()}
    return longest if len(longest) == len(some) - 1 else None


@given(cases())
def test_longest_links(case):
    """Of clusters that their own pairs connect; others may be connected only by way of records outside, and have no link."""
    matrix, labels = case
    links, ends = longest_links(labels, spanning_forest(known(matrix)))
    for some, link, (a, b) in zip(members(labels), links, ends.tolist(), strict=True):
        tree = tree_links(matrix, some)
        if np.isnan(link):
            assert (a, b) == (-1, -1)
        else:
            assert tree
            assert link == max(tree)[0]
            assert (link, a, b) == next(one for one in sorted(tree, key=lambda one: (-one[0], *one[1:])))


@given(cases(), st.sampled_from([0, 1, 2, 3]))
def test_single_linkage_clusters_have_links(case, level):
    matrix, _ = case
    reach = (matrix <= level) | np.eye(len(matrix), dtype=bool)
    for k in range(len(matrix)):
        reach |= reach[:, [k]] & reach[[k], :]
    labels = np.unique([row.argmax() for row in reach], return_inverse=True)[1].reshape(-1)
    links, _ = longest_links(labels, spanning_forest(known(matrix)))
    assert (np.isnan(links) == (np.bincount(labels) == 1)).all()
    assert (links[~np.isnan(links)] <= level).all()


@given(cases(), st.lists(st.sampled_from([np.nan, 1.0, 2.0, 3.0]), min_size=10, max_size=10))
def test_first_and_last(case, days):
    labels, days = case[1], np.array(days)[: len(case[1])]
    first, last = first_and_last(labels, days)
    for some, one, other in zip(members(labels), first.tolist(), last.tolist(), strict=True):
        dated = [k for k in some if not np.isnan(days[k])]
        assert one == min(dated, key=lambda k: (days[k], k), default=-1)
        assert other == max(dated, key=lambda k: (days[k], k), default=-1)
