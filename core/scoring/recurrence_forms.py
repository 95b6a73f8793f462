"""Forms of the recurrences that kernels compute, with proofs that all values fit in their types.

Let H(i,j) be the best score of an alignment of the first i letters of the query with the first j letters of the target, s the score of a
pair of letters, e the cost of extending a gap by a letter, and o the additional cost of opening one. Rebasing H'(i,j) = H(i,j) + e (i+j)
makes gap extension free; steps between neighbouring cells of H' then have a bound that depends only on the scoring (Suzuki & Kasahara
2018). The largest step determines the width of a vector element, regardless of the lengths.
"""

from __future__ import annotations

from math import gcd

import numpy as np
import numpy.typing as npt

from gpualign.core.common.arrays import Booleans, Integers
from gpualign.core.common.dataclass import dataclass
from gpualign.core.scoring.scoring import Scoring


@dataclass(frozen=True)
class DifferenceForm:
    """Constants of the recurrence in cpu/alignment/src/difference.hpp for one scoring. `difference_form` explains s, e, o and S.

    rebased_scores: max(s + 2e, -2o) for each pair of letters, int64[letters][letters]
    open_extra: o = gap_open - gap_extend
    min_value, max_value: bounds on every value in the recurrence, -3o and S + o
    width: width of an element in bits: 8, 16 or 32; elements are signed unless o is 0
    """

    rebased_scores: Integers
    open_extra: int
    min_value: int
    max_value: int
    width: int


def element_width(min_value: int, max_value: int) -> int:
    """Return the width, in bits, of the narrowest element that can hold all values from min_value to max_value.

    The element is unsigned if no value is negative. Raises `OverflowError` if 32 bits are not enough.
    """
    for width in (8, 16, 32):
        lowest, highest = (-(2 ** (width - 1)), 2 ** (width - 1) - 1) if min_value < 0 else (0, 2**width - 1)
        if lowest <= min_value and max_value <= highest:
            return width
    raise OverflowError(f"{min_value} .. {max_value} does not fit 32 bits")


def difference_form(scoring: Scoring, free_ends: bool = False) -> DifferenceForm:
    """Return the constants and the element width of the difference recurrence.

    free_ends: whether end gaps are free

    With s, e, o and H' as in the module docstring, let S = max(0, largest s + 2e). Horizontal and vertical steps of H' are in [-o, S + o],
    diagonal steps and the values that gaps pass on are in [-2o, S + o], and opening a gap subtracts o. Free end gaps cause steps of e in
    the first row or column, so S is at least e - o.
    """
    extra = scoring.gap_open - scoring.gap_extend
    rebased = scoring.substitution + 2 * scoring.gap_extend
    min_value, max_value = -3 * extra, max(0, int(rebased.max()), scoring.gap_extend - extra if free_ends else 0) + extra
    return DifferenceForm(np.maximum(rebased, -2 * extra), extra, min_value, max_value, element_width(min_value, max_value))


def usable_letter_pair_mask(scoring: Scoring) -> Booleans:
    """Return a mask of the letter pairs that cost no more than two gaps of one letter: bool[letters][letters].

    For every other pair, kernels use the score of two such gaps instead of the pair's own score, and paths must not contain the pair.
    """
    return scoring.substitution >= -2 * scoring.gap_open


@dataclass(frozen=True)
class UnaryForm:
    """Match and mismatch scores in the form of the bit-sliced kernel (cpu/alignment/src/bitsliced.hpp), which has one bit for each step of
    `factor`.

    The cost of two gaps is added to both scores, a mismatch score that remains negative becomes 0, and both are divided by `factor`.

    match_steps, mismatch_steps: the two quotients, which the kernel calls S and X; 0 <= X < S
    factor: greatest common divisor of both scores before the division
    """

    match_steps: int
    mismatch_steps: int
    factor: int


def unary_form(scoring: Scoring) -> UnaryForm | None:
    """Return the scoring in unary form (see `UnaryForm`).

    Returns None if gaps are affine, if the table has more than two scores, or if a match would not have more steps than a mismatch.
    """
    if not scoring.has_linear_gaps or scoring.match is None or scoring.mismatch is None:
        return None
    match = scoring.match + 2 * scoring.gap_open
    mismatch = max(0, scoring.mismatch + 2 * scoring.gap_open)
    if match <= mismatch:
        return None
    factor = gcd(match, mismatch)
    return UnaryForm(match // factor, mismatch // factor, factor)


def fits_bytes(table: npt.NDArray[np.integer], factor: int) -> bool:
    """Return whether a table's scores, multiplied by `factor`, fit in signed bytes."""
    return factor * int(table.min()) >= -128 and factor * int(table.max()) <= 127


def fits_profile(table: npt.NDArray[np.integer]) -> bool:
    """Return whether the scores of a table fit in the signed bytes in which kernels with 16-bit scores store them.

    If a score is negative, twice the scores must fit (cuda_src/alignment/score.cuh).
    """
    return fits_bytes(table, 1 if table.min() >= 0 else 2)


@dataclass(frozen=True)
class RebasedForm:
    """Constants of Gotoh's recurrence on rebased scores that are never negative, as in cuda_src/alignment/recurrence.cuh.

    is_local: whether alignments are local
    gap_open, gap_extend, lift, level: the constants OPEN, EXTEND, LIFT and LEVEL of that file
    max_score: largest substitution score, at least 0
    table: rebased scores by query and target letter, int64[letters + 1][letters + 1]. The last query letter stands for the surplus rows of
        a strip, and the last target letter for padding after a target
    """

    is_local: bool
    gap_open: int
    gap_extend: int
    lift: int
    level: int
    max_score: int
    table: Integers

    def max_value(self, query_length: int, target_length: int) -> int:
        """Return an upper bound on the values in the recurrence for sequences up to these lengths, including padding."""
        matched = self.max_score * min(query_length, target_length)
        if self.is_local:
            return self.level + matched + self.lift
        return self.level + matched + self.gap_extend * (query_length + target_length + 2)


def rebased_form(scoring: Scoring, local: bool, free_query: bool = False) -> RebasedForm:
    """Return the constants of the rebased recurrence. Its terms H, H', lift and level are those of cuda_src/alignment/recurrence.cuh.

    local: whether alignments are local
    free_query: whether gaps in the query before its first letter are free

    A substitution that costs more than two one-letter gaps is never used, so scores below -2 open are raised to -2 open. Global level: H'
    is never more than two openings (of open - extend each) below the level, and values computed from H' are lower by at most one more
    opening, or by the worst substitution.

    Local lift: usually the cost of an opening, so that a gap starts equal to H. If s + open does not fit in bytes, but the scores raised
    until the lowest is 0 do, the lift is the amount by which the scores are raised. Local level: H is never below the level, and a gap is
    below the level by at most the cost of an opening minus the lift. Values computed from a gap are lower by an extension, and values
    computed from H and a substitution are lower by the substitution.
    """
    table = scoring.substitution
    letters = len(table)
    best = max(0, int(table.max()))
    raised = np.maximum(table, -2 * scoring.gap_open)
    shifted = np.zeros((letters + 1, letters + 1), dtype=np.int64)
    if local:
        lift, raise_to_zero = scoring.gap_open, max(0, -int(raised.min()))
        if fits_profile(raised + raise_to_zero) and not fits_profile(raised + lift):
            lift = raise_to_zero
        shifted[:letters, :letters] = raised + lift
        level = max(scoring.gap_extend + max(0, scoring.gap_open - lift), -int(shifted.min()))
        return RebasedForm(True, scoring.gap_open, scoring.gap_extend, lift, level, best, shifted)
    opening = scoring.gap_open - scoring.gap_extend
    shifted[:letters, :letters] = raised + 2 * scoring.gap_extend
    if free_query:
        shifted[letters, :] = scoring.gap_extend
    level = 2 * opening + max(opening, -int(shifted.min()))
    return RebasedForm(False, scoring.gap_open, scoring.gap_extend, 0, level, best, shifted)
