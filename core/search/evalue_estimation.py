"""Estimates E-value parameters from simulated sequences, for scorings without published parameters.

Method: random sequences with the letter frequencies of the database are searched against each other. The best scores between unrelated
sequences have the distribution P(S < x) = exp(-A e^(-lambda x)) with A = K (L - l)^2 for two sequences of L letters (Altschul & Gish 1996);
lambda and A are the maximum-likelihood estimates, for scores that are integer multiples of the scoring's step. alpha and beta come from the
regression line of alignment length on score (Altschul et al. 2001); l is the mean alignment length. Sequences of two lengths are compared:
if scores grow in proportion to the length rather than to its logarithm, E-values are meaningless, and none are given.

The simulation uses a fixed seed, so the same input gives the same E-values.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Protocol

import numpy as np

from gpualign.core.alignment.tile_results import Statistics
from gpualign.core.common.arrays import Integers, Reals
from gpualign.core.common.dataclass import dataclass
from gpualign.core.scoring.evalues import EvalueParameters
from gpualign.core.scoring.scoring import Scoring
from gpualign.core.sequences.sequence_set import SequenceSet

SEQUENCE_COUNT = 100
"""Number of random sequences in each of the two compared sets; every pair is compared."""

SEQUENCE_LENGTH = 800
_SHORT_LENGTH = SEQUENCE_LENGTH // 4
_TRACED_PAIR_COUNT = 2000
_MAX_SCORE_GROWTH = 2.5
"""Maximum ratio of mean scores when the length grows fourfold. In the logarithmic phase, the mean grows by ln(4^2) / lambda; in the linear
phase, fourfold."""

_SEED = 20010521


class LocalAligner(Protocol):
    """Computes local alignments between all pairs of two sets."""

    def scores(self, queries: SequenceSet, targets: SequenceSet) -> Integers:
        """Return the score of every pair: int64[queries][targets]."""

    def statistics(self, queries: SequenceSet, targets: SequenceSet, pairs: Integers, scores: Integers) -> Statistics:
        """Return the alignment statistics of the given pairs: `STATISTICS`[pairs].

        pairs: (query, target) of each pair, int64[pairs][2]
        scores: score of each pair, above 0, int64[pairs]
        """


def letter_frequencies(sequences: SequenceSet, unambiguous_count: int) -> Reals:
    """Return the frequencies of the first `unambiguous_count` codes, by code: float64[codes]. They are equal if none of these
    codes occurs."""
    counts = sequences.code_counts[:unambiguous_count].astype(np.float64)
    return counts / counts.sum() if counts.any() else np.full(unambiguous_count, 1 / unambiguous_count)


def simulate_parameters(scoring: Scoring, frequencies: Reals, aligner: LocalAligner) -> EvalueParameters | None:
    """Return the parameters of a scoring for sequences with these letter frequencies (by code). Returns None if the scores are not in the
    logarithmic phase, or if no two letters in use have a positive score."""
    used = np.flatnonzero(frequencies)
    if not (scoring.substitution[np.ix_(used, used)] > 0).any():
        return None
    rng = np.random.default_rng(_SEED)

    def random_set(length: int) -> SequenceSet:
        codes = rng.choice(len(frequencies), SEQUENCE_COUNT * length, p=frequencies).astype(np.uint8)
        return SequenceSet(
            "simulated", [f"r{i}" for i in range(SEQUENCE_COUNT)], codes, np.arange(SEQUENCE_COUNT + 1, dtype=np.int64) * length
        )

    short = aligner.scores(random_set(_SHORT_LENGTH), random_set(_SHORT_LENGTH))
    queries, targets = random_set(SEQUENCE_LENGTH), random_set(SEQUENCE_LENGTH)
    scores = aligner.scores(queries, targets)
    if scores.mean() > _MAX_SCORE_GROWTH * max(1.0, float(short.mean())):
        return None
    step = _score_step(scoring)
    lambda_, size = fit_gumbel(scores.ravel(), step)
    sample = np.argwhere(scores > 0)[:: max(1, scores.size // _TRACED_PAIR_COUNT)]
    counts = aligner.statistics(queries, targets, sample, scores[sample[:, 0], sample[:, 1]])
    lengths = (counts["query_end"] - counts["query_start"] + counts["target_end"] - counts["target_start"]) / 2
    alpha, beta = np.polyfit(scores[sample[:, 0], sample[:, 1]], lengths, 1)
    effective = SEQUENCE_LENGTH - float(lengths.mean())
    source = f"simulation of {scores.size:,} pairs of {SEQUENCE_LENGTH} letters"
    return EvalueParameters(lambda_, size / effective**2, max(float(alpha), 0.0), float(beta), 1, source)


def _score_step(scoring: Scoring) -> int:
    """Return the step of a scoring: the greatest common divisor of its weights, which divides every score."""
    return max(1, math.gcd(*(int(x) for x in np.unique(np.abs(scoring.substitution))), scoring.gap_open, scoring.gap_extend))


@dataclass(frozen=True)
class _ScoreCounts:
    """Distinct scores and their counts; scores are multiples of `step`."""

    scores: Integers
    counts: Integers
    step: int

    def log_likelihood(self, lambda_: float, log_size: float) -> float:
        """Return the log-likelihood of the distribution P(S < x) = exp(-size e^(-lambda x)) given these scores. log_size: ln(size)"""
        below = np.exp(log_size - lambda_ * self.scores)
        above = np.exp(log_size - lambda_ * (self.scores + self.step))
        # ln(exp(-above) - exp(-below))
        return float((self.counts * (-above + np.log(-np.expm1(above - below)))).sum())


def fit_gumbel(scores: Integers, step: int) -> tuple[float, float]:
    """Return the maximum-likelihood estimate (lambda, size) of P(S < x) = exp(-size e^(-lambda x)). scores: multiples of `step`, not all
    equal."""
    distinct, counts = np.unique(scores, return_counts=True)
    data = _ScoreCounts(distinct, counts, step)
    spread = float(scores.std())
    if spread == 0:
        raise ValueError("all scores are equal")
    # The standard deviation of a Gumbel distribution is pi / (lambda sqrt 6), its mean (ln size + 0.5772) / lambda.
    guess = math.pi / (spread * math.sqrt(6))
    mean = float(scores.mean()) + step / 2

    def best_size(lambda_: float) -> float:
        centre = lambda_ * mean - np.euler_gamma
        return _golden_section_argmax(lambda log_size: data.log_likelihood(lambda_, log_size), centre - 3, centre + 3)

    lambda_ = _golden_section_argmax(lambda x: data.log_likelihood(x, best_size(x)), guess / 2, guess * 2)
    return lambda_, math.exp(best_size(lambda_))


def _golden_section_argmax(function: Callable[[float], float], low: float, high: float, tolerance: float = 1e-6) -> float:
    """Return the position of a function's only maximum between low and high, using golden-section search."""
    ratio = (math.sqrt(5) - 1) / 2
    a, b = high - ratio * (high - low), low + ratio * (high - low)
    at_a, at_b = function(a), function(b)
    while high - low > tolerance * max(1.0, abs(low)):
        if at_a < at_b:
            low, a, at_a = a, b, at_b
            b = low + ratio * (high - low)
            at_b = function(b)
        else:
            high, b, at_b = b, a, at_a
            a = high - ratio * (high - low)
            at_a = function(a)
    return (low + high) / 2
