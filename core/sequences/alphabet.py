"""Alphabets: the letters in sequences, and the small integer (code) that represents each letter."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field
from functools import cached_property
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from gpualign.core.common.arrays import Integers
from gpualign.core.common.dataclass import dataclass
from gpualign.core.common.errors import InputError, parameter
from gpualign.core.sequences._records import count_kinds
from gpualign.core.sequences.string_column import StringColumn

_COMPLEMENTS = str.maketrans("ACGTRYKMSWBDHVN", "TGCAYRMKSWVHDBN")

_LOWER = slice(ord("a"), ord("z") + 1)

INVALID = 255
"""Code for every byte that is not a letter of the alphabet."""


@dataclass(frozen=True)
class Alphabet:
    """An alphabet. Lower case is read as upper case.

    letters: letters in code order; a letter's code is its index
    unambiguous: number of leading letters that stand for a single nucleotide or amino acid
    aliases: (extra letter, letter it is read as) pairs
    encoding: code for each byte, or `INVALID`, uint8[256]
    """

    name: str
    letters: str
    unambiguous: int
    aliases: tuple[tuple[str, str], ...] = ()
    encoding: npt.NDArray[np.uint8] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        table = np.full(256, INVALID, dtype=np.uint8)
        for code, letter in enumerate(self.letters):
            for form in (letter, letter.lower()):
                table[ord(form)] = code
        for alias, letter in self.aliases:
            for form in (alias, alias.lower()):
                table[ord(form)] = self.letters.index(letter)
        table.setflags(write=False)
        object.__setattr__(self, "encoding", table)

    def __len__(self) -> int:
        return len(self.letters)

    @property
    def unknown(self) -> int:
        """Code of the letter that stands for any letter (N or X)."""
        return self.letters.index("N" if self.name == "dna" else "X")

    @cached_property
    def capitals(self) -> npt.NDArray[np.uint8]:
        """`encoding` without lower case and aliases, so that decoding the codes restores the original letters."""
        table = np.full(256, INVALID, dtype=np.uint8)
        table[list(self.letters.encode())] = np.arange(len(self.letters))
        return table

    @cached_property
    def decoding(self) -> npt.NDArray[np.uint8]:
        """Letter for each code: uint8[256]; `INVALID` for numbers that are not codes."""
        table = np.full(256, INVALID, dtype=np.uint8)
        table[: len(self)] = list(self.letters.encode())
        return table

    def encoding_of(self, mask_lower: bool) -> npt.NDArray[np.uint8]:
        """Return `encoding`. mask_lower: map lower-case letters to the code `unknown`."""
        if not mask_lower:
            return self.encoding
        table: npt.NDArray[np.uint8] = self.encoding.copy()
        lower = table[_LOWER]
        lower[lower != INVALID] = self.unknown
        table[_LOWER] = lower
        return table

    def complement(self) -> npt.NDArray[np.uint8]:
        """Return the complement's code for each nucleotide letter: uint8[letters]."""
        return self.encoding[np.frombuffer(self.letters.translate(_COMPLEMENTS).encode(), dtype=np.uint8)]


DNA = Alphabet("dna", "ACGTRYKMSWBDHVN", 4, aliases=(("U", "T"),))
"""IUPAC nucleotide letters; U is read as T."""

PROTEIN = Alphabet("protein", "ARNDCQEGHILKMFPSTWYVBZXUOJ*", 20)
"""The 20 amino acids, then B, Z, X, U (selenocysteine), O (pyrrolysine), J and * (stop)."""

ALPHABETS = {one.name: one for one in (DNA, PROTEIN)}


def checked_name(name: str) -> str:
    """Return `name` if it is an alphabet name or "auto". Raises `InputError` otherwise."""
    if not isinstance(name, str) or (name != "auto" and name not in ALPHABETS):
        raise InputError(f"alphabet {name!r}: expected auto, {' or '.join(ALPHABETS)}")
    return name


_PLAIN = b"ACGTUNacgtun"
_IS_PLAIN = np.zeros(128, dtype=bool)
_IS_PLAIN[list(_PLAIN)] = True
_IS_PROTEIN_ONLY = ((PROTEIN.encoding != INVALID) & (DNA.encoding == INVALID))[:128]
_CLEAR_LENGTH, _CLEAR_FRACTION = 50, 0.9


class MixedAlphabets(InputError):
    """Raised if some records are nucleotides and some are proteins."""


Counted: TypeAlias = tuple[int, int, int]
"""Result of `_records.count_kinds`: number of letters that are A, C, G, T, U or N; first record with a protein-only letter; first record
that is clearly DNA. Record numbers are -1 if there is no such record."""

KINDS = (_IS_PLAIN, _IS_PROTEIN_ONLY, _CLEAR_LENGTH, _CLEAR_FRACTION)
"""Arguments to `_records.count_kinds` that define what is counted."""


@dataclass
class Kinds:
    """Letter kinds in all parts of a record stream, as defined in `Counted`.

    plain: number of letters that are A, C, G, T, U or N
    protein: first record with a protein-only letter, or -1
    dna: first record that is clearly DNA, or -1
    """

    plain: int = 0
    protein: int = -1
    dna: int = -1

    def add(self, counted: Counted) -> None:
        """Add the counts for the next records. Record numbers are counted from the start of the whole input."""
        plain, protein, dna = counted
        self.plain += plain
        self.protein = protein if self.protein < 0 else self.protein
        self.dna = dna if self.dna < 0 else self.dna

    def select(self, records: Integers) -> Kinds:
        """Return the letter counts renumbered for a subset of the records; the dropped records must be empty.

        records: remaining records, ascending
        """
        protein, dna = (int(np.searchsorted(records, one)) if one >= 0 else -1 for one in (self.protein, self.dna))
        return Kinds(self.plain, protein, dna)

    @property
    def likely(self) -> Alphabet | None:
        """Alphabet that the letters clearly belong to; None if neither alphabet or both alphabets qualify."""
        if (self.protein < 0) == (self.dna < 0):
            return None
        return PROTEIN if self.dna < 0 else DNA


class Census:
    """Determines the alphabet of a set of records, which are counted in parts, and names the deciding records."""

    def __init__(self) -> None:
        self._plain = self._letters = 0
        self._protein: str | None = None
        self._dna: str | None = None

    def take(self, names: Sequence[str], records: StringColumn, label: Callable[[str], str], kinds: Kinds | None = None) -> None:
        """Count records.

        label: given a record's name, returns the text that messages use for the record
        kinds: letter kinds for all these records, if already counted
        """
        if kinds is None:
            kinds = Kinds(*count_kinds(records.text, records.offsets, *KINDS))
        self._plain += kinds.plain
        self._letters += int(records.offsets[-1] - records.offsets[0])
        if self._protein is None and kinds.protein >= 0:
            self._protein = label(names[kinds.protein])
        if self._dna is None and kinds.dna >= 0:
            self._dna = label(names[kinds.dna])

    @property
    def dna(self) -> str | None:
        """First record that is clearly DNA."""
        return self._dna

    @property
    def protein(self) -> str | None:
        """First record with protein-only letters."""
        return self._protein

    def alphabet(self) -> Alphabet:
        """Return the alphabet of the counted records, with the same rules and errors as `detect`."""
        if self._protein is not None and self._dna is not None:
            raise MixedAlphabets(
                f"mixed alphabets: {self._dna} looks like DNA, {self._protein} like protein; "
                f"separate them, translate the nucleotides first (for instance with seqkit translate; sw has {parameter('translate')}), or "
                f"if all are of one kind, name it with {parameter('alphabet', 'dna')} or {parameter('alphabet', 'protein')}"
            )
        if self._protein is not None and self._letters >= _CLEAR_LENGTH and self._plain >= _CLEAR_FRACTION * self._letters:
            share = f"{100 * self._plain / self._letters:.0f} % of all letters are A, C, G, T, U or N"
            raise InputError(
                f"{self._protein} has a letter that only proteins have, but {share}: read these as DNA, and such letters as N, with"
                f" {parameter('alphabet', 'dna')} {parameter('unknown', 'n')}, or as proteins with {parameter('alphabet', 'protein')}"
            )
        return PROTEIN if self._protein is not None or self._plain < 0.8 * self._letters else DNA


def detect(names: Sequence[str], records: StringColumn) -> Alphabet:
    """Return the alphabet of a set of records, determined from their letters.

    The alphabet is DNA if all letters are IUPAC nucleotide letters and at least 80 % are A, C, G, T, U or N; protein otherwise.

    Raises `MixedAlphabets` if one record has protein-only letters, and a different record has at least 50 letters, at least 90 % of them
    A, C, G, T, U or N. Raises `InputError` if a record has protein-only letters, but the records have 50 or more letters in total, at
    least 90 % of them A, C, G, T, U or N.
    """
    census = Census()
    census.take(names, records, str)
    return census.alphabet()
