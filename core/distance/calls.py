"""Calls: what a sample has at a site, as a byte."""

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
"""Codes (uint8), or numbers of alleles (uint32); the highest number is a missing call in both."""

MISSING: int = _sites.MISSING
"""The code of a call that was not made."""

NUCLEOTIDES = "ACGT"
MOST_ALLELES = 22
"""More would need genotypes beyond a byte."""


class Kind(Enum):
    """What the codes of calls mean.

    GENOTYPE: the unordered pair of alleles a <= b is b (b + 1) / 2 + a, VCF's order; with two alleles that is the number of second ones:
    0, 1, 2. DOSAGE: how many of a polyploid's alleles are of one kind, equal or not. NUCLEOTIDE: A, C, G, T are 0 to 3. LETTER: upper-case
    ASCII, equal or not. ALLELE: the number of a locus's allele, of 32 bits, equal or not.
    """

    GENOTYPE = "genotypes"
    DOSAGE = "dosages"
    NUCLEOTIDE = "nucleotides"
    LETTER = "letters"
    ALLELE = "alleles of loci"


def alleles_of(code: int) -> tuple[int, int]:
    """The two alleles of a genotype's code, the lower first."""
    upper_triangle = 0
    while (upper_triangle + 1) * (upper_triangle + 2) // 2 <= code:
        upper_triangle += 1
    return code - upper_triangle * (upper_triangle + 1) // 2, upper_triangle


def letter_table(every_letter: bool) -> Codes:
    """Code of each byte of an aligned row: uint8[256].

    Letters have no case. By default A, C, G, T (U) are calls and every other letter, gaps included, is missing, as in snp-dists; with
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
    """Code of a genotype that is one character: uint8[256]."""
    table = np.full(256, _sites.BAD, dtype=np.uint8)
    table[list(b"012")] = (0, 1, 2)
    table[list(_NO_CALL)] = MISSING
    return table


def cell_table(every_letter: bool) -> Codes:
    """Code of a letter that stands alone: as `letter_table`, but there are signs for a missing call whatever letters are compared."""
    table = letter_table(every_letter)
    table[table == _sites.SKIP] = _sites.BAD
    table[list(_NO_CALL)] = MISSING
    return table


@dataclass(frozen=True)
class Samples:
    """The samples that are compared; targets is queries: all pairs of one set. Rows of codes are the queries, then other targets.

    added: the queries are the first of the targets, to which others have been added; of each, all later targets are wanted.
    founders: of whom allele frequencies are taken, as the input has no parents of them, bool[rows]; None: all
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
        """Whether the queries are among the targets, as the first of them: pairs of a query with later targets are wanted."""
        return self.one_set or self.added

    @property
    def total(self) -> int:
        return len(self.targets) + (0 if self.upper_triangle else len(self.queries))

    @property
    def first_target(self) -> int:
        """The row of the first target."""
        return 0 if self.upper_triangle else len(self.queries)

    @property
    def ids(self) -> list[str]:
        """Of all rows."""
        return self.targets.ids if self.upper_triangle else self.queries.ids + self.targets.ids

    @property
    def pairs(self) -> int:
        """Pairs whose distance is wanted."""
        return count_pairs(len(self.queries), len(self.targets), self.upper_triangle)

    def only(self, keep: npt.NDArray[np.bool_]) -> Samples:
        """Some of the samples of one input or of two, in their order: bool[rows]."""
        first = len(self.queries)
        queries = list(compress(self.queries.ids, keep[:first].tolist()))
        targets = None if self.one_set else list(compress(self.targets.ids, keep[first:].tolist()))
        return replace(make_samples(queries, targets), founders=None if self.founders is None else self.founders[keep])

    def with_added(self) -> Samples:
        """Of two sets: the queries with each other too, as the first of the targets."""
        return Samples(self.queries, Names(self.ids), added=True, founders=self.founders)


def count_pairs(queries: int, targets: int, upper_triangle: bool) -> int:
    """Pairs of queries and targets; upper: the queries are the first of the targets, each with later ones alone."""
    return queries * targets - (queries * (queries + 1) // 2 if upper_triangle else 0)


def make_samples(queries: list[str], targets: list[str] | None = None) -> Samples:
    """Of lists of ids; targets None: one set."""
    names = Names(queries)
    return Samples(names, names if targets is None else Names(targets))
