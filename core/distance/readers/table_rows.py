"""Reads the rows of one text table: identifies the header, chooses the columns and rows to read, and collects their ids."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import field, replace
from itertools import chain

import numpy as np
import numpy.typing as npt

from gpualign.core.common.dataclass import dataclass
from gpualign.core.common.errors import InputError, parameter, quoted
from gpualign.core.distance import _sites
from gpualign.core.distance.readers.base import RowStore
from gpualign.core.distance.readers.plink_fileset import sample_ids_of
from gpualign.core.distance.readers.site_names import SiteName
from gpualign.core.distance.readers.table_cells import CellType, RowStoreFactory, TableCells, TablePlan, cells_of
from gpualign.core.distance.tables.alleles import AlleleCells, are_digit_pairs, find_allele_evidence
from gpualign.core.distance.tables.codings import set_missing_codes
from gpualign.core.distance.tables.columns import ColumnPlan, plan_columns, plink_export_suffix
from gpualign.core.distance.tables.headers import could_be_alleles, could_be_calls, first_line_letter_codes, first_line_number_codes
from gpualign.core.distance.tables.matrices import EXAMINED_ROWS, MatrixEvidence, MatrixIdCheck, could_be_distances, matrix_evidence
from gpualign.core.distance.tables.options import CallOptions, TableType
from gpualign.core.distance.tables.titles import SITE_NAME_PATTERN, SITE_TITLES, default_titles, is_metadata_title, serial_stems, title_stem
from gpualign.core.files.delimited import DelimitedText
from gpualign.core.files.quoting import cell_text
from gpualign.core.files.row_numbers import INDEX_TITLES, are_row_numbers
from gpualign.core.files.square_matrices import parse_numbers
from gpualign.core.sequences.ids import is_id_title, may_be_id_title

_EXAMINED_BYTES = 1 << 16
"""Size of the first lines of a table that are examined to decide whether it holds alleles, in bytes; at least one line of data is
examined."""
_EMPTY_LINE_BYTES = b'\t,; "\r\n'
_NO_BREAK_SPACE = "\u00a0".encode()
_TYPING_SCHEME_TITLE_PATTERN = re.compile(
    r"(?<![A-Za-z])(?:cg|r|wg)?ST(?![a-z])|(?i:(?<![a-z])(?:(?:cg|r|wg)?sts?|cc)(?![a-z])|mlst|clonal.?complex|sequence.?type)"
)
"""Titles of columns that only allele tables have: sequence types and clonal complexes."""


@dataclass
class TableRows:
    """One table, as read.

    plan: how the table was read
    row_ids: ids of the rows; of sites, with their places if ids are repeated
    row_alleles: the two alleles of each row that is a site; empty if the table does not name them
    cell_type: type of the cells; None if no call revealed the type
    store: one row of raw codes or allele numbers per table row
    counts: number of occurrences of each raw code, int64[256]
    first_places: where each raw code first occurs, for messages
    ignored_row_titles: metadata titles of the rows that were not read
    empty_row_count: number of empty rows
    footer_ids: ids of the rows below an empty row that have nothing but an id, which were not read
    empty_titles: titles that programs give to columns without one, of columns without a call, which were left out
    """

    plan: TablePlan
    row_ids: list[str]
    row_alleles: list[SiteName]
    cell_type: CellType | None
    store: RowStore
    counts: npt.NDArray[np.int64]
    first_places: dict[int, str]
    ignored_row_titles: list[str]
    empty_row_count: int
    footer_ids: list[str]
    empty_titles: list[str]

    @property
    def source(self) -> str:
        """Name of the table, for use in messages."""
        return self.plan.source

    @property
    def is_typing_scheme(self) -> bool:
        """True if the titles belong to a typing scheme, whose tables hold alleles."""
        return self.plan.is_typing_scheme

    @property
    def rows_are_sites(self) -> bool:
        """True if the rows are sites and the columns samples, as with `transpose` and in PLINK's .traw."""
        return self.plan.options.transpose

    @property
    def site_titles(self) -> list[str]:
        """Titles of the sites."""
        return self.row_ids if self.rows_are_sites else self.plan.columns.titles

    @property
    def sample_ids(self) -> list[str]:
        """Ids of the samples."""
        return self.plan.columns.titles if self.rows_are_sites else self.row_ids


class TableReader:
    """Reads one table.

    text: lines of the table
    options: how calls are read
    alleles: reads cells that are alleles; shared by the tables of a run
    """

    def __init__(self, text: DelimitedText, options: CallOptions, alleles: AlleleCells) -> None:
        self._source = text.source
        self._delimiter = text.delimiter
        self._delimiter_bytes = text.delimiter.encode()
        self.first_line_number = text.first_line
        self._alleles = alleles
        self._lines = text.splittable_lines()
        self._first_lines: list[bytes] = []
        self._holds_alleles = False
        self._serial_stems: frozenset[str] = frozenset()
        self._read_first_lines()
        self.plan, self._holds_alleles = self._make_plan(options)

    @property
    def holds_alleles(self) -> bool:
        """True if the first lines prove that the table holds alleles."""
        return self._holds_alleles

    def _read_first_lines(self) -> None:
        """Read the first lines. Raises `InputError` if the text is empty."""
        size = 0
        for line in self._lines:
            self._first_lines.append(line)
            size += len(line)
            if size > _EXAMINED_BYTES and len(self._first_lines) > 1:
                break
        if not self._first_lines:
            raise InputError(f"{self._source}: empty file; expected a table, an alignment, a VCF or a .bed file")

    def _make_plan(self, options: CallOptions) -> tuple[TablePlan, bool]:
        """Return (how to read the table, whether the first lines prove that the table holds alleles).

        Raises `InputError` if the table has no rows.
        """
        header = self._first_lines[0]
        export = None if options.no_header else plink_export_suffix(cells_of(header, self._delimiter))
        if export is not None:
            options = _plink_export_options(options, export, self._source)
        body = self._first_lines[not options.no_header :]
        row = next((line for line in body if not _is_empty(line)), None)
        if row is None:
            plan = TablePlan(
                self._source, self._delimiter, self.first_line_number, ColumnPlan([], np.empty(0, np.uint8)), options, options.no_header
            )
            self._refuse_data_as_header(header, None, plan)
            raise InputError(f"{self._source}: no {plan.row_word}s: the table ends after its header")
        columns, headed = self._plan_columns(header, row, options)
        scheme = (
            any(map(_TYPING_SCHEME_TITLE_PATTERN.search, columns.ignored_titles))
            or cells_of(header, self._delimiter)[columns.id_cells[-1]] == "FILE"
        )
        is_typing_scheme = scheme and not options.transpose
        corner = cells_of(header, self._delimiter)[0]
        if options.transpose or options.no_header or corner.strip("# ").lower() not in SITE_TITLES:
            corner = ""
        plan = TablePlan(
            self._source,
            self._delimiter,
            self.first_line_number,
            columns,
            options,
            headed,
            is_typing_scheme,
            export_suffix=export,
            corner_cell=corner,
        )
        if export is not None:
            return plan, False
        read = np.flatnonzero(columns.actions == _sites.READ).tolist()
        samples = []
        rows = [cells_of(line, self._delimiter) for line in body]
        others = {name for name, *_ in rows if is_metadata_title(name)} if _checks_row_titles(options) else set()
        self._serial_stems = serial_stems(others, (name for name, *_ in rows))
        for name, *cells in rows:
            if name not in others or title_stem(name) in self._serial_stems:
                samples.append([cells[k] for k in read if k < len(cells)] if read else cells)
        evidence = find_allele_evidence(samples, options.missing_codes)
        self._alleles.has_allele_spelling = self._alleles.has_allele_spelling or evidence.has_allele_spelling
        plan = replace(plan, has_numbers_above_2=evidence.has_numbers_above_2, has_digit_pairs=are_digit_pairs(samples))
        return plan, evidence.is_proof

    def read(self, holds_alleles: bool, storage: RowStoreFactory) -> TableRows:
        """Read all rows. Raises `InputError` naming the line and column if a row cannot be read.

        holds_alleles: whether the cells are alleles
        storage: creates the row store
        """
        plan = self.plan
        header = self._first_lines[0]
        lines = chain(self._first_lines[not plan.options.no_header :], self._lines)
        cells = TableCells(plan, self._alleles, holds_alleles, storage)
        if not plan.has_header:
            row = next(line for line in self._first_lines[1:] if not _is_empty(line))
            cells.decide_type(cells_of(row, self._delimiter)[1:])
            self._refuse_data_as_header(header, cells.cell_type, plan)
        rows = self._read_rows(lines, self.first_line_number + (not plan.options.no_header), cells)
        cells.check_decimals()
        titles, empty = plan.columns.titles, self._empty_columns(cells)
        if empty:
            cells.drop_columns(empty)
            plan = replace(plan, columns=replace(plan.columns, titles=np.delete(titles, empty).tolist()))
        return TableRows(
            plan=plan,
            row_ids=rows.ids,
            row_alleles=rows.alleles,
            cell_type=cells.cell_type,
            store=cells.store,
            counts=cells.counts,
            first_places=cells.first_places,
            ignored_row_titles=rows.ignored_titles,
            empty_row_count=rows.empty_count,
            footer_ids=rows.footers,
            empty_titles=[titles[k] for k in empty],
        )

    def _empty_columns(self, cells: TableCells) -> list[int]:
        """Return the indices of the columns without a call whose titles are those that programs give to columns without one."""
        options, titles = self.plan.options, self.plan.columns.titles
        if options.transpose or options.no_header or options.columns is not None:
            return []
        series: dict[str, list[int]] = {}
        for k in default_titles(titles):
            series.setdefault(title_stem(titles[k]), []).append(k)
        empty = [k for some in series.values() if not any(map(cells.has_calls, some)) for k in some]  # V1, V2, ... with calls are sites
        return sorted(empty) if len(empty) < len(titles) else []

    def _read_rows(self, lines: Iterable[bytes], first_line_number: int, table_cells: TableCells) -> _RowIds:
        """Pass the cells of each line to `table_cells`, and return the ids of the rows. first_line_number: number of the first line."""
        rows = _RowIds()
        people: list[tuple[str, str]] = []
        columns, delimiter = self.plan.columns, self._delimiter_bytes
        looks_at_titles = _checks_row_titles(self.plan.options)
        id_check = MatrixIdCheck(columns.titles, not len(columns.actions) and not self.plan.options.no_header)
        first_cell_is_id = columns.id_cells == (0,)
        site_cell_count = max((*columns.place_cells, *columns.allele_cells), default=-1) + 1  # 0: no cells describe the site
        places = list[SiteName]()
        names_site = SITE_NAME_PATTERN.match
        header = [] if self.plan.options.no_header else cells_of(self._first_lines[0], self._delimiter)
        corner = header[columns.id_cells[-1]] if header else None
        add, ids = table_cells.add_line, rows.ids
        below_gap = False
        for number, line in enumerate(lines, first_line_number):
            line = line.rstrip(b"\r\n")
            if _NO_BREAK_SPACE in line:
                line = _without_no_break_spaces(line, delimiter)
            if line[:1] in _EMPTY_LINE_BYTES and _is_empty(line):
                rows.empty_count += _has_cells(line)
                below_gap = bool(ids)
                continue
            start = line.find(delimiter)
            cell = line if start < 0 else line[:start]
            name = cell_text(cell) if b'"' in cell else cell.decode("utf-8", "surrogateescape").strip()
            below_gap = below_gap and start != 0 and (start < 0 or _is_empty(line[start:]))
            if below_gap:
                rows.footers.append(name)
                continue
            if not first_cell_is_id:
                first_two = cells_of(delimiter.join(line.split(delimiter, 2)[:2]), self._delimiter)
                name = first_two[-1]
                people.append((first_two[0] if len(columns.id_cells) > 1 else "", name))
            elif looks_at_titles and not names_site(name) and is_metadata_title(name) and title_stem(name) not in self._serial_stems:
                if name == corner and cells_of(line, self._delimiter) != header:
                    raise self._second_header_error(name, number)
                rows.ignored_titles.append(name)
                continue
            if name == corner and cells_of(line, self._delimiter) == header:
                raise InputError(f"{self._source}: line {number} repeats the header, so several tables were joined; delete the line")
            if name and name == corner and is_id_title(name):
                raise self._second_header_error(name, number)
            if not name:
                raise self._empty_id_error(len(ids) + 1, number, header)
            if id_check.matched_rows >= 0:
                id_check.add_row(name, cells_of(line, self._delimiter)[1:] if name.isdecimal() else ())
            try:
                add(line, start, number, name)
            except InputError as error:
                raise self._explained_error(error, line, id_check) from None
            ids.append(name)
            if site_cell_count:
                cells = cells_of(delimiter.join(line.split(delimiter, site_cell_count)[:site_cell_count]), self._delimiter)
                places.append(tuple(cells[k] for k in columns.place_cells))
                rows.alleles.append(tuple(cells[k] for k in columns.allele_cells))
        table_cells.store.finish()
        if id_check.has_same_ids(rows.ids):
            raise self._matrix_error()
        if people:
            rows.ids = sample_ids_of(people)
        else:
            self._refuse_distance_matrix(rows.ids, table_cells)
        if any(places) and len({*rows.ids}) < len(rows.ids):
            names = [()] * len(places) if columns.id_cells[0] in columns.place_cells else [(name,) for name in rows.ids]
            rows.ids = [":".join((*name, *place)) for name, place in zip(names, places, strict=True)]
        return rows

    def _explained_error(self, error: InputError, line: bytes, id_check: MatrixIdCheck) -> InputError:
        """Return the error for a line that cannot be read: what the file seems to be, if it holds no calls, otherwise `error`."""
        if id_check.matched_rows > 0 and could_be_distances(cells_of(line, self._delimiter)[1:]):
            return self._matrix_error()
        if self._lists_pairs():
            return InputError(
                f"{self._source}: this is a list of pairs (its second column has ids of the first one); expected calls of samples"
                f" at sites. gpualign cluster with {parameter('edges')} makes clusters of lines of two ids and a distance"
            )
        return error

    def _empty_id_error(self, row: int, number: int, header: Sequence[str]) -> InputError:
        """Return the error for a row without an id.

        row: number of the row
        number: line number
        header: titles of all columns; empty if there is no header
        """
        which = f"{self._source}: {self.plan.row_word} {row} has an empty id (line {number})"
        if row == 1 and header[:1] == [""] and header[1:2] != [""] and may_be_id_title(header[1]):
            return InputError(f"{which}, as the first column is empty and the ids seem to be below {header[1]!r}; delete the first column")
        return InputError(f"{which}; give it an id, or delete the line, such as those of chromosomes and positions in R/qtl's files")

    def _second_header_error(self, name: str, number: int) -> InputError:
        """Return the error for a line that seems to be a header with other titles.

        name: first cell of the line
        number: line number
        """
        return InputError(
            f"{self._source}: line {number} begins with {name!r} like the header, so it may be the header of another table; join the tables"
            f" by their titles, or rename the {self.plan.row_word}"
        )

    def _refuse_distance_matrix(self, ids: Sequence[str], cells: TableCells) -> None:
        """Raise `InputError` if the cells form a distance matrix, even if rows and columns have different ids."""
        titles, options = self.plan.columns.titles, self.plan.options
        if len(ids) - len(titles) not in (0, 1) or cells.cell_type is CellType.LETTERS:
            return
        count = min(len(ids), EXAMINED_ROWS)
        numbers = cells.first_numbers(count)[:, :count].astype(np.int64)
        names: Sequence[str] = [] if options.no_header else titles  # without a header, columns are only numbered
        if len(ids) > len(titles):  # the first cells of rows may be the first column of a matrix without ids
            first = parse_numbers(ids[:count])
            if first is None or (first % 1 != 0).any():
                return
            numbers, names = np.column_stack([first.astype(np.int64), numbers])[:, :count], []
        likely = matrix_evidence(numbers, ids, names)
        if likely is MatrixEvidence.BY_IDS:
            raise self._matrix_error()
        if likely is MatrixEvidence.BY_VALUES and options.type is TableType.AUTO and options.ploidy is None:
            calls, alleles = parameter("type", TableType.CALLS.value), parameter("type", TableType.ALLELES.value)
            raise InputError(
                f"{self._source}: this may be a matrix of distances ({likely.value}; gpualign tree and cluster read it), or calls"
                f" ({calls}, or {alleles}); say which"
            )

    def _lists_pairs(self) -> bool:
        """Return whether the first lines are pairs of ids with a number or two."""
        first, *rows = [cells_of(line, self._delimiter) for line in self._first_lines if not _is_empty(line)]
        if any(len(cells) not in (3, 4) or cells[1].isdecimal() or not could_be_distances(cells[2:]) for cells in rows):
            return False
        return not {first[0], *(cells[0] for cells in rows)}.isdisjoint((first[1], *(cells[1] for cells in rows)))

    def _matrix_error(self) -> InputError:
        """Return the error for a distance matrix given as a table of calls."""
        return InputError(
            f"{self._source}: this is a matrix (its rows and columns have the same ids); expected calls of samples at sites. gpualign tree"
            f" makes a tree of it, gpualign cluster with {parameter('distances')} makes clusters of it"
        )

    # ---- the header

    def _plan_columns(self, header: bytes, row: bytes, options: CallOptions) -> tuple[ColumnPlan, bool]:
        """Return (the columns to read, according to the header and the first row; whether the first line is certainly a header)."""
        titles, cells = cells_of(header, self._delimiter), cells_of(row, self._delimiter)
        if (len(titles) == 1 and len(cells) != 2) or (titles[0] and not any(titles[1:]) and not options.no_header and len(titles) > 1):
            what = "sample" if options.transpose else "site"
            only = f"the first line has a single cell, {quoted(titles[0])}"
            raise InputError(f"{self._source}: no {what}s: {only}; delete what is above the header")
        if self._begins_with_comment(titles):
            comment = quoted(cell_text(header).strip())
            raise InputError(f"{self._source}: the first line is a comment, {comment}; delete what is above the header")
        headed = options.no_header
        if options.no_header:
            titles = [titles[0], *map(str, range(1, len(titles)))]
            if len(titles) > 2 and all(
                line.rstrip(b"\r\n").endswith(self._delimiter_bytes) for line in self._first_lines if not _is_empty(line)
            ):
                titles[-1] = ""  # there is no cell after the last delimiter of a row
        elif len(cells) == len(titles) + 1:  # R writes no title above the names of rows
            rows = [line.rstrip(b"\r\n") for line in self._first_lines[1:] if not _is_empty(line)]
            if may_be_id_title(titles[0]) or all(line.endswith(self._delimiter_bytes) for line in rows):
                raise InputError(
                    f"{self._source}: the first row has one cell more than the header, which may lack a title above the ids, as R writes"
                    f" it, or a {self._delimiter!r} at its end; give both lines the same number of cells"
                )
            titles, headed = ["", *titles], True
        try:
            columns = plan_columns(titles, options)
            if not options.transpose and not options.no_header and self._begins_with_index(titles, columns, options):
                columns = columns.with_ids_in_second_column()
        except InputError as error:
            raise InputError(f"{self._source}: {error.message}") from None
        # A row of calls has no words of metadata, unless an option declares them missing calls.
        return columns, headed or not set(columns.ignored_titles) <= set(options.missing_codes)

    def _begins_with_comment(self, titles: Sequence[str]) -> bool:
        """Return whether the first line is a comment above the header. titles: its cells"""
        rows = [cells_of(line, self._delimiter) for line in self._first_lines[:3] if not _is_empty(line)]
        is_short = len(rows) > 2 and len(rows[0]) != len(rows[1]) == len(rows[2])
        spaced = [cells[0] == "#" or cells[0].startswith("# ") for cells in rows[:2]]
        return titles[0].startswith("##") or spaced == [True, True] or (spaced[:1] == [True] and is_short)

    def _begins_with_index(self, titles: Sequence[str], columns: ColumnPlan, options: CallOptions) -> bool:
        """Return whether the first column has the numbers of the rows, as pandas (from 0) and R (from 1) write them, and the second the
        ids."""
        if titles[0] not in INDEX_TITLES or not columns.may_have_ids_in_second_column(titles, options):
            return False
        names = [cells_of(line, self._delimiter)[0] for line in self._first_lines[1:] if not _is_empty(line)]
        return are_row_numbers(names)

    def _refuse_data_as_header(self, header: bytes, cells: CellType | None, plan: TablePlan) -> None:
        """Raise `InputError` if the first line could be a row of this table.

        cells: type of the cells in the table's rows; None if no call revealed the type
        """
        line = header.rstrip(b"\r\n")
        start = line.find(self._delimiter_bytes) + 1
        first, *titles = cells_of(line, self._delimiter)
        missing = plan.options.missing_codes
        named = [title for title in titles if title]
        of_sites = plan.options.transpose and first.strip("# ").lower() in SITE_TITLES
        if not start or ((is_id_title(first) or of_sites) and len(set(named)) == len(named)):
            return
        undecided = plan.options.type in (TableType.AUTO, TableType.ALLELES) and plan.options.ploidy is None
        if cells is CellType.ALLELES or (plan.has_numbers_above_2 and undecided):
            data = could_be_alleles(titles, missing)
        else:
            numbers = set_missing_codes(first_line_number_codes(plan.options.ploidy), missing)
            data = cells is not CellType.LETTERS and could_be_calls(line, start, self._delimiter, numbers, cells is None, missing)
            letters = set_missing_codes(first_line_letter_codes(plan.options.all_letters), missing)
            data = data or (cells is not CellType.NUMBERS and could_be_calls(line, start, self._delimiter, letters, True, missing))
        if data:
            square = MatrixIdCheck(titles, True)
            for name, *row in (cells_of(line, self._delimiter) for line in self._first_lines[1 : len(titles) + 1]):
                square.add_row(name, row)
            if square.matched_rows == len(titles) > 1:
                raise self._matrix_error()
            raise InputError(
                f"{self._source}: the first line may be a row of calls, or a header of {plan.column_word} ids; use {parameter('no_header')}"
                " if it is a row, or write id into its first cell if it is a header"
            )


def _plink_export_options(options: CallOptions, export: str, source: str) -> CallOptions:
    """Return the options for reading a PLINK export. Raises `InputError` for options that conflict with its format."""
    if options.type not in (TableType.AUTO, TableType.CALLS) or options.ploidy is not None:
        name = parameter("ploidy") if options.ploidy is not None else parameter("type", options.type.value)
        raise InputError(f"{source}: PLINK's {export} holds genotypes 0, 1, 2; {name} is for other tables")
    return replace(options, type=TableType.CALLS, transpose=options.transpose or export == ".traw")


def _checks_row_titles(options: CallOptions) -> bool:
    """Return whether the first cell of each row may be a metadata title, and must be checked."""
    return options.transpose and not options.no_header


@dataclass
class _RowIds:
    """Ids of the rows that were read, and the rows that were left out or empty.

    ids: ids of the rows that were read
    alleles: alleles of the rows, if they are sites, and the table names two of each
    ignored_titles: metadata titles of the rows that were not read
    empty_count: number of rows in which every cell is empty
    footers: ids of the rows below an empty row that have nothing but an id
    """

    ids: list[str] = field(default_factory=list)
    alleles: list[SiteName] = field(default_factory=list)
    ignored_titles: list[str] = field(default_factory=list)
    empty_count: int = 0
    footers: list[str] = field(default_factory=list)


def _without_no_break_spaces(line: bytes, delimiter: bytes) -> bytes:
    """Return a line with blanks instead of no-break spaces in all cells but the first one, which may be an id."""
    name, separator, cells = line.partition(delimiter)
    return (name if cell_text(name).strip() else b"") + separator + cells.replace(_NO_BREAK_SPACE, b" ")


def _is_empty(line: bytes) -> bool:
    """Return whether every cell in a line is empty."""
    return not line.strip(_EMPTY_LINE_BYTES)


def _has_cells(line: bytes) -> bool:
    """Return whether an empty line contains delimiters."""
    return bool(line.strip())
