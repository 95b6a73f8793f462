"""The bands of diagonals that listed pairs need, beside a plain loop over the bound of cpu/alignment/src/band_bound.hpp."""

import numpy as np
import pytest
from listed import all_pairs_in_disorder, families
from path_cases import SCHEMES

from gpualign.core.alignment.pair_list import NearPairs
from gpualign.core.alignment.task import Detail, Task
from gpualign.core.planning.memory_budget import Budget
from gpualign.cpu.alignment.engine import CpuEngine


def plain_slack(scheme, query, target, score):
    """The smallest number of diagonals beyond both corners with which no path that leaves the band reaches the score."""
    m, n = len(query), len(target)
    best = scheme.substitution.max(axis=1)[query], scheme.substitution.max(axis=0)[target]
    of_query, of_target = (np.sort(np.maximum(one, 0)) for one in best)
    for slack in range(min(m, n)):
        inserted, deleted = slack + 1 + max(0, n - m), slack + 1 + max(0, m - n)
        pairs = min(of_query[deleted:].sum(), of_target[inserted:].sum())
        gaps = 2 * (scheme.gap_open - scheme.gap_extend) + scheme.gap_extend * (inserted + deleted)
        if pairs - gaps < score:
            return slack
    return min(m, n)


@pytest.mark.parametrize("scheme", ["default", "linear", "protein", "2/-1/1"])
@pytest.mark.parametrize("one_set", [False, True])
def test_slacks_are_those_of_a_plain_loop(rng, scheme, one_set):
    queries, targets = families(rng, 20 if scheme == "protein" else 4, 24, 70)
    if one_set:
        targets = queries
    task = Task(queries, targets, SCHEMES[scheme], detail=Detail.PATH)
    aligner = CpuEngine(2).prepare_pair_aligner(task, Budget.from_total(1 << 28))
    pairs = all_pairs_in_disorder(rng, queries, targets)
    scores = rng.integers(-200, 400, len(pairs))
    found = aligner.needed_slacks(pairs, scores)
    records = [[one.codes[a:b] for a, b in zip(one.offsets[:-1], one.offsets[1:], strict=True)] for one in (queries, targets)]
    expected = [
        plain_slack(SCHEMES[scheme], records[0][q], records[1][t], score)
        for q, t, score in zip(pairs.queries, pairs.targets, scores, strict=True)
    ]
    assert found.tolist() == expected
    assert len(set(expected)) > 2


def test_more_expected_edits_never_need_a_narrower_band(rng):
    queries, targets = families(rng, 4, 8, 70)
    task = Task(queries, targets, SCHEMES["default"], detail=Detail.PATH)
    aligner = CpuEngine(2).prepare_pair_aligner(task, Budget.from_total(1 << 28))
    pairs = all_pairs_in_disorder(rng, queries, targets)
    few, many = (aligner.needed_slacks(NearPairs(pairs.queries, pairs.targets, np.full(len(pairs), k)), None) for k in (2, 9))
    assert (few <= many).all()
    assert (few < many).any()
