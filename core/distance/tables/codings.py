"""Infers the meaning of the codes in a call table from the set of codes that occur.

One-character cells are read as raw codes: a digit as itself, -1 as MINUS_ONE, A, C, G and T as 0 to 3, other letters as ASCII. If the codes
that occur in the whole table do not prove their meaning, the user is told which options decide it.

    -1, 0, 1, never 2      centred genotypes (rrBLUP)
    0, 1, 2 and 9          9 is a missing call
    1 to 9, never 0        alleles of loci
    only A, B and H        genotypes from a cross (R/qtl)

0 together with a number above 2 has several readings: alleles, with 0 as a missing allele, or dosages in a polyploid.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field

import numpy as np
import numpy.typing as npt

from gpualign.core.common.arrays import Codes
from gpualign.core.common.dataclass import dataclass
from gpualign.core.common.errors import InputError, parameter
from gpualign.core.distance import _sites
from gpualign.core.distance.calls import MISSING, NUCLEOTIDES, CallKind, digit_cell_code_table, letter_cell_code_table
from gpualign.core.distance.tables.alleles import are_typing_errors
from gpualign.core.distance.tables.options import MAX_PLOIDY, CallOptions, TableType

MINUS_ONE: int = _sites.MINUS_ONE

_GENOTYPE_NUMBERS = frozenset((0, 1, 2))
_AMBIGUOUS_NUMBER = 9
_CROSS_GENOTYPES = frozenset("ABH")
_RQTL_LETTERS = frozenset("ABCDH")
"""Letters used by R/qtl: A, B and H, and also C (not A) and D (not B), which are not genotypes."""

_TWO_NUCLEOTIDE_LETTERS = "KMRSWY"
"""IUPAC codes for two nucleotides: heterozygous genotypes in some tables."""

NUCLEOTIDE_LETTERS = frozenset("ACGTUNRYSWKMBDHVX")
"""IUPAC codes, and X for masked letters."""

_MISSING_LETTERS = sorted(frozenset(map(chr, range(ord("A"), ord("Z") + 1))) - frozenset(NUCLEOTIDES))
"""Letters that denote missing calls in nucleotide tables."""


@dataclass(frozen=True)
class Coding:
    """Meaning of raw codes.

    kind: kind of calls
    codes: code for each raw code; MISSING for a missing call, BAD for a raw code that is not a call: uint8[256]
    assumption_note: assumption made, for a note to the user; None if there was no choice
    ambiguity_reason: reason why nothing can be assumed, with the options that settle it; None if the meaning is decided
    """

    kind: CallKind
    codes: Codes = field(repr=False)
    assumption_note: str | None = None
    ambiguity_reason: str | None = None


def raw_number_codes(missing: Sequence[str] = ()) -> Codes:
    """Return the raw codes for one-character cells in a table of numbers, uint8[256].

    missing: cell values, of any length, that denote a missing call
    """
    table = digit_cell_code_table()
    for digit in range(10):
        table[ord(str(digit))] = digit
    return set_missing_codes(table, missing)


def raw_letter_codes(all_letters: bool, missing: Sequence[str] = ()) -> Codes:
    """Return the raw codes for one-character cells in a table of letters, uint8[256]. missing: cell values, of any length, that denote a
    missing call."""
    table = letter_cell_code_table(all_letters)
    if not all_letters:
        for byte in range(128):
            letter = chr(byte).upper()
            if letter.isalpha() and letter not in NUCLEOTIDES and letter != "N":
                table[byte] = ord(letter)
    return set_missing_codes(table, missing)


def set_missing_codes(table: Codes, missing: Sequence[str]) -> Codes:
    """Set the codes of one-character missing calls to MISSING, and return the table of codes. A letter is replaced in either case.

    table: code of each byte
    missing: cell values, of any length, that denote a missing call
    """
    for code in missing:
        if len(code) == 1 and code.isascii():
            table[[ord(code.lower()), ord(code.upper())]] = MISSING
    return table


def number_coding(
    counts: npt.NDArray[np.int64], options: CallOptions, is_typing_scheme: bool = False, reads_alleles: bool = True
) -> Coding:
    """Decide the meaning of numbers. Raises `InputError` for options that apply only to letters.

    counts: number of occurrences of each raw code, int64[256]
    is_typing_scheme: whether the table's titles belong to a typing scheme
    reads_alleles: whether alleles can be read from this kind of input
    """
    type = options.type
    if type is TableType.ABH:
        raise _inapplicable_option_error(parameter("type", type.value), "letters", "numbers")
    if options.all_letters:
        raise _inapplicable_option_error(parameter("all_letters"), "letters", "numbers")
    seen = frozenset(np.flatnonzero(counts[:10]).tolist())
    above_2 = seen - _GENOTYPE_NUMBERS
    if type is TableType.ALLELES:
        return _allele_coding()
    if type is TableType.CENTRED:
        return _centred_coding()
    if options.ploidy is not None:
        return _dosage_coding(options.ploidy)
    if type is TableType.CALLS:
        return _genotype_coding()
    alleles = parameter("type", TableType.ALLELES.value) if reads_alleles else None
    if is_typing_scheme:
        if 0 not in seen or above_2 - {_AMBIGUOUS_NUMBER}:
            return _allele_coding(assumed_alleles_note())
        calls, centred = parameter("type", TableType.CALLS.value), parameter("type", TableType.CENTRED.value)
        types = f"{calls}, or {centred} for -1, 0 and 1" if counts[MINUS_ONE] and 2 not in seen else calls
        return _undecided_coding(f"0 may be a missing allele, by the titles of the table ({alleles}), or a genotype ({types}); say which")
    if counts[MINUS_ONE] and not above_2 and 2 not in seen:
        return _minus_one_coding(1 in seen)
    if above_2 == {_AMBIGUOUS_NUMBER} and seen >= _GENOTYPE_NUMBERS:
        otherwise = f"; {alleles} if it is an allele" if alleles else ""
        return _genotype_coding(
            f"9 is read as a missing call, because all other numbers are 0, 1 and 2{otherwise}", missing_code=_AMBIGUOUS_NUMBER
        )
    if not above_2:
        return _genotype_coding()
    if above_2 == {_AMBIGUOUS_NUMBER} and alleles:
        return _undecided_coding(
            f"9 may be a missing call ({parameter('missing_code', _AMBIGUOUS_NUMBER)}) or an allele ({alleles}); say which"
        )
    if 0 not in seen:
        return _allele_coding(assumed_alleles_note())
    if are_typing_errors(int(counts[sorted(above_2)].sum()), int(counts[:10].sum())):
        return _genotype_coding()
    return _undecided_coding(_describe_readings(above_2, alleles))


def _inapplicable_option_error(name: str, cells: str, others: str) -> InputError:
    """Return the error for an option that does not apply to this type of cells.

    name: name of the option
    cells: type of the cells that the option applies to
    others: type of the cells that the table has
    """
    return InputError(f"{name} is for {cells}, but the cells are {others}")


def _minus_one_coding(has_one: bool) -> Coding:
    """Return the coding for a table whose numbers are -1, 0 and, if `has_one`, 1."""
    centred = parameter("type", TableType.CENTRED.value)
    missing = parameter("missing_code", -1)
    if not has_one:
        return _undecided_coding(f"-1 may be a genotype ({centred}) or a missing call ({missing}); say which")
    return _centred_coding(f"-1 is read as a genotype, because genotypes are -1, 0 and 1 and none is 2; {missing} if it is a missing call")


def _describe_readings(above_2: frozenset[int], alleles_option: str | None) -> str:
    """Return the possible readings of a table with 0 and numbers above 2, each with the option that selects it."""
    largest = max(above_2)
    readings = [f"alleles with 0 as a missing one ({alleles_option})"] if alleles_option else []
    if largest <= MAX_PLOIDY:
        readings.append(f"dosages of a polyploid ({parameter('ploidy', largest)})")
    if len(above_2) == 1:
        readings.append(f"genotypes 0, 1, 2 with {largest} as a missing one ({parameter('missing_code', largest)})")
    elif largest == _AMBIGUOUS_NUMBER and max(above_2 - {_AMBIGUOUS_NUMBER}) <= MAX_PLOIDY:
        remaining = max(above_2 - {_AMBIGUOUS_NUMBER})
        readings.append(
            f"dosages with 9 as a missing one ({parameter('ploidy', remaining)} and {parameter('missing_code', _AMBIGUOUS_NUMBER)})"
        )
    if not readings:
        return f"numbers from 0 to {largest} are not genotypes; expected 0, 1, 2"
    return f"numbers from 0 to {largest} may be {', or '.join(readings)}; say which"


def _code_table(raw_to_code: dict[int, int]) -> Codes:
    """Return the code for each raw code, BAD for raw codes that are not listed: uint8[256]."""
    codes: Codes = np.full(256, _sites.BAD, dtype=np.uint8)
    codes[MISSING] = MISSING
    for raw, code in raw_to_code.items():
        codes[raw] = code
    return codes


def _genotype_coding(note: str | None = None, missing_code: int = MINUS_ONE) -> Coding:
    """Return the coding for genotypes 0, 1, 2. Both -1 and the raw code `missing_code` denote a missing call.

    note: assumption made, for a note to the user; None if there was no choice
    """
    return Coding(CallKind.GENOTYPE, _code_table({0: 0, 1: 1, 2: 2, MINUS_ONE: MISSING, missing_code: MISSING}), note)


def _centred_coding(note: str | None = None) -> Coding:
    """Return the coding for genotypes -1, 0, 1. note: assumption made, for a note to the user."""
    return Coding(CallKind.GENOTYPE, _code_table({MINUS_ONE: 0, 0: 1, 1: 2}), note)


def _dosage_coding(ploidy: int) -> Coding:
    """Return the coding for dosages. A haploid call counts as two copies of its allele, as in VCF."""
    codes = {0: 0, 1: 2} if ploidy == 1 else {dosage: dosage for dosage in range(ploidy + 1)}
    return Coding(CallKind.GENOTYPE if ploidy <= 2 else CallKind.DOSAGE, _code_table({**codes, MINUS_ONE: MISSING}))


def _allele_coding(note: str | None = None) -> Coding:
    """Return the coding for allele numbers 1 to 9; 0 is a missing allele. note: assumption made, for a note to the user."""
    return Coding(CallKind.ALLELE, _code_table({0: MISSING, MINUS_ONE: MISSING, **{number: number for number in range(1, 10)}}), note)


def assumed_alleles_note() -> str:
    """Return the note saying that cells are read as alleles because they look like alleles."""
    alleles, calls = parameter("type", TableType.ALLELES.value), parameter("type", TableType.CALLS.value)
    return f"read as alleles, 0 meaning no allele ({alleles} confirms this, {calls} reads genotypes instead)"


def _undecided_coding(ambiguity_reason: str) -> Coding:
    """Return the coding for a table whose meaning the user must decide."""
    return Coding(CallKind.GENOTYPE, _code_table({}), None, ambiguity_reason)


def letter_coding(counts: npt.NDArray[np.int64], options: CallOptions) -> Coding:
    """Decide the meaning of letters if not every letter is a call. Raises `InputError` for options that apply only to numbers.

    counts: number of occurrences of each raw code, int64[256]
    """
    type = options.type
    for name, is_set in (
        (parameter("type", type.value), type in (TableType.CENTRED, TableType.ALLELES)),
        (parameter("ploidy"), options.ploidy is not None),
    ):
        if is_set:
            raise _inapplicable_option_error(name, "numbers", "letters")
    times = {NUCLEOTIDES[raw] if raw < len(NUCLEOTIDES) else chr(raw): int(counts[raw]) for raw in np.flatnonzero(counts[:128]).tolist()}
    seen = frozenset(times)
    if type is TableType.ABH:
        return _cross_coding()
    read = {**{code: code for code in range(len(NUCLEOTIDES))}, ord("U"): NUCLEOTIDES.index("T")}
    nucleotides = Coding(CallKind.NUCLEOTIDE, _code_table({**{ord(letter): MISSING for letter in _MISSING_LETTERS}, **read}))
    if type is TableType.CALLS:
        return nucleotides
    cross, calls = parameter("type", TableType.ABH.value), parameter("type", TableType.CALLS.value)
    if seen & {"B", "H"} and seen <= _CROSS_GENOTYPES:
        return _cross_coding(f"its letters are only A, B and H, read as genotypes of a cross (H: heterozygous); {calls} reads nucleotides")
    every = parameter("all_letters")
    of_cross = sum(times.get(letter, 0) for letter in "BDH")
    if of_cross and (seen <= _RQTL_LETTERS or of_cross >= sum(times.get(letter, 0) for letter in "CGTU")):
        others = ",".join(sorted(seen - _RQTL_LETTERS))
        missing_codes = f" with {parameter('missing_code', others)}" if others else ""
        return _undecided_coding(
            f"the letters {', '.join(sorted(seen))} may be genotypes of a cross ({cross}{missing_codes}; C and D are missing calls),"
            f" nucleotides ({calls}; all but A, C, G, T are missing), or other codes ({every} compares every letter); say which"
        )
    if strange := sorted(seen - NUCLEOTIDE_LETTERS):
        listed = ", ".join(strange)
        letters = f"the letter {listed} is not a nucleotide" if len(strange) == 1 else f"the letters {listed} are not nucleotides"
        code, it = parameter("missing_code", ",".join(strange)), "it is a missing call" if len(strange) == 1 else "they are missing calls"
        return _undecided_coding(f"{letters}; {every} compares every letter, {code} says that {it}")
    return nucleotides


def describe_ambiguity_letters(counts: npt.NDArray[np.int64]) -> str | None:
    """Return a note on letters for two nucleotides, which are genotypes in some tables but missing calls here; None if none occur.

    counts: number of occurrences of each raw code, int64[256]
    """
    several = [letter for letter in _TWO_NUCLEOTIDE_LETTERS if counts[ord(letter)]]
    if not several:
        return None
    letters = f"{several[0]} is read as a missing call" if len(several) == 1 else f"{', '.join(several)} are read as missing calls"
    return f"{letters}, because each stands for two nucleotides; {parameter('all_letters')} compares every letter"


def _cross_coding(note: str | None = None) -> Coding:
    """Return the coding for a cross. A and C have the same raw codes as the nucleotides; C (not A) and D (not B) are missing calls.

    note: assumption made, for a note to the user; None if there was no choice
    """
    a, c = NUCLEOTIDES.index("A"), NUCLEOTIDES.index("C")
    return Coding(CallKind.GENOTYPE, _code_table({a: 0, ord("H"): 1, ord("B"): 2, c: MISSING, ord("D"): MISSING}), note)
