"""Near pairs of cells from near pairs of chains, against plain loops."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpualign.core.common.errors import RunError, TooLittleMemory
from gpualign.core.near_pairs import paired_chains
from gpualign.core.near_pairs.index_lists import IndexLists, equal_items
from gpualign.core.near_pairs.paired_chains import LocusPairs, NearChainsBuilder, near_cells

CHAINS = 4
CELLS = st.lists(st.tuples(*[st.sets(st.integers(0, CHAINS - 1), min_size=1, max_size=3)] * 2), min_size=1, max_size=8)
FIRSTS = st.sampled_from([None, 0, 1])
DISTANCES = st.dictionaries(st.tuples(*[st.integers(0, CHAINS - 1)] * 2), st.integers(0, 5))


def lists_of(sets):
    items = [(item, value) for item, values in enumerate(sets) for value in values]
    rng = np.random.default_rng(len(items))
    items = [items[k] for k in rng.permutation(len(items))] * 2  # in any order, with repetitions
    columns = (np.array(column, dtype=np.int64) for column in zip(*items, strict=True))
    return IndexLists.from_pairs(*columns, len(sets))


def builder(one_set, most=5, memory=1 << 20):
    return NearChainsBuilder(CHAINS, CHAINS, one_set, most, memory, "TRB")


def near_chains(distances, one_set):
    """The list of near chains, and the same as a dict with both directions."""
    made = builder(one_set)
    known = {pair: value for pair, value in distances.items() if not one_set or pair[0] < pair[1]}
    for (one, other), value in known.items():
        made.add(np.array([one]), np.array([other]), np.array([value]))
    themselves = [k for k in range(CHAINS) if one_set and (k, k) in distances]
    if one_set:
        known |= {(other, one): value for (one, other), value in known.items()} | {(k, k): 0 for k in themselves}
    return made.finish(np.array(themselves, dtype=np.int64)), known


@settings(deadline=None)
@given(
    CELLS, CELLS, DISTANCES, DISTANCES, st.sampled_from([None, 0, 1]), st.sampled_from([None, 0, 3, 6]), st.sampled_from([1, 5, 1 << 19])
)
def test_pairs_of_cells_are_those_of_a_plain_loop(cells, others, distances, second, first_target, max_sum, candidates):
    one_set = first_target is not None
    others = cells if one_set else others
    near = [near_chains(one, one_set) for one in (distances, second)]
    loci = tuple(LocusPairs(lists_of([cell[k] for cell in cells]), lists_of([cell[k] for cell in others]), near[k][0]) for k in range(2))
    wanted = {}
    for (i, cell), (j, other) in itertools.product(enumerate(cells), enumerate(others)):
        best = [min((near[k][1].get(pair, 99) for pair in itertools.product(cell[k], other[k])), default=99) for k in range(2)]
        if (not one_set or j >= i + first_target) and max(best) < 99 and (max_sum is None or sum(best) <= max_sum):
            wanted[i, j] = best
    before = paired_chains.CANDIDATES
    paired_chains.CANDIDATES = candidates
    try:
        lists = list(near_cells(loci, first_target, max_sum))
    finally:
        paired_chains.CANDIDATES = before
    found = {}
    for near_list, stop in lists:
        pairs = near_list.pairs
        assert (pairs.distances == near_list.locus_distances.sum(axis=1)).all()
        assert (pairs.queries < stop).all()
        numbers = zip(pairs.queries.tolist(), pairs.targets.tolist(), strict=True)
        found |= dict(zip(numbers, near_list.locus_distances.tolist(), strict=True))
    assert list(found.items()) == list(wanted.items())  # in this order
    assert lists[-1][1] == len(cells)


@given(CELLS)
def test_equal_cells(cells):
    groups = equal_items([lists_of([cell[k] for cell in cells]) for k in range(2)])
    assert groups.group_of.tolist() == [list(dict.fromkeys(map(repr, map(_sorted, cells)))).index(repr(_sorted(cell))) for cell in cells]


def _sorted(cell):
    return [sorted(one) for one in cell]


@given(CELLS)
def test_lists(cells):
    lists = lists_of([cell[0] for cell in cells])
    assert [lists.expand(np.array([k]))[1].tolist() for k in range(len(cells))] == [sorted(cell[0]) for cell in cells]
    back = lists.inverted(CHAINS)
    assert [back.expand(np.array([k]))[1].tolist() for k in range(CHAINS)] == [
        [item for item, cell in enumerate(cells) if k in cell[0]] for k in range(CHAINS)
    ]
    some = lists.select(np.array([len(cells) - 1, 0]))
    assert [some.expand(np.array([k]))[1].tolist() for k in range(2)] == [sorted(cells[-1][0]), sorted(cells[0][0])]


def test_too_many_pairs_and_too_many_chains():
    made = builder(True, memory=32)
    made.add(np.array([0, 0]), np.array([1, 2]), np.array([1, 1]))
    with pytest.raises(TooLittleMemory, match="more than 2 pairs of different TRB chains are near"):
        made.add(np.array([0]), np.array([3]), np.array([1]))
    with pytest.raises(RunError, match="more than can be compared"):
        NearChainsBuilder(1 << 30, 1 << 30, False, 5, 32, "TRB")
