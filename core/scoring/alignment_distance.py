"""Distances of alignment scores, and columns that exclude pairs without aligning them. Pure.

The distance of x and y is d(x, y) = min(S(x, x), S(y, y)) - S(x, y), where S is the score of the best global alignment: how much the
alignment falls short of what the lower-scoring sequence reaches with itself. It is 0 for equal sequences, the same in both directions if
the matrix is symmetric, and may be negative if a letter scores higher with another letter than with itself, as X does.

In the proofs, s(a, b) is the score of two letters, o and e are the costs of the first and of each further letter in a gap, and D(x) is the
sum of s(a, a) over the letters of x. D(x) is the score of the alignment of x with itself without gaps, so S(x, x) >= D(x), and
d(x, y) >= min(D(x), D(y)) - S(x, y) (1).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from gpualign.core.common.arrays import Codes, Integers
from gpualign.core.common.dataclass import dataclass
from gpualign.core.scoring.scoring import Scoring
from gpualign.core.sequences.sequence_set import SequenceSet

_MAX_CODES = 32
_MAX_COST = 64
"""Maximum cost of a column, which leaves room for sums in a byte. A lower cost than the real one excludes fewer pairs."""

_MAX_LIMIT = 120
"""Maximum sum of the costs of columns, so that it fits a byte with the costs of two more columns."""

_MAX_LETTERS = 1024
"""Maximum length of sequences whose columns are compared: the letters of thousands of targets are laid out by position."""


def diagonal_scores(sequences: SequenceSet, scoring: Scoring) -> Integers:
    """Return D(x), the score of each sequence with itself without gaps: int64[sequences]. scoring: scoring of the alignments"""
    return _sum_letters(sequences, np.diagonal(scoring.substitution))


def _sum_letters(sequences: SequenceSet, values: Integers) -> Integers:
    """Return the sum of the letters' values for each sequence: int64[sequences]. values: value of each code, int64[letters]"""
    sums = np.concatenate(([0], np.cumsum(values[sequences.codes], dtype=np.int64)))
    return np.diff(sums[sequences.offsets])


@dataclass(frozen=True)
class ColumnFilter:
    """A filter that keeps every pair within a distance, by the costs of columns.

    costs: cost of each letter with each other letter, uint8[32][32], symmetric
    gap_open, gap_extend: cost of the first letter and of each further letter of a difference in length, at least 0
    limit: maximum cost of a pair within the distance

    The cost of two sequences of the same length is the sum of the costs of the letters in the same columns. If one has k letters more, it
    is the cost of the gap plus, for each letter of the shorter one, the lower of two costs: with the letter as far from the start of the
    longer sequence, and with the one as far from its end.

    Proof that no pair is lost. For a != b let c(a, b) = min(s(a, a), s(b, b)) - s(a, b), and c(a, a) = 0. Of an alignment of x and y with
    the pairs P, gaps that cost G, and U letters in gaps, D(x) less the score is the sum over P of s(a, a) - s(a, b), plus the sum of
    s(a, a) over letters of x in gaps, plus G; likewise for y. With w = min(0, lowest s(a, a)), both are at least
    sum over P of c(a, b) + U w + G, and by (1) so is d, if the alignment is the best.

    Negative c. If c(a, b) < 0, attribute it to the letter with the lower score with itself, on a tie to either. Let r(a) be the largest
    -c(a, b), at least 0, over the letters b with s(b, b) >= s(a, a), and R the highest sum of r over the letters of a query plus the
    highest of a target. Then sum over P of c >= sum over P of max(c, 0) - R, and a pair within the distance t has

        sum over P of max(c, 0) + U w + G <= t + R, the limit.                                                                (2)

    Gaps. A gap of n letters adds o + (n - 1) e + n w to the left side, which for e + w >= 0 is at least o + w. Let 2 (o + w) > t + R. Then
    an alignment with two gaps is not within the distance. So if the lengths are the same, the best alignment of a pair within the distance
    has no gap, and P are the columns. If they differ by k, it has one gap of k letters, of cost (o + w) + (k - 1) (e + w): every letter of
    the shorter sequence before it is paired with the letter as far from the start, every other with that as far from the end. Taking the
    lower of both costs for each letter, and lower costs than the real ones, only lowers the left side of (2).
    """

    costs: npt.NDArray[np.uint8]
    gap_open: int
    gap_extend: int
    limit: int


def column_filter(max_distance: int, scoring: Scoring, queries: SequenceSet, targets: SequenceSet) -> ColumnFilter | None:
    """Return the filter for pairs of queries and targets within a distance, or None if an alignment within it may have two gaps, or if the
    sequences are too long or the distance is too large for the filter. scoring: scoring of the alignments, with a symmetric matrix"""
    if max(queries.max_length, targets.max_length) > _MAX_LETTERS or len(scoring.substitution) > _MAX_CODES:
        return None
    sets = (queries,) if targets is queries else (queries, targets)
    is_used = np.zeros(len(scoring.substitution), dtype=np.bool_)
    for one in sets:
        is_used[one.used_codes] = True
    letters = np.flatnonzero(is_used).astype(np.uint8)
    lowest = min(0, int(np.diagonal(scoring.substitution)[letters].min()))
    costs = _column_costs(scoring, letters)
    excess = [int(_sum_letters(one, _letter_excesses(scoring, letters, costs)).max()) for one in sets]
    limit = max_distance + excess[0] + excess[-1]
    gap_open, gap_extend = scoring.gap_open + lowest, scoring.gap_extend + lowest
    if limit > _MAX_LIMIT or gap_extend < 0 or 2 * gap_open <= limit:
        return None
    padded = np.zeros((_MAX_CODES, _MAX_CODES), dtype=np.uint8)
    padded[np.ix_(letters, letters)] = np.clip(costs, 0, _MAX_COST)
    return ColumnFilter(padded, gap_open, gap_extend, limit)


def _column_costs(scoring: Scoring, letters: Codes) -> Integers:
    """Return c(a, b) for the letters that occur: int64[letters][letters]."""
    table = scoring.substitution[np.ix_(letters, letters)]
    own = np.diagonal(table)
    costs: Integers = np.minimum(own[:, None], own[None, :]) - table
    np.fill_diagonal(costs, 0)
    return costs


def _letter_excesses(scoring: Scoring, letters: Codes, costs: Integers) -> Integers:
    """Return r(a) for each code, 0 for those that do not occur: int64[codes]."""
    excesses = np.zeros(len(scoring.substitution), dtype=np.int64)
    own = np.diagonal(scoring.substitution)[letters]
    excesses[letters] = np.where(own[None, :] >= own[:, None], np.maximum(-costs, 0), 0).max(axis=1)
    return excesses
