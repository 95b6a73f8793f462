"""Numbers of neighbours by groups of equal records are those of a loop over all pairs of records."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from gpualign.core.alignment.aligned_pairs import PairAlignments
from gpualign.core.alignment.pair_list import NearPairs
from gpualign.core.near_pairs.deduplication import DuplicateGroups
from gpualign.core.near_pairs.neighbour_counts import GroupPairs
from gpualign.core.results.near_results import NearPairResults


def groups_of(labels):
    """Groups of records with equal labels, numbered by their first records."""
    _, first, group = np.unique(labels, return_index=True, return_inverse=True)
    order = np.argsort(first)
    return DuplicateGroups(np.argsort(order)[group], first[order])


def results_of(queries, targets, pairs):
    records = NearPairs(queries.first_records[pairs.queries], targets.first_records[pairs.targets], pairs.distances)
    return NearPairResults(records, PairAlignments(pairs.distances, None, None))


def pairs_of(queries, targets):
    return NearPairs(np.array(queries, dtype=np.int64), np.array(targets, dtype=np.int64), np.zeros(len(queries), dtype=np.int64))


@given(st.lists(st.integers(0, 6), min_size=1, max_size=30), st.integers(0, 2**32 - 1), st.floats(0, 1))
def test_one_set(labels, seed, share):
    """Whether a pair passes depends on its direction."""
    groups = groups_of(labels)
    count = len(groups)
    passes = np.random.default_rng(seed).random((count, count)) < share
    expected = np.zeros(len(labels), dtype=np.int64)
    for a in range(len(labels)):
        for b in range(a + 1, len(labels)):
            if passes[groups.group_of[a], groups.group_of[b]]:
                expected[[a, b]] += 1
    pairs = pairs_of(*np.triu_indices(count))
    turned = np.flatnonzero((groups.last_records[pairs.queries] > groups.first_records[pairs.targets]) & (pairs.queries != pairs.targets))
    order = np.lexsort((pairs.queries[turned], pairs.targets[turned]))
    swapped = pairs.select(turned[order]).transposed()
    counts = np.zeros(len(labels), dtype=np.int64)
    GroupPairs(groups, groups, pairs, results_of(groups, groups, pairs), turned, results_of(groups, groups, swapped), order).add_neighbours(
        lambda results: passes[groups.group_of[results.pairs.queries], groups.group_of[results.pairs.targets]], counts
    )
    assert counts.tolist() == expected.tolist()


@given(
    st.lists(st.integers(0, 5), min_size=1, max_size=20),
    st.lists(st.integers(0, 5), min_size=1, max_size=20),
    st.integers(0, 2**32 - 1),
)
def test_two_sets(labels, others, seed):
    queries, targets = groups_of(labels), groups_of(others)
    passes = np.random.default_rng(seed).random((len(queries), len(targets))) < 0.5
    expected = passes[np.ix_(queries.group_of, targets.group_of)].sum(axis=1)
    pairs = pairs_of(*map(np.ravel, np.indices(passes.shape)))
    none = pairs.select(slice(0, 0))
    counts = np.zeros(len(labels), dtype=np.int64)
    GroupPairs(
        queries, targets, pairs, results_of(queries, targets, pairs), none.queries, results_of(queries, targets, none), none.queries
    ).add_neighbours(lambda results: passes[queries.group_of[results.pairs.queries], targets.group_of[results.pairs.targets]], counts)
    assert counts.tolist() == expected.tolist()
