"""Bit scores and E-values: the published parameters, BLAST's length adjustment, the simulation, and what E-values mean."""

import math

import numpy as np
import pytest
from work import run_scores, sequence_set, two_valued

from gpualign.core.alignment.task import Mode
from gpualign.core.output.formats.blast6 import format_blast_bit_score, format_blast_evalue
from gpualign.core.scoring.evalues import EvalueParameters, SearchSpace, published_parameters
from gpualign.core.scoring.scoring import ScoringOptions, make_scoring
from gpualign.core.search.evalue_estimation import fit_gumbel, letter_frequencies, simulate_parameters
from gpualign.core.sequences.alphabet import DNA, PROTEIN
from gpualign.cpu.alignment.engine import CpuEngine
from gpualign.cpu.alignment.score_simulation import CpuSimulator

pytestmark = pytest.mark.slow

# Residues in a thousand, Robinson & Robinson 1991: what the published parameters were simulated with.
ROBINSON = dict(
    zip(
        "ARNDCQEGHILKMFPSTWYV",
        (
            78.05,
            51.29,
            44.87,
            53.64,
            19.25,
            42.64,
            62.95,
            73.77,
            21.99,
            51.42,
            90.19,
            57.44,
            22.43,
            38.56,
            52.03,
            71.20,
            58.41,
            13.30,
            32.16,
            64.41,
        ),
        strict=True,
    )
)


def background():
    found = np.array([ROBINSON.get(letter, 0.0) for letter in PROTEIN.letters])
    return found / found.sum()


def protein(**options):
    return make_scoring(PROTEIN, ScoringOptions(**options))


def test_blast_writes_gaps_otherwise():
    """BLAST's 11/1 is existence 11 and extension 1: a gap of one letter costs 12."""
    found = published_parameters(protein(gap_open=12, gap_extend=1))
    assert (found.lambda_, found.k, found.alpha, found.beta) == (0.267, 0.041, 1.9, -30)
    assert published_parameters(protein()).lambda_ == 0.243  # 11/1 here is 10/1 there
    assert published_parameters(make_scoring(PROTEIN, ScoringOptions(), local=True)) == found
    assert published_parameters(make_scoring(DNA, ScoringOptions(), local=True)).lambda_ == 0.163  # 5/-4 with gaps 10/6
    assert published_parameters(make_scoring(DNA, ScoringOptions(match=1, mismatch=-3, gap_open=4, gap_extend=2))).k == 0.70
    for unknown in (protein(gap=6), protein(gap_open=50), make_scoring(DNA, ScoringOptions()), two_valued(4, 7, -3, 9, 2)):
        assert published_parameters(unknown) is None


def test_odd_scores_of_a_match_of_two_are_rounded_down():
    found = published_parameters(make_scoring(DNA, ScoringOptions(match=2, mismatch=-3, gap_open=7, gap_extend=2)))
    bits = found.bit_scores(np.array([40, 41, 42]))
    assert bits[0] == bits[1] < bits[2]
    assert bits[0] == pytest.approx((0.625 * 40 - math.log(0.41)) / math.log(2))


@pytest.mark.parametrize(
    ("query", "letters", "records"),
    [(8, 10**6, 3000), (57, 9 * 10**6, 20_000), (400, 10**9, 2_000_000), (400, 300, 1), (5, 5, 1), (1, 1, 1)],
)
def test_the_length_adjustment_is_the_largest_that_holds(query, letters, records):
    p = published_parameters(protein())

    def holds(length):
        space = p.k * (query - length) * (letters - records * length)
        return space > 0 and length <= p.alpha / p.lambda_ * math.log(space) + p.beta

    found = p.length_adjustment(query, letters, records)
    assert 0 <= found < query
    assert found * records < letters
    possible = [n for n in range(min(query, -(-letters // records))) if n * records < letters]
    assert found == max((n for n in possible if holds(n)), default=0)


def test_evalues_by_the_length_adjustment():
    """Nucleotides, for which there is no other correction: 2^-bits of the space."""
    p = published_parameters(make_scoring(DNA, ScoringOptions(), local=True))
    space = SearchSpace(p, 9_055_569, 20_000)
    scores, queries, targets = np.array([40, 80, 300]), np.array([57, 57, 400]), np.array([10, 900, 900])
    lengths = [p.length_adjustment(m, 9_055_569, 20_000) for m in queries.tolist()]
    sizes = [(m - n) * (9_055_569 - 20_000 * n) for m, n in zip(queries, lengths, strict=True)]
    expected = [size * 2.0**-b for size, b in zip(sizes, p.bit_scores(scores), strict=True)]
    np.testing.assert_allclose(space.evalues(scores, queries, targets), expected)
    both = SearchSpace(p, space.letter_count, space.record_count, 2)
    np.testing.assert_allclose(both.evalues(scores, queries, targets), 2 * space.evalues(scores, queries, targets))


@pytest.mark.parametrize(
    ("options", "score", "lengths", "expected"),
    [
        # blastp 2.12.0 -gapopen 10 -gapextend 1 -comp_based_stats 0 -seg no, a database of 48,772 residues
        ({}, 589, (189, 189), 5.34e-74),
        ({}, 479, (189, 188), 7.50e-59),
        ({}, 34, (189, 356), 38),
        ({}, 28, (189, 260), 181),
        # -gapopen 11 -gapextend 1
        ({"gap_open": 12}, 588, (189, 189), 1.89e-80),
        ({"gap_open": 12}, 27, (189, 315), 226),
        # -gapopen 9 -gapextend 2
        ({"gap_open": 11, "gap_extend": 2}, 588, (189, 189), 2.19e-84),
        ({"gap_open": 11, "gap_extend": 2}, 33, (189, 133), 34),
    ],
)
def test_evalues_of_blastp(options, score, lengths, expected):
    space = SearchSpace(published_parameters(protein(**options)), 48_772, 200)
    found = space.evalues(np.array([score]), *(np.array([n]) for n in lengths))[0]
    assert found == pytest.approx(expected, rel=0.02)


def test_a_gumbel_sample_gives_its_parameters_back(rng):
    for lambda_, size, step in ((0.25, 2000.0, 1), (1.3, 500.0, 1), (0.1, 9000.0, 5)):
        sample = (math.log(size) - np.log(-np.log(rng.random(200_000)))) / lambda_
        found, found_size = fit_gumbel((np.floor(sample / step) * step).astype(np.int64), step)
        assert found == pytest.approx(lambda_, rel=0.02)
        assert math.log(found_size) == pytest.approx(math.log(size), rel=0.03)
    with pytest.raises(ValueError, match="equal"):
        fit_gumbel(np.full(10, 7), 1)


def simulated(scheme, alphabet, frequencies):
    return simulate_parameters(scheme, frequencies, CpuSimulator(scheme, alphabet, CpuEngine(2)))


@pytest.mark.parametrize(("gap_open", "gap_extend"), [(12, 1), (11, 1), (13, 2), (9, 2)])
def test_simulation_agrees_with_what_is_published(gap_open, gap_extend):
    scheme = protein(gap_open=gap_open, gap_extend=gap_extend)
    known, found = published_parameters(scheme), simulated(scheme, PROTEIN, background())
    assert found.lambda_ == pytest.approx(known.lambda_, rel=0.05)
    assert math.log(found.k) == pytest.approx(math.log(known.k), abs=0.35)
    assert found.alpha == pytest.approx(known.alpha, rel=0.25)
    # What counts: the E-value of a good score differs by less than a factor of two and a half.
    for score in (60, 90):
        spaces = [SearchSpace(p, 10**7, 30_000).evalues(np.array([score]), np.array([350]), np.array([350]))[0] for p in (known, found)]
        assert 0.4 < spaces[0] / spaces[1] < 2.5


@pytest.mark.parametrize(("match", "mismatch", "gap_open", "gap_extend"), [(5, -4, 16, 6), (1, -3, 4, 2), (2, -3, 7, 2), (1, -1, 3, 1)])
def test_simulation_of_nucleotides(match, mismatch, gap_open, gap_extend):
    scheme = make_scoring(DNA, ScoringOptions(match=match, mismatch=mismatch, gap_open=gap_open, gap_extend=gap_extend))
    known, found = published_parameters(scheme), simulated(scheme, DNA, np.full(4, 0.25))
    assert found.lambda_ == pytest.approx(known.lambda_, rel=0.05)
    assert math.log(found.k) == pytest.approx(math.log(known.k), abs=0.35)


def test_scores_that_grow_with_the_length_have_no_evalues():
    for options in (ScoringOptions(), ScoringOptions(match=2, mismatch=-1, gap=1)):
        assert simulated(make_scoring(DNA, options), DNA, np.full(4, 0.25)) is None
    assert simulated(two_valued(15, 0, -1, 3, 1), DNA, np.full(4, 0.25)) is None  # no score is above 0


def test_the_simulation_repeats_itself():
    scheme = protein(gap=6)
    assert simulated(scheme, PROTEIN, background()) == simulated(scheme, PROTEIN, background())


def test_frequencies_are_of_unambiguous_letters():
    sequences = sequence_set([np.array([0, 0, 1, 14, 14])])
    assert letter_frequencies(sequences, 4) == pytest.approx([2 / 3, 1 / 3, 0, 0])
    assert letter_frequencies(sequence_set([np.array([14])]), 4) == pytest.approx([0.25] * 4)


@pytest.mark.parametrize(("gap_open", "source"), [(11, "published"), (15, "simulated")])
def test_as_many_chance_hits_as_the_evalue_says(gap_open, source):
    """Random proteins of 100 to 800 residues: the hits with E <= 1 of a query are one on average."""
    rng = np.random.default_rng(7)  # the figure is statistical: always the same sample
    scheme = protein(gap_open=gap_open)
    p = published_parameters(scheme)
    assert (p is not None) == (source == "published")
    p = p or simulated(scheme, PROTEIN, background())

    def random_set(count):
        return sequence_set([rng.choice(len(PROTEIN), rng.integers(100, 800), p=background()) for _ in range(count)])

    queries, targets = random_set(150), random_set(2000)
    scores = run_scores(queries, targets, scheme, engine=CpuEngine(2), mode=Mode.LOCAL)
    space = SearchSpace(p, int(targets.offsets[-1]), len(targets))
    evalues = np.stack([space.evalues(row, np.full(len(row), n), targets.lengths) for row, n in zip(scores, queries.lengths, strict=True)])
    for limit in (1, 10):
        found = (evalues <= limit).sum() / len(queries)
        assert 0.6 * limit < found < 1.5 * limit, (limit, found)


def test_parameters_of_a_scoring_are_its_own():
    assert EvalueParameters(0.3, 0.1, 1.0, -5.0, 1, "x") != EvalueParameters(0.3, 0.1, 1.0, -5.0, 2, "x")


def test_blasts_number_formats():
    """As blastp 2.12 prints them."""
    evalues = {
        0: "0.0",
        3e-181: "0.0",
        4.4e-120: "4.40e-120",
        3.046e-95: "3.05e-95",
        0.00089: "8.90e-04",
        0.0123: "0.012",
        0.51: "0.51",
        7.66: "7.7",
        87.4: "87",
    }
    assert {value: format_blast_evalue(value) for value in evalues} == evalues
    bits = {28.12: "28.1", 99.94: "99", 99.86: "99.9", 275.8: "275", 12345.6: "12345", 99999.0: "99999", 123456.0: "1.235e+05"}
    assert {value: format_blast_bit_score(value) for value in bits} == bits
