"""Calls: the genotype or letter of a sample at a site, as a byte."""

from __future__ import annotations

from dataclasses import field, replace
from enum import Enum
from itertools import compress
from typing import Any

import numpy as np
import numpy.typing as npt

from gpualign.core.common.arrays import Codes
from gpualign.core.common.dataclass import dataclass
from gpualign.core.distance import _sites
from gpualign.core.sequences.ids import Names

Calls = npt.NDArray[np.unsignedinteger[Any]]
"""Codes (uint8), or allele numbers (uint32); the highest number is a missing call in both."""

MISSING: int = _sites.MISSING
"""Code of a missing call."""

NUCLEOTIDES = "ACGT"
MAX_ALLELES = 22
"""With more alleles, the code of a genotype would not fit in a byte."""


class Kind(Enum):
    """Meaning of the codes of calls.

    GENOTYPE: the unordered pair of alleles a <= b is b (b + 1) / 2 + a, in VCF's order; with two alleles this is the number of second
    ones: 0, 1, 2. DOSAGE: the number of a polyploid's alleles of one kind, compared as equal or not. NUCLEOTIDE: A, C, G, T are 0 to 3.
    LETTER: upper-case ASCII, compared as equal or not. ALLELE: the number of a locus's allele, 32 bits, compared as equal or not.
    """

    GENOTYPE = "genotypes"
    DOSAGE = "dosages"
    NUCLEOTIDE = "nucleotides"
    LETTER = "letters"
    ALLELE = "alleles of loci"


def alleles_of(code: int) -> tuple[int, int]:
    """Return the two alleles of a genotype's code, the lower first."""
    upper = 0
    while (upper + 1) * (upper + 2) // 2 <= code:
        upper += 1
    return code - upper * (upper + 1) // 2, upper


def letter_table(every_letter: bool) -> Codes:
    """Return the code of each byte of an aligned row: uint8[256].

    Case is ignored. By default A, C, G, T (U) are calls and every other letter, gaps included, is missing, as in snp-dists; with
    `every_letter` all of them are calls, gaps included.
    """
    table = np.full(256, _sites.BAD, dtype=np.uint8)
    table[list(b" \t\r\n\v\f")] = _sites.SKIP
    for byte in b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz-.*?~":
        table[byte] = ord(chr(byte).upper()) if every_letter else MISSING
    if not every_letter:
        for code, letter in enumerate(NUCLEOTIDES):
            table[[ord(letter), ord(letter.lower())]] = code
        table[list(b"Uu")] = NUCLEOTIDES.index("T")
    return table


_NO_CALL = b".-?Nn"


def number_table() -> Codes:
    """Return the code of each byte as a genotype of one character: uint8[256]."""
    table = np.full(256, _sites.BAD, dtype=np.uint8)
    table[list(b"012")] = (0, 1, 2)
    table[list(_NO_CALL)] = MISSING
    return table


def cell_table(every_letter: bool) -> Codes:
    """Return the code of each byte as a cell of one letter: as `letter_table`, but some characters mean a missing call whichever letters
    are compared."""
    table = letter_table(every_letter)
    table[table == _sites.SKIP] = _sites.BAD
    table[list(_NO_CALL)] = MISSING
    return table


@dataclass(frozen=True)
class Samples:
    """The samples that are compared. Rows of codes are the queries, then other targets.

    queries: names of the queries
    targets: names of the targets; the same object as `queries` for all pairs of one set
    added: the queries are the first of the targets, to which others have been added; each is compared with all later targets
    founders: samples from which allele frequencies are computed, as the input has no parents of them, bool[rows]; None: all
    """

    queries: Names
    targets: Names
    added: bool = False
    founders: npt.NDArray[np.bool_] | None = field(default=None, repr=False, compare=False)

    @property
    def one_set(self) -> bool:
        return self.targets is self.queries

    @property
    def upper_triangle(self) -> bool:
        """Whether the queries are the first of the targets: each is compared with later targets only."""
        return self.one_set or self.added

    @property
    def total(self) -> int:
        return len(self.targets) + (0 if self.upper_triangle else len(self.queries))

    @property
    def first_target(self) -> int:
        """Row of the first target."""
        return 0 if self.upper_triangle else len(self.queries)

    @property
    def ids(self) -> list[str]:
        """Ids of all rows."""
        return self.targets.ids if self.upper_triangle else self.queries.ids + self.targets.ids

    @property
    def pairs(self) -> int:
        """Number of pairs whose distance is computed."""
        return count_pairs(len(self.queries), len(self.targets), self.upper_triangle)

    def only(self, mask: npt.NDArray[np.bool_]) -> Samples:
        """Return the samples of one input or of two that `mask`, bool[rows], selects, in their order."""
        first = len(self.queries)
        queries = list(compress(self.queries.ids, mask[:first].tolist()))
        targets = None if self.one_set else list(compress(self.targets.ids, mask[first:].tolist()))
        return replace(make_samples(queries, targets), founders=None if self.founders is None else self.founders[mask])

    def with_added(self) -> Samples:
        """Return the samples of two sets such that queries, as the first of the targets, are also compared with each other."""
        return Samples(self.queries, Names(self.ids), added=True, founders=self.founders)


def count_pairs(queries: int, targets: int, upper_triangle: bool) -> int:
    """Return the number of pairs of queries and targets.

    upper_triangle: the queries are the first of the targets, each compared with later ones only
    """
    return queries * targets - (queries * (queries + 1) // 2 if upper_triangle else 0)


def make_samples(queries: list[str], targets: list[str] | None = None) -> Samples:
    """Return samples with these ids; `targets` None: one set."""
    names = Names(queries)
    return Samples(names, names if targets is None else Names(targets))
