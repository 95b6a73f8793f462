"""Calls: what a sample has at a site, as a byte."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from functools import cached_property

import numpy as np
import numpy.typing as npt

from gpualign.core import _sites
from gpualign.core.text import TextColumn

Codes = npt.NDArray[np.uint8]

MISSING: int = _sites.MISSING
"""The code of a call that was not made."""

NUCLEOTIDES = "ACGT"
MOST_ALLELES = 22
"""More would need genotypes beyond a byte."""


class Kind(Enum):
    """What the codes of calls mean.

    GENOTYPE: the unordered pair of alleles a <= b is b (b + 1) / 2 + a, VCF's order; with two alleles that is the number of second ones:
    0, 1, 2. NUCLEOTIDE: A, C, G, T are 0 to 3. LETTER: upper-case ASCII, equal or not.
    """

    GENOTYPE = "genotypes"
    NUCLEOTIDE = "nucleotides"
    LETTER = "letters"


def alleles_of(code: int) -> tuple[int, int]:
    """The two alleles of a genotype's code, the lower first."""
    upper = 0
    while (upper + 1) * (upper + 2) // 2 <= code:
        upper += 1
    return code - upper * (upper + 1) // 2, upper


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
class Names:
    """Ids of the samples of one input, in its order."""

    ids: list[str]

    def __len__(self) -> int:
        return len(self.ids)

    @cached_property
    def id_column(self) -> TextColumn:
        return TextColumn.of(self.ids)


@dataclass(frozen=True)
class Samples:
    """The samples that are compared; targets is queries: all pairs of one set. Rows of codes are the queries, then other targets."""

    queries: Names
    targets: Names

    @property
    def one_set(self) -> bool:
        return self.targets is self.queries

    @property
    def total(self) -> int:
        return len(self.queries) + (0 if self.one_set else len(self.targets))

    @property
    def first_target(self) -> int:
        """The row of the first target."""
        return 0 if self.one_set else len(self.queries)

    @property
    def pairs(self) -> int:
        """Pairs whose distance is wanted."""
        n = len(self.queries)
        return n * (n - 1) // 2 if self.one_set else n * len(self.targets)


def make_samples(queries: list[str], targets: list[str] | None = None) -> Samples:
    """Of lists of ids; targets None: one set."""
    names = Names(queries)
    return Samples(names, names if targets is None else Names(targets))
