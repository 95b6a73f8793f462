"""Alphabets: which letters are sequence, and the small integer (code) that stands for each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field
from functools import cached_property
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from gpualign.core.common.dataclass import dataclass
from gpualign.core.common.errors import InputError, parameter
from gpualign.core.sequences._records import count_kinds
from gpualign.core.sequences.string_column import StringColumn

_COMPLEMENTS = str.maketrans("ACGTRYKMSWBDHVN", "TGCAYRMKSWVHDBN")

_LOWER = slice(ord("a"), ord("z") + 1)

INVALID = 255
"""Code of every byte that is no letter of the alphabet."""


@dataclass(frozen=True)
class Alphabet:
    """Letters in code order; a letter's code is its index. Lower case is read as upper case.

    The first `unambiguous` letters stand for one nucleotide or amino acid each. `aliases` maps further letters onto these. `encoding`
    is the uint8[256] table from byte to code or `INVALID`.
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
        """The code of the letter that stands for any: N or X."""
        return self.letters.index("N" if self.name == "dna" else "X")

    @cached_property
    def capitals(self) -> npt.NDArray[np.uint8]:
        """`encoding` of those letters alone that the code tells: no lower case, no aliases."""
        table = np.full(256, INVALID, dtype=np.uint8)
        table[list(self.letters.encode())] = np.arange(len(self.letters))
        return table

    @cached_property
    def decoding(self) -> npt.NDArray[np.uint8]:
        """uint8[256]: the letter of each code; `INVALID` for what is none."""
        table = np.full(256, INVALID, dtype=np.uint8)
        table[: len(self)] = list(self.letters.encode())
        return table

    def encoding_of(self, mask_lower: bool) -> npt.NDArray[np.uint8]:
        """`encoding`; with mask_lower letters in lower case are `unknown`."""
        if not mask_lower:
            return self.encoding
        table: npt.NDArray[np.uint8] = self.encoding.copy()
        lower = table[_LOWER]
        lower[lower != INVALID] = self.unknown
        table[_LOWER] = lower
        return table

    def complement(self) -> npt.NDArray[np.uint8]:
        """uint8[letters]: the code of the complement of each nucleotide letter."""
        return self.encoding[np.frombuffer(self.letters.translate(_COMPLEMENTS).encode(), dtype=np.uint8)]


DNA = Alphabet("dna", "ACGTRYKMSWBDHVN", 4, aliases=(("U", "T"),))
"""The IUPAC nucleotide letters; U is read as T."""

PROTEIN = Alphabet("protein", "ARNDCQEGHILKMFPSTWYVBZXUOJ*", 20)
"""The 20 amino acids, then B, Z, X, U (selenocysteine), O (pyrrolysine), J and * (stop)."""

ALPHABETS = {one.name: one for one in (DNA, PROTEIN)}


def checked_name(name: str) -> str:
    """The name of an alphabet, or "auto". Raises `InputError` for any other."""
    if not isinstance(name, str) or (name != "auto" and name not in ALPHABETS):
        raise InputError(f"alphabet {name!r}: auto, {' or '.join(ALPHABETS)} is wanted")
    return name


_PLAIN = b"ACGTUNacgtun"
_IS_PLAIN = np.zeros(128, dtype=bool)
_IS_PLAIN[list(_PLAIN)] = True
_IS_PROTEIN_ONLY = ((PROTEIN.encoding != INVALID) & (DNA.encoding == INVALID))[:128]
_CLEAR_LENGTH, _CLEAR_PART = 50, 0.9


class MixedAlphabets(InputError):
    """Records of nucleotides beside records of proteins."""


Counted: TypeAlias = tuple[int, int, int]
"""What `_records.count_kinds` finds: letters that are A, C, G, T, U or N, the first record with a letter that only proteins have, and the
first that is clearly DNA; -1 where there is none."""

KINDS = (_IS_PLAIN, _IS_PROTEIN_ONLY, _CLEAR_LENGTH, _CLEAR_PART)
"""What `_records.count_kinds` is to look for."""


@dataclass
class Kinds:
    """Of the letters of records that come in parts: what has been found in all of them."""

    plain: int = 0
    protein: int = -1
    dna: int = -1

    def add(self, counted: Counted) -> None:
        """What was found in the records behind those before, numbered like these."""
        plain, protein, dna = counted
        self.plain += plain
        self.protein = protein if self.protein < 0 else self.protein
        self.dna = dna if self.dna < 0 else self.dna

    def among(self, records: npt.NDArray[np.int64]) -> Kinds:
        """The same, where of the records only these are left, in ascending order, and no letter is gone."""
        protein, dna = (int(np.searchsorted(records, one)) if one >= 0 else -1 for one in (self.protein, self.dna))
        return Kinds(self.plain, protein, dna)

    @property
    def likely(self) -> Alphabet | None:
        """The alphabet that these letters are clearly of; None while they are of none, or of both."""
        if (self.protein < 0) == (self.dna < 0):
            return None
        return PROTEIN if self.dna < 0 else DNA


class Census:
    """What the letters of a set of records look like; records are taken in parts, and names those that decide."""

    def __init__(self) -> None:
        self._plain = self._letters = 0
        self._protein: str | None = None
        self._dna: str | None = None

    def take(self, names: Sequence[str], records: StringColumn, called: Callable[[str], str], kinds: Kinds | None = None) -> None:
        """Count some records. called: how messages call a record, by its name; kinds: of all these records, where they are known."""
        if kinds is None:
            kinds = Kinds(*count_kinds(records.text, records.offsets, *KINDS))
        self._plain += kinds.plain
        self._letters += int(records.offsets[-1] - records.offsets[0])
        if self._protein is None and kinds.protein >= 0:
            self._protein = called(names[kinds.protein])
        if self._dna is None and kinds.dna >= 0:
            self._dna = called(names[kinds.dna])

    @property
    def dna(self) -> str | None:
        """The first record that is clearly DNA."""
        return self._dna

    @property
    def protein(self) -> str | None:
        """The first record with letters that only proteins have."""
        return self._protein

    def alphabet(self) -> Alphabet:
        """As for `detect`."""
        if self._protein is not None and self._dna is not None:
            raise MixedAlphabets(
                f"mixed alphabets: {self._dna} looks like DNA, {self._protein} like protein; "
                f"separate them, translate the nucleotides first (for instance with seqkit translate; sw has {parameter('translate')}), or "
                f"where all are of one kind say which with {parameter('alphabet', 'dna')} or {parameter('alphabet', 'protein')}"
            )
        if self._protein is not None and self._letters >= _CLEAR_LENGTH and self._plain >= _CLEAR_PART * self._letters:
            part = f"{100 * self._plain / self._letters:.0f} % of all letters are A, C, G, T, U or N"
            raise InputError(
                f"{self._protein} has a letter that only proteins have, but {part}: read these as DNA, and such letters as N, with"
                f" {parameter('alphabet', 'dna')} {parameter('unknown', 'n')}, or as proteins with {parameter('alphabet', 'protein')}"
            )
        return PROTEIN if self._protein is not None or self._plain < 0.8 * self._letters else DNA


def detect(names: Sequence[str], records: StringColumn) -> Alphabet:
    """The alphabet of a set of records, by their letters.

    DNA if no letter is outside the IUPAC nucleotide letters and at least 80 % are A, C, G, T, U or N; protein otherwise.
    Raises `MixedAlphabets` where a record with letters that only proteins have stands beside a record of 50 or more letters of
    which 90 % are A, C, G, T, U or N, and `InputError` where all of 50 or more letters are such but for a tenth, and one is of proteins.
    """
    census = Census()
    census.take(names, records, str)
    return census.alphabet()
