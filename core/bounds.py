"""The forms that kernels compute in, and the proof that their numbers fit.

Rebasing H'(i,j) = H(i,j) + e (i+j) makes gap extension free; every step between neighbouring cells of H' is then bounded
by the scoring alone (Suzuki & Kasahara 2018). The largest step decides the width of a vector element, whatever the lengths.
"""

from __future__ import annotations

from math import gcd

import numpy as np
import numpy.typing as npt

from gpualign.core.dataclass import dataclass
from gpualign.core.scoring import Scoring


@dataclass(frozen=True)
class DifferenceForm:
    """The difference recurrence of cpu/src/difference.hpp for one scoring.

    shifted: int64[letters][letters], max(s + 2e, -2o); open_extra: o = gap_open - gap_extend; least, largest: at most and at least
    every value that the recurrence forms, -3o and S + o; width: 8, 16 or 32 bits, signed unless o is 0.
    """

    shifted: npt.NDArray[np.int64]
    open_extra: int
    least: int
    largest: int
    width: int


def width_for(least: int, largest: int) -> int:
    """Bits of the narrowest element that holds least .. largest, an unsigned one where nothing is negative. Raises `OverflowError` beyond
    32 bits."""
    for width in (8, 16, 32):
        lowest, highest = (-(2 ** (width - 1)), 2 ** (width - 1) - 1) if least < 0 else (0, 2**width - 1)
        if lowest <= least and largest <= highest:
            return width
    raise OverflowError(f"{least} .. {largest} does not fit 32 bits")


def difference_form(scoring: Scoring, free_ends: bool = False) -> DifferenceForm:
    """The difference recurrence's constants and element width.

    With S = max(0, largest s + 2e): horizontal and vertical steps of H' are in [-o, S + o], diagonal steps and what gaps hand on in
    [-2o, S + o], and a gap opens at o less. Free end gaps make steps of e in the first row or column, so that S is at least e - o.
    """
    extra = scoring.gap_open - scoring.gap_extend
    rebased = scoring.substitution + 2 * scoring.gap_extend
    least, largest = -3 * extra, max(0, int(rebased.max()), scoring.gap_extend - extra if free_ends else 0) + extra
    return DifferenceForm(np.maximum(rebased, -2 * extra), extra, least, largest, width_for(least, largest))


def usable_pairs(scoring: Scoring) -> npt.NDArray[np.bool_]:
    """bool[letters][letters]: pairs that cost no more than two gaps. Kernels raise the scores of the others to that, where a path must
    not take them."""
    return scoring.substitution >= -2 * scoring.gap_open


@dataclass(frozen=True)
class UnaryForm:
    """The difference recurrence in unary (cpu/src/bitsliced.hpp): shifted match S and mismatch X, 0 <= X < S, both
    multiplied by `factor` to give the weights asked for."""

    match_steps: int
    mismatch_steps: int
    factor: int


def unary_form(scoring: Scoring) -> UnaryForm | None:
    """The unary form, or None where gaps are affine, letters score more than two ways, or a match is no better."""
    if not scoring.linear or scoring.match is None or scoring.mismatch is None:
        return None
    match = scoring.match + 2 * scoring.gap_open
    mismatch = max(0, scoring.mismatch + 2 * scoring.gap_open)
    if match <= mismatch:
        return None
    factor = gcd(match, mismatch)
    return UnaryForm(match // factor, mismatch // factor, factor)


DUMMY_ROWS = 64
"""Rows at most that a 16-bit kernel computes before the first row of a query, to fill up a strip."""


@dataclass(frozen=True)
class RebasedForm:
    """Gotoh's recurrence on rebased scores that are never negative, as cuda_src/recurrence.cuh states it.

    table: int64[letters + 1][letters + 1], the scores s' (locally s, at least -bias) by query and target letter; the last query letter
    is that of dummy rows, the last target letter pads targets. gap_open, gap_extend, step, level, bias: its constants of these names.
    """

    local: bool
    gap_open: int
    gap_extend: int
    step: int
    level: int
    bias: int
    best: int
    table: npt.NDArray[np.int64]

    def largest(self, query_length: int, target_length: int) -> int:
        """At least every value that the recurrence forms for sequences up to these lengths, padding included."""
        matched = self.best * min(query_length, target_length)
        return self.level + matched + self.step * (query_length + target_length + 2)


def rebased_form(scoring: Scoring, local: bool, free_query: bool = False) -> RebasedForm:
    """The rebased recurrence's constants. free_query: gaps in the query before its first letter cost nothing.

    A substitution that costs more than two gaps of one letter is never used, so scores below -2 open are raised to that.
    Globally, the step per letter then makes all of them non-negative without exceeding `open`. Level: H' lies at most 2 open below it, and
    a newly opened gap another one; dummy rows lie step - extend lower each. Locally H >= 0; the level leaves room for opening
    and extending a gap below it, and for the worst score.
    """
    table = scoring.substitution
    letters = len(table)
    best = max(0, int(table.max()))
    raised = np.maximum(table, -2 * scoring.gap_open)
    shifted = np.zeros((letters + 1, letters + 1), dtype=np.int64)
    if local:
        bias = max(1, -int(raised.min()))
        shifted[:, :] = -bias
        shifted[:letters, :letters] = raised
        level = max(scoring.gap_open + scoring.gap_extend, bias)
        return RebasedForm(True, scoring.gap_open, scoring.gap_extend, 0, level, bias, best, shifted)
    step = max(scoring.gap_extend, -(int(raised.min()) // 2))
    if scoring.linear:
        step = scoring.gap_open
    shifted[:letters, :letters] = raised + 2 * step
    rise = step - scoring.gap_extend
    shifted[letters, :] = step + rise if free_query else 2 * rise
    level = 3 * scoring.gap_open + DUMMY_ROWS * rise
    return RebasedForm(False, scoring.gap_open, scoring.gap_extend, step, level, 0, best, shifted)
