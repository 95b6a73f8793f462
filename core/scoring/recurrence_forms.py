"""The forms that kernels compute in, and the proof that their numbers fit.

Rebasing H'(i,j) = H(i,j) + e (i+j) makes gap extension free; every step between neighbouring cells of H' is then bounded
by the scoring alone (Suzuki & Kasahara 2018). The largest step decides the width of a vector element, whatever the lengths.
"""

from __future__ import annotations

from math import gcd

import numpy as np
import numpy.typing as npt

from gpualign.core.common.dataclass import dataclass
from gpualign.core.scoring.scoring import Scoring


@dataclass(frozen=True)
class DifferenceForm:
    """The difference recurrence of cpu/alignment/src/difference.hpp for one scoring.

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
    """The difference recurrence in unary (cpu/alignment/src/bitsliced.hpp): shifted match S and mismatch X, 0 <= X < S, both
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


def fits_bytes(table: npt.NDArray[np.integer], times: int) -> bool:
    """Whether so many times the scores of a table fit signed bytes."""
    return times * int(table.min()) >= -128 and times * int(table.max()) <= 127


def fits_profile(table: npt.NDArray[np.integer]) -> bool:
    """Whether the profiles of 16-bit scores hold a table: signed bytes, and twice the scores where one is negative
    (cuda_src/alignment/score.cuh)."""
    return fits_bytes(table, 1 if table.min() >= 0 else 2)


@dataclass(frozen=True)
class RebasedForm:
    """Gotoh's recurrence on rebased scores that are never negative, as cuda_src/alignment/recurrence.cuh states it.

    table: int64[letters + 1][letters + 1], the scores s' by query and target letter; the last query letter is that of dummy rows, the
    last target letter pads targets. gap_open, gap_extend, lift, level: its constants of these names.
    """

    local: bool
    gap_open: int
    gap_extend: int
    lift: int
    level: int
    best: int
    table: npt.NDArray[np.int64]

    def largest(self, query_length: int, target_length: int) -> int:
        """At least every value that the recurrence forms for sequences up to these lengths, padding included."""
        matched = self.best * min(query_length, target_length)
        if self.local:
            return self.level + matched + self.lift
        return self.level + matched + self.gap_extend * (query_length + target_length + 2)


def rebased_form(scoring: Scoring, local: bool, free_query: bool = False) -> RebasedForm:
    """The rebased recurrence's constants. free_query: gaps in the query before its first letter cost nothing.

    A substitution that costs more than two gaps of one letter is never used, so scores below -2 open are raised to that. Level, globally:
    H' is never more than two openings (of open - extend each) below it, and what is formed of H' one more, or the worst substitution.

    Lift, locally: what an opening costs, so that a gap begins as H; but where bytes are too small for s + open and not for the scores
    raised until the least is 0, that much. Level, locally: H is never below it, and a gap by no more than what an opening costs beyond
    the lift. What is formed of a gap is an extension lower, and what is formed of H and a substitution lower by that.
    """
    table = scoring.substitution
    letters = len(table)
    best = max(0, int(table.max()))
    raised = np.maximum(table, -2 * scoring.gap_open)
    shifted = np.zeros((letters + 1, letters + 1), dtype=np.int64)
    if local:
        lift, least = scoring.gap_open, max(0, -int(raised.min()))
        if fits_profile(raised + least) and not fits_profile(raised + lift):
            lift = least
        shifted[:letters, :letters] = raised + lift
        level = max(scoring.gap_extend + max(0, scoring.gap_open - lift), -int(shifted.min()))
        return RebasedForm(True, scoring.gap_open, scoring.gap_extend, lift, level, best, shifted)
    opening = scoring.gap_open - scoring.gap_extend
    shifted[:letters, :letters] = raised + 2 * scoring.gap_extend
    if free_query:
        shifted[letters, :] = scoring.gap_extend
    level = 2 * opening + max(opening, -int(shifted.min()))
    return RebasedForm(False, scoring.gap_open, scoring.gap_extend, 0, level, best, shifted)
