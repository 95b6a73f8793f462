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

_LOWER_CASE_BYTES = slice(ord("a"), ord("z") + 1)

INVALID_CODE = 255
"""Code for every byte that is not a letter of the alphabet."""


@dataclass(frozen=True)
class Alphabet:
    """An alphabet. Lower case is read as upper case.

    letters: letters in code order; a letter's code is its index
    unambiguous_count: number of leading letters that stand for a single nucleotide or amino acid
    aliases: pairs (extra letter, letter as which it is read)
    encoding: code for each byte, or `INVALID_CODE`, uint8[256]
    """

    name: str
    letters: str
    unambiguous_count: int
    aliases: tuple[tuple[str, str], ...] = ()
    encoding: npt.NDArray[np.uint8] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        table = np.full(256, INVALID_CODE, dtype=np.uint8)
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
    def unknown_code(self) -> int:
        """Code of the letter that stands for any letter (N or X)."""
        return self.letters.index("N" if self.name == "dna" else "X")

    @cached_property
    def upper_case_encoding(self) -> npt.NDArray[np.uint8]:
        """Like `encoding`, but without lower case and aliases, so that the original letters can be restored from the codes."""
        table = np.full(256, INVALID_CODE, dtype=np.uint8)
        table[list(self.letters.encode())] = np.arange(len(self.letters))
        return table

    @cached_property
    def decoding(self) -> npt.NDArray[np.uint8]:
        """Letter for each code: uint8[256]. Numbers that are not codes have the value `INVALID_CODE`."""
        table = np.full(256, INVALID_CODE, dtype=np.uint8)
        table[: len(self)] = list(self.letters.encode())
        return table

    def encoding_of(self, mask_lower: bool) -> npt.NDArray[np.uint8]:
        """Return the code for each byte, uint8[256].

        mask_lower: whether lower-case letters get the code `unknown_code`; otherwise the result is `encoding`
        """
        if not mask_lower:
            return self.encoding
        table: npt.NDArray[np.uint8] = self.encoding.copy()
        lower = table[_LOWER_CASE_BYTES]
        lower[lower != INVALID_CODE] = self.unknown_code
        table[_LOWER_CASE_BYTES] = lower
        return table

    def complement(self) -> npt.NDArray[np.uint8]:
        """Return the code of the complement of each nucleotide letter: uint8[letters]."""
        return self.encoding[np.frombuffer(self.letters.translate(_COMPLEMENTS).encode(), dtype=np.uint8)]


DNA = Alphabet("dna", "ACGTRYKMSWBDHVN", 4, aliases=(("U", "T"),))
"""The IUPAC nucleotide letters. U is read as T."""

PROTEIN = Alphabet("protein", "ARNDCQEGHILKMFPSTWYVBZXUOJ*", 20)
"""The 20 amino acids, then B, Z, X, U (selenocysteine), O (pyrrolysine), J and * (stop)."""

ALPHABETS = {one.name: one for one in (DNA, PROTEIN)}


def checked_alphabet_name(name: str) -> str:
    """Return `name` if it is an alphabet name or "auto". Raises `InputError` otherwise."""
    if not isinstance(name, str) or (name != "auto" and name not in ALPHABETS):
        raise InputError(f"alphabet {name!r}: expected auto, {' or '.join(ALPHABETS)}")
    return name


_COMMON_NUCLEOTIDES = b"ACGTUNacgtun"
_IS_COMMON_NUCLEOTIDE = np.zeros(128, dtype=bool)
_IS_COMMON_NUCLEOTIDE[list(_COMMON_NUCLEOTIDES)] = True
_IS_PROTEIN_ONLY = ((PROTEIN.encoding != INVALID_CODE) & (DNA.encoding == INVALID_CODE))[:128]
_MIN_CLEAR_DNA_LENGTH, _MIN_CLEAR_DNA_FRACTION = 50, 0.9
_MAX_PROTEIN_NUCLEOTIDE_FRACTION = 0.4
"""Maximum fraction of letters of proteins that are A, C, G, T, U or N; usually it is a quarter. Above it, letters X are counted, with which
programs mask repeats and vectors in DNA."""


class MixedAlphabets(InputError):
    """Raised if some records of an input are nucleotides and others are proteins."""


LetterKindCounts: TypeAlias = tuple[int, int, int]
"""Result of `_records.count_kinds`: (number of letters that are A, C, G, T, U or N; number of the first record with a protein-only letter;
number of the first record that is clearly DNA). A record number is -1 if there is no such record."""

LETTER_KIND_DEFINITIONS = (_IS_COMMON_NUCLEOTIDE, _IS_PROTEIN_ONLY, _MIN_CLEAR_DNA_LENGTH, _MIN_CLEAR_DNA_FRACTION)
"""Arguments of `_records.count_kinds` that define which letters and records it counts."""


@dataclass
class LetterKinds:
    """Kinds of letters in a stream of records, accumulated part by part.

    common_nucleotide_count: number of letters that are A, C, G, T, U or N
    first_protein_record: number of the first record with a protein-only letter, or -1
    first_dna_record: number of the first record that is clearly DNA, or -1
    """

    common_nucleotide_count: int = 0
    first_protein_record: int = -1
    first_dna_record: int = -1

    def add(self, counts: LetterKindCounts) -> None:
        """Add the counts for the next records. The record numbers in `counts` must count from the start of the whole stream."""
        plain, protein, dna = counts
        self.common_nucleotide_count += plain
        self.first_protein_record = protein if self.first_protein_record < 0 else self.first_protein_record
        self.first_dna_record = dna if self.first_dna_record < 0 else self.first_dna_record

    def select(self, records: Integers) -> LetterKinds:
        """Return the same kinds for a subset of the records, with record numbers that count within the subset. All other records must be
        empty.

        records: numbers of the records in the subset, ascending
        """
        protein, dna = (
            int(np.searchsorted(records, one)) if one >= 0 else -1 for one in (self.first_protein_record, self.first_dna_record)
        )
        return LetterKinds(self.common_nucleotide_count, protein, dna)

    def may_be_masked_dna(self, letter_count: int) -> bool:
        """Return whether records with protein-only letters may be DNA in which letters are masked by X. letter_count: number of letters"""
        return self.first_protein_record >= 0 and self.common_nucleotide_count > _MAX_PROTEIN_NUCLEOTIDE_FRACTION * letter_count

    @property
    def likely_alphabet(self) -> Alphabet | None:
        """Alphabet to which the letters clearly belong; None if no record is decisive or if records contradict each other."""
        if (self.first_protein_record < 0) == (self.first_dna_record < 0):
            return None
        return PROTEIN if self.first_dna_record < 0 else DNA


class AlphabetCensus:
    """Determines the alphabet of a set of records, which are passed in parts. It also gives the labels of the decisive records."""

    def __init__(self) -> None:
        self._common_nucleotides = self._masked_letters = self._letter_count = 0
        self._first_protein_record: str | None = None
        self._first_dna_record: str | None = None

    def count_records(
        self, names: Sequence[str], records: StringColumn, make_label: Callable[[str], str], kinds: LetterKinds | None = None
    ) -> None:
        """Count the letters in the next part of the records.

        names: names of the records
        records: letters of the records
        make_label: given a record's name, returns the label by which messages refer to the record
        kinds: letter kinds for all these records, if already counted
        """
        if kinds is None:
            kinds = LetterKinds(*count_kinds(records.text, records.offsets, *LETTER_KIND_DEFINITIONS))
        self._common_nucleotides += kinds.common_nucleotide_count
        letter_count = int(records.offsets[-1] - records.offsets[0])
        self._letter_count += letter_count
        if kinds.may_be_masked_dna(letter_count):
            self._masked_letters += count_masked_letters(records)
        if self._first_protein_record is None and kinds.first_protein_record >= 0:
            self._first_protein_record = make_label(names[kinds.first_protein_record])
        if self._first_dna_record is None and kinds.first_dna_record >= 0:
            self._first_dna_record = make_label(names[kinds.first_dna_record])

    @property
    def first_dna_record(self) -> str | None:
        """Label of the first record that is clearly DNA; None if there is none."""
        return self._first_dna_record

    @property
    def first_protein_record(self) -> str | None:
        """Label of the first record with protein-only letters; None if there is none."""
        return self._first_protein_record

    def alphabet(self) -> Alphabet:
        """Return the alphabet of the counted records, with the same rules and errors as `detect_alphabet`."""
        if self._first_protein_record is not None and self._first_dna_record is not None:
            masked = f"; {parameter('unknown', 'n')} reads letters X, which mask DNA, as N" if self._masked_letters else ""
            raise MixedAlphabets(
                f"mixed alphabets: {self._first_dna_record} looks like DNA, {self._first_protein_record} like protein; "
                f"separate them, translate the nucleotides first (for instance with seqkit translate; sw has {parameter('translate')}), or "
                f"if all are of one kind, name it with {parameter('alphabet', 'dna')} or {parameter('alphabet', 'protein')}{masked}"
            )
        unmasked = self._letter_count - self._masked_letters
        if (
            self._first_protein_record is not None
            and unmasked >= _MIN_CLEAR_DNA_LENGTH
            and self._common_nucleotides >= _MIN_CLEAR_DNA_FRACTION * unmasked
        ):
            which = "all letters but X" if self._masked_letters else "all letters"
            share = f"{100 * self._common_nucleotides / unmasked:.0f} % of {which} are A, C, G, T, U or N"
            raise InputError(
                f"{self._first_protein_record} has a letter that only proteins have, but {share}: read these as DNA, and such letters as N,"
                f" with"
                f" {parameter('alphabet', 'dna')} {parameter('unknown', 'n')}, or as proteins with {parameter('alphabet', 'protein')}"
            )
        return PROTEIN if self._first_protein_record is not None or self._common_nucleotides < 0.8 * self._letter_count else DNA


def count_masked_letters(records: StringColumn) -> int:
    """Return the number of letters X or x."""
    return int(np.count_nonzero((records.text | np.uint8(ord("a") ^ ord("A"))) == np.uint8(ord("x"))))


def detect_alphabet(names: Sequence[str], records: StringColumn) -> Alphabet:
    """Return the alphabet of a set of records, determined from their letters.

    The alphabet is DNA if all letters are IUPAC nucleotide letters and at least 80 % are A, C, G, T, U or N; protein otherwise.

    Raises `MixedAlphabets` if one record has protein-only letters, and a different record has at least 50 letters, at least 90 % of them
    A, C, G, T, U or N. Raises `InputError` if a record has protein-only letters, but the records have 50 or more letters other than
    X in total, at least 90 % of them A, C, G, T, U or N.
    """
    census = AlphabetCensus()
    census.count_records(names, records, str)
    return census.alphabet()
