"""Reads the cells of a table's rows as raw codes or allele numbers, and rejects cells that are neither.

Each row is stored as soon as it is read. The meaning of raw codes is decided later (`codings`). A table whose first cells are digits may
turn out to hold alleles; the stored codes are then converted to allele numbers.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import Enum

import numpy as np
import numpy.typing as npt

from gpualign.core.common.arrays import Codes
from gpualign.core.common.dataclass import dataclass
from gpualign.core.common.errors import InputError, parameter
from gpualign.core.common.units import format_count
from gpualign.core.distance import _sites
from gpualign.core.distance.calls import MISSING
from gpualign.core.distance.readers.base import RowStore
from gpualign.core.distance.tables.alleles import (
    ALLELE_NUMBER_BYTES,
    NO_ALLELE,
    SPREADSHEET_WORDS,
    AlleleCells,
    describe_non_allele,
    find_allele_evidence,
    missing_call_advice,
)
from gpualign.core.distance.tables.codings import MINUS_ONE, raw_letter_codes, raw_number_codes
from gpualign.core.distance.tables.columns import ColumnPlan
from gpualign.core.distance.tables.options import CallOptions, TableType
from gpualign.core.files.quoting import cell_text
from gpualign.core.files.scratch import MakeScratch

_LONG_GENOTYPE_PATTERN = r"[0-9]+[/|][0-9]+|[A-Za-z][/|][A-Za-z]|[ACGT]{2,8}|[AB]{2}|[lmnphk]{2}x?[lmnphk]{0,2}"
"""Genotypes with several letters or numbers, as written by HapMap, GWASpoly and JoinMap."""
_MISSING_CALL_SPELLINGS = "empty, ., -, ?, N, NA, -1 or -9"
_MAX_CELL_CHARS_IN_MESSAGE = 20
_EXAMINED_BYTES = 1 << 20
"""Number of bytes of rows that are examined in one step."""


class CellType(Enum):
    """Type of a table's cells: NUMBERS and LETTERS are bytes holding raw codes (`codings`); ALLELES are 32-bit numbers."""

    NUMBERS = "genotypes"
    LETTERS = "letters"
    ALLELES = "alleles"


@dataclass(frozen=True)
class TablePlan:
    """Facts about a table that are known before its rows are read.

    source: name for messages
    delimiter: text between cells
    first_line_number: number of the first line with cells
    columns: plan for the columns
    options: how calls are read; for PLINK exports, the options are adapted to their format
    has_header: whether the first line is certainly a header
    is_typing_scheme: whether the titles belong to a typing scheme, whose tables hold alleles
    has_numbers_above_2: whether the first lines have numbers that no genotype has
    has_digit_pairs: whether the numbers of the first lines are two digits each, as of phased genotypes
    export_suffix: ".raw" or ".traw" if PLINK wrote the table, else None
    corner_cell: first cell of the table if it suggests that rows are sites although they are read as samples; else empty
    """

    source: str
    delimiter: str
    first_line_number: int
    columns: ColumnPlan
    options: CallOptions
    has_header: bool
    is_typing_scheme: bool = False
    has_numbers_above_2: bool = False
    has_digit_pairs: bool = False
    export_suffix: str | None = None
    corner_cell: str = ""

    @property
    def row_word(self) -> str:
        """Word for a row in messages."""
        return "site" if self.options.transpose else "sample"

    @property
    def column_word(self) -> str:
        """Word for a column in messages."""
        return "sample" if self.options.transpose else "site"


@dataclass
class RowStoreFactory:
    """Creates stores for the rows of tables.

    limit: maximum memory for the rows, in bytes
    scratch: creates a scratch file for the remaining rows
    """

    limit: int
    scratch: MakeScratch

    def make_store(self, width: int) -> RowStore:
        """Return a store for rows of `width` bytes each."""
        return RowStore(width, self.limit, self.scratch)


class TableCells:
    """Reads the cells of one table.

    cell_type: type of the cells; None until a call has revealed the type
    store: one row of raw codes or allele numbers per table row
    first_places: where each raw code first occurs, for messages; for alleles, key 0 locates the first number that no genotype has
    """

    def __init__(self, plan: TablePlan, alleles: AlleleCells, holds_alleles: bool, storage: RowStoreFactory) -> None:
        """Create a reader for the cells of a table that is read according to `plan`.

        alleles: reads cells that are alleles
        holds_alleles: whether all cells are alleles
        storage: creates row stores
        """
        self._plan = plan
        self._columns = plan.columns
        self._options = plan.options
        self._alleles = alleles
        self._storage = storage
        self._width = len(plan.columns.actions) or len(plan.columns.titles)
        self._row_count = 0
        self._call_parser: _sites.CallParser | None = None
        self._allele_parser: _sites.AlleleParser | None = None
        self._decimals: list[_sites.Decimals] = []
        if holds_alleles:
            self._set_allele_parser()
        self.cell_type: CellType | None = CellType.ALLELES if holds_alleles else None
        self.store = storage.make_store(len(plan.columns.titles) * (ALLELE_NUMBER_BYTES if holds_alleles else 1))
        self.first_places: dict[int, str] = {}

    @property
    def counts(self) -> npt.NDArray[np.int64]:
        """Number of occurrences of each raw code, int64[256]."""
        return np.array(self._call_parser.counts if self._call_parser else [0] * 256, dtype=np.int64)

    def first_numbers(self, row_count: int) -> npt.NDArray[np.uint32]:
        """Return the numbers in the first rows, uint32[rows][columns]; 0 for cells that are not numbers."""
        if self.cell_type is CellType.ALLELES:
            numbers = self.store.rows(0, row_count).view(np.uint32)
            return np.where(numbers == NO_ALLELE, 0, numbers)
        codes = self.store.rows(0, row_count)
        return np.where(codes > 9, 0, codes).astype(np.uint32)

    def decide_type(self, cells: Sequence[str]) -> None:
        """Decide from the first call in a row whether the table holds numbers or letters, if this is not yet known.

        cells: cells of the row after its id
        """
        if self.cell_type is not None:
            return
        actions, missing = self._columns.actions, self._options.missing_codes
        for column, cell in enumerate(cells):
            if cell in missing or (column < len(actions) and actions[column] != _sites.READ):
                continue
            if re.fullmatch(r"(?:[0-9]|-1)(?:[.,]00?)?", cell):
                if self._options.all_letters:
                    raise self._no_letters_error()
                self.cell_type = CellType.NUMBERS
            elif len(cell) == 1 and cell.isalpha() and cell not in ("NnXxIi" if self._plan.has_numbers_above_2 else "Nn"):
                self.cell_type = CellType.LETTERS
            if self.cell_type is not None:
                self._call_parser = self._make_call_parser()
                return

    def _make_call_parser(self) -> _sites.CallParser:
        """Return a parser for one-character cells of the table's type."""
        options = self._options
        letters = self.cell_type is CellType.LETTERS
        table = raw_letter_codes(options.all_letters, options.missing_codes) if letters else raw_number_codes(options.missing_codes)
        parser = _sites.CallParser(self._plan.delimiter, table, self._columns.actions, [*options.missing_codes, *SPREADSHEET_WORDS])
        self._decimals.append(parser.decimals)
        return parser

    def _set_allele_parser(self) -> None:
        """Create the parser that reads all further rows as alleles."""
        self._allele_parser = self._alleles.make_parser(self._plan.delimiter, self._columns.actions)
        self._decimals.append(self._allele_parser.decimals)

    def add_line(self, line: bytes, start: int, line_number: int, name: str) -> None:
        """Read the cells of a line after its first delimiter.

        Raises `InputError` for ragged rows and for cells that are not calls.

        start: offset of the first delimiter, in bytes; -1 if there is none
        line_number: line number, for messages
        name: row id, for messages
        """
        self._row_count += 1
        if self.cell_type is None and start >= 0:
            self.decide_type(cells_of(line[start + 1 :], self._plan.delimiter))
        if self.cell_type is CellType.ALLELES:
            self._add_alleles(line, start, line_number, name)
            return
        row = self.store.new_row()
        if self._call_parser is None:
            self._call_parser = self._make_call_parser()
        cells, bad, fresh = self._call_parser.parse(line, start + 1, row) if start >= 0 else (0, -1, False)
        if cells == self._width and bad < 0 and not fresh:
            return
        if bad >= 0 and self._is_allele(line, bad):
            self._convert_to_alleles()
            self._add_alleles(line, start, line_number, name)
            return
        self._check_row(line, line_number, name, cells, bad)
        for code in np.flatnonzero(self._call_parser.counts).tolist():
            if code not in self.first_places:
                self.first_places[code] = self._describe_place(line_number, name, int(np.flatnonzero(row == code)[0]))

    def _add_alleles(self, line: bytes, start: int, line_number: int, name: str) -> None:
        """Read the cells of a line as alleles."""
        row, columns = self.store.new_row().view(np.uint32), self._columns
        assert self._allele_parser is not None
        cells, bad, index = 0, -1, -1
        if start >= 0:
            cells, bad, index = self._alleles.parse(self._allele_parser, line, start + 1, self._plan.delimiter, columns.actions, row)
        self._check_row(line, line_number, name, cells, bad if index < 0 else columns.column_number(index))
        if not self.first_places:
            indices = np.flatnonzero((row > 2) & (row != NO_ALLELE))
            if len(indices):
                first = int(indices[0])
                cell = cells_of(line, self._plan.delimiter)[columns.column_number(first) + 1]
                self.first_places[0] = f"{self._describe_place(line_number, name, first)}: {cell[:_MAX_CELL_CHARS_IN_MESSAGE]!r}"

    def _is_allele(self, line: bytes, column: int) -> bool:
        """Return whether a cell that is not a call shows that the table holds alleles."""
        options = self._options
        if self.cell_type is CellType.LETTERS or options.type is not TableType.AUTO or options.ploidy is not None or options.all_letters:
            return False
        cell = cells_of(line, self._plan.delimiter)[column + 1]
        if (self._plan.is_typing_scheme or self._plan.has_numbers_above_2) and self._alleles.could_be_allele(cell):
            return True
        evidence = find_allele_evidence([[cell]])
        self._alleles.has_allele_spelling = self._alleles.has_allele_spelling or evidence.has_allele_spelling
        return evidence.is_proof

    def _convert_to_alleles(self) -> None:
        """Convert all rows that have been read, except the last, to allele numbers: 0 and -1 become missing alleles."""
        store, rows = self.store, self._row_count - 1
        store.finish()
        out = self._storage.make_store(store.width * ALLELE_NUMBER_BYTES)
        step = max(1, (1 << 20) // max(1, store.width))
        for start in range(0, rows, step):
            for codes in store.rows(start, min(rows, start + step)):
                numbers = allele_numbers_of_codes(codes)
                zeros, beyond = int(np.count_nonzero(codes == 0)), int(np.count_nonzero((codes > 2) & (codes < 10)))
                self._alleles.count_row(numbers, zeros + int(np.count_nonzero(numbers != NO_ALLELE)), beyond, zeros)
                out.new_row().view(np.uint32)[:] = numbers
        large = next((code for code in self.first_places if 2 < code < 10), None)
        self.first_places = {} if large is None else {0: f"{self.first_places[large]}: {str(large)!r}"}
        self.store, self.cell_type, self._call_parser = out, CellType.ALLELES, None
        self._set_allele_parser()

    def has_calls(self, index: int) -> bool:
        """Return whether a column, counted among those that are read, has a call that is not missing."""
        alleles = self.cell_type is CellType.ALLELES
        size, dtype, missing = (ALLELE_NUMBER_BYTES, np.uint32, NO_ALLELE) if alleles else (1, np.uint8, MISSING)
        return bool((self.store.columns(index * size, (index + 1) * size).view(dtype) != missing).any())

    def drop_columns(self, indices: Sequence[int]) -> None:
        """Remove columns, counted among those that are read, from all rows."""
        size = ALLELE_NUMBER_BYTES if self.cell_type is CellType.ALLELES else 1
        kept = np.delete(np.arange(self.store.width).reshape(-1, size), indices, axis=0).ravel()
        out = self._storage.make_store(len(kept))
        step = max(1, _EXAMINED_BYTES // self.store.width)
        for start in range(0, self._row_count, step):
            for row in self.store.rows(start, min(start + step, self._row_count)):
                out.new_row()[:] = row[kept]
        out.finish()
        self.store = out

    # ---- cells that are not calls

    def check_decimals(self) -> None:
        """Raise `InputError` if commas in numbers might not be decimal commas: if there are also decimal points, or if a column has both
        commas and whole numbers.

        If rows are sites, raise only if a row mixes commas and whole numbers, or if there are decimal points.
        """
        with_commas = [decimals for decimals in self._decimals if decimals.commas]
        points = any(decimals.points for decimals in self._decimals)
        mixed_row = any(decimals.mixed_line for decimals in self._decimals)
        if not with_commas or (self._options.transpose and not mixed_row and not points):
            return
        with_comma, zeros = (np.sum([getattr(one, name) for one in with_commas], axis=0) for name in ("commas", "zeros"))
        numbers = np.zeros_like(with_comma)
        step = max(1, _EXAMINED_BYTES // self.store.width)
        for start in range(0, self._row_count, step):
            block = self.store.rows(start, min(self._row_count, start + step))
            numbers += self._number_mask(block.view(np.uint32) if self.cell_type is CellType.ALLELES else block).sum(axis=0)
        unlike = np.flatnonzero((with_comma + zeros > 0) & (points | (with_comma < numbers)))
        if len(unlike):
            index = int(unlike[0])
            column, beside = self._columns.column_number(index) + 2, "decimal points" if points else "whole numbers in it"
            where = f"{self._plan.source}: column {column} ({self._columns.titles[index]!r})"
            raise InputError(f"{where} has numbers with commas beside {beside}: each may be a decimal or two numbers; write whole numbers")

    def _number_mask(self, cells: npt.NDArray[np.uint8] | npt.NDArray[np.uint32]) -> npt.NDArray[np.bool_]:
        """Return a mask of the cells that hold nonzero numbers: bool, same shape."""
        missing = NO_ALLELE if self.cell_type is CellType.ALLELES else MISSING
        numbers: npt.NDArray[np.bool_] = (cells != 0) & (cells != missing)
        return numbers

    def _describe_place(self, line_number: int, name: str, index: int) -> str:
        """Return the location of a cell, for messages."""
        column, title = self._columns.column_number(index) + 2, self._columns.titles[index]
        return f"{self._plan.source}: line {line_number} ({name!r}), column {column} ({title!r})"

    def _check_row(self, line: bytes, line_number: int, name: str, cells: int, bad: int) -> None:
        """Raise `InputError` if a row has the wrong number of cells, or if one of its cells is not a call.

        name: row id, for messages
        cells: number of cells after the row id
        bad: index of the cell that is not a call, counted after the row id, or -1 if there is none
        """
        if cells != self._width:
            line_name = f"{self._plan.source}: line {line_number} ({name!r})"
            raise InputError(f"{line_name} has {format_count(cells + 1, 'cell')}, the header has {self._width + 1}")
        if bad < 0:
            return
        cell, columns = cells_of(line, self._plan.delimiter)[bad + 1], self._columns
        if len(columns.actions) and columns.actions[bad] == _sites.EMPTY:
            where = f"{self._plan.source}: line {line_number} ({name!r}), column {bad + 2}"
            raise InputError(
                f"{where}: {cell[:_MAX_CELL_CHARS_IN_MESSAGE]!r} in a column without a title; give the column one, or empty it"
            )
        where = self._describe_place(line_number, name, columns.read_index(bad))
        options, letters = self._options, self.cell_type is CellType.LETTERS
        undecided = options.type is TableType.AUTO and options.ploidy is None and not options.all_letters
        if self.cell_type is CellType.ALLELES or (self._plan.has_numbers_above_2 and undecided and not letters):
            raise InputError(f"{where}: {describe_non_allele(cell, self._options.transpose)}")
        dosages = range((2 if options.ploidy is None else options.ploidy) + 1)
        kind, expected = ("letters", "A, C, G, T") if letters else ("genotypes", ", ".join(map(str, dosages)))
        if letters and options.all_letters:
            expected = "a letter"
        advice = f"; {missing}" if (missing := missing_call_advice(cell)) and not options.all_letters else ""
        if not options.transpose and len(cell) > 1:
            advice += f"; a table whose rows are sites is read with {parameter('transpose')}"
        if line_number == self._plan.first_line_number:
            advice = f"; if the first line is a header, leave out {parameter('no_header')}"
        elif re.fullmatch(_LONG_GENOTYPE_PATTERN, cell):
            advice = (
                "; write genotypes as the number of alleles that are not the reference, 0, 1 or 2, or give VCF or PLINK's .bed, which plink"
                " makes of a .ped"
            )
        elif not letters and find_allele_evidence([[cell]]).is_proof:
            if options.all_letters:
                raise self._no_letters_error()
            advice = f"; alleles are read with {parameter('type', 'alleles')}"
        elif not letters and not options.all_letters and self._alleles.could_be_allele(cell):
            advice += f"; alleles are read with {parameter('type', 'alleles')}"
        shown = f"{cell[:_MAX_CELL_CHARS_IN_MESSAGE]!r} in a table of {kind}"
        raise InputError(f"{where}: {shown}; expected {expected}, or for a missing call {_MISSING_CALL_SPELLINGS}{advice}")

    def _no_letters_error(self) -> InputError:
        """Return the error for the option `all_letters` if a table holds no letters."""
        every = parameter("all_letters")
        return InputError(f"{every} is for alignments and tables of letters; {self._plan.source} is a table of genotypes or alleles")


def allele_numbers_of_codes(codes: Codes) -> npt.NDArray[np.uint32]:
    """Return the allele numbers for raw codes: 0, -1 and missing calls become missing alleles."""
    numbers = codes.astype(np.uint32)
    numbers[(codes == 0) | (codes == MINUS_ONE) | (codes == MISSING)] = NO_ALLELE
    return numbers


def cells_of(line: bytes, delimiter: str) -> list[str]:
    """Return the text of each cell in a line."""
    if b'"' in line:
        return [cell_text(cell) for cell in line.rstrip(b"\r\n").split(delimiter.encode())]
    return [cell.strip() for cell in line.rstrip(b"\r\n").decode("utf-8", "surrogateescape").split(delimiter)]
