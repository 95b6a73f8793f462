"""Chooses the filter steps for near pairs by their cost, estimated from a sample of the records. Pure.

Each step of a `FilterCascade` discards pairs, and none that is within the bound k:

- lengths: ed >= |m - n|.
- letter counts: an edit changes the count of one letter by 1, or the counts of two letters by 1 in opposite directions, so ed is at least
  the sum of the surpluses of one sequence over the other, and at least the sum of its deficits.
- q-grams (Jokinen & Ukkonen 1991; Ukkonen 1992): let A(s) be the set of hashed substrings of q letters. An edit changes at most q of them,
  so ed(s, t) <= k implies that A(s) has at most k q elements that A(t) lacks, and fewer if there is a threshold on coverage
  (`EditBound.grams`). If two q-grams have the same hash, the sets only become more similar, so no pair is lost. |A(s) without A(t)| =
  |A(s)| - |A(s) and A(t)| is an AND and a count of bits.
- neighbours: ed(s, t) <= k implies that the two become equal if at most k letters are deleted from each (for a substitution a letter of
  both, for an insertion or deletion a letter of one), so joining the strings made by deletions finds all pairs.
- distance: a banded computation that stops when the distance exceeds k (Ukkonen 1985; Hyyro 2003).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np
import numpy.typing as npt

from gpualign.core.common.arrays import Integers
from gpualign.core.common.dataclass import dataclass
from gpualign.core.scoring.edit_bounds import EditBound

MAX_NEIGHBOUR_EDITS = 3
_SHORT = 4096
"""Length of the longest records, in letters, whose deletion neighbours are listed."""


@dataclass(frozen=True)
class FilterCascade:
    """Filter steps and their parameters.

    counts: compare letter counts
    q, bits: length of the q-grams and size of the sketches; 0 for no sketches
    neighbours: pairs come from joined neighbourhoods with at most this number of deleted letters; 0: all pairs are examined
    whole: compute the whole matrix of each pair instead of a band, by kernels for all pairs
    """

    counts: bool = False
    q: int = 0
    bits: int = 0
    neighbours: int = 0
    whole: bool = False

    def describe(self) -> str:
        """Return a human-readable description."""
        if self.neighbours:
            return f"joined strings of up to {self.neighbours} {'deletion' if self.neighbours == 1 else 'deletions'}, banded edit distance"
        if self.whole:
            return "edit distances of all pairs"
        counts = "letter counts, " if self.counts else ""
        sketches = f"{self.q}-grams in {self.bits:,} bits, " if self.q else ""
        return f"lengths, {counts}{sketches}banded edit distance"


@dataclass(frozen=True)
class Survivors:
    """Numbers of pairs of a sample.

    pairs: examined pairs
    by_length, by_counts, by_sketches: pairs that remain after the filters by length, letter counts and sketches
    """

    pairs: int
    by_length: int
    by_counts: int
    by_sketches: int

    def describe(self, steps: FilterCascade) -> str:
        """Return a human-readable description of the fractions of pairs that remain after these steps."""
        fractions = [("lengths leave", self.by_length)]
        if steps.counts:
            fractions.append(("letter counts", self.by_counts))
        if steps.q:
            fractions.append(("q-grams", self.by_sketches))
        return "in a sample " + ", ".join(f"{name} {_percent(count / self.pairs)}" for name, count in fractions)


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %" if share > 0.1 else f"{100 * share:.2g} %"


@dataclass(frozen=True)
class Costs:
    """Costs of the steps of an engine, in nanoseconds of one of its workers.

    pair: to compare the lengths of a pair
    counts: to compare the letter counts of two records
    word: to compare 64 bits of the sketches of two records
    column: for a column of a word of 64 diagonals
    cell: for a cell of a whole matrix
    aligned: for a cell of the alignment of each pair that remains after sketches, if its distance will not discard it
    """

    pair: float
    counts: float
    word: float
    column: float
    cell: float
    aligned: float = 0.0


def words(max_edits: int) -> int:
    """Return the number of words of 64 diagonals that contain all alignments with at most `max_edits` edits.

    An alignment of k edits that ends d diagonals from where it began leaves the diagonals in between by at most (k - d) / 2 to either side,
    which makes at most k + 1 diagonals.
    """
    return max_edits // 64 + 1


def effective_letters(codes: npt.NDArray[np.uint8]) -> float:
    """Return the effective number of letters: 2 to the power of their entropy, to which a few ambiguous nucleotides add almost nothing."""
    counts = np.bincount(codes)
    frequencies = counts[counts > 0] / max(len(codes), 1)
    return float(np.exp2(-(frequencies * np.log2(frequencies)).sum()))


def candidates(mean_length: float, letters: float, grams: Callable[[int], int]) -> Iterator[tuple[int, int]]:
    """Yield the (q, bits) that are worth trying: q-grams rare enough to distinguish records, and enough bits not to be filled by them.

    mean_length: mean length of the records
    letters: effective number of letters
    grams: returns the number of q-grams that may differ; q is skipped if these can be all
    """
    min_q = max(2, math.ceil(math.log(max(mean_length, 2)) / math.log(max(letters, 2))))
    full = 1 << max(6, math.ceil(math.log2(max(mean_length, 1))))
    for q in range(min_q, min_q + 4):
        if grams(q) < mean_length:
            for bits in (full, 2 * full, 4 * full, 8 * full):
                if 64 <= bits <= 1 << 15:
                    yield q, bits


def cost(steps: FilterCascade, survivors: Survivors, lengths: tuple[float, float], max_edits: int, costs: Costs) -> float:
    """Return the mean nanoseconds that a pair takes, estimated from a sample.

    survivors: pairs of the sample that remain after each step
    lengths: usual lengths of queries and of targets
    max_edits: bound on the edit distance for these lengths
    """
    aligned = costs.aligned * lengths[0] * lengths[1]
    if steps.whole:
        return costs.pair + costs.cell * lengths[0] * lengths[1] + aligned
    total = costs.pair * survivors.pairs
    if steps.counts:
        total += costs.counts * survivors.by_length
    if steps.q:
        total += costs.word * steps.bits / 64 * survivors.by_counts
    total += (costs.column * lengths[1] * words(max_edits) + aligned) * survivors.by_sketches
    return total / max(survivors.pairs, 1)


def choose(
    options: Iterator[FilterCascade],
    measure: Callable[[FilterCascade], Survivors],
    lengths: tuple[float, float],
    max_edits: int,
    costs: Costs,
) -> tuple[FilterCascade, float, Survivors]:
    """Return the cheapest option, its cost, and the pairs of a sample that remain with it.

    measure: applies an option to the sample
    lengths, max_edits, costs: as for `cost`
    """
    measured = [(steps, measure(steps)) for steps in options]
    priced = [cost(steps, survivors, lengths, max_edits, costs) for steps, survivors in measured]
    best = min(range(len(measured)), key=priced.__getitem__)
    return measured[best][0], priced[best], measured[best][1]


def joined_deletions(lengths: Integers, bound: EditBound) -> int:
    """Return the number of letters to delete if records are short and edits few enough for a join of neighbourhoods, else 0."""
    longest = np.array([lengths.max()], dtype=np.int64)
    max_edits = int(bound.max_edits(longest, longest)[0])
    suitable = int(longest[0]) <= _SHORT and 1 <= max_edits <= MAX_NEIGHBOUR_EDITS and bound.per_letter == bound.per_shorter == 0
    return max_edits if suitable else 0
