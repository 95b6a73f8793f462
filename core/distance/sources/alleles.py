"""Alleles of loci (MLST, cgMLST, wgMLST) as tables have them: from cells to numbers.

An allele is a number, or a hash in hexadecimal digits. What is in front of it says how it was found, not which it is: INF-7 and *7, which
chewBBACA and Chewie-NS write for alleles that are new, are allele 7.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

import numpy as np

from gpualign.core import _sites
from gpualign.core.distance.calls import Codes
from gpualign.core.errors import InputError
from gpualign.core.files.quoting import text_of

CELL_BYTES = 4
"""Of an allele's number, uint32."""

NO_ALLELE: int = _sites.NO_ALLELE
"""The number of a missing allele."""

_CHEWBBACA = ("LNF", "PLNF", "PLOT", "PLOT3", "PLOT5", "LOTSC", "NIPH", "NIPHEM", "PAMA", "ALM", "ASM")
MISSING_WORDS = ("-", "?", ".", "N", "X", "I", "NA", "N/A", "NAN", "NONE", "NULL", *_CHEWBBACA)
"""Beside an empty cell and 0; in any case."""

_EXPECTED = "5, INF-5, *5 or a hash, or for a missing one 0, empty, -, ?, N, NA, LNF, NIPH, NIPHEM, PLOT3, PLOT5, LOTSC, PAMA, ASM or ALM"

_NUMBER = re.compile(r"(?:INF-)?\*?([0-9]+)(?:\.0)?", re.IGNORECASE)
_HASH = re.compile(r"(?:INF-)?\*?([0-9a-f]{8,128})", re.IGNORECASE)
_UNCERTAIN = re.compile(r"-[0-9]+(?:\.0)?|[~*]?[0-9]+\?|~[0-9]+|[0-9]+(?:[;|/,:] ?[0-9]+)+")
"""Incomplete alleles (EnteroBase: -5; mlst: 5?, ~5), and several alleles of a locus (PubMLST: 5;7)."""

_TELLING = re.compile(rf"INF-\*?[0-9a-f]+|\*[0-9]+|{'|'.join(_CHEWBBACA)}|(?=.*[0-9])(?=.*[a-f])[0-9a-f]{{8,128}}", re.IGNORECASE)
"""What stands in no other table."""

_NO_LOCI = frozenset(
    ("st", "cgst", "rst", "wgst", "cc", "clonal_complex", "year", "month", "date", "country", "region", "source", "species", "isolate")
)
"""Titles of columns that exports of isolates have among the loci, in lower case; their numbers are no alleles."""

_LEAST_SHARE = 100
"""Of so many whole numbers one at least is past 2 in a table that is taken for one of alleles: fewer are slips in a table of genotypes."""

_FIRST_ID = 1 << 31
_SMALL_NUMBER = re.compile(r"[0-9]{1,9}")


def holds_alleles(rows: Iterable[Sequence[str]]) -> bool:
    """Whether these cells of a table, without ids, are alleles and not genotypes."""
    numbers = past = 0
    for cells in rows:
        for cell in cells:
            word = cell.removesuffix(".0")
            if word in ("0", "1", "2"):
                numbers += 1
            elif word.isdecimal():
                numbers += 1
                past += 1
            elif len(word) > 1 and _TELLING.fullmatch(word):
                return True
    return past * _LEAST_SHARE >= max(1, numbers)


def refuse_other_columns(source: str, titles: Sequence[str], what: str) -> None:
    """Raises `InputError` for columns (`what`: rows) that have titles of something else than loci."""
    for number, title in enumerate(titles):
        if title.lower().replace(" ", "_") in _NO_LOCI:
            place = f"column {number + 2}" if what == "column" else f"row {number + 1} below the header"
            cut = f"; without column {number + 2}: cut --complement -f {number + 2}" if what == "column" else ""
            raise InputError(f"{source}: {place} is {title!r}, which is no locus; leave out {what}s that hold no alleles{cut}")


class AlleleCells:
    """Reads cells of one run's tables: the same allele gets the same number in all of them.

    Numbers up to nine digits stand for themselves; longer ones (CRC32 of chewBBACA's hashed profiles) and hashes are numbered from 2^31 on
    as they come.
    """

    def __init__(self) -> None:
        self._known: dict[bytes, int] = {}
        self._ids: dict[str, int] = {}
        self._missing = list(MISSING_WORDS)

    def parse(self, line: bytes, start: int, separator: str, row: Codes) -> tuple[int, int]:
        """Numbers of a line's cells from byte `start` on, into uint8[4 x loci]; (cells, the first one that is no allele or -1)."""
        numbers = row.view(np.uint32)
        found, others = _sites.parse_alleles(line, start, separator, self._missing, numbers)
        if others and found == len(numbers):
            cells = line[start:].split(separator.encode())
            for column in others:
                number = self._known.get(cells[column])
                if number is None:
                    number = self._number(cells[column])
                    if number is None:
                        return found, column
                numbers[column] = number
        return found, -1

    def _number(self, cell: bytes) -> int | None:
        """None for what is no allele."""
        word = text_of(cell).strip()
        if word.upper() in MISSING_WORDS or _UNCERTAIN.fullmatch(word):
            number = NO_ALLELE
        elif (match := _NUMBER.fullmatch(word)) is not None:
            digits = match[1].lstrip("0")
            number = int(digits or 0) if len(digits) < 10 else self._id(digits)
            number = number or NO_ALLELE
        elif (match := _HASH.fullmatch(word)) is not None:
            number = self._id(match[1].lower())
        else:
            return None
        self._known[cell] = number
        return number

    def _id(self, allele: str) -> int:
        return self._ids.setdefault(allele, _FIRST_ID + len(self._ids))


def no_allele(cell: str, turned: bool) -> str:
    """Says of a cell that it is no allele, and what to do."""
    rows = "rows" if turned else "columns"
    return f"{cell[:20]!r} in a table of alleles; expected {_EXPECTED}. Leave out {rows} that are no loci, such as isolate metadata"


def is_row_of_alleles(cells: Sequence[str]) -> bool:
    """Whether a first line could be alleles; hashes could be names of loci."""
    return all(cell in ("", "0") or cell.upper() in MISSING_WORDS or _NUMBER.fullmatch(cell) is not None for cell in cells)
