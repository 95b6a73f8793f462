"""Alphabets: which letters are sequence, and the small integer (code) that stands for each."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from gpualign.core.errors import InputError

_COMPLEMENTS = str.maketrans("ACGTRYKMSWBDHVN", "TGCAYRMKSWVHDBN")

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
    if name != "auto" and name not in ALPHABETS:
        raise InputError(f"alphabet {name!r}: auto, {' or '.join(ALPHABETS)} is wanted")
    return name


_PLAIN = b"ACGTUNacgtun"
_NUCLEOTIDES = np.flatnonzero(DNA.encoding != INVALID)
_PROTEIN_ONLY = np.setdiff1d(np.flatnonzero(PROTEIN.encoding != INVALID), _NUCLEOTIDES)
_NOT_PROTEIN_ONLY = bytes(np.setdiff1d(np.arange(256), _PROTEIN_ONLY).astype(np.uint8))
_CLEAR_LENGTH = 50


@dataclass(frozen=True)
class Guess:
    """What one record looks like: `protein_letter` holds a letter that no nucleotide code has, `clearly_dna` a long record
    that is nearly all A, C, G, T, U and N."""

    protein_letter: bool
    clearly_dna: bool
    plain_fraction: float
    length: int


def inspect(letters: bytes) -> Guess:
    """Look at one record's letters (any case)."""
    total = len(letters)
    # bytes.translate() counts by leaving out, ten times as fast as arrays on records of usual lengths.
    plain = total - len(letters.translate(None, _PLAIN))
    has_protein = bool(letters.translate(None, _NOT_PROTEIN_ONLY))
    return Guess(has_protein, not has_protein and total >= _CLEAR_LENGTH and plain >= 0.9 * total, plain / max(total, 1), total)


def detect(records: Iterable[tuple[str, bytes]]) -> Alphabet:
    """The alphabet of a set of (name, letters).

    DNA if no letter is outside the IUPAC nucleotide letters and at least 80 % are A, C, G, T, U or N; protein otherwise.
    Raises `InputError` where a record with letters that only proteins have stands beside a record of 50 or more letters of
    which 90 % are A, C, G, T, U or N.
    """
    protein_name = dna_name = None
    plain = total = 0.0
    for name, letters in records:
        guess = inspect(letters)
        plain += guess.plain_fraction * guess.length
        total += guess.length
        if guess.protein_letter and protein_name is None:
            protein_name = name
        if guess.clearly_dna and dna_name is None:
            dna_name = name
    if protein_name is not None and dna_name is not None:
        raise InputError(
            f"mixed alphabets: {dna_name} looks like DNA, {protein_name} like protein; "
            "separate them, or say which they are with --alphabet dna or --alphabet protein"
        )
    if protein_name is not None or plain < 0.8 * total:
        return PROTEIN
    return DNA
