"""Terms that genotype pairs add to the genomic relationship between two samples, in integers. Pure.

For samples with x and y second alleles at a site where second alleles have frequency p (in all calls of all founders), the site adds

    t(x, y) = (x - 2 p) (y - 2 p) / (2 p (1 - p))

or 0 if all alleles are equal. Terms are rounded to multiples of 2^-`fraction_bits`, so sums are exact integers, independent of summation
order and number of threads. `fraction_bits` is as large as 62-bit sums allow, so the error of a mean of terms is at most 2^-b / 2 for b
bits, and usually far lower: 2^-37 for a million sites with terms of up to 10 on average.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from gpualign.core.common.arrays import Reals
from gpualign.core.common.dataclass import dataclass
from gpualign.core.distance.count_recipe import COUNT_NAMES_BY_MEASURE, Measure, Operation, Term
from gpualign.core.distance.engine import WORD_BITS, BitPlanes, Panel

TermArray = npt.NDArray[np.int64]

(SUM_NAME,) = COUNT_NAMES_BY_MEASURE[Measure.RELATIONSHIP]
_SUM_BITS = 62
_MAX_FRACTION_BITS = 40
"""More bits would exceed the precision of the quotient as a float64."""

_PACKED_BYTES_AT_ONCE = 1 << 22
"""Number of bytes of packed bits that are unpacked in one step."""


def sum_dtype(count_name: str) -> np.dtype[Any]:
    """Return the dtype of the matrix in which this count is summed."""
    return np.dtype(np.int64 if count_name == SUM_NAME else np.int32)


def relationship_term(panel: Panel) -> Term | None:
    """Return the term of a panel that contributes to relationships; None if the panel has no such term."""
    return next((term for term in panel.recipe.terms if term.operation is Operation.RELATE), None)


def _count_founders_with_bit(plane: BitPlanes, founders: npt.NDArray[np.bool_]) -> npt.NDArray[np.int64]:
    """Return the number of founders whose bit is set at each site: int64[64 * words]."""
    samples, words = plane.shape
    totals = np.zeros(WORD_BITS * words, dtype=np.int64)
    step = max(1, _PACKED_BYTES_AT_ONCE // max(1, 8 * words))
    for start in range(0, samples, step):
        some = np.ascontiguousarray(plane[start : start + step][founders[start : start + step]]).view(np.uint8)
        totals += np.unpackbits(some, axis=1, bitorder="little").sum(axis=0, dtype=np.int64)
    return totals


def allele_frequencies(panel: Panel, term: Term) -> Reals:
    """Return the frequency of the second allele among founders at each site; NaN where no founder has a call.

    The sites are padded to whole words of 64 bits: float64[64 * words].
    """
    one, two = term.left
    founders = np.ones(panel.bits.shape[1], dtype=np.bool_) if panel.founders is None else panel.founders
    seconds = _count_founders_with_bit(panel.bits[one], founders) + 2 * _count_founders_with_bit(panel.bits[two], founders)
    called = (
        np.full(len(seconds), np.count_nonzero(founders))
        if term.mask is None
        else _count_founders_with_bit(panel.bits[term.mask], founders)
    )
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(seconds / (2 * called), dtype=np.float64)


def genotype_pair_terms(frequency: Reals) -> list[list[Reals]]:
    """Return the term t(x, y) of the module docstring at each site, for x and y second alleles: element [x][y] is float64[sites].

    frequency: frequency of the second allele at each site
    """
    varies = (frequency > 0) & (frequency < 1)
    p = np.where(varies, frequency, 0.5)
    weight = np.where(varies, 1 / (2 * p * (1 - p)), 0.0)
    return [[(x - 2 * p) * (y - 2 * p) * weight for y in range(3)] for x in range(3)]


@dataclass(frozen=True)
class RelationshipTerms:
    """Terms for a run's panels, and the precision to which the terms are rounded."""

    panels: Sequence[Panel] = field(repr=False)

    @cached_property
    def _allele_frequencies(self) -> dict[int, Reals]:
        """Frequencies of the second allele at each site of each panel that has a relationship term, keyed by the index of the panel."""
        return {k: allele_frequencies(panel, term) for k, panel in enumerate(self.panels) if (term := relationship_term(panel)) is not None}

    @cached_property
    def fraction_bits(self) -> int:
        """Number of bits after the binary point: terms are multiples of 2^-fraction_bits."""
        largest = 0  # whole numbers, so that it does not matter how sites are cut into panels
        for frequency in self._allele_frequencies.values():
            terms = genotype_pair_terms(frequency)
            largest += int(np.ceil(np.maximum.reduce([terms[0][0], -terms[0][2], terms[2][2]])).sum())
        return min(_MAX_FRACTION_BITS, _SUM_BITS - math.ceil(math.log2(largest + 2)))

    def panel_terms(self, panel_number: int) -> TermArray:
        """Return a panel's terms for each pair of genotypes (x, y), in units of 2^-fraction_bits: int64[9][64 * words], row 3 * x + y."""
        terms = genotype_pair_terms(self._allele_frequencies[panel_number])
        return np.stack([np.rint(np.ldexp(terms[x][y], self.fraction_bits)).astype(np.int64) for x in range(3) for y in range(3)])

    def sums_as_floats(self, sums: TermArray) -> Reals:
        """Return sums of terms as float64."""
        floats = sums.astype(np.float64)
        return np.ldexp(floats, -self.fraction_bits, out=floats)
