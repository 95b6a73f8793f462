"""How alike two aligned sequences are: vsearch's five definitions, by their numbers (its option --iddef).

With M pairs of equal letters, X of unequal ones, L columns of the alignment, T of them gaps before the first or behind the last
pair of letters, and G gaps:

0. M / letters of the shorter sequence
1. M / L
2. M / (L - T), the default
3. 1 - (X + G) / letters of the longer sequence, at least 0
4. M / L, as BLAST counts

An alignment without columns, as free ends allow, has an identity of 0 by each of them.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from gpualign.core.alignment.tile_results import Statistics
from gpualign.core.common.arrays import Integers

DEFINITIONS = (0, 1, 2, 3, 4)
DEFAULT = 2


def columns(statistics: Statistics) -> Integers:
    """Columns of each alignment: int64 of the same shape."""
    total: Integers = statistics["matches"].astype(np.int64) + statistics["mismatches"] + statistics["gaps"]
    return total


def identity(statistics: Statistics, query_lengths: Integers, target_lengths: Integers, definition: int) -> tuple[Integers, Integers]:
    """Numerators and denominators, int64 of the shape of `statistics`; lengths of shapes that go with it.

    A denominator of 0 means an identity of 0: there is nothing to compare.
    """
    matches = statistics["matches"].astype(np.int64)
    if definition == 0:
        return matches, np.minimum(query_lengths, target_lengths)
    if definition in (1, 4):
        return matches, columns(statistics)
    if definition == 2:
        return matches, columns(statistics) - statistics["end_gaps"]
    longer = np.maximum(query_lengths, target_lengths)
    # This one counts differences, of which an alignment without columns has none.
    alike = np.maximum(longer - statistics["mismatches"] - statistics["gap_opens"], 0)
    return np.where(columns(statistics) > 0, alike, 0), longer


def distance(num: Integers, den: Integers) -> npt.NDArray[np.float64]:
    """1 - num / den as float64, 1 where den is 0; divided once, so that 3 of 100 is the float 0.03 and not 1 - 0.97."""
    out: npt.NDArray[np.float64] = np.divide(den - num, den, out=np.ones(num.shape), where=den > 0)
    return out


def fraction(num: Integers, den: Integers) -> npt.NDArray[np.float64]:
    """num / den as float64; 0 where den is 0."""
    return np.divide(num, den, out=np.zeros(num.shape), where=den > 0)
