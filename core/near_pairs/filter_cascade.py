"""Chooses the filter steps for near pairs based on their cost, estimated from a sample of the records. Pure.

Each step of a `FilterCascade` discards pairs, but never a pair within the bound k:

- lengths: ed >= |m - n|.
- letter counts: an edit changes the count of one letter by 1, or the counts of two letters by 1 in opposite directions, so ed is at least
  the sum of one sequence's surpluses over the other, and at least the sum of its deficits.
- q-grams (Jokinen & Ukkonen 1991; Ukkonen 1992): let A(s) be the set of hashed substrings of q letters. An edit changes at most q of them,
  so ed(s, t) <= k implies that A(s) has at most k q elements that A(t) lacks, and fewer if there is a threshold on coverage
  (`EditBound.max_different_grams`). If two q-grams have the same hash, the sets only become more similar, so no pair is lost.
  |A(s) without A(t)| = |A(s)| - |A(s) and A(t)| is an AND and a popcount.
- neighbours: ed(s, t) <= k implies that s and t become equal after deleting at most k letters from each (one from each for a
  substitution, one from either for an indel). So all pairs are found among the records that have a common string after deletions.
- distance: a banded computation that stops when the distance exceeds k (Ukkonen 1985; Hyyro 2003). If there is a threshold on coverage,
  only edits between the first and the last pair of letters count: as many letters before and after as the coverage permits are free.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from gpualign.core.common.arrays import Integers
from gpualign.core.common.dataclass import dataclass
from gpualign.core.common.units import format_count
from gpualign.core.scoring.edit_bounds import EditBound

MAX_NEIGHBOUR_EDITS = 3
_MAX_NEIGHBOUR_LETTERS = 4096
"""Maximum length of records, in letters, up to which the strings that remain after deletions are listed."""


@dataclass(frozen=True)
class FilterCascade:
    """The filter steps of a cascade and their parameters.

    compare_counts: whether to compare letter counts
    q, sketch_bits: length of the q-grams and size of the sketches; 0 if no sketches are compared
    max_deletions: if not 0, pairs are found among the records that have a common string after deleting at most this many letters from each;
        if 0, all pairs are examined
    full_matrix: whether to compute each pair's whole matrix, with the kernels for tasks without a threshold, instead of only the diagonals
        within the bound
    """

    compare_counts: bool = False
    q: int = 0
    sketch_bits: int = 0
    max_deletions: int = 0
    full_matrix: bool = False

    def describe(self) -> str:
        """Return a human-readable description of the steps."""
        if self.max_deletions:
            return f"joined strings of up to {format_count(self.max_deletions, 'deletion')}, banded edit distance"
        if self.full_matrix:
            return "edit distances of all pairs"
        counts = "letter counts, " if self.compare_counts else ""
        sketches = f"{self.q}-grams in {self.sketch_bits:,} bits, " if self.q else ""
        return f"lengths, {counts}{sketches}banded edit distance"


@dataclass(frozen=True)
class SurvivorCounts:
    """Numbers of sample pairs that survive the filters.

    examined: number of pairs examined
    after_lengths, after_letter_counts, after_sketches: numbers of pairs that remain after the length, letter-count and sketch filters
    """

    examined: int
    after_lengths: int
    after_letter_counts: int
    after_sketches: int

    def describe(self, steps: FilterCascade) -> str:
        """Return a human-readable description of the fractions of pairs that remain after the steps of a cascade."""
        fractions = [("lengths leave", self.after_lengths)]
        if steps.compare_counts:
            fractions.append(("letter counts", self.after_letter_counts))
        if steps.q:
            fractions.append(("q-grams", self.after_sketches))
        return "in a sample " + ", ".join(f"{name} {_percent(count / self.examined)}" for name, count in fractions)


def _percent(fraction: float) -> str:
    return f"{100 * fraction:.0f} %" if fraction > 0.1 else f"{100 * fraction:.2g} %"


@dataclass(frozen=True)
class StepCosts:
    """Times that an engine's steps take, in nanoseconds on one worker.

    pair: time to compare the lengths of a pair
    letter_counts: time to compare the letter counts of two records
    word: time to compare 64 bits of the sketches of two records
    column: time to compute one column of 64 diagonals of a matrix
    cell: time to compute one cell of a whole matrix
    matrix, band: time that a whole matrix takes in addition to its cells, and that the diagonals within the bound take in addition to their
        columns; these matter for short records
    """

    pair: float
    letter_counts: float
    word: float
    column: float
    cell: float
    matrix: float = 0.0
    band: float = 0.0


def diagonal_word_count(max_diagonals: int) -> int:
    """Return the number of 64-bit words needed for the diagonals within a bound, at one bit per diagonal.

    max_diagonals: result of `EditBound.max_diagonals`, which is the number of diagonals minus one
    """
    return max_diagonals // 64 + 1


def effective_letters(codes: npt.NDArray[np.uint8]) -> float:
    """Return the effective alphabet size: 2 to the power of the letters' entropy in bits. A few ambiguity letters barely change it."""
    counts = np.bincount(codes)
    frequencies = counts[counts > 0] / max(len(codes), 1)
    return float(np.exp2(-(frequencies * np.log2(frequencies)).sum()))


def sketch_candidates(
    mean_length: float, alphabet_size: float, max_different_fraction: Callable[[int], float]
) -> Iterator[tuple[int, int]]:
    """Yield pairs (q, number of bits per sketch) that are worth trying. The q-grams are long enough to distinguish records, and there are
    enough bits for the q-grams of a record.

    mean_length: mean record length
    alphabet_size: effective alphabet size
    max_different_fraction: given q, returns which fraction of the q-grams of a record another record may lack. If another record may lack
        all q-grams, this q is skipped
    """
    min_q = max(2, math.ceil(math.log(max(mean_length, 2)) / math.log(max(alphabet_size, 2))))
    full = 1 << max(6, math.ceil(math.log2(max(mean_length, 1))))
    for q in range(min_q, min_q + 4):
        if max_different_fraction(q) < 1:
            for bits in (full, 2 * full, 4 * full, 8 * full):
                if 64 <= bits <= 1 << 15:
                    yield q, bits


def nanoseconds_per_pair(
    steps: FilterCascade, survivors: SurvivorCounts, lengths: tuple[float, float], max_diagonals: int, costs: StepCosts
) -> float:
    """Return the mean time that a cascade takes per pair, in nanoseconds, estimated from a sample.

    survivors: numbers of sample pairs that remain after each step
    lengths: typical query length and target length
    max_diagonals: result of `EditBound.max_diagonals` for these lengths
    costs: costs of the engine's steps
    """
    if steps.full_matrix:
        return costs.pair + costs.matrix + costs.cell * lengths[0] * lengths[1]
    total = costs.pair * survivors.examined
    if steps.compare_counts:
        total += costs.letter_counts * survivors.after_lengths
    if steps.q:
        total += costs.word * steps.sketch_bits / 64 * survivors.after_letter_counts
    total += (costs.band + costs.column * lengths[1] * diagonal_word_count(max_diagonals)) * survivors.after_sketches
    return total / max(survivors.examined, 1)


def cheapest_cascade(
    candidates: Iterator[FilterCascade],
    measure: Callable[[FilterCascade], SurvivorCounts],
    lengths: tuple[float, float],
    max_diagonals: int,
    costs: StepCosts,
) -> tuple[FilterCascade, float, SurvivorCounts]:
    """Return (cheapest cascade, its mean time per pair in nanoseconds, numbers of sample pairs that survive its steps).

    candidates: at least one; the first compares lengths only
    measure: applies a cascade to the sample
    lengths: typical query length and target length
    max_diagonals: result of `EditBound.max_diagonals` for these lengths
    costs: costs of the engine's steps

    Sketches are not measured where comparing them would take longer than the cheapest cascade so far, even if they left no pair.
    """
    steps = next(candidates)
    by_length = survivors = measure(steps)
    best = steps, nanoseconds_per_pair(steps, survivors, lengths, max_diagonals, costs), survivors
    for steps in candidates:
        ideal = replace(by_length, after_sketches=0)
        if steps.q and not steps.compare_counts and nanoseconds_per_pair(steps, ideal, lengths, max_diagonals, costs) >= best[1]:
            continue
        survivors = measure(steps)
        nanoseconds = nanoseconds_per_pair(steps, survivors, lengths, max_diagonals, costs)
        if nanoseconds < best[1]:
            best = steps, nanoseconds, survivors
    return best


def max_joined_deletions(lengths: Integers, bound: EditBound) -> int:
    """Return how many letters may be deleted from each record so that near pairs have a common remaining string
    (`FilterCascade.max_deletions`).

    Returns 0 if this method of finding near pairs is unsuitable: if records are too long, if the bound allows no edits or too many, or if
    it depends on the lengths.
    """
    longest = np.array([lengths.max()], dtype=np.int64)
    max_edits = int(bound.max_edits(longest, longest)[0])
    suitable = (
        int(longest[0]) <= _MAX_NEIGHBOUR_LETTERS and 1 <= max_edits <= MAX_NEIGHBOUR_EDITS and bound.per_letter == bound.per_shorter == 0
    )
    return max_edits if suitable else 0
