"""Which edit distance a pair may have at most if it is to pass a threshold. Pure.

Every bound has the form k(m, n) = floor(per_letter (m + n) + per_shorter min(m, n) + constant) for sequences of m and n letters, so that
kernels need three numbers, and two more where a coverage says which part of them is alike. A bound may let pairs through that do not pass,
never the other way round: the threshold itself decides about what is left.

The proofs write S = m + n, and of an alignment M for its pairs of equal letters, X for those of unequal ones, P = M + X, and G for all
letters that stand in no pair, those in gaps that cost nothing included. Then S = 2 M + 2 X + G, and since the alignment tells how to turn
one sequence into the other with X + G edits, ed <= X + G = S - 2 M - X, whatever the alignment was optimal for. In short:

    ed <= S - P - M    and    ed <= S - 2 M                                                                             (1)
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from gpualign.core.common.arrays import Integers
from gpualign.core.common.dataclass import dataclass
from gpualign.core.scoring.scoring import Scoring

_ROUNDING = 1e-6
"""Added to bounds made of fractions: far more than their rounding for sequences of up to 10^8 letters, and a bound may be too large."""

_LARGEST = 2**40
"""Largest constant of a bound: more than the letters of any two sequences, and small enough for sums of 64 bits."""

_LEAST_INSIDE = 0.5
"""Of an identity that says something of q-grams: below it, a pair may have as many edits as the shorter sequence has letters."""


@dataclass(frozen=True)
class EditBound:
    """k(m, n) as above; below 0 no pair of such lengths can pass.

    coverage: of the longer sequence's length, the part that stands in pairs of letters, in either sequence. inside: edits between the first
    and the last pair, for each letter of the shorter one. With a coverage of 0 both are 0 and say nothing. ambiguous: ambiguity letters of
    a pair at most, where they count otherwise and the numbers have grown for them.
    """

    per_letter: float
    per_shorter: float
    constant: float
    inside: float = 0.0
    coverage: float = 0.0
    ambiguous: int = 0

    def most(self, query_lengths: Integers, target_lengths: Integers) -> Integers:
        """k(m, n) for arrays of lengths that go together: int64."""
        both, shorter = query_lengths + target_lengths, np.minimum(query_lengths, target_lengths)
        return np.floor(self.per_letter * both + self.per_shorter * shorter + self.constant).astype(np.int64)

    def grams(self, q: int, lengths: Integers, other_lengths: Integers) -> Integers:
        """How many different q-grams a sequence has at most that the other one has not: int64, at least 0, for arrays as above.

        An edit changes q of a sequence's q-grams at most, so q k is one answer (Jokinen & Ukkonen 1991). Another one goes by the alignment.
        Let s' be the letters of s from its first to its last that stands in a pair, t' likewise of t, k' = floor(inside min(m, n)).

        - Outside s'. A sequence of l letters has max(0, l - q + 1) q-grams, counted by where they begin. That function of l never falls,
          and by no more than 1 for a letter. So of the m letters of s those beyond s' are in m - |s'| q-grams at most, also where s' is
          shorter than q: cuts cost no q - 1 each. As s' holds all letters of s in pairs, m - |s'| <= m - coverage max(m, n).
        - Inside s'. The part of the alignment between the first and the last pair makes t' of s' with X edits for pairs of unequal letters
          and one for each letter in a gap, k' together at most. A q-gram of s' in which no letter stands unequal or in a gap, and between
          whose letters no gap of s' is, stands opposite the same q letters in a row, and t has it. An unequal letter and a letter of s'
          opposite a gap are in q q-grams at most, and q - 1 reach over a gap of s'. So q k' are spoilt at most.

        With q = 1 these are letters, equal ones counted one by one: how many a sequence has more of than the other.
        """
        found: Integers = np.minimum(q * self.most(lengths, other_lengths), self.grams_by_coverage(q, lengths, other_lengths))
        return np.maximum(found, 0)

    def grams_by_coverage(self, q: int, lengths: Integers, other_lengths: Integers) -> Integers:
        """The second answer of `grams` alone: no more than is true of any pair where there is no coverage, its own length."""
        shorter, longer = np.minimum(lengths, other_lengths), np.maximum(lengths, other_lengths)
        inside = np.floor(self.inside * shorter + _ROUNDING)
        beyond = np.floor(lengths - self.coverage * longer + _ROUNDING)
        found: Integers = (q * inside + beyond).astype(np.int64)
        return found

    def with_ambiguous(self, letters: int, shortest: int) -> EditBound:
        """For identities that count ambiguity letters otherwise (core/alignment/ambiguity.py), of pairs with `letters` of them at most,
        instead of
        `ambiguous`, and `shortest` letters in either record at least.

        Let c columns with an ambiguity letter count otherwise than pairs of unequal letters and gaps do. They hold such letters, so
        c <= letters. Where they are matches, with M' = M + c matches, the proofs hold of the edits that are not among these columns:
        ed <= S - 2 M - X <= S - 2 M' + c, as X >= c, and ed <= S - P - M = S - P - M' + c. Where they count nowhere, the proofs hold of the
        alignment without these columns, which has no more letters; of the whole one P and M are no larger by it than c and at least M'. So
        every bound of edits, those between the first and the last pair included, grows by c at most.
        """
        more = letters - self.ambiguous
        inside = self.inside + more / shortest if self.coverage else 0.0
        return EditBound(self.per_letter, self.per_shorter, self.constant + more, inside, self.coverage, letters)


def distance_bound(most: int) -> EditBound:
    """Edit distances themselves."""
    return EditBound(0.0, 0.0, float(min(most, _LARGEST)))


def matches_bound(least: float) -> EditBound:
    """Identity by definition 0, M / min(m, n) >= least, for any scoring and end gaps.

    By (1), ed <= S - 2 M <= S - 2 least min(m, n).
    """
    return EditBound(1.0, -2.0 * least, _ROUNDING)


def columns_bound(least: float) -> EditBound:
    """Identity by definitions 1 and 4, M / (M + X + G) >= least, for any scoring where gaps at the ends count.

    With e = X + G and S = 2 M + 2 X + G, the identity is (S - e - X) / (S + e - X). Taking X from above and below a fraction of at most 1
    makes it no larger: identity <= (S - e) / (S + e), which falls with e >= ed. So least <= (S - ed) / (S + ed), which says that
    ed <= S (1 - least) / (1 + least).
    """
    return EditBound((1.0 - least) / (1.0 + least), 0.0, _ROUNDING)


def covered_bound(least: float, coverage: float) -> EditBound:
    """Identity by definitions 1, 2 and 4, where P / m and P / n are at least `coverage`, for any scoring and end gaps.

    P >= coverage max(m, n). All three definitions divide M by P and perhaps letters in gaps, so M >= least P. By (1),
    ed <= S - P - M <= S - (1 + least) P <= S - (1 + least) coverage max(m, n), and max(m, n) = S - min(m, n).

    Letters beyond the first and the last pair are edits here. Between the two, let H letters stand in gaps. The definitions divide M by
    P + H at least, so least (P + H) <= M, and edits there are X + H = P + H - M <= M / least - M <= min(m, n) (1 - least) / least.
    """
    weight = (1.0 + least) * coverage
    part = ((1.0 - least) / least, coverage) if least > _LEAST_INSIDE else (0.0, 0.0)
    return EditBound(1.0 - weight, weight, _ROUNDING, *part)


def score_bound(least: int, scoring: Scoring, letters: npt.NDArray[np.uint8], free_ends: bool) -> EditBound | None:
    """Scores of at least `least`; letters: the codes in use; None where scores bound nothing.

    Let no pair of equal letters score more than a, none of unequal ones more than u, and let each letter in a gap cost g or more (0 where
    gaps at the ends are free; open + (n - 1) extend >= n extend). Then score <= a M + u X - g G, and with M = (S - 2 X - G) / 2

        score <= a S / 2 - (a - u) X - (a / 2 + g) G <= a S / 2 - c (X + G)    with c = min(a - u, a / 2 + g),

    so that for c > 0, ed <= X + G <= (a S / 2 - score) / c.
    """
    table = scoring.substitution[np.ix_(letters, letters)]
    equal = int(table.diagonal().max())
    unequal = int(table[~np.eye(len(letters), dtype=bool)].max(initial=-(2**40)))
    gap = 0 if free_ends else min(scoring.gap_open, scoring.gap_extend)
    weight = min(equal - unequal, equal / 2 + gap)
    if weight <= 0:
        return None
    constant = min(max(-least / weight, -_LARGEST), _LARGEST)
    return EditBound(equal / (2 * weight), 0.0, constant + _ROUNDING)
