"""Options by which a user decides how calls are read."""

from __future__ import annotations

from enum import Enum

from gpualign.core.common.dataclass import dataclass
from gpualign.core.common.errors import InputError, parameter

MAX_PLOIDY = 8


class TableType(Enum):
    """Type of the cells of a table.

    AUTO: decided by their text. CALLS: genotypes 0, 1, 2 or nucleotides. ALLELES: alleles of loci. CENTRED: genotypes -1, 0, 1. ABH:
    genotypes of a cross, A, H and B.
    """

    AUTO = "auto"
    CALLS = "calls"
    ALLELES = "alleles"
    CENTRED = "centred"
    ABH = "abh"


@dataclass(frozen=True)
class CallOptions:
    """How calls are read. All options except `every_letter`, `allow_duplicates` and `nonfounders` are for tables.

    transpose: a row is a site
    no_header: the first line is data
    every_letter: every letter is a call, as in `calls.letter_table`
    allow_duplicates: repeated ids are numbered
    type: type of the cells of tables
    missing_codes: additional cells that are missing calls
    ploidy: cells are dosages from 0 to this; None: not specified
    columns: titles of the columns that are read; None: all but those whose titles are known not to be of sites
    ignore_columns: titles of columns that are not read
    nonfounders: samples with parents count as founders
    """

    transpose: bool = False
    no_header: bool = False
    every_letter: bool = False
    allow_duplicates: bool = False
    type: TableType = TableType.AUTO
    missing_codes: tuple[str, ...] = ()
    ploidy: int | None = None
    columns: tuple[str, ...] | None = None
    ignore_columns: tuple[str, ...] = ()
    nonfounders: bool = False

    def check(self) -> None:
        """Raise `InputError` for options that contradict each other, or have values that are not allowed."""
        for code in self.missing_codes:
            if any("\ud800" <= letter <= "\udfff" for letter in code):
                raise InputError(f"{parameter('missing_code')}: {code!r} is not UTF-8")
        every, ploidy, type = parameter("all_letters"), parameter("ploidy"), parameter("type", self.type.value)
        of_numbers = self.type not in (TableType.AUTO, TableType.CALLS)
        if self.every_letter and of_numbers:
            raise InputError(f"{every} is for letters, not for {type}")
        if self.every_letter and self.ploidy is not None:
            raise InputError(f"{every} is for letters, not for dosages ({ploidy})")
        if self.ploidy is not None and of_numbers:
            raise InputError(f"{ploidy} is for dosages, not for {type}")
        if self.ploidy is not None and not 1 <= self.ploidy <= MAX_PLOIDY:
            raise InputError(f"{ploidy}: expected a whole number from 1 to {MAX_PLOIDY}, found {self.ploidy}")
