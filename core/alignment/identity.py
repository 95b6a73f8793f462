"""Identity of two aligned sequences by vsearch's five definitions, under vsearch's numbers (its option --iddef).

Let an alignment have M pairs of equal letters, X pairs of unequal letters, L columns, G gaps, and T columns that are gaps before the first
or after the last pair of letters:

0. M / letters of the shorter sequence
1. M / L
2. M / (L - T), the default
3. 1 - (X + G) / letters of the longer sequence, at least 0
4. M / L, as BLAST counts

An alignment without columns, which free end gaps allow, has an identity of 0 by every definition.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from gpualign.core.alignment.tile_results import Statistics
from gpualign.core.common.arrays import Integers

DEFINITIONS = (0, 1, 2, 3, 4)
DEFAULT = 2


def columns(statistics: Statistics) -> Integers:
    """Return the number of columns of each alignment: int64 of the shape of `statistics`."""
    total: Integers = statistics["matches"].astype(np.int64) + statistics["mismatches"] + statistics["gaps"]
    return total


def identity(statistics: Statistics, query_lengths: Integers, target_lengths: Integers, definition: int) -> tuple[Integers, Integers]:
    """Return the numerators and denominators of identities: int64 of the shape of `statistics`.

    query_lengths, target_lengths: int64 of shapes that broadcast to that of `statistics`

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
    # Definition 3 counts differences, and an alignment without columns has none.
    alike = np.maximum(longer - statistics["mismatches"] - statistics["gap_opens"], 0)
    return np.where(columns(statistics) > 0, alike, 0), longer


def distance(num: Integers, den: Integers) -> npt.NDArray[np.float64]:
    """Return 1 - num / den as float64, 1 where den is 0. It is divided once, so that 3 of 100 is the float 0.03 and not 1 - 0.97."""
    out: npt.NDArray[np.float64] = np.divide(den - num, den, out=np.ones(num.shape), where=den > 0)
    return out


def fraction(num: Integers, den: Integers) -> npt.NDArray[np.float64]:
    """Return num / den as float64, 0 where den is 0."""
    return np.divide(num, den, out=np.zeros(num.shape), where=den > 0)
