"""Scores adjusted to compositions, against the definitions of Yu & Altschul (2005) and Schaffer et al. (2001)."""

import numpy as np
import pytest

from gpualign.core.scoring.composition import ADJUST, SCALE, UNITS_PER_POINT, matrix_model, translation_windows
from gpualign.core.scoring.scoring import ScoringOptions, make_scoring
from gpualign.core.sequences.alphabet import PROTEIN
from gpualign.core.sequences.sequence_set import SequenceSet
from gpualign.cpu.alignment import _kernels

optimize = pytest.importorskip("scipy.optimize")

SCORING = make_scoring(PROTEIN, ScoringOptions(), local=True)
PSEUDOCOUNTS, ENTROPY = 20, 0.44


def adjuster(method):
    model = matrix_model(SCORING, method)
    return model, _kernels.MatrixAdjuster(
        model.target_frequencies, model.ungapped_lambda, model.stop_score, model.stop_stop_score, model.only_scales
    )


def random_protein(rng, length, concentration, background):
    return rng.choice(20, length, p=rng.dirichlet(background * concentration)).astype(np.uint8)


def estimated(codes, background):
    counts = np.bincount(codes, minlength=20)[:20]
    return (counts + PSEUDOCOUNTS * background) / (counts.sum() + PSEUDOCOUNTS)


@pytest.mark.parametrize("concentration", [20, 100, 1000])
def test_adjusted_frequencies_are_the_least_divergent(rng, concentration):
    """The target frequencies behind the scores have the marginals and the entropy asked for; an optimiser that starts from them finds none
    that diverge less from those of the matrix."""
    model, made = adjuster(ADJUST)
    q = model.target_frequencies
    background = q.sum(axis=0)
    query, target = (random_protein(rng, length, concentration, background) for length in (300, 250))
    r, c = estimated(query, background), estimated(target, background)
    scores = np.asarray(made.scores(query, target))[:20, :20]
    x = np.exp(scores * model.ungapped_lambda / UNITS_PER_POINT) * np.outer(r, c)
    assert x.sum(axis=1) == pytest.approx(r, rel=0.02)
    assert x.sum(axis=0) == pytest.approx(c, rel=0.02)
    assert (x * np.log(x / np.outer(r, c))).sum() == pytest.approx(ENTROPY, rel=0.02)
    # Stationary: ln x = power ln q + a row term + a column term.
    power, *_ = np.linalg.lstsq(*_rows_and_columns(np.log(q), np.log(x)), rcond=None)[0]
    fitted = optimize.minimize(lambda t: np.abs(_residual(np.log(x) - t * np.log(q))).max(), power, method="Nelder-Mead")
    assert fitted.fun < 2 * model.ungapped_lambda / UNITS_PER_POINT  # rounded to units


def test_letters_that_never_occur_together():
    """Their joint frequency is too small for a double, and their score far below all others."""
    _, made = adjuster(ADJUST)
    codes = {letter: PROTEIN.letters.index(letter) for letter in "ALFPTDBX"}
    query = np.full(60, codes["A"], dtype=np.uint8)
    target = np.repeat(np.array([codes[letter] for letter in "LFPT"], dtype=np.uint8), [325, 79, 486, 578])
    target = np.append(target, np.full(532, codes["X"], dtype=np.uint8))
    scores = np.asarray(made.scores(query, target))
    for letter in "DB":
        assert np.iinfo(np.int32).min // 4 < scores[codes["F"], codes[letter]] < -1000 * UNITS_PER_POINT
    assert np.abs(scores[codes["A"], [codes[letter] for letter in "LFPT"]]).max() < 20 * UNITS_PER_POINT


def _residual(table):
    return table - table.mean(axis=0) - table.mean(axis=1)[:, None] + table.mean()


def _rows_and_columns(log_q, log_x):
    return _residual(log_q).reshape(-1, 1), _residual(log_x).reshape(-1)


def test_scaled_scores(rng):
    """Scores are those of the matrix times the ratio of lambdas, from 0.5 to 1."""
    model, made = adjuster(SCALE)
    q = model.target_frequencies
    background = q.sum(axis=0)
    nats = np.log(q / np.outer(background, background))
    for concentration in (1, 5, 50, 1000):
        query, target = (random_protein(rng, 200, concentration, background) for _ in range(2))
        r, c = (np.bincount(one, minlength=20) / len(one) for one in (query, target))

        weights = np.outer(r, c)

        def excess(t, weights=weights):
            return (weights * np.exp(t * nats)).sum() - 1

        ratio = 1.0 if excess(1) <= 0 else 0.5 if excess(0.5) >= 0 else optimize.brentq(excess, 0.5, 1)
        expected = nats * ratio / model.ungapped_lambda * UNITS_PER_POINT
        assert np.abs(np.asarray(made.scores(query, target))[:20, :20] - expected).max() <= 0.5 + 1e-4


def test_letters_that_are_not_amino_acids(rng):
    background = matrix_model(SCORING, ADJUST).target_frequencies.sum(axis=0)
    query, target = (random_protein(rng, 300, 100, background) for _ in range(2))
    _, made = adjuster(ADJUST)
    scores = np.asarray(made.scores(query, target))
    b, z, x, u, o, j, stop = (PROTEIN.letters.index(letter) for letter in "BZXUOJ*")
    cysteine = PROTEIN.letters.index("C")
    assert (scores[u, :20] == scores[cysteine, :20]).all()
    assert (scores[:20, u] == scores[:20, cysteine]).all()
    for unknown in (x, o):
        assert (scores[unknown, :20] <= -1).all()
        assert (scores[:20, unknown] <= -1).all()
    for both, parts in ((b, "ND"), (z, "QE"), (j, "IL")):
        parts = [PROTEIN.letters.index(letter) for letter in parts]
        assert (scores[both, :20] <= scores[parts, :20].max(axis=0)).all()
        assert (scores[both, :20] >= scores[parts, :20].min(axis=0)).all()
    assert (scores[stop, :stop] == -4 * UNITS_PER_POINT).all()
    assert made.scores(np.full(30, x, dtype=np.uint8), target) is None


def test_windows_end_before_stops_and_200_letters_away(rng):
    stop = PROTEIN.letters.index("*")
    sets = []
    for length in (30, 300, 900):
        codes = rng.integers(0, 20, length).astype(np.uint8)
        codes[rng.random(length) < 0.01] = stop
        sets.append(codes)
    translations = SequenceSet("t", ["a", "b", "c"], np.concatenate(sets), np.array([0, 30, 330, 1230]))
    numbers = rng.integers(0, 3, 300)
    starts = (rng.random(300) * (translations.lengths[numbers] - 10)).astype(np.int64)
    ends = starts + rng.integers(1, 10, 300)
    lefts, rights = translation_windows(translations, numbers, starts, ends)
    for number, start, end, left, right in zip(numbers, starts, ends, lefts, rights, strict=True):
        codes = sets[number]
        expected = start
        while expected > max(0, start - 200) and codes[expected - 1] != stop:
            expected -= 1
        if expected > max(0, start - 200):
            expected = min(start, expected + 20)
        assert left == expected
        expected = end
        while expected < min(len(codes), end + 200) and codes[expected] != stop:
            expected += 1
        if expected < min(len(codes), end + 200):
            expected = max(end, expected - 20)
        assert right == expected
