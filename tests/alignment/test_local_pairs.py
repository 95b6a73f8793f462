"""Local alignments of single pairs on the CPU: the same scores and paths as in lanes, and as the plain recurrence."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracle import align, local_score
from work import records, run_scores, scoring, sequence_set, two_valued

from gpualign.core.alignment.task import EndGaps, Mode
from gpualign.core.scoring.scoring import ScoringOptions, make_scoring
from gpualign.core.sequences.alphabet import DNA, PROTEIN
from gpualign.cpu.alignment import _kernels
from gpualign.cpu.alignment.engine import CpuEngine, instruction_sets
from gpualign.cpu.alignment.local_recipe import make_local_recipe
from gpualign.cpu.alignment.native_recipes import native_local_recipe, native_path_recipe
from gpualign.cpu.alignment.path_recipe import make_path_recipe

SETS = [s.name for s in instruction_sets() if s.is_supported]
PAIRS, LANES = {"most_columns": 0}, {"column_steps": 1e18}  # one by one, or side by side, whatever it costs


def native(queries, targets, scheme, letters, form):
    return native_local_recipe(replace(make_local_recipe(scheme, letters, queries.max_length, targets.max_length), **form))


def arguments(queries, targets, query_ids, target_ids):
    return queries.codes, queries.offsets, query_ids, targets.codes, targets.offsets, target_ids


def local_scores(name, queries, targets, scheme, letters, form):
    scores = np.full((len(queries), len(targets)), -7)
    pairs = arguments(queries, targets, np.arange(len(queries)), np.arange(len(targets)))
    recipe, history = native(queries, targets, scheme, letters, form), _kernels.LocalHistory(len(queries))
    assert _kernels.score_local_tile_64(name, *pairs, recipe, history, scores, _kernels.Cancel())
    return scores


def traced(name, queries, targets, scheme, letters, scores, form):
    """Everything that is returned for the hits of all pairs that have a score."""
    rows, columns = np.nonzero(scores)
    paths = native_path_recipe(make_path_recipe(scheme, letters, EndGaps.PENALISED), 1 << 26)
    found = _kernels.trace_local_hits(
        name,
        *arguments(queries, targets, rows, columns),
        scores[rows, columns],
        native(queries, targets, scheme, letters, form),
        paths,
        _kernels.Cancel(),
    )
    scores, statistics, runs, starts, sizes = found
    return scores.tolist(), statistics.tolist(), [runs[a : a + n].tolist() for a, n in zip(starts, sizes, strict=True)]


def check(name, queries, targets, scheme, letters):
    """All pairs, one by one and in lanes; with paths."""
    alone = local_scores(name, queries, targets, scheme, letters, PAIRS)
    assert alone.tolist() == local_scores(name, queries, targets, scheme, letters, LANES).tolist()
    if alone.any():
        paths = traced(name, queries, targets, scheme, letters, alone, PAIRS)
        assert paths == traced(name, queries, targets, scheme, letters, alone, LANES)
    return alone


def relative(rng, sequence, letters):
    changed = np.where(rng.random(len(sequence)) < 0.1, rng.integers(0, letters, len(sequence)), sequence)
    return np.delete(changed, slice(len(changed) // 3, len(changed) // 3 + len(changed) // 20))


SEQUENCES = st.lists(st.lists(st.integers(0, 2), min_size=1, max_size=150), min_size=1, max_size=3)


@pytest.mark.parametrize("name", SETS)
@given(SEQUENCES, SEQUENCES, st.integers(1, 60), st.integers(-60, 0), st.integers(0, 125), st.integers(0, 125))
def test_the_plain_recurrence(name, queries, targets, match, mismatch, one, other):
    """Few letters, so that many cells share the score, and gap costs up to nearly the range of a byte."""
    gaps = max(one, other), min(one, other)
    scheme = two_valued(3, match, mismatch, *gaps)
    scores = check(name, sequence_set(queries), sequence_set(targets), scheme, 3)
    assert scores.tolist() == [[local_score(np.array(q), np.array(t), scheme.substitution, *gaps) for t in targets] for q in queries]


@pytest.mark.parametrize("name", SETS)
@given(st.integers(0, 2**32), st.sampled_from([(5, -4, 16, 6), (1, -1, 1, 1), (40, -30, 90, 3), (3, -9, 4, 0)]))
def test_parts_of_several_strips(name, seed, weights):
    """Copies of parts of the query, repeated, with gaps and between other letters, so that lanes differ in where their cells can matter."""
    rng = np.random.default_rng(seed)
    query = rng.integers(0, 4, rng.integers(120, 700))
    targets = []
    for _ in range(rng.integers(1, 12)):
        first = int(rng.integers(0, len(query) - 20))
        part = relative(rng, query[first : first + int(rng.integers(10, 700))], 4)
        parts = [rng.integers(0, 4, rng.integers(0, 300)), part, rng.integers(0, 4, rng.integers(0, 300)), part[: len(part) // 2]]
        targets.append(np.concatenate(parts[int(rng.integers(0, 2)) : int(rng.integers(2, 5))]))
    sets = sequence_set([query]), sequence_set(targets)
    scheme = two_valued(4, *weights)
    scores = check(name, *sets, scheme, 4)
    check(name, *reversed(sets), scheme, 4)
    assert scores.tolist() == [[local_score(query, target, scheme.substitution, *weights[2:]) for target in targets]]


def operations(runs):
    return "".join("=XID"[run & 3] * ((run >> 2) + 1) for run in runs)


@pytest.mark.parametrize("name", SETS)
@given(SEQUENCES, SEQUENCES, st.integers(0, 2**32), st.sampled_from([60, 300, 5000, 70_000]))
def test_paths_of_wide_scores(name, queries, targets, seed, largest):
    """Boxes with directions of 16 and 32 bits, by the rule for ties, in matrices without any symmetry."""
    rng = np.random.default_rng(seed)
    table = rng.choice([-largest, -largest // 2, 0, largest // 2, largest], (3, 3))
    table[0, 0] = largest
    gap_open = int(rng.choice([0, 1, largest // 2, largest, 2 * largest]))
    scheme = scoring(table.tolist(), gap_open, int(rng.choice([0, gap_open // 2, gap_open])))
    queries, targets = ([np.array(sequence) for sequence in sequences] for sequences in (queries, targets))
    sets = sequence_set(queries), sequence_set(targets)
    scores = check(name, *sets, scheme, 3)
    if not scores.any():
        return
    _, statistics, runs = traced(name, *sets, scheme, 3, scores, PAIRS)
    for (q, t), counts, path in zip(zip(*np.nonzero(scores), strict=True), statistics, runs, strict=True):
        first_row, row, first_column, column = counts[5:]
        part = queries[q][first_row:row], targets[t][first_column:column]
        assert (scores[q, t], operations(path)) == align(*part, scheme)[:2]


@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("score", [65533, 65534, 65535], ids=str)
def test_paths_of_scores_at_the_end_of_16_bits(name, score):
    sequence = np.repeat([0, 1], [score // 127 - 1, 1])
    rest = score - 127 * (len(sequence) - 1)
    scheme = scoring([[127, -500], [-500, rest]], 400, 100)
    sequences = sequence_set([sequence])
    assert check(name, sequences, sequences, scheme, 2).tolist() == [[score]]
    _, _, (runs,) = traced(name, sequences, sequences, scheme, 2, np.array([[score]]), LANES)
    assert operations(runs) == "=" * len(sequence)


@pytest.mark.slow
@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("gaps", [(16, 6), (10, 1), (7, 7), (0, 0)], ids=str)
@pytest.mark.parametrize("scale", [1, 30, 10**6], ids=lambda s: f"x{s}")
def test_thousands_of_letters(rng, name, gaps, scale):
    """More rows than a strip of 32 bits has, scores beyond 8, 16 and 32 bits, and either sequence as the longer one."""
    long, short = rng.integers(0, 4, 5000), rng.integers(0, 4, 40)
    sequences = sequence_set([long, relative(rng, long[1500:4200], 4), short, np.concatenate((short, short))])
    check(name, sequences, sequences, two_valued(4, 5 * scale, -4 * scale, *(gap * scale for gap in gaps)), 4)


@pytest.mark.parametrize("name", SETS)
def test_more_rows_than_a_strip_of_bytes(rng, name):
    """The only good alignment crosses the first row of the second strip."""
    rows = 256 * next(s.vector_bytes for s in instruction_sets() if s.name == name)
    long, short = rng.integers(0, 2, rows + 3000), rng.integers(2, 4, 45)
    long[rows - 20 : rows + 25] = short
    sets = sequence_set([long]), sequence_set([short, np.delete(short, slice(18, 22))])
    assert check(name, *sets, two_valued(4, 5, -4, 16, 6), 4)[0, 0] == 225
    check(name, *reversed(sets), two_valued(4, 5, -4, 16, 6), 4)


@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("alphabet", [DNA, PROTEIN], ids=["dna", "protein"])
def test_all_letters(rng, name, alphabet):
    """Ambiguity letters too, by the usual matrices."""
    letters = len(alphabet)
    sequence = rng.integers(0, letters, 700)
    queries, targets = sequence_set([sequence, rng.integers(0, letters, 90)]), sequence_set([relative(rng, sequence, letters)])
    scheme = make_scoring(alphabet, ScoringOptions(), local=True)
    scores = check(name, queries, targets, scheme, letters)
    for i, query in enumerate(records(queries)):
        assert scores[i, 0] == local_score(query, records(targets)[0], scheme.substitution, scheme.gap_open, scheme.gap_extend)


@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize(
    ("match", "lengths", "gaps"),
    [
        (1, range(230, 259), (5, 1)),
        (1, range(61, 68), (95, 95)),  # bytes hold scores to 64
        (1, range(61, 68), (96, 95)),  # gap costs take bytes away from scores altogether
        (64, range(1019, 1028), (5, 1)),
        (64, range(253, 258), (24576, 24573)),
    ],
    ids=str,
)
def test_the_ends_of_the_ranges(name, match, lengths, gaps):
    """Scores about the largest that elements of 8 and 16 bits can hold above the room for gap costs."""
    sequences = sequence_set([np.zeros(n, dtype=np.uint8) for n in lengths])
    scores = check(name, sequences, sequences, two_valued(2, match, -1, *gaps), 2)
    assert scores.tolist() == [[match * min(a, b) for b in lengths] for a in lengths]


@pytest.mark.parametrize("name", SETS)
def test_the_largest_score_of_a_range_before_a_larger_one(name):
    """After 65,534 points at the end of a strip, rows with more than 65,535 points to come begin from nothing."""
    scheme = scoring([[126, -127, -127], [-127, 127, -127], [-127, -127, 1]], 120, 120)
    first, second = np.repeat([1, 0], [14, 506]), np.ones(560, dtype=int)
    queries, targets = sequence_set([np.concatenate(([2] * 120, first, second))]), sequence_set([np.concatenate((second, first))])
    assert check(name, queries, targets, scheme, 3).tolist() == [[560 * 127]]


def test_asymmetric_matrices(rng):
    scheme = scoring([[5, -4, -1, -9], [2, 5, -4, -4], [-4, 0, 6, -4], [-4, -4, 3, 7]], 8, 3)
    sets = sequence_set([rng.integers(0, 4, n) for n in (30, 300)]), sequence_set([rng.integers(0, 4, n) for n in (40, 200)])
    for queries, targets in (sets, sets[::-1]):
        scores = check(SETS[0], queries, targets, scheme, 4)
        for i, query in enumerate(records(queries)):
            assert scores[i].tolist() == [local_score(query, target, scheme.substitution, 8, 3) for target in records(targets)]


def test_two_long_sequences_need_little_memory(rng):
    genome = rng.integers(0, 4, 60_000)
    sequences = sequence_set([genome])
    scores = run_scores(sequences, sequences, two_valued(4, 1, -3, 5, 2), engine=CpuEngine(1), mode=Mode.LOCAL, memory=3_000_000)
    assert scores.tolist() == [[60_000]]
