"""Each bound on the edit distance against alignments that try to break it: it may be too large, never too small."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle import align, count, depths_of_free_ends, edit_distance, edit_distance_free_ends
from path_cases import SCHEMES
from relatives import relatives
from work import sequence_set, two_valued

from gpualign.core.alignment.identity import identity_ratio
from gpualign.core.alignment.task import Detail, EndGaps, Task
from gpualign.core.alignment.tile_results import STATISTICS
from gpualign.core.near_pairs.filter_cascade import (
    FilterCascade,
    StepCosts,
    SurvivorCounts,
    cheapest_cascade,
    effective_letters,
    sketch_candidates,
)
from gpualign.core.near_pairs.thresholds import describe_missing_bound, edit_bound
from gpualign.core.results.filter import Filter
from gpualign.core.scoring.edit_bounds import (
    columns_bound,
    covered_bound,
    distance_bound,
    matches_bound,
    max_edits_by_scores,
    pairing_gains,
    score_bound,
    scores_bound_edits,
)
from gpualign.cpu.near_pairs.recipe import _STEP_COSTS

sequences = st.lists(st.integers(0, 2), min_size=1, max_size=16)
# Alignments that are far from the fewest edits: gaps that cost nothing, mismatches that cost more than gaps, scores all positive.
SCORINGS = [*(SCHEMES[name] for name in ("default", "edit", "dear mismatch", "free gaps", "dear gaps")), two_valued(15, 5, 3, 2, 1)]


def statistics(query, target, scoring, end_gaps):
    score, path, ends = align(query, target, scoring, end_gaps.query_gaps_are_free, end_gaps.target_gaps_are_free)
    return score, np.array([(*count(path), *ends)], dtype=STATISTICS)


def most(bound, query, target):
    return int(bound.max_edits(np.array([len(query)]), np.array([len(target)]))[0])


@settings(max_examples=300, deadline=None)
@given(sequences, sequences, st.sampled_from(SCORINGS), st.sampled_from(EndGaps))
def test_bounds_of_identities_and_scores(query, target, scoring, end_gaps):
    score, found = statistics(np.array(query), np.array(target), scoring, end_gaps)
    edits = edit_distance(query, target)
    lengths = np.array([len(query)]), np.array([len(target)])
    paired = int(found["matches"][0] + found["mismatches"][0])
    coverage = min(paired / len(query), paired / len(target))
    for definition in (0, 1, 2, 4):
        num, den = identity_ratio(found, *lengths, definition)
        value = float(num[0] / den[0]) if den[0] else 0.0
        if definition == 0:
            assert edits <= most(matches_bound(value), query, target)
        if definition in (1, 4) and end_gaps is EndGaps.PENALISED:
            assert edits <= most(columns_bound(value), query, target)
        if definition != 0:
            assert edits <= most(covered_bound(value, coverage), query, target)
            assert edits <= most(covered_bound(value, paired / min(len(query), len(target)), of_shorter=True), query, target)
    letters, free_ends = np.unique(query + target).astype(np.uint8), end_gaps is not EndGaps.PENALISED
    score = -score if scoring.edit else score
    bound = score_bound(score, scoring, letters, free_ends)
    assert scores_bound_edits(scoring, letters, free_ends) == (bound is not None)
    if bound is not None:
        (exact,) = max_edits_by_scores(np.array([score]), sum(lengths), scoring, letters, free_ends).tolist()
        assert edits <= exact == most(bound, query, target)


def alone(query, target, q):
    """Different q-grams of the query that the target has not; of q = 1, letters one by one."""
    if q == 1:
        return sum(max(0, query.count(letter) - target.count(letter)) for letter in set(query))
    grams = [{tuple(record[at : at + q]) for at in range(len(record) - q + 1)} for record in (query, target)]
    return len(grams[0] - grams[1])


@st.composite
def parts_alike(draw):
    """Two records that share a part, a few edits apart, with ends of their own: often letters that occur nowhere else."""
    part = draw(st.lists(st.integers(0, 3), min_size=1, max_size=24))
    other = list(part)
    for _ in range(draw(st.integers(0, 3))):
        at = draw(st.integers(0, len(other)))
        other[at : at + draw(st.integers(0, 1))] = draw(st.lists(st.integers(0, 4), max_size=1))
    ends = [draw(st.lists(st.integers(0, 5), max_size=5)) for _ in range(4)]
    return [*ends[0], *part, *ends[1]], [*ends[2], *other, *ends[3]] or [0]


def bounds_met(query, target, scoring, end_gaps):
    """The bounds that the identities, by several definitions, and the coverage of the pair itself, or of its shorter record, imply."""
    _, found = statistics(np.array(query), np.array(target), scoring, end_gaps)
    paired = int(found["matches"][0] + found["mismatches"][0])
    for definition in (1, 2, 4):
        num, den = identity_ratio(found, np.array([len(query)]), np.array([len(target)]), definition)
        identity = float(num[0] / den[0]) if den[0] else 0.0
        yield covered_bound(identity, paired / max(len(query), len(target)))
        yield covered_bound(identity, paired / min(len(query), len(target)), of_shorter=True)


@settings(max_examples=400, deadline=None)
@given(parts_alike(), st.sampled_from(SCORINGS), st.sampled_from(EndGaps))
def test_grams_of_covered_pairs(pair, scoring, end_gaps):
    query, target = pair
    lengths = np.array([len(query)]), np.array([len(target)])
    for bound in bounds_met(query, target, scoring, end_gaps):
        for q in (1, 2, 3, 6):
            assert alone(query, target, q) <= int(bound.max_different_grams(q, *lengths)[0])
            assert alone(target, query, q) <= int(bound.max_different_grams(q, *lengths[::-1])[0])


@settings(max_examples=400, deadline=None)
@given(parts_alike(), st.sampled_from(SCORINGS), st.sampled_from(EndGaps))
def test_edits_inside_covered_pairs(pair, scoring, end_gaps):
    query, target = pair
    lengths = np.array([len(query)]), np.array([len(target)])
    for bound in bounds_met(query, target, scoring, end_gaps):
        if bound.coverage:
            overhangs = int(bound.max_overhang(*lengths)[0]), int(bound.max_overhang(*lengths[::-1])[0])
            assert edit_distance_free_ends(query, target, overhangs) <= int(bound.max_edits_inside(*lengths)[0])
            gains = pairing_gains(scoring, np.unique(query + target).astype(np.uint8), ordinary=4)
            if end_gaps is EndGaps.PENALISED:
                depths = depths_of_free_ends(query, target, overhangs, (gains.equal, gains.other, gains.ordinary))
                assert edit_distance_free_ends(query, target, overhangs, depths) <= int(bound.max_edits_inside(*lengths)[0])


def test_free_ends_of_the_reference():
    query, target = [7, 7, 0, 1, 2, 3, 0, 1, 8], [9, 0, 1, 5, 3, 0, 1]
    assert edit_distance_free_ends(query, target, (0, 0)) == edit_distance(np.array(query), np.array(target)) == 4
    assert edit_distance_free_ends(query, target, (1, 0)) == 2  # the first 7, and the 8
    assert edit_distance_free_ends(query, target, (2, 0)) == 2  # the 9 is left over
    assert edit_distance_free_ends(query, target, (2, 1)) == 1
    assert edit_distance_free_ends(query, target, (4, 4)) == 1
    assert edit_distance_free_ends(query, target, (5, 4)) == 0
    assert edit_distance_free_ends(query, target, (-1, 0)) is None
    assert edit_distance_free_ends(query, target, (5, 4), depths=(0, 0)) == 2  # the 9 against a 7, and the 5
    assert depths_of_free_ends([5, 1, 1, 1, 2], [4, 1, 1, 0, 2], (5, 5), (3, -2, 4)) == [1, 0]
    assert depths_of_free_ends([5, 1, 1, 1, 2], [5, 1, 1, 0, 2], (5, 5), (3, -2, 4)) == [1, 0]  # 5 is no ordinary letter


def test_grams_are_met():
    """Pairs that stand on the bound: what is beyond counts letter by letter, an edit inside q times; without a coverage all is edits."""
    q, lengths = 4, (np.array([100]), np.array([100]))
    base = [at + 1 for at in range(90)]
    other = [0 if at in (20, 40, 60) else letter for at, letter in enumerate(base)]
    query, target = [*base, *[200 + at for at in range(10)]], [*[300 + at for at in range(10)], *other]
    bound = covered_bound(90 / 93, 0.9)
    assert int(bound.max_different_grams(q, *lengths)[0]) == 3 * q + 10 == alone(query, target, q) == alone(target, query, q)
    assert int(bound.max_different_grams(1, *lengths)[0]) == 3 + 10
    assert int(columns_bound(97 / 103).max_different_grams(q, *lengths)[0]) == 6 * q
    # The longer of the two may have more beyond; more edits than letters say nothing, nor does half of an identity.
    assert [int(bound.max_different_grams(q, np.array([one]), np.array([200 - one]))[0]) for one in (98, 102)] == [12 + 6, 12 + 10]
    assert covered_bound(0.5, 0.9).coverage == 0
    assert edit_distance_free_ends(query, target, (10, 10)) == int(bound.max_edits_inside(*lengths)[0]) == 3
    assert int(bound.max_overhang(*lengths)[0]) == 10
    assert int(bound.max_diagonals(*lengths)[0]) == 2 * 10 + 3
    assert int(columns_bound(97 / 103).max_diagonals(*lengths)[0]) == 6
    assert int(covered_bound(0.97, 0.9).max_different_grams(q, np.array([10]), np.array([100]))[0]) == 0
    # Of the shorter record alone, a tenth may be beyond; of the longer, all but nine tenths of what the shorter one has.
    fragment = covered_bound(90 / 93, 0.9, of_shorter=True)
    assert [int(fragment.max_overhang(np.array([one]), np.array([150 - one]))[0]) for one in (50, 100)] == [5, 55]
    assert int(fragment.max_diagonals(np.array([100]), np.array([50]))[0]) == 5 + 55 + 1
    assert most(fragment, [0] * 50, [0] * 100) == math.floor(150 - (1 + 90 / 93) * 45)
    # The shorter record decides whether q-grams can exclude the pair.
    assert fragment.max_different_gram_fraction(2, np.array([50]), np.array([5000])) == (2 * 1 + 5) / 50
    assert fragment.max_different_gram_fraction(2, np.array([5000]), np.array([50])) == (2 * 1 + 5) / 50
    assert columns_bound(97 / 103).max_different_gram_fraction(3, *lengths) == 3 * 6 / 100
    assert distance_bound(3).max_different_gram_fraction(3, np.array([0]), np.array([0])) == 1


def test_bounds_are_met():
    """They are not larger than they must be: a pair for each stands on its bound."""
    one, other = [0] * 97 + [1] * 3, [0] * 97 + [2] * 3
    assert most(distance_bound(3), one, other) == 3
    assert most(matches_bound(0.97), one, other) == 6  # three of each might stand in gaps
    assert most(columns_bound(97 / 103), one, other) == 6
    assert most(covered_bound(0.97, 1.0), one, other) == 3
    assert most(score_bound(97 * 5 - 3 * 4, SCHEMES["linear"], np.arange(3, dtype=np.uint8), False), one, other) == 3


def test_a_few_other_letters_change_no_q(rng):
    """Substrings of DNA with an N here and there are as long as those of DNA without."""
    codes = rng.integers(0, 4, 20_000).astype(np.uint8)
    plain = list(sketch_candidates(1500, effective_letters(codes), lambda q: 46 * q / 1500))
    codes[::2000] = 4 + np.arange(10)
    assert list(sketch_candidates(1500, effective_letters(codes), lambda q: 46 * q / 1500)) == plain
    assert {q for q, _ in plain} == {6, 7, 8, 9}
    assert effective_letters(np.zeros(9, np.uint8)) == 1
    assert round(effective_letters(np.arange(20, dtype=np.uint8))) == 20


def test_wide_bands_are_worth_larger_sketches():
    """The more the distance of a pair that sketches leave costs, the more words of them pay."""
    left = {0: 100, 2048: 30, 8192: 20, 16384: 18}
    options = [
        FilterCascade(),
        FilterCascade(q=8, sketch_bits=2048),
        FilterCascade(q=8, sketch_bits=8192),
        FilterCascade(q=8, sketch_bits=16384),
    ]

    costs = StepCosts(pair=0.5, letter_counts=2.0, word=0.25, column=0.001, cell=1.0)

    def chosen(max_diagonals):
        return cheapest_cascade(
            iter(options), lambda steps: SurvivorCounts(100, 100, 100, left[steps.sketch_bits]), (100.0, 100.0), max_diagonals, costs
        )[0].sketch_bits

    assert [chosen(64 * words) for words in (0, 5_000, 100_000)] == [0, 8192, 16384]


def test_sketches_that_cannot_pay_are_not_measured():
    """Comparing 8,192 bits costs 32 of a pair, more than the 0.5 + 8 + 0.1 x 100 of 2,048 bits."""
    measured = []

    def measure(steps):
        measured.append(steps.sketch_bits)
        return SurvivorCounts(100, 100, 100, 10 if steps.q else 100)

    options = iter([FilterCascade(), *(FilterCascade(q=8, sketch_bits=bits) for bits in (2048, 8192, 4096))])
    costs = StepCosts(pair=0.5, letter_counts=2.0, word=0.25, column=1.0, cell=1.0)
    steps, nanoseconds, survivors = cheapest_cascade(options, measure, (100.0, 100.0), 0, costs)
    assert (steps.sketch_bits, nanoseconds, survivors.after_sketches) == (2048, 18.5, 10)
    assert measured == [0, 2048, 4096]


def test_letter_counts_may_make_large_sketches_pay():
    """If letter counts leave few pairs for them, larger sketches are chosen; of two cascades at the same price, the first is."""
    counted = FilterCascade(compare_counts=True, q=8, sketch_bits=8192)
    options = [FilterCascade(), FilterCascade(q=8, sketch_bits=2048), counted, replace(counted, q=9)]
    costs = StepCosts(pair=0.5, letter_counts=2.0, word=0.25, column=1.0, cell=1.0)

    def measure(steps):
        return SurvivorCounts(100, 100, 1, 0) if steps.compare_counts else SurvivorCounts(100, 100, 100, 10 if steps.q else 100)

    steps, nanoseconds, _ = cheapest_cascade(iter(options), measure, (100.0, 100.0), 0, costs)
    assert (steps, nanoseconds) == (counted, pytest.approx(0.5 + 2.0 + 0.32))


def test_what_a_sample_leaves_is_told():
    left = SurvivorCounts(20_000, 10_600, 5000, 129)
    assert left.describe(FilterCascade()) == "in a sample lengths leave 53 %"
    assert SurvivorCounts(1000, 999, 0, 0).describe(FilterCascade()) == "in a sample lengths leave 100 %"
    assert left.describe(FilterCascade(compare_counts=True)) == "in a sample lengths leave 53 %, letter counts 25 %"
    assert left.describe(FilterCascade(q=8, sketch_bits=4096)) == "in a sample lengths leave 53 %, q-grams 0.65 %"


def test_scores_that_bound_nothing(rng):
    """Where unequal letters score like equal ones, a score says nothing about edits."""
    assert score_bound(10, two_valued(15, 3, 3, 2, 1), np.arange(4, dtype=np.uint8), False) is None


@pytest.mark.parametrize(
    ("filter", "definition", "end_gaps", "bounded"),
    [
        (Filter(max_score=3), 2, EndGaps.PENALISED, True),
        (Filter(max_score=3), 2, EndGaps.FREE, False),
        (Filter(min_identity=0.97), 0, EndGaps.FREE, True),
        (Filter(min_identity=0.97), 1, EndGaps.PENALISED, True),
        (Filter(min_identity=0.97), 1, EndGaps.QUERY, False),
        (Filter(min_identity=0.97), 2, EndGaps.PENALISED, False),
        (Filter(max_distance=0.03), 2, EndGaps.PENALISED, False),
        (Filter(max_distance=0.03), 4, EndGaps.PENALISED, True),
        (Filter(min_identity=0.97), 3, EndGaps.PENALISED, False),
        (Filter(min_identity=0.97, min_coverage=0.9), 2, EndGaps.FREE, True),
        (Filter(min_coverage=0.9), 2, EndGaps.PENALISED, False),
    ],
)
def test_what_thresholds_bound(rng, filter, definition, end_gaps, bounded):
    records = relatives(rng, 4, 50, 4)
    task = Task(records, records, SCHEMES["edit"], detail=Detail.STATISTICS, end_gaps=end_gaps)
    assert (edit_bound(filter, task, definition) is not None) == bounded
    assert (describe_missing_bound(filter, task, definition) is not None) == (not bounded and filter.lowest_identity is not None)


def test_the_closest_bound_counts():
    records = sequence_set([[0, 1, 2, 3] * 25] * 2)
    task = Task(records, records, SCHEMES["edit"], detail=Detail.STATISTICS)
    assert edit_bound(Filter(max_score=2, min_identity=0.9), task, 1) == distance_bound(2)
    assert edit_bound(Filter(max_score=90, min_identity=0.9), task, 1) == columns_bound(0.9)


def test_coverage_filters_what_is_written(rng):
    """Of pairs with 60 and 40 letters in pairs of 100 and 50."""
    from gpualign.core.alignment.aligned_pairs import PairAlignments
    from gpualign.core.alignment.pair_list import NearPairs
    from gpualign.core.results.blocks import NearPairBlock

    records = sequence_set([[0] * 100, [0] * 50])
    found = np.zeros(2, dtype=STATISTICS)
    found["matches"], found["mismatches"] = [50, 30], [10, 10]
    task = Task(records, records, SCHEMES["edit"], detail=Detail.STATISTICS)
    pairs = NearPairs(np.array([0, 0]), np.array([1, 1]), np.zeros(2, dtype=np.int64))
    block = NearPairBlock(task, 2, pairs, PairAlignments(np.zeros(2, dtype=np.int32), found, None))
    assert Filter(min_coverage=0.4).mask(block) is None  # all pass
    assert Filter(min_coverage=0.5).mask(block).tolist() == [True, False]
    assert Filter(min_coverage=0.7).mask(block).tolist() == [False, False]


@pytest.mark.parametrize(("left", "whole"), [(5, False), (84, True)])
def test_a_matrix_of_short_records_costs_more_than_its_cells(left, whole):
    """Nearly all of its time is spent before the first cell: 4,000 receptors took 0.20 s, and by letter counts 0.05 s."""
    options = [FilterCascade(full_matrix=True), FilterCascade(compare_counts=True)]
    steps, _, _ = cheapest_cascade(iter(options), lambda _: SurvivorCounts(100, 100, left, left), (12.0, 12.0), 6, _STEP_COSTS)
    assert steps.full_matrix is whole
