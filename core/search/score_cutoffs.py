"""Score cutoffs: the lowest score at which a query's hit could pass a search's thresholds. Pure.

An engine keeps the best few targets for a query, and the E-value for a score depends on the target length. A search therefore needs to know
which scores are so low that no target in the database passes with them. Let E(S, m, n) be the E-value for score S, a query of m letters and
a target of n letters. A local alignment has at most min(m, n) columns that score above 0, each at most b, so a target of n letters never
scores more than b n. If E decreases as S increases, the lowest E-value that any target reaches with a score of at most S is

    F(S) = min over the lengths n of the database of E(min(S, b n), m, n)

since E(s, m, n) >= E(min(S, b n), m, n) for every s <= S that a target of n letters can have. F decreases with S, and the query's cutoff is
the lowest S with F(S) <= threshold: a target with a lower score S has F(S) > threshold, and does not pass.

Proof that E decreases: E is A(S) e^(-lambda S) times a factor that does not depend on S, and with the length adjustment A does not depend
on S either; rounding scores down to even scores leaves E unchanged or lowers it. With the finite-size correction, A = f(m) f(n) + c p(m)
p(n), where r = n - (a S + b') is the mean room in a sequence, v = max(2 alpha / lambda, alpha S + beta) the variance of the room, c = max(2
sigma / lambda, sigma S + tau), z = r / sqrt(v), p = Phi(z) and f = sqrt(v) (z Phi(z) + phi(z)), whose derivative with respect to z is
sqrt(v) Phi(z). So d ln f / dS = v' / (2 v) + z' Phi / (z Phi + phi), where v' / v <= lambda / 2, as v' is 0 or alpha and v >= 2 alpha /
lambda; likewise c' / c <= lambda / 2. Where z decreases, f grows at a relative rate of at most lambda / 4 and p not at all, both terms of A
at most at lambda / 2, and E decreases at lambda / 2 or more. z decreases if r >= 0 or v is constant, and otherwise if a > -r v' / (2 v);
with v = alpha S + beta that is a S > b' - 2 a beta / alpha - n, which holds from some S below 100 upwards for every scoring in BLAST's
table. Below that S, a test checks every score for every scoring.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import lru_cache

import numpy as np

from gpualign.core.common.arrays import Integers, Reals, distinct
from gpualign.core.scoring.evalues import SearchSpace

_ROUNDING_TOLERANCE = 1e-9
"""Relative tolerance for E-values, which exceeds the difference between any two ways of computing the same E-value."""

_INITIAL_SCORE_GUESS = 64
"""Initial guess for a cutoff: close to the cutoff with the usual scorings and thresholds."""

_MAX_CACHED_SCORES = 64
"""Number of scores for which results that do not depend on the query are cached."""


class EvalueScoreCutoffs:
    """Score cutoffs for a search with an E-value threshold.

    space: search space, from which E-values follow
    max_evalue: maximum E-value of a hit
    target_lengths: lengths of the database records, each at least 1
    max_letter_score: highest score of a pair of letters
    """

    def __init__(self, space: SearchSpace, max_evalue: float, target_lengths: Integers, max_letter_score: int) -> None:
        self._space = space
        self._bound = max_evalue * (1 + _ROUNDING_TOLERANCE) + sys.float_info.min  # E-values that small are not exact
        self._best = max(0, max_letter_score)
        lengths = distinct(target_lengths)
        # With the length adjustment a target's own length does not matter, but that of the longest bounds the score.
        self._lengths = lengths if space.parameters.finite_size is not None else lengths[-1:]
        self._at = lru_cache(maxsize=_MAX_CACHED_SCORES)(self._evalues_at)

    def cutoff(self, query_length: int) -> int:
        """Return the lowest score at which a query of `query_length` letters could pass; the query's maximum score plus one if none can."""
        unreachable = self._best * min(query_length, int(self._lengths[-1])) + 1
        low, high = 0, min(_INITIAL_SCORE_GUESS, unreachable)
        while high < unreachable and not self._could_pass(query_length, high):
            low, high = high, min(2 * high, unreachable)
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if self._could_pass(query_length, middle) else (middle, high)
        return high

    def _evalues_at(self, score: int) -> Callable[[int], Reals]:
        """Return a function that maps a query length to E-values, one per target length. Each is the E-value of `score` or, if targets of
        this length cannot reach `score`, of the highest score that they can reach."""
        return self._space.evalues_by_query_length(np.minimum(score, self._best * self._lengths), self._lengths)

    def _could_pass(self, query_length: int, score: int) -> bool:
        return bool(self._at(score)(query_length).min() <= self._bound)


def score_cutoffs(query_lengths: Integers, min_score: int, evalue_cutoffs: EvalueScoreCutoffs | None) -> Integers:
    """Return the lowest score at which a hit of each query could pass, at least 1: int64[queries].

    min_score: score threshold
    evalue_cutoffs: cutoffs that follow from the E-value threshold; None if there is none
    """
    min_score = max(1, min_score)
    if evalue_cutoffs is None:
        return np.full(len(query_lengths), min_score, dtype=np.int64)
    lengths, places = np.unique(query_lengths, return_inverse=True)
    cutoffs = np.array([evalue_cutoffs.cutoff(length) for length in lengths.tolist()], dtype=np.int64)
    return np.maximum(min_score, cutoffs[places])
