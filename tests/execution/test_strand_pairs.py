"""Listed pairs on both strands: the other strand is left out only where it cannot be the better one."""

from contextlib import closing
from dataclasses import replace

import numpy as np
import pytest
from host_device import HostDevice
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle import edit_distance
from path_cases import SCHEMES
from work import expand, sequence_set, two_valued

from gpualign.core.alignment.pair_list import NearPairs
from gpualign.core.alignment.task import Detail, EndGaps, Task
from gpualign.core.execution.both_strands import BothStrandsEngine, BothStrandsPairAligner, is_minus_better
from gpualign.core.planning.memory_budget import Budget
from gpualign.core.sequences.alphabet import DNA
from gpualign.cpu.alignment.engine import CpuEngine
from gpualign.cpu.alignment.pair_list import CpuPairAligner
from gpualign.gpu.alignment import pair_list
from gpualign.gpu.alignment.pair_list import CudaPairEngine

A, C, G, T, N = (DNA.letters.index(letter) for letter in "ACGTN")
BUDGET = Budget.from_total(1 << 28)
SCORINGS = [
    *(SCHEMES[name] for name in ("default", "linear", "2/-1/1", "edit", "loose", "dear mismatch", "free gaps", "dear gaps")),
    two_valued(15, 3, 2, 5, 1),  # mismatches score nearly as much as matches
    two_valued(15, 1, 1, 1, 1),  # scores bound nothing
    two_valued(15, -1, -4, 3, 1),
]


def turned(codes):
    return DNA.complement()[np.asarray(codes, dtype=np.uint8)][::-1].tolist()


def of_every_strand(task, pairs):
    """The better of both alignments of each pair, by the rule of the documentation."""
    inner = replace(task, queries=task.strands.sequences, both_strands=False)
    aligner = CpuEngine(1).prepare_pair_aligner(inner, BUDGET)
    plus, minus = (aligner.align_pairs(NearPairs(2 * pairs.queries + on_minus, pairs.targets, pairs.distances)) for on_minus in (0, 1))
    is_minus = is_minus_better(task.scoring, minus.scores, plus.scores)
    return [(minus if is_better else plus, k, is_better) for k, is_better in enumerate(is_minus.tolist())]


def rows(results, task):
    """Comparable rows of (alignments, index, strand)."""
    for one, k, is_minus in results:
        row = [int(one.scores[k]), is_minus]
        if task.detail is not Detail.SCORE:
            row.append(tuple(one.statistics[k].tolist()))
        if task.detail is Detail.PATH:
            row.append(expand(one.runs.data[one.runs.starts[k] :][: one.runs.sizes[k]]))
        yield row


def check(task, pairs, engine=None):
    with closing(BothStrandsEngine(engine or CpuEngine(1)).prepare_pair_aligner(task, BUDGET)) as aligner:
        aligned = aligner.align_pairs(pairs)
    found = [(aligned, k, is_minus) for k, is_minus in enumerate(aligned.is_reverse_complement.tolist())]
    assert list(rows(found, task)) == list(rows(of_every_strand(task, pairs), task))
    return aligned


def all_pairs(count, other_count, rng):
    """All pairs, found on either strand, with any number of edits."""
    queries, targets = (numbers.ravel() for numbers in np.indices((count, other_count)))
    return NearPairs(queries, targets, rng.integers(0, 20, len(queries)))


@st.composite
def records_on_both_strands(draw):
    """A few records over few letters: copies with a few changes, on either strand, palindromes and repeats."""
    letters = st.sampled_from(draw(st.sampled_from([(A, T), (A, C, G, T), (A, C, T, N)])))
    founder = draw(st.lists(letters, min_size=1, max_size=18))
    found = [founder, founder + turned(founder), (founder[:2] * 9)[: draw(st.integers(1, 18))]]
    for _ in range(draw(st.integers(1, 4))):
        one = list(draw(st.sampled_from(found)))
        for _ in range(draw(st.integers(0, 4))):
            at = draw(st.integers(0, len(one)))
            one[at : at + draw(st.integers(0, 1))] = draw(st.lists(letters, max_size=2))
        found.append((turned(one) if draw(st.booleans()) else one) or founder)
    return sequence_set(found)


@settings(max_examples=250, deadline=None)
@given(records_on_both_strands(), st.sampled_from(SCORINGS), st.sampled_from(EndGaps), st.sampled_from(Detail), st.integers(0, 2**32 - 1))
def test_as_if_every_strand_was_aligned(sequences, scoring, end_gaps, detail, seed):
    task = Task(sequences, sequences, scoring, detail=detail, end_gaps=end_gaps, both_strands=True)
    check(task, all_pairs(len(sequences), len(sequences), np.random.default_rng(seed)))


def relatives_on_both_strands(rng, count, length):
    founder = rng.integers(0, 4, length)
    found = []
    for number in range(count):
        codes = founder.copy() if number % 3 else rng.integers(0, 4, length)
        changed = rng.random(length) < rng.choice([0.01, 0.1, 0.3])
        codes[changed] = rng.integers(0, 4, int(changed.sum()))
        codes = codes[rng.random(length) > 0.02]
        found.append(turned(codes) if number % 2 else codes)
    return sequence_set(found)


@pytest.mark.parametrize("end_gaps", EndGaps)
@pytest.mark.parametrize("scheme", ["default", "edit", "linear"])
def test_relatives_and_strangers(rng, scheme, end_gaps):
    """Longer records, two sets, and both strands found first."""
    queries, targets = relatives_on_both_strands(rng, 12, 200), relatives_on_both_strands(rng, 9, 180)
    task = Task(queries, targets, SCHEMES[scheme], detail=Detail.PATH, end_gaps=end_gaps, both_strands=True)
    aligned = check(task, all_pairs(len(queries), len(targets), rng))
    if (scheme, end_gaps) != ("edit", EndGaps.FREE):  # each distance is 0, that of the empty alignment
        assert 0 < aligned.is_reverse_complement.sum() < len(aligned.scores)


@pytest.mark.parametrize("scheme", ["default", "edit"])
def test_on_a_device(rng, scheme, monkeypatch):
    monkeypatch.setattr(pair_list, "MIN_CELLS_PER_THREAD", 0)
    sequences = relatives_on_both_strands(rng, 6, 60)
    task = Task(sequences, sequences, SCHEMES[scheme], detail=Detail.PATH, both_strands=True)
    engine = CudaPairEngine(lambda: [HostDevice()], CpuEngine(1), pytest.fail)
    assert BothStrandsEngine(engine).prepare_pair_aligner(task, BUDGET).uses_device
    check(task, all_pairs(6, 6, rng), engine)


def changed(codes, places, letters):
    """A copy with other letters at some places. letters: what takes the place of each letter"""
    return [letters[code] if at in places else code for at, code in enumerate(codes)]


@pytest.mark.parametrize("scheme", ["edit", "dear gaps"])
@pytest.mark.parametrize("first_is_minus", [False, True])
def test_a_bound_without_room(scheme, first_is_minus):
    """The strand that is aligned later is the better one and has as many edits as the bound allows, so a bound of one less would miss it.

    The query is a palindrome with eight changes in its first half. The target is the same palindrome with one of these changes on the other
    strand, which makes nine edits and seven, and with unlike letters in the place of one or two more, which both strands mismatch.
    """
    half = [A, A, T, A, T, T, A, T] * 6
    palindrome, places = half + turned(half), range(0, 48, 6)
    query = changed(palindrome, places, {A: C, T: G})
    unlike, mirrored = places[: 2 if first_is_minus else 1], len(palindrome) - 1 - places[-1]
    target = changed(changed(palindrome, unlike, {A: G, T: C}), [mirrored], {A: C, T: G})
    edits = [edit_distance(strand, target) for strand in (query, turned(query))]
    assert edits == [9, 9 if first_is_minus else 8]
    task = Task(*(sequence_set([one]) for one in (query, target)), SCHEMES[scheme], detail=Detail.PATH, both_strands=True)
    pairs = NearPairs(*np.array([[0], [0], [2 * 9 + first_is_minus]]))
    assert check(task, pairs).is_reverse_complement.tolist() == [not first_is_minus]


def test_strangers_are_not_aligned(rng, monkeypatch):
    """A gene is aligned on one strand, and a palindrome on both."""
    aligned, align_pairs = [], CpuPairAligner.align_pairs

    def align(self, pairs):
        aligned.append(list(zip(pairs.queries.tolist(), pairs.targets.tolist(), pairs.distances.tolist(), strict=True)))
        return align_pairs(self, pairs)

    monkeypatch.setattr(CpuPairAligner, "align_pairs", align)
    gene, half = rng.integers(0, 4, 400).tolist(), rng.integers(0, 4, 200).tolist()
    palindrome = half + turned(half)
    sequences = sequence_set([gene, turned(gene), palindrome])
    task = Task(sequences, sequences, SCHEMES["default"], both_strands=True)
    aligner = BothStrandsEngine(CpuEngine(1)).prepare_pair_aligner(task, BUDGET)
    pairs = NearPairs(np.array([0, 0, 2]), np.array([0, 1, 2]), np.array([0, 1, 0]))
    assert aligner.align_pairs(pairs).is_reverse_complement.tolist() == [False, True, False]
    assert aligned == [[(0, 0, 0), (1, 1, 0), (4, 2, 0)]]  # the tie of a palindrome goes to the plus strand, unseen
    assert aligner.align_pairs(NearPairs(*np.array([[2], [2], [1]]))).is_reverse_complement.tolist() == [False]
    assert aligned[1:] == [[(5, 2, 0)], [(4, 2, 0)]]


def test_scores_that_bound_nothing(rng):
    """All other strands are aligned, as by an aligner without a finder."""
    sequences = relatives_on_both_strands(rng, 4, 50)
    task = Task(sequences, sequences, two_valued(15, 1, 1, 1, 1), both_strands=True)
    aligner = BothStrandsEngine(CpuEngine(1)).prepare_pair_aligner(task, BUDGET)
    assert isinstance(aligner, BothStrandsPairAligner)
    assert aligner.finder is None
    check(task, all_pairs(4, 4, rng))
    aligner.close()
