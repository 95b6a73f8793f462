"""Identity of two aligned sequences under vsearch's five definitions, numbered as in vsearch (option --iddef).

Let an alignment have M matches, X mismatches, L columns, G gaps, and T gap columns before the first or after the last pair of letters:

0. M / letters of the shorter sequence
1. M / L
2. M / (L - T), the default
3. 1 - (X + G) / letters of the longer sequence, at least 0
4. M / L, as in BLAST

An alignment without columns, which is possible with free end gaps, has an identity of 0 under every definition.
"""

from __future__ import annotations

import numpy as np

from gpualign.core.alignment.tile_results import Statistics
from gpualign.core.common.arrays import Integers, Reals

DEFINITIONS = (0, 1, 2, 3, 4)
DEFAULT_DEFINITION = 2


def column_counts(statistics: Statistics) -> Integers:
    """Return the number of columns in each alignment: int64 with the shape of `statistics`."""
    total: Integers = statistics["matches"].astype(np.int64) + statistics["mismatches"] + statistics["gaps"]
    return total


def identity_ratio(statistics: Statistics, query_lengths: Integers, target_lengths: Integers, definition: int) -> tuple[Integers, Integers]:
    """Return the numerators and denominators of identities: int64 with the shape of `statistics`.

    query_lengths, target_lengths: int64 with shapes that broadcast to the shape of `statistics`
    definition: number of the identity definition, as in the module docstring

    A denominator of 0 means that there is nothing to compare, and the identity is 0.
    """
    matches = statistics["matches"].astype(np.int64)
    if definition == 0:
        return matches, np.minimum(query_lengths, target_lengths)
    if definition in (1, 4):
        return matches, column_counts(statistics)
    if definition == 2:
        return matches, column_counts(statistics) - statistics["end_gaps"]
    longer = np.maximum(query_lengths, target_lengths)
    # Definition 3 counts differences, and an alignment without columns has none.
    alike = np.maximum(longer - statistics["mismatches"] - statistics["gap_opens"], 0)
    return np.where(column_counts(statistics) > 0, alike, 0), longer


def identity_distance(num: Integers, den: Integers) -> Reals:
    """Return 1 - num / den as float64, or 1 where `den` is 0.

    The result is rounded only once, so that 97 / 100 gives the float 0.03, not 1 - 0.97.
    """
    out: Reals = np.divide(den - num, den, out=np.ones(num.shape), where=den > 0)
    return out


def fraction(num: Integers, den: Integers) -> Reals:
    """Return num / den as float64, or 0 where `den` is 0."""
    return np.divide(num, den, out=np.zeros(num.shape), where=den > 0)
