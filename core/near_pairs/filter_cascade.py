"""Which steps decide about near pairs: chosen by what a sample of the records says they would cost. Pure.

FilterCascade, each of which leaves pairs out and loses none that is within the bound k:

- lengths: ed >= |m - n|.
- letter counts: an edit changes the count of a letter by 1, or those of two letters by 1 in opposite directions, so ed is at least the sum
  of the surpluses of one sequence over the other, and at least that of its deficits.
- q-grams (Jokinen & Ukkonen 1991; Ukkonen 1992): let A(s) be the set of hashed substrings of q letters. An edit changes q of them at most,
  so ed(s, t) <= k implies that A(s) has k q elements at most that A(t) has not, and fewer where a coverage is asked for
  (`EditBound.grams`). Where two q-grams have one hash the sets only become more alike, so nothing is lost; |A(s) without A(t)| = |A(s)| -
  |A(s) and A(t)| is an AND and a count of bits.
- neighbours: ed(s, t) <= k implies that the two become equal when k letters at most are deleted from each (a substitution deletes a letter
  of both, an insertion or deletion one letter of one), so joining the strings made by deletions finds all pairs.
- distance: a banded computation that is given up when the distance exceeds k (Ukkonen 1985; Hyyro 2003).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np
import numpy.typing as npt

from gpualign.core.common.arrays import Integers
from gpualign.core.common.dataclass import dataclass
from gpualign.core.scoring.edit_bounds import EditBound

MOST_NEIGHBOUR_EDITS = 3
_SHORT = 4096
"""Longest records, in letters, whose neighbours are worth listing."""


@dataclass(frozen=True)
class FilterCascade:
    """counts: whether letter counts are compared; q, bits: of the sketches, 0 for none; neighbours: letters deleted at most where pairs
    come from joined neighbourhoods instead of all pairs, 0 for none; whole: whether the whole matrix of each pair is computed instead of
    a band, by kernels for all pairs."""

    counts: bool = False
    q: int = 0
    bits: int = 0
    neighbours: int = 0
    whole: bool = False

    def describe(self) -> str:
        """For people."""
        if self.neighbours:
            return f"joined strings of up to {self.neighbours} {'deletion' if self.neighbours == 1 else 'deletions'}, banded edit distance"
        if self.whole:
            return "edit distances of all pairs"
        counts = "letter counts, " if self.counts else ""
        sketches = f"{self.q}-grams in {self.bits:,} bits, " if self.q else ""
        return f"lengths, {counts}{sketches}banded edit distance"


@dataclass(frozen=True)
class Survivors:
    """Pairs of a sample: looked at, and left by lengths, letter counts and sketches."""

    pairs: int
    by_length: int
    by_counts: int
    by_sketches: int

    def describe(self, steps: FilterCascade) -> str:
        """For people: the shares of its pairs that these steps leave."""
        told = [("lengths leave", self.by_length)]
        if steps.counts:
            told.append(("letter counts", self.by_counts))
        if steps.q:
            told.append(("q-grams", self.by_sketches))
        return "of a sample " + ", ".join(f"{name} {_percent(count / self.pairs)}" for name, count in told)


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %" if share > 0.1 else f"{100 * share:.2g} %"


@dataclass(frozen=True)
class Costs:
    """What an engine takes, in nanoseconds of one of its workers: to look at a pair's lengths; to compare the letter counts of two records,
    or 64 bits of their sketches; for a column of a word of 64 diagonals; for a cell of a whole matrix. aligned: for a cell of the alignment
    of each pair that sketches leave, where its distance will not leave it out."""

    pair: float
    counts: float
    word: float
    column: float
    cell: float
    aligned: float = 0.0


def words(most: int) -> int:
    """Words of 64 diagonals that hold all alignments with so many edits: an alignment of k edits that ends d diagonals from where it began
    strays (k - d) / 2 to either side of those between, which makes k + 1 diagonals at most."""
    return most // 64 + 1


def usual_letters(codes: npt.NDArray[np.uint8]) -> float:
    """How many letters there are, in effect: 2 to the power of their entropy; a few ambiguous nucleotides add next to nothing."""
    counts = np.bincount(codes)
    shares = counts[counts > 0] / max(len(codes), 1)
    return float(np.exp2(-(shares * np.log2(shares)).sum()))


def candidates(mean_length: float, letters: float, grams: Callable[[int], int]) -> Iterator[tuple[int, int]]:
    """(q, bits) worth trying for records of about so many letters: q-grams rare enough to tell records apart, and bits enough not to be
    full of them, where grams(q), those that may differ, leave something to ask for."""
    min_q = max(2, math.ceil(math.log(max(mean_length, 2)) / math.log(max(letters, 2))))
    full = 1 << max(6, math.ceil(math.log2(max(mean_length, 1))))
    for q in range(min_q, min_q + 4):
        if grams(q) < mean_length:
            for bits in (full, 2 * full, 4 * full, 8 * full):
                if 64 <= bits <= 1 << 15:
                    yield q, bits


def cost(steps: FilterCascade, left: Survivors, lengths: tuple[float, float], most: int, costs: Costs) -> float:
    """Nanoseconds that a pair takes on average, as the sample says. lengths: usual ones, of queries and of targets."""
    aligned = costs.aligned * lengths[0] * lengths[1]
    if steps.whole:
        return costs.pair + costs.cell * lengths[0] * lengths[1] + aligned
    total = costs.pair * left.pairs
    if steps.counts:
        total += costs.counts * left.by_length
    if steps.q:
        total += costs.word * steps.bits / 64 * left.by_counts
    total += (costs.column * lengths[1] * words(most) + aligned) * left.by_sketches
    return total / max(left.pairs, 1)


def choose(
    options: Iterator[FilterCascade], measure: Callable[[FilterCascade], Survivors], lengths: tuple[float, float], most: int, costs: Costs
) -> tuple[FilterCascade, float, Survivors]:
    """The option that costs least, what it costs, and what it leaves of a sample, as `measure` finds out."""
    found = [(steps, measure(steps)) for steps in options]
    priced = [cost(steps, left, lengths, most, costs) for steps, left in found]
    best = min(range(len(found)), key=priced.__getitem__)
    return found[best][0], priced[best], found[best][1]


def worth_joining(lengths: Integers, bound: EditBound) -> int:
    """Letters to delete where records are short and edits few enough for a join of neighbourhoods, else 0."""
    longest = np.array([lengths.max()], dtype=np.int64)
    most = int(bound.most(longest, longest)[0])
    short = int(longest[0]) <= _SHORT and 1 <= most <= MOST_NEIGHBOUR_EDITS and bound.per_letter == bound.per_shorter == 0
    return most if short else 0
