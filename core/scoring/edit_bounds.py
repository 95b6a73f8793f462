"""Upper bounds on the edit distance between sequences in pairs that pass a threshold. Pure.

Every bound has the form k(m, n) = floor(per_letter (m + n) + per_shorter min(m, n) + constant) for sequences of m and n letters, so
kernels need three numbers, plus two and which sequence is meant if a minimum coverage limits how much of the sequences may be left
unaligned, plus the number of ambiguity letters if these may hide edits. A bound may let pairs pass that do not meet the threshold, but
never excludes a pair that does: the threshold itself is applied to the remaining pairs.

In the proofs, S = m + n. In an alignment, M is the number of matches, X is the number of mismatches, P = M + X, and G is the number of
unpaired letters, including letters in free gaps. Then S = 2 M + 2 X + G. The alignment turns one sequence into the other with X + G edits,
so ed <= X + G = S - 2 M - X, whatever scoring the alignment optimises. In short:

    ed <= S - P - M    and    ed <= S - 2 M                                                                             (1)
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from gpualign.core.common.arrays import Integers
from gpualign.core.common.dataclass import dataclass
from gpualign.core.scoring.scoring import Scoring

_ROUNDING_TOLERANCE = 1e-6
"""Margin added to bounds that are computed from fractions. It is far above the rounding error for up to 10^8 letters, and a bound that is
slightly too large is still correct."""

_MAX_CONSTANT = 2**40
"""Maximum constant in a bound. It is greater than the total length of any two sequences, and small enough for 64-bit sums."""

_MIN_IDENTITY_FOR_GRAM_BOUND = 0.5
"""Lowest identity threshold that implies a bound on q-grams. With a lower threshold, a pair may have as many edits as the shorter sequence
has letters."""


@dataclass(frozen=True)
class PairingGains:
    """Least increase of an alignment's score if two letters in gaps are paired with each other, apart from the costs of opening gaps.
    This limits how many letters of both sequences an optimal alignment leaves out at one end, if end gaps cost as much as others. With
    gains of 0, the values if they are unknown, the depth is the maximum overhang, which is no limit.

    equal: of two equal letters whose codes are below `ordinary`
    other: of any two letters
    ordinary: number of letters, the first ones of the alphabet, that may count as equal

    Proof of the limit, for the start. Let an optimal alignment leave out i letters of one sequence and j of the other before its first
    pair, and let y = min(i, j) be at least 1. Another alignment pairs the first y letters of the sequences, in order, puts what is left
    before that first pair in a gap, and goes on like the optimal one. It has fewer gaps, and 2 y fewer letters in gaps, so its score is
    higher by at least the sum of the gains of the y pairs. As it is not higher, this sum is at most 0. So i or j is at most the depth of
    the start: the last y, up to the maximum overhang, with such a sum; 0 if there is none. The end is the mirror image.
    """

    equal: int = 0
    other: int = 0
    ordinary: int = 0


def pairing_gains(scoring: Scoring, letters: npt.NDArray[np.uint8], ordinary: int) -> PairingGains:
    """Return the gains for a scoring. They are unknown if opening a gap costs less than extending it.

    letters: codes that occur in the sequences
    ordinary: number of leading letters of the alphabet that stand for a single nucleotide or amino acid
    """
    if scoring.gap_open < scoring.gap_extend:
        return PairingGains()
    table, extension = scoring.substitution, 2 * scoring.gap_extend
    own = letters[letters < ordinary]
    equal = int(table.diagonal()[own].min()) if len(own) else 0
    return PairingGains(equal + extension, int(table[np.ix_(letters, letters)].min()) + extension, ordinary)


@dataclass(frozen=True)
class EditBound:
    """Bound k(m, n), as defined in the module docstring. If k(m, n) is below 0, no pair with these lengths can pass.

    per_letter, per_shorter, constant: coefficients of k(m, n)
    inside: maximum number of edits between the first and the last aligned pair of letters, per letter of either sequence that lies between
        these pairs, apart from edits that ambiguity letters hide; only valid if `coverage` is not 0
    coverage: minimum number of letters aligned with a letter, as a fraction of the longer sequence's length; 0 if unknown
    coverage_of_shorter: whether `coverage` is a fraction of the shorter sequence's length instead
    ambiguous: if a rule for ambiguity letters applies, the maximum number of these letters in a pair for which the bound holds; otherwise 0
    pairing: what pairing letters at the ends adds to scores
    """

    per_letter: float
    per_shorter: float
    constant: float
    inside: float = 0.0
    coverage: float = 0.0
    coverage_of_shorter: bool = False
    ambiguous: int = 0
    pairing: PairingGains = PairingGains()

    def max_edits(self, query_lengths: Integers, target_lengths: Integers) -> Integers:
        """Return k(m, n), the maximum number of edits for sequences of these lengths: int64. The arrays are broadcast."""
        both, shorter = query_lengths + target_lengths, np.minimum(query_lengths, target_lengths)
        return np.floor(self.per_letter * both + self.per_shorter * shorter + self.constant).astype(np.int64)

    def max_edits_inside(self, lengths: Integers, other_lengths: Integers) -> Integers:
        """Return the maximum number of edits between the first and the last aligned pair of letters: k' = floor(inside min(m, n)) +
        ambiguous, int64.

        lengths, other_lengths: lengths m and n of the two sequences; arrays that are broadcast
        """
        edits: Integers = np.floor(self.inside * np.minimum(lengths, other_lengths) + _ROUNDING_TOLERANCE).astype(np.int64)
        return edits + self.ambiguous

    def max_overhang(self, lengths: Integers, other_lengths: Integers) -> Integers:
        """Return the maximum number of letters that a sequence has before its first and after its last aligned pair, in total: int64.

        lengths, other_lengths: lengths of this sequence and of the other one; arrays that are broadcast

        If the result is below 0, no pair with these lengths can pass.
        """
        covered = (np.minimum if self.coverage_of_shorter else np.maximum)(lengths, other_lengths)
        letters: Integers = np.floor(lengths - self.coverage * covered + _ROUNDING_TOLERANCE).astype(np.int64)
        return letters

    def max_diagonals(self, lengths: Integers, other_lengths: Integers) -> Integers:
        """Return the maximum number of diagonals on which an alignment within the bound can lie, minus one: int64.

        lengths, other_lengths: lengths of the two sequences; arrays that are broadcast

        A path of k edits whose ends are d diagonals apart strays at most (k - d) / 2 diagonals beyond either end, so the result is at most
        k. If `coverage` is not 0, a path may start and end on the diagonals from -f to f', where f and f' are the overhangs of the two
        sequences, and strays at most k' / 2 diagonals beyond either end.
        """
        if not self.coverage:
            return self.max_edits(lengths, other_lengths)
        overhangs = self.max_overhang(lengths, other_lengths) + self.max_overhang(other_lengths, lengths)
        diagonals: Integers = np.maximum(overhangs, 0) + self.max_edits_inside(lengths, other_lengths)
        return diagonals

    def max_different_grams(self, q: int, lengths: Integers, other_lengths: Integers) -> Integers:
        """Return the maximum number of distinct q-grams in one sequence that the other sequence lacks: int64, at least 0.

        lengths: lengths m of the sequence that has the q-grams (s)
        other_lengths: lengths n of the other sequence (t); both arrays are broadcast

        An edit changes at most q q-grams of a sequence, so q k is one bound (Jokinen & Ukkonen 1991). The alignment gives further bounds.
        Let s' be the part of s from the first to the last paired letter, t' the same part of t, k' the result of `max_edits_inside`, and
        c = max(m, n), or with `coverage_of_shorter` c = min(m, n), so that at least coverage c letters are paired.

        - Outside s'. A sequence of l letters has max(0, l - q + 1) q-grams, counted by start position. This function of l never decreases,
          and increases by at most 1 per letter. So s has at most m - |s'| more q-grams than s', even if s' is shorter than q: cutting s'
          out of s does not cost q - 1 q-grams. Since s' contains all paired letters of s, m - |s'| <= m - coverage c.
        - Inside s'. The part of the alignment between the first and the last pair turns s' into t' with one edit for each of the X
          mismatches and one for each letter in a gap, at most k' in total. If a q-gram of s' has no mismatched letters, no letters in gaps
          and no gap of s' between its letters, then it is opposite the same q consecutive letters, so t contains it. A mismatched letter,
          or a letter of s' opposite a gap, is in at most q q-grams, and at most q - 1 q-grams span a gap of s'. So at most q k' are lost,
          and m - coverage c + q k' is a bound.
        - Both together. The more letters lie outside, the fewer edits are possible inside. Let n <= m here, whichever sequence is s. Of
          the shorter sequence, at most f letters may lie outside. If x of them do, there are at most inside (n - x) + ambiguous edits, so
          it loses at most x + q inside (n - x) + q ambiguous q-grams, a linear function of x. Its maximum is at x = 0 or x = f. The longer
          sequence may have m - n more letters outside for the same number of edits, so it loses at most m - n more q-grams.

        With q = 1, the q-grams are letters, and equal letters are counted individually: the surplus of one sequence over the other.
        """
        outside = self.max_overhang(lengths, other_lengths)
        bounds = (
            q * self.max_edits(lengths, other_lengths),
            q * self.max_edits_inside(lengths, other_lengths) + outside,
            self.max_different_grams_by_coverage(q, lengths, other_lengths),
        )
        impossible = np.minimum(outside, self.max_overhang(other_lengths, lengths)) < 0
        return np.maximum(np.where(impossible, 0, np.minimum.reduce(np.broadcast_arrays(*bounds))), 0)

    def max_different_gram_fraction(self, q: int, lengths: Integers, other_lengths: Integers) -> float:
        """Return how many of its q-grams a sequence may have that the other lacks, per letter of the sequence: the lower of this number for
        either sequence. At 1 or more, q-grams exclude no pair.

        lengths, other_lengths: lengths of the two sequences, int64[1] each
        """
        sides = (lengths, other_lengths), (other_lengths, lengths)
        return min(float(self.max_different_grams(q, *side)[0]) / float(side[0][0]) if side[0][0] else 1.0 for side in sides)

    def max_different_grams_by_coverage(self, q: int, lengths: Integers, other_lengths: Integers) -> Integers:
        """Return only the last bound of `max_different_grams`. If `coverage` is 0, the result is at least the sequence length, which is
        always a bound."""
        shorter = np.minimum(lengths, other_lengths)
        outside = self.max_overhang(shorter, np.maximum(lengths, other_lengths))
        per_letter = q * self.inside
        lost = np.maximum(per_letter * shorter, outside + per_letter * (shorter - outside)) + q * self.ambiguous
        bound: Integers = lengths - shorter + np.floor(lost + _ROUNDING_TOLERANCE).astype(np.int64)
        return bound

    def with_ambiguity_letters(self, max_letters: int) -> EditBound:
        """Return the bound for identities under a different rule for ambiguity letters (core/alignment/ambiguity.py).

        max_letters: maximum number of ambiguity letters in a pair; becomes `ambiguous`

        Let c be the number of columns with an ambiguity letter that do not count as mismatches or gaps. Each of these columns holds an
        ambiguity letter, so c <= max_letters. If the columns count as matches, there are M' = M + c matches, and the proofs hold for the
        edits outside these columns: ed <= S - 2 M - X <= S - 2 M' + c, since X >= c, and ed <= S - P - M = S - P - M' + c. If the columns
        are not counted, the proofs hold for the alignment without these columns, which has no more letters; in the whole alignment, P and M
        are larger by at most c, and at least M'. So every bound on edits, including edits between the first and the last pair, grows by at
        most c.
        """
        return replace(self, constant=self.constant + max_letters - self.ambiguous, ambiguous=max_letters)


def distance_bound(threshold: int) -> EditBound:
    """Return the bound for an edit distance threshold."""
    return EditBound(0.0, 0.0, float(min(threshold, _MAX_CONSTANT)))


def matches_bound(threshold: float) -> EditBound:
    """Return the bound for identity under definition 0, M / min(m, n) >= threshold, for any scoring and end gaps.

    From (1), ed <= S - 2 M <= S - 2 threshold min(m, n).
    """
    return EditBound(1.0, -2.0 * threshold, _ROUNDING_TOLERANCE)


def columns_bound(threshold: float) -> EditBound:
    """Return the bound for identity under definitions 1 and 4, M / (M + X + G) >= threshold, for any scoring that counts end gaps.

    Proof, in the terms of the module docstring:
    With e = X + G and S = 2 M + 2 X + G, the identity is (S - e - X) / (S + e - X). Subtracting X from the numerator and denominator of a
    fraction of at most 1 does not increase the fraction: identity <= (S - e) / (S + e), which decreases as e grows, and e >= ed. So
    threshold <= (S - ed) / (S + ed), which is equivalent to ed <= S (1 - threshold) / (1 + threshold).
    """
    return EditBound((1.0 - threshold) / (1.0 + threshold), 0.0, _ROUNDING_TOLERANCE)


def covered_bound(threshold: float, coverage: float, of_shorter: bool = False) -> EditBound:
    """Return the bound for identity under definitions 1, 2 and 4 if at least `coverage` of each sequence is paired, for any scoring and end
    gaps.

    of_shorter: whether only the shorter sequence must be covered

    Proof, in the terms of the module docstring:
    P letters of either sequence are paired, so P >= coverage c, where c is max(m, n), or min(m, n) if only the shorter sequence must be
    covered. All three definitions divide M by P or by P plus letters in gaps, so M >= threshold P. From (1),
    ed <= S - P - M <= S - (1 + threshold) P <= S - (1 + threshold) coverage c, and max(m, n) = S - min(m, n).

    Letters before the first and after the last pair count as edits here. Let H be the number of letters in gaps between these pairs. The
    definitions divide M by at least P + H, so threshold (P + H) <= M, and the number of edits between these pairs is
    X + H = P + H - M <= M / threshold - M <= P (1 - threshold) / threshold. Neither sequence has fewer than P letters between these pairs.

    A bound may not depend on which sequence is the query: equal records are compared once, although a copy may come before the other record
    and another copy after it. So if the query or the target must be covered, whichever is shorter, the bound for the shorter one applies:
    coverage m and coverage n are at least coverage min(m, n).
    """
    weight = (1.0 + threshold) * coverage
    per_letter, per_shorter = (1.0, -weight) if of_shorter else (1.0 - weight, weight)
    inside = ((1.0 - threshold) / threshold, coverage) if threshold > _MIN_IDENTITY_FOR_GRAM_BOUND else (0.0, 0.0)
    return EditBound(per_letter, per_shorter, _ROUNDING_TOLERANCE, *inside, coverage_of_shorter=of_shorter)


def score_bound(threshold: int, scoring: Scoring, letters: npt.NDArray[np.uint8], free_ends: bool) -> EditBound | None:
    """Return the bound for scores of at least `threshold`, or None if scores do not bound the edit distance. The proof is that of
    `max_edits_by_scores`.

    letters: codes that occur in the sequences
    """
    equal, twice_cost = _letter_score_and_edit_cost(scoring, letters, free_ends)
    if twice_cost <= 0:
        return None
    constant = min(max(-2 * threshold / twice_cost, -_MAX_CONSTANT), _MAX_CONSTANT)
    return EditBound(equal / twice_cost, 0.0, constant + _ROUNDING_TOLERANCE)


def scores_bound_edits(scoring: Scoring, letters: npt.NDArray[np.uint8], free_ends: bool) -> bool:
    """Return whether scores bound the edit distance. letters: codes that occur in the sequences"""
    return _letter_score_and_edit_cost(scoring, letters, free_ends)[1] > 0


def max_edits_by_scores(
    scores: Integers, total_lengths: Integers, scoring: Scoring, letters: npt.NDArray[np.uint8], free_ends: bool
) -> Integers:
    """Return the maximum edit distance of sequences whose alignments score at least `scores`: int64[pairs]. If it is below 0, no alignment
    scores that much.

    scores: int64[pairs]; edit distances are negated
    total_lengths: number of letters of both sequences of each pair, int64[pairs]
    letters: codes that occur in the sequences

    Scores must bound the edit distance (`scores_bound_edits`).

    With S, M, X and G as in the module docstring, let matches score at most a, mismatches at most u, and let each letter in a gap cost at
    least g (0 if end gaps are free; open + (n - 1) extend >= n min(open, extend)). Then score <= a M + u X - g G, and since
    M = (S - 2 X - G) / 2,

        score <= a S / 2 - (a - u) X - (a / 2 + g) G <= a S / 2 - c (X + G)    with c = min(a - u, a / 2 + g),

    so that for c > 0, ed <= X + G <= (a S / 2 - score) / c = (a S - 2 score) / 2 c. The last fraction has integer terms.
    """
    equal, twice_cost = _letter_score_and_edit_cost(scoring, letters, free_ends)
    edits: Integers = (equal * total_lengths - 2 * scores) // twice_cost
    return edits


def _letter_score_and_edit_cost(scoring: Scoring, letters: npt.NDArray[np.uint8], free_ends: bool) -> tuple[int, int]:
    """Return a and 2 c, as in `max_edits_by_scores`: the highest score of two equal letters, and twice the cost of an edit."""
    table = scoring.substitution[np.ix_(letters, letters)]
    equal = int(table.diagonal().max())
    unequal = int(table[~np.eye(len(letters), dtype=bool)].max(initial=-(2**40)))
    gap = 0 if free_ends else min(scoring.gap_open, scoring.gap_extend)
    return equal, min(2 * (equal - unequal), equal + 2 * gap)
