"""Calls of samples at sites, encoded as numbers, and the samples that are compared."""

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
from gpualign.core.sequences.ids import SampleNames

Calls = npt.NDArray[np.unsignedinteger[Any]]
"""Codes (uint8) or allele numbers (uint32); in both, the highest number denotes a missing call."""

MISSING: int = _sites.MISSING
"""Code for a missing call."""

NUCLEOTIDES = "ACGT"
MAX_ALLELES = 22
"""Maximum number of alleles at a site: with more, genotype codes would not fit in a byte."""


class CallKind(Enum):
    """Meaning of call codes.

    GENOTYPE: the unordered pair of alleles a <= b has code b (b + 1) / 2 + a, in VCF order; with two alleles, the code is the number of
    second alleles: 0, 1, 2. DOSAGE: a polyploid's number of copies of one allele, compared only for equality. NUCLEOTIDE: A, C, G, T are 0
    to 3. LETTER: upper-case ASCII, compared only for equality. ALLELE: allele number at a locus, 32 bits, compared only for equality.
    """

    GENOTYPE = "genotypes"
    DOSAGE = "dosages"
    NUCLEOTIDE = "nucleotides"
    LETTER = "letters"
    ALLELE = "alleles of loci"


def alleles_of(code: int) -> tuple[int, int]:
    """Return the two alleles encoded by a genotype code, the lower first."""
    upper = 0
    while (upper + 1) * (upper + 2) // 2 <= code:
        upper += 1
    return code - upper * (upper + 1) // 2, upper


class ComparedLetters(Enum):
    """Characters of aligned rows that are calls, in either case; the others are missing.

    NUCLEOTIDES: A, C, G, T (U), as in snp-dists. AMINO_ACIDS: the twenty amino acids, selenocysteine (U) and pyrrolysine (O).
    LETTERS: all letters, and * for a stop. CHARACTERS: all characters, gaps too.
    """

    NUCLEOTIDES = "ACGT"
    AMINO_ACIDS = "ACDEFGHIKLMNPQRSTVWYUO"
    LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ*"
    CHARACTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ*-.?~"

    @property
    def call_kind(self) -> CallKind:
        """Kind of the calls."""
        return CallKind.NUCLEOTIDE if self is ComparedLetters.NUCLEOTIDES else CallKind.LETTER


def aligned_row_code_table(compared: ComparedLetters) -> Codes:
    """Return the code of each byte when it occurs in an aligned row: uint8[256]. compared: which characters are calls."""
    table = np.full(256, _sites.BAD, dtype=np.uint8)
    table[list(b" \t\r\n\v\f")] = _sites.SKIP
    nucleotides = compared is ComparedLetters.NUCLEOTIDES
    for letter in ComparedLetters.CHARACTERS.value:
        code = MISSING if letter not in compared.value else NUCLEOTIDES.index(letter) if nucleotides else ord(letter)
        table[[ord(letter), ord(letter.lower())]] = code
    if nucleotides:
        table[list(b"Uu")] = NUCLEOTIDES.index("T")
    return table


_NO_CALL_BYTES = b".-?Nn"


def digit_cell_code_table() -> Codes:
    """Return the code of each byte when it is read as a one-character genotype: uint8[256]."""
    table = np.full(256, _sites.BAD, dtype=np.uint8)
    table[list(b"012")] = (0, 1, 2)
    table[list(_NO_CALL_BYTES)] = MISSING
    return table


def letter_cell_code_table(all_letters: bool) -> Codes:
    """Return the code of each byte when it is read as a one-letter cell: uint8[256]. The codes are those of `aligned_row_code_table`, but
    some characters always denote a missing call, even with `all_letters`."""
    table = aligned_row_code_table(ComparedLetters.CHARACTERS if all_letters else ComparedLetters.NUCLEOTIDES)
    table[table == _sites.SKIP] = _sites.BAD
    table[list(_NO_CALL_BYTES)] = MISSING
    return table


@dataclass(frozen=True)
class Samples:
    """The samples to compare. The rows of calls belong to the queries, followed by the targets that are not queries.

    queries: query names
    targets: target names; the same object as `queries` for all pairs within one set
    targets_include_queries: whether the targets are the queries followed by added samples, so that each query is compared with all later
        targets
    founders: mask of the samples from which allele frequencies are computed, because the input names no parents for them, bool[rows]; None:
        all samples
    """

    queries: SampleNames
    targets: SampleNames
    targets_include_queries: bool = False
    founders: npt.NDArray[np.bool_] | None = field(default=None, repr=False, compare=False)

    @property
    def is_one_set(self) -> bool:
        """True if the samples of one set are compared with each other."""
        return self.targets is self.queries

    @property
    def upper_triangle(self) -> bool:
        """True if the queries come first among the targets, so that each query is compared only with later targets."""
        return self.is_one_set or self.targets_include_queries

    @property
    def row_count(self) -> int:
        """Number of rows of calls, one per sample. With two sets, these are the rows of the queries and of the targets."""
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
    def pair_count(self) -> int:
        """Number of pairs whose distance is to be computed."""
        return count_pairs(len(self.queries), len(self.targets), self.upper_triangle)

    def select(self, mask: npt.NDArray[np.bool_]) -> Samples:
        """Return the samples that `mask` (bool[rows]) selects, in the same order."""
        first = len(self.queries)
        queries = list(compress(self.queries.ids, mask[:first].tolist()))
        targets = None if self.is_one_set else list(compress(self.targets.ids, mask[first:].tolist()))
        return replace(make_samples(queries, targets), founders=None if self.founders is None else self.founders[mask])

    def with_queries_as_targets(self) -> Samples:
        """Return the samples of two sets with the queries first among the targets, so that queries are also compared with each other."""
        return Samples(self.queries, SampleNames(self.ids), targets_include_queries=True, founders=self.founders)


def count_pairs(queries: int, targets: int, upper_triangle: bool) -> int:
    """Return the number of pairs of a query and a target.

    upper_triangle: whether the queries come first among the targets, so that each query is compared only with later targets
    """
    return queries * targets - (queries * (queries + 1) // 2 if upper_triangle else 0)


def make_samples(queries: list[str], targets: list[str] | None = None) -> Samples:
    """Return samples with these ids. If `targets` is None, there is only one set."""
    names = SampleNames(queries)
    return Samples(names, names if targets is None else SampleNames(targets))
