"""Rows of one table of text: which line is the header, which columns and rows are read, and their ids."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import field, replace
from itertools import chain

import numpy as np
import numpy.typing as npt

from gpualign.core import _sites
from gpualign.core.dataclass import dataclass
from gpualign.core.distance.calls import Codes, cell_table, number_table
from gpualign.core.distance.sources.base import RowStore
from gpualign.core.distance.sources.filesets import names_of
from gpualign.core.distance.sources.table_cells import Cells, Storage, TableCells, TableName, cells_of
from gpualign.core.distance.tables.alleles import AlleleCells, look_for_alleles
from gpualign.core.distance.tables.columns import Columns, plan_columns, plink_export
from gpualign.core.distance.tables.headers import could_be_alleles, could_be_calls, is_id_title
from gpualign.core.distance.tables.options import CallOptions, TableType
from gpualign.core.distance.tables.titles import NAME_OF_SITE, is_metadata
from gpualign.core.errors import InputError, parameter, quoted
from gpualign.core.files.delimited import DelimitedText
from gpualign.core.files.quoting import text_of

_LOOKED_AT = 1 << 16
"""Bytes of a table, in whole lines, that tell whether it holds alleles; a line of data at least."""
_NUCLEOTIDE_CODES = "ACGTUNRYSWKMBDHV"
_EMPTY_LINE = b'\t,; "\r\n'


@dataclass
class TableRows:
    """One table as it was read.

    source: its name for messages
    row_ids, column_ids: ids of its rows and of the columns that were read
    cells: what they are; None where no call told
    store: a row of raw codes, or of numbers of alleles, for each row
    counts: how often each raw code occurs, int64[256]
    first: places of cells, as of `TableCells`
    left_out, rows_left_out: known titles of columns, and of rows, that are not read
    untitled, empty_rows: how many columns without a title, and how many rows, are empty
    of_alleles: whether titles say that the table has alleles
    is_export: whether PLINK wrote it, as .raw or .traw
    transposed: whether it has a row per site by itself
    """

    source: str
    row_ids: list[str]
    column_ids: list[str]
    cells: Cells | None
    store: RowStore
    counts: npt.NDArray[np.int64]
    first: dict[int, str]
    left_out: list[str] = field(default_factory=list)
    rows_left_out: list[str] = field(default_factory=list)
    untitled: int = 0
    empty_rows: int = 0
    of_alleles: bool = False
    is_export: bool = False
    transposed: bool = False


class TableReader:
    """Reads one table. alleles: reads cells that are alleles, also of another table of the run."""

    def __init__(self, text: DelimitedText, options: CallOptions, alleles: AlleleCells) -> None:
        self._text = text
        self._delimiter = text.delimiter
        self._mark = text.delimiter.encode()
        self._options = options
        self._alleles = alleles
        self._lines = text.plain_lines()
        self._begun: list[bytes] = []
        self._export: str | None = None
        self._transpose = options.transpose
        self._beyond = False

    def begin(self) -> bool:
        """Read the first lines; whether they prove that the table holds alleles. Raises `InputError` for a text without lines."""
        size = 0
        for line in self._lines:
            self._begun.append(line)
            size += len(line)
            if size > _LOOKED_AT and len(self._begun) > 1:
                break
        if not self._begun:
            raise InputError(f"{self._text.source}: empty file; expected a table, an alignment, a VCF or a .bed file")
        header = not self._options.no_header
        self._export = plink_export(cells_of(self._begun[0], self._delimiter)) if header else None
        if self._export is not None:
            self._transpose = self._transpose or self._export == ".traw"
            self._options = replace(self._options, type=TableType.CALLS)
            return False
        rows = (cells_of(line, self._delimiter)[1:] for line in self._begun[header:])
        look = look_for_alleles(rows, self._options.missing_codes)
        self._beyond, self._alleles.telling = look.beyond, self._alleles.telling or look.telling
        return look.proven

    @property
    def _name(self) -> TableName:
        row, column = ("site", "sample") if self._transpose else ("sample", "site")
        return TableName(self._text.source, row, column, self._text.first)

    def read(self, of_alleles: bool, storage: Storage) -> TableRows:
        """Read all rows. of_alleles: the cells are alleles. Raises `InputError` naming line and column."""
        lines = chain(self._begun, self._lines)
        header = next(lines)
        number = self._text.first + 1
        if self._options.no_header:
            lines, number = chain([header], lines), self._text.first
        empty = 0
        for line in lines:
            if not _is_empty(line):
                break
            empty, number = empty + _has_cells(line), number + 1
        else:
            self._refuse_data(header, None)
            raise InputError(f"{self._text.source}: no {self._name.row}s: the table ends after its header")
        columns, headed = self._plan(header, line)
        cells = TableCells(self._name, self._delimiter, columns, self._options, self._alleles, of_alleles, self._beyond, storage)
        cells.decide(cells_of(line, self._delimiter)[1:])
        if not headed:
            self._refuse_data(header, cells.cells)
        rows = self._read_rows(chain([line], lines), number, columns, cells)
        cells.store.done()
        cells.check_decimals()
        known = any(map(_is_scheme, columns.left_out)) or text_of(header.split(self._mark, 1)[0]) == "FILE"
        return TableRows(
            source=self._text.source,
            row_ids=rows.ids,
            column_ids=columns.titles,
            cells=cells.cells,
            store=cells.store,
            counts=cells.counts,
            first=cells.first,
            left_out=columns.left_out,
            rows_left_out=rows.left_out,
            untitled=columns.untitled,
            empty_rows=empty + rows.empty,
            of_alleles=known and cells.cells is not Cells.LETTERS and not self._transpose,
            is_export=self._export is not None,
            transposed=self._export == ".traw",
        )

    def _read_rows(self, lines: Iterable[bytes], first: int, columns: Columns, cells: TableCells) -> _RowIds:
        """Hand the cells of each line to `cells`. first: the number of the first line."""
        rows = _RowIds()
        people: list[tuple[str, str]] = []
        mark, options = self._mark, self._options
        looks_at_titles = self._transpose and options.columns is None and not options.no_header
        square = SquareOfIds(columns, self._delimiter)
        of_people = columns.id_cells != (0,)
        names_site = NAME_OF_SITE.match
        add, ids = cells.add, rows.ids
        for number, line in enumerate(lines, first):
            line = line.rstrip(b"\r\n")
            if line[:1] in _EMPTY_LINE and _is_empty(line):
                rows.empty += _has_cells(line)
                continue
            start = line.find(mark)
            cell = line if start < 0 else line[:start]
            name = text_of(cell) if b'"' in cell else cell.decode("utf-8", "surrogateescape").strip()
            if of_people:
                own = cells_of(mark.join(line.split(mark, 2)[:2]), self._delimiter)
                people.append((own[0], own[-1]) if len(columns.id_cells) > 1 else ("", own[-1]))
                name = own[-1]
            elif looks_at_titles and not names_site(name) and is_metadata(name):
                rows.left_out.append(name)
                continue
            if square.rows >= 0:
                square.look(line, name)
            try:
                add(line, start, number, name)
            except InputError:
                if square.rows > 0:
                    raise self._matrix() from None
                raise
            ids.append(name)
        if square.is_whole(rows.ids):
            raise self._matrix()
        if people:
            rows.ids = names_of(people)
        return rows

    def _matrix(self) -> InputError:
        return InputError(
            f"{self._text.source}: a matrix, whose rows and columns have the same ids; expected calls of samples at sites. gpualign tree"
            " makes a tree of it, gpualign cluster with --distances makes clusters"
        )

    # ---- the header

    def _plan(self, header: bytes, line: bytes) -> tuple[Columns, bool]:
        """(which columns are read, by the header and the first row, whether the first line is a header for sure)."""
        titles, cells = cells_of(header, self._delimiter), cells_of(line, self._delimiter)
        options, source = self._options, self._text.source
        if len(titles) == 1 and len(cells) != 2:
            raise InputError(f"{source}: no {self._name.column}s: the first line has a single cell, {quoted(titles[0])}")
        headed = options.no_header
        if options.no_header:
            titles = [titles[0], *map(str, range(1, len(titles)))]
        elif len(cells) == len(titles) + 1:  # R writes no title over the names of rows
            if not cells[-1] and titles[0] and is_id_title(titles[0]):
                raise InputError(
                    f"{source}: the first row has a cell more than the header, an empty one after its last {self._delimiter!r}; "
                    "end rows as the header ends"
                )
            titles, headed = ["", *titles], True
        try:
            columns = plan_columns(titles, titles[1:], self._transpose, options.columns, options.ignore_columns)
        except InputError as error:
            raise InputError(f"{source}: {error.message}") from None
        return columns, headed

    def _refuse_data(self, header: bytes, cells: Cells | None) -> None:
        """Raises `InputError` for a first line that could be a row of this table. cells: of its rows, None where no call told."""
        line = header.rstrip(b"\r\n")
        start = line.find(self._mark) + 1
        first, *titles = cells_of(line, self._delimiter)
        named = [title for title in titles if title]
        if not start or (is_id_title(first) and len(set(named)) == len(named)):
            return
        if cells is Cells.ALLELES or self._beyond:
            data = could_be_alleles(titles)
        else:
            data = cells is not Cells.LETTERS and could_be_calls(line, start, self._delimiter, self._numbers_of_data(), cells is None)
            letters = _letters_of_data(self._options.every_letter)
            data = data or (cells is not Cells.NUMBERS and could_be_calls(line, start, self._delimiter, letters, True))
        if data and titles == [cells_of(line, self._delimiter)[0] for line in self._begun[1:]] and len(titles) > 1:
            raise self._matrix()
        if data:
            raise InputError(
                f"{self._text.source}: the first line may be a row of calls, or a header with the {self._name.column}s' ids: "
                f"{parameter('no_header')} reads it as a row; let its first cell say id if it is a header"
            )

    def _numbers_of_data(self) -> Codes:
        """Numbers that a row of calls has; others may be names of sites."""
        table = number_table()
        for digit in range(3, (self._options.ploidy or 0) + 1):
            table[ord(str(digit))] = digit
        return table


@dataclass
class _RowIds:
    """ids: of rows that were read; left_out: known titles of rows that were not; empty: how many had no cell with anything in it."""

    ids: list[str] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)
    empty: int = 0


class SquareOfIds:
    """Whether rows and columns have the same ids, as in a matrix of distances. rows: how many so far, in the order of the columns; -1 after
    another one."""

    def __init__(self, columns: Columns, delimiter: str) -> None:
        self._titles = columns.titles
        self._delimiter = delimiter
        self.rows = -1 if len(columns.actions) else 0

    def look(self, line: bytes, name: str) -> None:
        """Compare the id of the next row."""
        k = self.rows
        if k >= len(self._titles) or self._titles[k] != name:
            self.rows = -1
            return
        # Tables of calls may number rows and columns alike; only a matrix of distances has zeros on its diagonal.
        own = cells_of(line, self._delimiter)[k + 1 : k + 2] if name.isdecimal() else []
        self.rows = -1 if own and not _is_zero(own[0]) else k + 1

    def is_whole(self, ids: Sequence[str]) -> bool:
        """Whether these ids of all rows are those of the columns, in their order, or in another one if they are no numbers."""
        titles = self._titles
        if self.rows == len(titles) > 1:
            return True
        return len(ids) == len(titles) > 2 and not any(map(str.isdecimal, ids)) and set(ids) == set(titles)


def _is_empty(line: bytes) -> bool:
    return not line.strip(_EMPTY_LINE)


def _has_cells(line: bytes) -> bool:
    """Whether an empty line has delimiters."""
    return bool(line.strip())


def _is_zero(cell: str) -> bool:
    """Whether a cell can be on the diagonal of a matrix of distances."""
    try:
        return not cell or cell == "-" or float(cell) == 0 or math.isnan(float(cell))
    except ValueError:
        return False


def _letters_of_data(every_letter: bool) -> Codes:
    """Letters that a row of calls has; others may stand in it, but do in names."""
    table = cell_table(every_letter)
    if not every_letter:
        table[[byte for byte in range(128) if chr(byte).isalpha() and chr(byte).upper() not in _NUCLEOTIDE_CODES]] = _sites.BAD
    return table


def _is_scheme(title: str) -> bool:
    """Whether only tables of alleles have a column with this title."""
    return re.search(r"(?<![A-Za-z])(c|r|wg)?ST(?![a-z])|MLST|[Cc]lonal.?[Cc]omplex", title) is not None
