"""Detects tables whose first line is data, because the header is missing.

If data were read as a header, a row would be lost. A line is known to be a header by its first cell: empty, or a title of ids. Any other
line whose cells could be calls of this table may be either.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gpualign.core.common.arrays import Codes
from gpualign.core.distance import _sites
from gpualign.core.distance.calls import MISSING
from gpualign.core.distance.tables.alleles import AlleleCells

_SHARE = 2
"""If more than one cell in this many could be a call, the line may be data: the others may be calls whose spelling is not known."""


def could_be_calls(line: bytes, start: int, delimiter: str, table: Codes, whole: bool, missing: Sequence[str] = ()) -> bool:
    """Return whether cells of a line, from byte `start`, could be calls of a table of calls.

    table: the codes of cells of one byte, BAD for those that are not calls
    whole: whether every cell must be a call, not only most of them
    missing: cells that are missing calls
    """
    cells = line.count(delimiter.encode(), start) + 1
    codes: Codes = np.empty(cells, dtype=np.uint8)
    parser = _sites.CallParser(delimiter, table, codes[:0], list(missing))
    parser.parse(line, start, codes)
    bad = parser.counts[_sites.BAD]
    calls = cells - bad - parser.counts[MISSING]
    return bad == 0 or (not whole and calls > 0 and bad * _SHARE < cells)


def could_be_alleles(cells: Sequence[str], missing: Sequence[str] = ()) -> bool:
    """Return whether more than half of the cells could be alleles, in any spelling. missing: cells that are missing alleles."""
    reader = AlleleCells(missing)
    known = sum(reader.could_be_allele(cell) for cell in cells)
    return known * _SHARE > len(cells)
