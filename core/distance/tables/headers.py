"""Detects tables whose first line is data because the header is missing.

If data were read as a header, a row would be lost. A line is certainly a header if its first cell is empty, or a title for ids. Any other
line may be data or a header if its cells could be calls in this table.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gpualign.core.common.arrays import Codes
from gpualign.core.distance import _sites
from gpualign.core.distance.calls import MISSING, digit_cell_code_table, letter_cell_code_table
from gpualign.core.distance.tables.alleles import SPREADSHEET_WORDS, AlleleCells
from gpualign.core.distance.tables.codings import NUCLEOTIDE_LETTERS

_MAX_CELLS_PER_CALL = 2
"""If more than one cell in this many could be a call, the line may be data: the other cells may be calls in an unknown spelling."""


def could_be_calls(line: bytes, start: int, delimiter: str, table: Codes, all_cells: bool, missing: Sequence[str] = ()) -> bool:
    """Return whether the cells in a line, from byte `start`, could be calls in a call table.

    table: codes for one-byte cells; BAD for cells that are not calls
    all_cells: whether every cell must be a possible call; otherwise, most cells must be
    missing: cell values that denote a missing call
    """
    cells = line.count(delimiter.encode(), start) + 1
    codes: Codes = np.empty(cells, dtype=np.uint8)
    parser = _sites.CallParser(delimiter, table, codes[:0], [*missing, *SPREADSHEET_WORDS])
    parser.parse(line, start, codes)
    bad = parser.counts[_sites.BAD]
    calls = cells - bad - parser.counts[MISSING]
    return bad == 0 or (not all_cells and calls > 0 and bad * _MAX_CELLS_PER_CALL < cells)


def could_be_alleles(cells: Sequence[str], missing: Sequence[str] = ()) -> bool:
    """Return whether more than half of the cells could be alleles, in any spelling. missing: cell values that denote a missing allele."""
    reader = AlleleCells(missing)
    known = sum(reader.could_be_allele(cell) for cell in cells)
    return known * _MAX_CELLS_PER_CALL > len(cells)


def first_line_number_codes(ploidy: int | None) -> Codes:
    """Return the code of each byte when it is read as a number in the first line of a table: uint8[256]. If the line has numbers with a
    code, it probably holds calls; other numbers may be site names."""
    table = digit_cell_code_table()
    for digit in range(3, (ploidy or 0) + 1):
        table[ord(str(digit))] = digit
    return table


def first_line_letter_codes(all_letters: bool) -> Codes:
    """Return the code of each byte when it is read as a letter in the first line of a table: uint8[256].

    If the line has letters with a code, it probably holds calls. Letters such as E and F have no code, because they occur in titles.

    all_letters: whether every letter is a call, and therefore has a code
    """
    table = letter_cell_code_table(all_letters)
    if not all_letters:
        table[[byte for byte in range(128) if chr(byte).isalpha() and chr(byte).upper() not in NUCLEOTIDE_LETTERS]] = _sites.BAD
    return table
