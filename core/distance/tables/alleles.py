"""Converts cells of allele tables (MLST, cgMLST, wgMLST) to numbers.

An allele is a number, or a hash in hexadecimal digits. A prefix shows how an allele was found, not which allele it is: INF-7 and *7, which
chewBBACA and Chewie-NS write for new alleles, are allele 7. A comma never separates two alleles: 7,0 is 7 as written by a program that
writes decimals, and 1,234 is rejected.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

from gpualign.core.common.arrays import Codes
from gpualign.core.common.dataclass import dataclass
from gpualign.core.common.errors import parameter
from gpualign.core.distance import _sites
from gpualign.core.distance.tables.options import MAX_PLOIDY
from gpualign.core.distance.tables.titles import CHEWBBACA_MISSING_WORDS
from gpualign.core.files.quoting import cell_text

ALLELE_NUMBER_BYTES = 4
"""Size of an allele number, uint32."""

NO_ALLELE: int = _sites.NO_ALLELE
"""Number that denotes a missing allele."""

SPREADSHEET_WORDS = ("#NV", "#N/D", "#N/B")
"""#N/A in German, Romance-language and Dutch spreadsheets: missing calls in every table."""
_GENERAL_MISSING_WORDS = ("-", "?", ".", "N", "X", "I", "NA", "N/A", "#N/A", "<NA>", "NAN", "NONE", "NULL")
MISSING_WORDS = (*_GENERAL_MISSING_WORDS, *SPREADSHEET_WORDS, *CHEWBBACA_MISSING_WORDS)
"""Case-insensitive words for missing alleles, in addition to an empty cell and 0."""

_EXPECTED_CELLS = (
    "5, INF-5, *5 or a hash, or for a missing one 0, empty, -, ?, N, NA, LNF, NIPH, NIPHEM, PLOT3, PLOT5, LOTSC, PAMA, ASM or ALM"
)

_NUMBER_PATTERN = re.compile(r"(?:INF-)?\*?([0-9]+)(?:[.,]00?)?", re.IGNORECASE)
_HASH_PATTERN = re.compile(r"(?:INF-)?\*?([0-9a-f]{8,128})", re.IGNORECASE)
_INCOMPLETE_ALLELE_PATTERN = re.compile(r"-[0-9]+(?:[.,]00?)?|[~*]?[0-9]+\?|~[0-9]+|\? \([^()]*\)")
"""Spellings of alleles that were found only in part or inexactly (-5 by EnteroBase; 5?, ~5 by mlst) or not at all (? (not found) by
SeqSphere)."""
_SEVERAL_ALLELES_PATTERN = re.compile(r"[0-9]+(?:[;|/] ?[0-9]+)+")
"""Several alleles at one locus (PubMLST: 5;7), none of them 0."""

_ABOVE_2_LOOKAHEAD_PATTERN = "(?=.*(?:[3-9]|[0-9]{2}))"
"""Lookahead for a number that is not a genotype."""
_ALLELE_ONLY_PATTERN = re.compile(
    rf"INF-\*?[0-9a-f]+|\*[0-9]+|{'|'.join(CHEWBBACA_MISSING_WORDS)}|(?=.*[0-9])(?=.*[a-f])[0-9a-f]{{8,128}}"
    rf"|{_ABOVE_2_LOOKAHEAD_PATTERN}(?:[1-9][0-9]*(?:;[1-9][0-9]*)+|~[0-9]+|[~*]?[0-9]+\?)",
    re.IGNORECASE,
)
"""Cells that occur only in allele tables."""

_WORD_PATTERN = re.compile(r"[^\s,;:/|'\"][^,;:/|'\"]{0,14}")
"""Cells that may be words for missing calls."""

FIRST_HASH_NUMBER = 1 << 31
"""Allele number of the first hash."""
_LARGEST_GENOTYPE = 2
_LARGEST_DIGIT = 9
_NUMBERS_PER_TYPING_ERROR = 100
_MAX_DISTINCT_NUMBERS = 12
"""Maximum number of distinct numbers that are remembered. If there are more, they are neither dosages nor codes for missing calls."""
_COLUMNS_PER_NON_GENOTYPE = 2
"""In a genotype table, at most one column in this many may have numbers that no genotype has."""
_MAX_TITLES_IN_MESSAGE = 5
_DIGIT_PAIR_PATTERN = re.compile("[0-2]{2}")
_LARGEST_DIGIT_PAIR = 22
_LARGEST_DOSAGE = 16
"""Largest number that may be a dosage, although larger ones than `MAX_PLOIDY` are not read: sugarcane has up to 12 copies and more."""
_REPEATED_DIGIT_PATTERN = re.compile(r"([0-9])\1+")
"""Numbers commonly used as codes for missing calls: 99, 888."""


@dataclass(frozen=True)
class AlleleEvidence:
    """Evidence, from the first cells of a table, that the cells are alleles.

    has_allele_spelling: whether some cells have a spelling that only alleles have
    has_numbers_above_2: whether some cells are numbers that no genotype has, and these are too frequent to be typing errors
    is_proof: whether the table certainly holds alleles, because some cells have such a spelling, or because numbers above 2 are frequent
        and some numbers have several digits
    """

    has_allele_spelling: bool
    has_numbers_above_2: bool
    is_proof: bool


def are_typing_errors(rare_count: int, number_count: int) -> bool:
    """Return whether numbers that no genotype has are rare enough to be typing errors: fewer than one in a hundred."""
    return rare_count * _NUMBERS_PER_TYPING_ERROR < number_count


def find_allele_evidence(rows: Iterable[Sequence[str]], missing: Sequence[str] = ()) -> AlleleEvidence:
    """Return the evidence that the cells of a table are alleles.

    rows: cells to examine in each row
    missing: cell values that denote a missing call
    """
    number_count = above_2_count = 0
    several = False
    for cells in rows:
        for cell in cells:
            if cell in ("0", "1", "2"):
                number_count += 1
                continue
            match = _NUMBER_PATTERN.fullmatch(cell)
            if cell in missing or (match is not None and match[1] in missing):
                continue
            if match is not None and cell[0].isdecimal():
                number_count += 1
                above_2_count += match[1] not in ("0", "1", "2")
                several = several or len(match[1]) > 1
            elif len(cell) > 1 and _ALLELE_ONLY_PATTERN.fullmatch(cell):
                return AlleleEvidence(True, True, True)
    often = above_2_count > 0 and not are_typing_errors(above_2_count, number_count)
    return AlleleEvidence(False, often, several and often)


def are_digit_pairs(rows: Iterable[Sequence[str]]) -> bool:
    """Return whether all numbers are two digits of 0, 1 and 2, some with a leading zero: 00, 01, 11 may be phased genotypes."""
    numbers = {cell for cells in rows for cell in cells if cell.isdecimal()}
    return any(number[0] == "0" for number in numbers) and all(map(_DIGIT_PAIR_PATTERN.fullmatch, numbers))


class AlleleCells:
    """Reads the cells of all tables in one run: an allele gets the same number in every table.

    Numbers of up to nine digits keep their value; longer numbers (CRC32 in chewBBACA's hashed profiles) and hashes are numbered from 2^31
    in order of occurrence.
    """

    def __init__(self, missing: Sequence[str] = (), hashes: Sequence[str] = ()) -> None:
        """Create a reader for cells of allele tables.

        missing: words for missing alleles, in addition to `MISSING_WORDS`
        hashes: hashes that are numbered already, in this order
        """
        self._known: dict[bytes, int] = {}
        self._ids = {allele: FIRST_HASH_NUMBER + number for number, allele in enumerate(hashes)}
        self._missing = [*MISSING_WORDS, *missing]
        self._missing_words = frozenset(word.upper() for word in self._missing)
        self.has_allele_spelling = False
        """True if any cell has a spelling that only alleles have."""
        self.number_count = self.above_2_count = self.zero_count = 0
        """Number of cells that hold numbers, numbers above 2 (which no genotype has), and zeros."""
        self.distinct_above_2: set[int] = set()
        """Distinct numbers above 2; no more are added once there are more than `_MAX_DISTINCT_NUMBERS`."""

    def make_parser(self, delimiter: str, actions: Codes) -> _sites.AlleleParser:
        """Return a parser for the rows of one table. actions: READ, SKIP_COLUMN or EMPTY for each column (`columns.ColumnPlan`)."""
        return _sites.AlleleParser(delimiter, actions, self._missing)

    def parse(
        self, parser: _sites.AlleleParser, line: bytes, start: int, delimiter: str, actions: Codes, row: npt.NDArray[np.uint32]
    ) -> tuple[int, int, int]:
        """Write the allele numbers of the cells in a line into `row`, uint32[loci].

        Returns (number of cells; first column that should be empty but is not, or -1; index in `row` of the first cell that is not an
        allele, or -1).

        parser: parser from `make_parser`, for the same `delimiter` and `actions`
        start: offset of the first cell to read, in bytes
        actions: READ, SKIP_COLUMN or EMPTY for each column (`columns.ColumnPlan`)
        """
        cells, not_empty, number_count, above_2_count, zero_count, other_cells = parser.parse(line, start, row)
        columns: Sequence[int] = range(cells)
        if other_cells and len(actions):
            columns = np.flatnonzero(actions == _sites.READ).tolist()
        if other_cells and len(columns) == len(row):
            texts = line[start:].split(delimiter.encode())
            for index in other_cells:
                cell = texts[columns[index]]
                number = self._known.get(cell)
                if number is None:
                    number = self._allele_number(cell)
                    if number is None:
                        return cells, not_empty, index
                row[index] = number
                if FIRST_HASH_NUMBER <= number < NO_ALLELE:  # the parser counts only shorter numbers
                    number_count, above_2_count = number_count + 1, above_2_count + 1
        self.count_row(row, number_count, above_2_count, zero_count)
        return cells, not_empty, -1

    def count_row(self, row: npt.NDArray[np.uint32], number_count: int, above_2_count: int, zero_count: int) -> None:
        """Add a row to the running totals that decide whether numbers are alleles.

        row: allele numbers of the row; cells that hold 0 are already marked as missing alleles
        number_count: number of cells in the row that hold a number, including 0
        above_2_count: number of cells in the row that hold a number too large for a genotype
        zero_count: number of cells in the row that hold 0
        """
        self.number_count, self.above_2_count, self.zero_count = (
            self.number_count + number_count,
            self.above_2_count + above_2_count,
            self.zero_count + zero_count,
        )
        if len(self.distinct_above_2) <= _MAX_DISTINCT_NUMBERS:
            self.distinct_above_2.update(
                np.unique(row[(row > _LARGEST_GENOTYPE) & (row != NO_ALLELE)])[: _MAX_DISTINCT_NUMBERS + 1].tolist()
            )

    @property
    def hashes(self) -> list[str]:
        """Hashes and long numbers in the order of their allele numbers."""
        return [*self._ids]

    @property
    def ambiguity_reason(self) -> str | None:
        """Reason why the numbers might not be alleles, with the options that settle it; None if the numbers can only be
        alleles."""
        if (
            self.has_allele_spelling
            or not self.zero_count
            or self.number_count <= self.above_2_count
            or len(self.distinct_above_2) > _MAX_DISTINCT_NUMBERS
        ):
            return None
        codes = sorted(number for number in self.distinct_above_2 if number > _LARGEST_DIGIT)
        dosages = sorted(self.distinct_above_2.difference(codes))
        if len(codes) > 1 and not all(_REPEATED_DIGIT_PATTERN.fullmatch(str(number)) for number in codes):
            return None
        if len(codes) == 1 and codes[0] <= _LARGEST_DOSAGE and dosages:
            return (
                f"numbers from 0 to {codes[0]} may be alleles with 0 as a missing one ({parameter('type', 'alleles')}), or dosages of a"
                f" polyploid, which are read up to {parameter('ploidy', MAX_PLOIDY)}"
            )
        if dosages == [_LARGEST_DIGIT]:
            codes, dosages = dosages + codes, []
        listed, alleles = ", ".join(map(str, codes)), parameter("type", "alleles")
        missing, what = parameter("missing_code", ",".join(map(str, codes))), "a missing call" if len(codes) == 1 else "missing calls"
        if not dosages:
            them = "an allele" if len(codes) == 1 else "alleles"
            return f"{listed} may be {what} ({missing}) or {them} ({alleles}), as all other numbers are 0, 1 and 2; say which"
        if dosages[-1] > MAX_PLOIDY:
            return None
        ploidy, largest = parameter("ploidy", dosages[-1]), dosages[-1]
        numbers = f"0 to {largest} and {listed}" if codes else f"0 to {largest}"
        decided = f"with {listed} as {what} ({ploidy} and {missing})" if codes else f"({ploidy})"
        return f"numbers from {numbers} may be alleles with 0 as a missing one ({alleles}), or dosages of a polyploid {decided}; say which"

    @property
    def may_be_dosages(self) -> bool:
        """True if the numbers may be dosages of a polyploid, perhaps of a larger ploidy than is read."""
        return not self.has_allele_spelling and self.zero_count > 0 and max(self.distinct_above_2, default=0) <= _LARGEST_DOSAGE

    @property
    def may_be_digit_pairs(self) -> bool:
        """True if no number is too large to be two digits of a genotype."""
        return max(self.distinct_above_2, default=0) <= _LARGEST_DIGIT_PAIR

    @property
    def numbers_above_2_are_rare(self) -> bool:
        """True if numbers that no genotype has are rare enough to be typing errors, and no cell has a spelling that only alleles have."""
        return not self.has_allele_spelling and are_typing_errors(self.above_2_count, self.number_count)

    def could_be_allele(self, text: str) -> bool:
        """Return whether a cell could be an allele, or one of the known spellings of a missing allele."""
        return (
            not text
            or text.upper() in self._missing_words
            or any(p.fullmatch(text) for p in (_NUMBER_PATTERN, _HASH_PATTERN, _INCOMPLETE_ALLELE_PATTERN, _SEVERAL_ALLELES_PATTERN))
        )

    def _allele_number(self, cell: bytes) -> int | None:
        """Return the number for a cell's allele; None if the cell is not an allele."""
        word = cell_text(cell).strip()
        self.has_allele_spelling = self.has_allele_spelling or _ALLELE_ONLY_PATTERN.fullmatch(word) is not None
        if word.upper() in self._missing_words or _INCOMPLETE_ALLELE_PATTERN.fullmatch(word) or _holds_several_alleles(word):
            number = NO_ALLELE
        elif (match := _NUMBER_PATTERN.fullmatch(word)) is not None:
            digits = match[1].lstrip("0")
            number = int(digits or 0) if len(digits) < 10 else self._number_for_hash(digits)
            number = number or NO_ALLELE
        elif (match := _HASH_PATTERN.fullmatch(word)) is not None:
            number = self._number_for_hash(match[1].lower())
        else:
            return None
        self._known[cell] = number
        return number

    def _number_for_hash(self, allele: str) -> int:
        """Return the allele number of a hash or long number. These are numbered from 2^31 in order of occurrence."""
        return self._ids.setdefault(allele, FIRST_HASH_NUMBER + len(self._ids))


def describe_possible_genotypes(numbers: npt.NDArray[np.uint32], titles: Sequence[str], transpose: bool) -> str | None:
    """Return the reason why a table that has been read as alleles, with 0 as a missing allele, may instead hold genotypes, and some columns
    that are not sites.

    Returns None if most columns have numbers that no genotype has.

    numbers: allele numbers of some samples, [samples][loci]
    titles: locus names
    transpose: whether the rows of the table are loci
    """
    known = numbers != NO_ALLELE
    largest = np.where(known, numbers, 0).max(axis=0, initial=0)
    others = np.flatnonzero(largest > _LARGEST_GENOTYPE)
    if len(others) * _COLUMNS_PER_NON_GENOTYPE > numbers.shape[1]:
        return None
    named = ", ".join(repr(titles[k]) for k in others[:_MAX_TITLES_IN_MESSAGE].tolist()) + (
        ", ..." if len(others) > _MAX_TITLES_IN_MESSAGE else ""
    )
    alleles, rows = parameter("type", "alleles"), "row" if transpose else "column"
    leave = "delete such rows" if transpose else f"{parameter('ignore_columns')} leaves columns out"
    return (
        f"0 may be a missing allele ({alleles}), or a genotype, as {rows}s other than {named} have only 0, 1 and 2 ({leave};"
        f" {parameter('missing_code')} says which numbers are missing calls); say which"
    )


def _holds_several_alleles(word: str) -> bool:
    """Return whether a cell holds several alleles, none of them 0."""
    return _SEVERAL_ALLELES_PATTERN.fullmatch(word) is not None and all(int(part) for part in re.split("[;|/]", word))


def describe_non_allele(cell: str, transpose: bool) -> str:
    """Return the reason why a cell is not an allele, with advice. transpose: whether the rows of the table are loci."""
    shown, several = f"{cell[:20]!r} in a table of alleles", cell.replace(",", ";")
    if re.fullmatch(r"[0-9]{1,3}(?:,[0-9]{3})+", cell):
        plain = cell.replace(",", "")
        return f"{shown} may be {plain} with commas between thousands, a decimal, or several alleles; write {plain}, or {several}"
    if re.fullmatch(r"[0-9]+(?:,[0-9]+)+", cell):
        return f"{shown} may be a decimal or several alleles; write several as {several}"
    if re.fullmatch(r"[0-9](?:[.,][0-9]+)?E\+[0-9]+", cell, re.IGNORECASE):
        return f"{shown}: a spreadsheet has rounded a long number; export the table again from its source, with this column as text"
    if re.fullmatch(r"[0-9]+(?:[;|/:] ?[0-9]+)+", cell):
        return f"{shown}: several alleles are written as 5;7, none of which is 0, and genotypes as 0, 1, 2"
    rows = "rows" if transpose else "columns"
    leave = f" ({parameter('ignore_columns')} leaves out columns)" if not transpose else ""
    missing = f"; {code}" if (code := missing_call_advice(cell)) else ""
    return f"{shown}; expected {_EXPECTED_CELLS}. Leave out {rows} that are not loci, such as isolate metadata{leave}{missing}"


def missing_call_advice(cell: str) -> str:
    """Return advice for a cell that may be a missing call; empty unless the cell is a short word."""
    return f"{parameter('missing_code', cell)} if it is a missing call" if _WORD_PATTERN.fullmatch(cell) else ""
