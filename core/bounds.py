"""The forms that kernels compute in, and the proof that their numbers fit.

Rebasing H'(i,j) = H(i,j) + e (i+j) makes gap extension free; every step between neighbouring cells of H' is then bounded
by the scoring alone (Suzuki & Kasahara 2018). The largest step decides the width of a vector element, whatever the lengths.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import gcd

import numpy as np
import numpy.typing as npt

from gpualign.core.scoring import Scoring


@dataclass(frozen=True)
class DifferenceForm:
    """The difference recurrence of cpu/src/difference.hpp for one scoring.

    shifted: uint32[letters][letters], max(0, s + 2e + 2o); open_extra: o = gap_open - gap_extend; tight: every shifted
    score is at least o; largest: S + 4o, at least every value that the recurrence forms; width: 8, 16 or 32 bits.
    """

    shifted: npt.NDArray[np.uint32]
    open_extra: int
    tight: bool
    largest: int
    width: int


def width_for(largest: int) -> int:
    """Bits of the narrowest unsigned element that holds 0 .. largest. Raises `OverflowError` beyond 32 bits."""
    for width in (8, 16, 32):
        if largest < 2**width:
            return width
    raise OverflowError(f"{largest} does not fit 32 bits")


def difference_form(scoring: Scoring) -> DifferenceForm:
    """The difference recurrence's constants and element width.

    With S = max(0, largest s + 2e): horizontal and vertical steps of H' are in [-o, S + o], a diagonal step in [-2o, S + o];
    moved to start at 0 they are at most S + 2o and S + 3o, and the sums before the last subtraction at most S + 4o.
    """
    extra = scoring.gap_open - scoring.gap_extend
    rebased = scoring.substitution + 2 * scoring.gap_extend
    shifted = np.maximum(rebased + 2 * extra, 0)
    largest = max(0, int(rebased.max())) + 4 * extra
    return DifferenceForm(shifted.astype(np.uint32), extra, bool(shifted.min() >= extra), largest, width_for(largest))


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
