"""Score cutoffs: the least score with which a hit of a query could pass a search's thresholds. Pure.

An engine keeps the best few targets of a query, and the E-value of a score depends on the length of the target. So a search asks which
scores are so small that no target of the database passes with them. Let E(S, m, n) be the E-value of a query of m letters and a target
of n. A local alignment has at most min(m, n) columns that score above 0, each at most b, so that a target of n letters never scores
more than b n. If E falls while S rises, the smallest E-value that any target reaches with a score of up to S is

    F(S) = min over the lengths n of the database of E(min(S, b n), m, n)

since E(s, m, n) >= E(min(S, b n), m, n) for every s <= S that a target of n letters can have. F falls with S, and the floor of the
query is the least S with F(S) <= the threshold: a target with a smaller score S has F(S) > threshold, and does not pass.

Proof that E falls: E is A(S) e^(-lambda S) times a factor that does not depend on S, and with the length adjustment A does not either;
scores that are rounded down to even ones leave E unchanged or lower it. With the finite-size correction, A = f(m) f(n) + c p(m) p(n), where
r = n - (a S + b') is the mean room of a sequence, v = max(2 alpha / lambda, alpha S + beta) its variance, c = max(2 sigma / lambda,
sigma S + tau), z = r / sqrt(v), p = Phi(z) and f = sqrt(v) (z Phi(z) + phi(z)), whose derivative by z is sqrt(v) Phi(z). So
d ln f / dS = v' / (2 v) + z' Phi / (z Phi + phi), where v' / v <= lambda / 2, as v' is 0 or alpha and v >= 2 alpha / lambda; likewise
c' / c <= lambda / 2. Where z falls, f grows by lambda / 4 at most and p not at all, both terms of A by lambda / 2, and E falls by
lambda / 2 or more. z falls if r >= 0 or v is constant, and otherwise if a > -r v' / (2 v); with v = alpha S + beta that is
a S > b' - 2 a beta / alpha - n, which holds from some S below 100 on for every scoring of BLAST's table. Below that a test checks every
score of every scoring.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import lru_cache

import numpy as np

from gpualign.core.common.arrays import Integers, Reals, distinct
from gpualign.core.scoring.evalues import SearchSpace

_ROUNDING = 1e-9
"""Larger than the relative difference between any two ways to compute one E-value."""

_GUESS = 64
"""First guess of a floor: close to it with the usual scorings and thresholds."""

_KEPT = 64
"""Number of scores whose E-values with all targets are cached for the next query."""


class EvalueScoreCutoffs:
    """Floors of a search for hits up to an E-value.

    space: search space of the E-values
    max_evalue: largest E-value of a hit
    target_lengths: lengths of the database's records, each at least 1
    best: largest score of two letters
    """

    def __init__(self, space: SearchSpace, max_evalue: float, target_lengths: Integers, best: int) -> None:
        self._space = space
        self._bound = max_evalue * (1 + _ROUNDING) + sys.float_info.min  # E-values that small are not exact
        self._best = max(0, best)
        lengths = distinct(target_lengths)
        # With the length adjustment a target's own length does not matter, but that of the longest bounds the score.
        self._lengths = lengths if space.parameters.finite_size is not None else lengths[-1:]
        self._at = lru_cache(maxsize=_KEPT)(self._evalues_at)

    def floor(self, query: int) -> int:
        """Return the least score with which a query of `query` letters could pass; one more than its largest score if it never could."""
        unreachable = self._best * min(query, int(self._lengths[-1])) + 1
        low, high = 0, min(_GUESS, unreachable)
        while high < unreachable and not self._could_pass(query, high):
            low, high = high, min(2 * high, unreachable)
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if self._could_pass(query, middle) else (middle, high)
        return high

    def _evalues_at(self, score: int) -> Callable[[int], Reals]:
        """Return a function from a query's length to the E-values of the best scores up to `score` that targets of each length can have."""
        return self._space.against(np.minimum(score, self._best * self._lengths), self._lengths)

    def _could_pass(self, query: int, score: int) -> bool:
        return bool(self._at(score)(query).min() <= self._bound)


def score_floors(query_lengths: Integers, min_score: int, by_evalue: EvalueScoreCutoffs | None) -> Integers:
    """Return the least score that a hit of each query needs to pass, at least 1: int64[queries]. by_evalue: None without a threshold of
    E-values."""
    min_score = max(1, min_score)
    if by_evalue is None:
        return np.full(len(query_lengths), min_score, dtype=np.int64)
    distinct, places = np.unique(query_lengths, return_inverse=True)
    floors = np.array([by_evalue.floor(length) for length in distinct.tolist()], dtype=np.int64)
    return np.maximum(min_score, floors[places])
