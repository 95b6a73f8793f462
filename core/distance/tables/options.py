"""Options that control how calls are read."""

from __future__ import annotations

from enum import Enum

from gpualign.core.common.dataclass import dataclass
from gpualign.core.common.errors import InputError, parameter
from gpualign.core.distance.calls import ComparedLetters
from gpualign.core.distance.tables.cell_codes import CellCodes

MAX_PLOIDY = 8


class TableType(Enum):
    """Type of a table's cells.

    AUTO: decided from the text of the cells. CALLS: genotypes 0, 1, 2 or nucleotides. ALLELES: alleles of loci. CENTRED: genotypes
    -1, 0, 1. ABH: genotypes from a cross, A, H and B.
    """

    AUTO = "auto"
    CALLS = "calls"
    ALLELES = "alleles"
    CENTRED = "centred"
    ABH = "abh"


@dataclass(frozen=True)
class CallOptions:
    """Options that control how calls are read. All except `all_letters`, `gaps_missing`, `allow_duplicates` and `nonfounders` apply only
    to tables.

    transpose: whether rows are sites
    no_header: whether the first line is data
    all_letters: whether every letter is a call; otherwise only nucleotides are
    allow_duplicates: whether repeated ids are allowed, and numbered
    type: type of a table's cells
    missing_codes: additional cell values that denote a missing call
    ploidy: largest dosage, if cells are dosages; None: not specified
    columns: titles of the columns to read; None: all columns except those whose titles are known not to belong to sites
    ignore_columns: titles of columns to leave out
    nonfounders: whether samples with parents count as founders, too
    gaps_missing: in alignments, whether gaps are missing calls even if other letters than nucleotides are compared; proteins are then read
        without `all_letters`
    compared_letters: letters of an alignment that are calls; None: decided by `all_letters`, `gaps_missing` and the text
    known_hashes: hashes of alleles that are numbered already, in this order
    known_cells: cells of the tables of a set beside which others are read; None: there are none
    beside_set: whether the options are those of a set of samples, so that columns to ignore may occur in the set's own tables only
    """

    transpose: bool = False
    no_header: bool = False
    all_letters: bool = False
    allow_duplicates: bool = False
    type: TableType = TableType.AUTO
    missing_codes: tuple[str, ...] = ()
    ploidy: int | None = None
    columns: tuple[str, ...] | None = None
    ignore_columns: tuple[str, ...] = ()
    nonfounders: bool = False
    gaps_missing: bool = False
    compared_letters: ComparedLetters | None = None
    known_hashes: tuple[str, ...] = ()
    known_cells: CellCodes | None = None
    beside_set: bool = False

    def check(self) -> None:
        """Raise `InputError` for options that contradict each other, or whose values are not allowed."""
        for code in self.missing_codes:
            if any("\ud800" <= letter <= "\udfff" for letter in code):
                raise InputError(f"{parameter('missing_code')}: {code!r} is not UTF-8")
        every, ploidy, type = parameter("all_letters"), parameter("ploidy"), parameter("type", self.type.value)
        of_numbers = self.type not in (TableType.AUTO, TableType.CALLS)
        if self.all_letters and of_numbers:
            raise InputError(f"{every} is for letters, not for {type}")
        if self.all_letters and self.ploidy is not None:
            raise InputError(f"{every} is for letters, not for dosages ({ploidy})")
        if self.ploidy is not None and of_numbers:
            raise InputError(f"{ploidy} is for dosages, not for {type}")
        if self.ploidy is not None and not 1 <= self.ploidy <= MAX_PLOIDY:
            raise InputError(f"{ploidy}: expected a whole number from 1 to {MAX_PLOIDY}, found {self.ploidy}")
