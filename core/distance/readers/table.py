"""Reads text tables with a row per sample, or transposed with a row per site. Cells are interpreted once all rows have been read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import repeat
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from gpualign.core.common.arrays import Codes
from gpualign.core.common.errors import InputError, parameter
from gpualign.core.common.units import format_count
from gpualign.core.distance import _sites
from gpualign.core.distance.calls import MISSING, NUCLEOTIDES, CallKind, Calls, make_samples
from gpualign.core.distance.readers.base import CallReader, RandomAccessSource
from gpualign.core.distance.readers.site_names import SiteName, SiteNames, SiteScheme, match_sites
from gpualign.core.distance.readers.table_cells import CellType, RowStoreFactory, allele_numbers_of_codes
from gpualign.core.distance.readers.table_rows import TableReader, TableRows
from gpualign.core.distance.tables.alleles import ALLELE_NUMBER_BYTES, AlleleCells, describe_possible_genotypes, missing_call_advice
from gpualign.core.distance.tables.cell_codes import CellCodes
from gpualign.core.distance.tables.codings import (
    MINUS_ONE,
    Coding,
    assumed_alleles_note,
    describe_ambiguity_letters,
    letter_coding,
    number_coding,
)
from gpualign.core.distance.tables.columns import (
    describe_columns_left_out,
    describe_empty_columns,
    describe_footers,
    describe_repeated_sites,
    describe_rows_left_out,
    describe_summary_row,
    unknown_column_error,
)
from gpualign.core.distance.tables.options import MAX_PLOIDY, CallOptions, TableType
from gpualign.core.distance.tables.outliers import EXAMINED_ROWS, describe_outliers
from gpualign.core.files.delimited import open_delimited
from gpualign.core.files.scratch import MakeScratch
from gpualign.core.sequences.ids import unique_ids

WarnFunction = Callable[[str], None]

_MADE_ANEW = "a set keeps the options it was made with, so make it anew with that option"


def read_tables(
    inputs: Sequence[tuple[BinaryIO, str]], options: CallOptions, memory: int, scratch: MakeScratch, warn: WarnFunction
) -> RandomAccessSource:
    """Read one table, or two with the same sites.

    Two tables hold the same kind of calls: if either looks like alleles, both are read as alleles. Raises `InputError` naming the file,
    line and column for ragged rows, cells that are not calls, repeated ids and differing sites. If a table can be read in two ways, the
    `InputError` names both readings and the parameters that decide.

    inputs: (text, name) for each table
    memory: maximum memory for calls, in bytes
    warn: receives notes on assumptions made and on what is left out
    """
    alleles = AlleleCells(options.missing_codes, options.known_hashes)
    readers = [TableReader(open_delimited(stream, source), options, alleles) for stream, source in inputs]
    _check_ignored_columns(readers, options)
    automatic = options.type is TableType.AUTO and not options.all_letters and options.ploidy is None and options.known_cells is None
    holds_alleles = options.type is TableType.ALLELES or (automatic and any(reader.holds_alleles for reader in readers))
    storage = RowStoreFactory(memory // len(inputs), scratch)
    tables = [reader.read(holds_alleles, storage) for reader in readers]
    kind, cells = _decide_kind_and_codes(tables, alleles, warn)
    names = [_site_names(table, kind) for table in tables]
    if len(tables) > 1:
        match_sites(names[0], names[1], tables[0].source, tables[1].source)
    decode = None if cells is None else _decoding_table(cells)
    for table in tables:
        _warn_about_ignored_parts(table, warn)
        if (report := describe_repeated_sites(table.site_titles)) is not None:
            warn(f"{table.source}: {report}")
        if kind is CallKind.ALLELE and table.cell_type is CellType.ALLELES:
            _warn_about_outliers(table, warn)
    ids = [unique_ids(table.sample_ids, table.source, options.allow_duplicates) for table in tables]
    return RandomAccessSource(
        make_samples(*ids),
        kind,
        len(names[0].names),
        [_make_call_reader(table, kind, decode) for table in tables],
        sum(table.store.nbytes for table in tables),
        2 * ALLELE_NUMBER_BYTES if kind is CallKind.ALLELE else 1,
        make_names=lambda: names[0],
        hashes=alleles.hashes,
        cells=None if kind is CallKind.ALLELE else cells,
    )


def _check_ignored_columns(readers: Sequence[TableReader], options: CallOptions) -> None:
    """Raise `InputError` for a column to leave out that no table has. One of two tables may lack it, and so may tables beside a set."""
    plans = [reader.plan for reader in readers]
    for title in options.ignore_columns:
        if not options.beside_set and all(title in plan.columns.unknown_titles for plan in plans):
            raise InputError(f"{plans[0].source}: {unknown_column_error('ignore_columns', title, plans[0].columns.titles).message}")


def _site_names(table: TableRows, kind: CallKind) -> SiteNames:
    """Return the names of a table's sites: their titles and, if the calls count copies of an allele and the table names the two alleles,
    these alleles."""
    counts_alleles = kind in (CallKind.GENOTYPE, CallKind.DOSAGE) and table.cell_type is not CellType.LETTERS
    named: Sequence[SiteName] = table.row_alleles if counts_alleles else []
    return SiteNames(SiteScheme.TITLES, [(title, *alleles) for title, alleles in zip(table.site_titles, named or repeat(()), strict=False)])


def _decoding_table(cells: CellCodes) -> Codes | None:
    """Return the code for each raw code, or None if all raw codes that occur are codes already."""
    seen = np.flatnonzero(cells.counts)
    return None if (cells.codes[seen] == seen).all() else cells.codes


def _decide_kind_and_codes(tables: Sequence[TableRows], alleles: AlleleCells, warn: WarnFunction) -> tuple[CallKind, CellCodes | None]:
    """Return (kind of calls; meaning of the cells, or None if what was read are codes already).

    Raises `InputError` if the tables do not determine the meaning of their cells.
    """
    known = [table for table in tables if table.cell_type is not None]
    for table in known[1:]:
        if (table.cell_type is CellType.LETTERS) is not (known[0].cell_type is CellType.LETTERS):
            raise InputError(f"{table.source} holds {_cell_type_name(table)}, {known[0].source} {_cell_type_name(known[0])}")
    options = next((table.plan.options for table in tables if table.plan.export_suffix), tables[0].plan.options)
    if any(table.cell_type is CellType.ALLELES for table in known):
        _check_alleles(known, options, alleles)
        if options.type is TableType.AUTO:
            dosages = f"; dosages are read up to {parameter('ploidy', MAX_PLOIDY)}" if alleles.may_be_dosages else ""
            warn(f"{tables[0].source}: {assumed_alleles_note()}{dosages}")
        return CallKind.ALLELE, None
    letters = any(table.cell_type is CellType.LETTERS for table in known)
    if letters and options.all_letters:
        return CallKind.LETTER, None

    beside = options.known_cells
    if beside is not None and known and beside.has_calls and beside.are_letters is not letters:
        kinds = ("letters", "numbers") if letters else ("numbers", "letters")
        raise InputError(f"{known[0].source} holds {kinds[0]}, {beside.source} {kinds[1]}; samples of a set are of one kind")
    coding = _decide_coding(tables, options, letters, warn)
    if coding.kind is CallKind.NUCLEOTIDE and options.type is TableType.AUTO:
        for table in tables:
            if (report := describe_ambiguity_letters(table.counts)) is not None:
                warn(f"{table.source}: {report}")
    counts = np.sum([table.counts for table in tables], axis=0)
    return coding.kind, CellCodes(letters, counts, coding.codes)


def _decide_coding(tables: Sequence[TableRows], options: CallOptions, letters: bool, warn: WarnFunction) -> Coding:
    """Return the meaning of the raw codes of all tables together, and of the set beside which they are read, if any.

    letters: whether the cells are letters instead of numbers

    Raises `InputError` if the raw codes that occur do not determine their meaning, or if one of them is not a call.
    """
    beside = options.known_cells

    def coding_of(some: Sequence[TableRows]) -> Coding:
        counts = np.sum([table.counts for table in some], axis=0)
        if beside is not None:
            counts = counts + beside.counts
        return letter_coding(counts, options) if letters else number_coding(counts, options, any(table.is_typing_scheme for table in some))

    if not letters and options.type is TableType.AUTO and options.ploidy is None:
        _refuse_two_codings(tables, beside)
    try:
        coding = coding_of(tables)
    except InputError as error:
        raise InputError(f"{tables[0].source}: {error.message}") from None
    if coding.ambiguity_reason is not None:
        at_fault = next((table for table in tables if coding_of([table]).ambiguity_reason == coding.ambiguity_reason), tables[0])
        anew = "" if beside is None else f"; {_MADE_ANEW}"
        raise InputError(f"{at_fault.source}: {coding.ambiguity_reason}{anew}")
    _refuse_non_calls(tables, coding, options)
    if coding.assumption_note is not None:
        noted = next((table for table in tables if coding_of([table]).assumption_note == coding.assumption_note), tables[0])
        warn(f"{noted.source}: {coding.assumption_note}")
    return coding


def _refuse_two_codings(tables: Sequence[TableRows], beside: CellCodes | None) -> None:
    """Raise `InputError` if the genotypes may be -1, 0, 1 in one table and 0, 1, 2 in another one: if no table with -1 has a 2, but another
    table has.

    beside: cells of the set beside which the tables are read; None: there is no set
    """
    inputs = [(table.source, table.counts, table.is_typing_scheme) for table in tables]
    if beside is not None:
        inputs.append((beside.source, beside.counts, False))
    with_minus_one = [(source, counts) for source, counts, is_typing_scheme in inputs if counts[MINUS_ONE] and not is_typing_scheme]
    with_two = [source for source, counts, _ in inputs if counts[2]]
    if with_minus_one and with_two and not any(counts[2] for _, counts in with_minus_one):
        anew = "" if beside is None else f"; {_MADE_ANEW}"
        raise InputError(
            f"{with_minus_one[0][0]}: -1 may be a genotype, as there is no 2, but genotypes of {with_two[0]} are 0, 1 and 2;"
            f" write both in the same way, or give {parameter('missing_code', -1)} if -1 is a missing call{anew}"
        )


def _cell_type_name(table: TableRows) -> str:
    """Return the name of a table's cells, for use in messages."""
    assert table.cell_type is not None
    return table.cell_type.value


def _check_alleles(tables: Sequence[TableRows], options: CallOptions, alleles: AlleleCells) -> None:
    """Raise `InputError` if numbers that have been read as alleles might have a different meaning."""
    if options.type is TableType.ALLELES or any(table.is_typing_scheme for table in tables):
        return
    pairs = next((table.source for table in tables if table.plan.has_digit_pairs), None)
    if pairs is not None and alleles.may_be_digit_pairs:
        raise InputError(
            f"{pairs}: numbers of two digits such as 01 may be genotypes, or alleles, 0 meaning no allele"
            f" ({parameter('type', TableType.ALLELES.value)}); write genotypes as the number of alleles that are not"
            " the reference, 0, 1 or 2"
        )
    first = next((table.first_places[0] for table in tables if table.cell_type is CellType.ALLELES and table.first_places), None)
    if alleles.numbers_above_2_are_rare and first is not None:
        type_option, ignore_option = parameter("type", TableType.ALLELES.value), parameter("ignore_columns")
        missing = f"; {advice}" if (advice := missing_call_advice(first.rsplit("'", 2)[1])) else ""
        raise InputError(
            f"{first} in a table of genotypes; expected 0, 1, 2{missing}; {ignore_option} leaves out columns that are not sites; alleles"
            f" are read with {type_option}"
        )
    if alleles.ambiguity_reason is not None:
        raise InputError(f"{tables[0].source}: {alleles.ambiguity_reason}")
    if alleles.zero_count and not alleles.has_allele_spelling:
        numbers, titles = zip(*(_first_sample_alleles(one) for one in tables if one.cell_type is CellType.ALLELES), strict=True)
        if (problem := describe_possible_genotypes(np.concatenate(numbers), titles[0], tables[0].rows_are_sites)) is not None:
            raise InputError(f"{tables[0].source}: {problem}")


def _refuse_non_calls(tables: Sequence[TableRows], coding: Coding, options: CallOptions) -> None:
    """Raise `InputError` for the first cell that is not a call under this coding."""
    for table in tables:
        bad = [raw for raw in np.flatnonzero(table.counts).tolist() if coding.codes[raw] == _sites.BAD]
        if not bad:
            continue
        raw, numbers = bad[0], table.cell_type is CellType.NUMBERS
        shown = _cell_spelling(raw, numbers)
        allowed = [_cell_spelling(one, True) for one in (MINUS_ONE, *range(10)) if coding.codes[one] not in (_sites.BAD, MISSING)]
        expected = ", ".join(allowed) if numbers else "A, H, B"
        is_specified = options.type is not TableType.AUTO or options.ploidy is not None
        others = f"; alleles are read with {parameter('type', 'alleles')}, dosages of polyploids with {parameter('ploidy')}"
        advice = f"; {missing_call_advice(shown)}{'' if is_specified or not numbers else others}"
        place = table.first_places.get(raw, table.source)
        what = f"{shown!r} in a table of {coding.kind.value}"
        raise InputError(f"{place}: {what}; expected {expected}{advice}")


def _cell_spelling(raw: int, is_number: bool) -> str:
    """Return the text of a cell with this raw code.

    is_number: whether the cells are numbers
    """
    if is_number:
        return "-1" if raw == MINUS_ONE else str(raw)
    return NUCLEOTIDES[raw] if raw < len(NUCLEOTIDES) else chr(raw)


def _warn_about_ignored_parts(table: TableRows, warn: WarnFunction) -> None:
    """Warn about the parts of a table that are not read, or perhaps should not be."""
    columns, corner = table.plan.columns, table.plan.corner_cell
    if corner:
        transpose = parameter("transpose")
        warn(f"{table.source}: rows are read as samples, although the first cell is {corner!r}; {transpose} reads columns as samples")
    if columns.ignored_titles:
        warn(f"{table.source}: {describe_columns_left_out(columns.ignored_titles, table.rows_are_sites)}")
    if table.ignored_row_titles:
        warn(f"{table.source}: {describe_rows_left_out(table.ignored_row_titles)}")
    if table.empty_titles:
        warn(f"{table.source}: {describe_empty_columns(table.empty_titles)}")
    if table.footer_ids:
        warn(f"{table.source}: {describe_footers(table.footer_ids)}")
    if (report := describe_summary_row(table.row_ids, table.plan.row_word)) is not None:
        warn(f"{table.source}: {report}")
    empty = [(columns.untitled_count, "column"), (table.empty_row_count, "row")]
    if any(count for count, _ in empty):
        counted = " and ".join(format_count(count, f"empty {what}") for count, what in empty if count)
        warn(f"{table.source}: {counted} left out")


def _warn_about_outliers(table: TableRows, warn: WarnFunction) -> None:
    """Warn about loci that are unlike the rest."""
    numbers, titles = _first_sample_alleles(table)
    if (report := describe_outliers(numbers, titles, table.rows_are_sites)) is not None:
        warn(f"{table.source}: {report}")


def _first_sample_alleles(table: TableRows) -> tuple[npt.NDArray[np.uint32], Sequence[str]]:
    """Return (allele numbers for the first samples, uint32[samples][loci]; locus names)."""
    titles = table.site_titles
    if table.rows_are_sites:
        samples = min(len(table.sample_ids), EXAMINED_ROWS)
        return table.store.columns(0, ALLELE_NUMBER_BYTES * samples).view(np.uint32)[: len(titles)].T, titles
    return table.store.rows(0, EXAMINED_ROWS).view(np.uint32), titles


def _make_call_reader(table: TableRows, kind: CallKind, decode: Codes | None) -> CallReader:
    """Return a function that returns the calls at some sites of a table.

    decode: code for each raw code; None: the stored cells need no decoding
    """
    store = table.store
    holds_allele_numbers = table.cell_type is CellType.ALLELES
    dtype: np.dtype[Any] = np.dtype(np.uint32 if holds_allele_numbers else np.uint8)

    def read(start: int, stop: int, _: object) -> Calls:
        if table.rows_are_sites:
            raw = np.ascontiguousarray(store.rows(start, stop).view(dtype).T)
        else:
            raw = store.columns(start * dtype.itemsize, stop * dtype.itemsize).view(dtype)
        if kind is CallKind.ALLELE and not holds_allele_numbers:
            return allele_numbers_of_codes(raw if decode is None else decode[raw])
        calls: Calls = raw if decode is None else decode[raw]
        return calls

    return read
