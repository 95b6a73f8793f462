"""Reads records from tables, such as the tables of immune receptors that the AIRR Community defines (Rearrangement Schema, vander Heiden et
al. 2018): a column of ids, one of sequences, and others that annotate the records."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping
from dataclasses import field
from typing import BinaryIO

import numpy as np

from gpualign.core.common.arrays import Booleans
from gpualign.core.common.dataclass import dataclass
from gpualign.core.common.errors import InputError, parameter
from gpualign.core.files.delimiters import delimiter_of, named_delimiter
from gpualign.core.files.quoting import cell_text
from gpualign.core.files.table_pieces import DelimitedTable, TablePiece, open_table
from gpualign.core.sequences.alphabet import PROTEIN
from gpualign.core.sequences.annotations import AnnotationColumn
from gpualign.core.sequences.receptor_titles import (
    ABUNDANCE_TITLE,
    CELL,
    CELL_TITLES,
    ID_TITLE,
    LOCUS,
    MISSING_SEQUENCE_WORDS,
    PRODUCTIVE_TITLES,
    SEQUENCE_TITLES,
    V_CALL,
    find_v_titles,
    has_amino_acids,
    is_unproductive,
)
from gpualign.core.sequences.string_column import StringColumn, join_columns
from gpualign.core.sequences.table_cells import read_cells
from gpualign.core.sequences.table_loci import LocusFinder

_UNPRODUCTIVE_LETTERS = np.frombuffer(b"*_#~", dtype=np.uint8)
"""Stops, and the marks of programs for amino acids that a shifted reading frame interrupts."""


@dataclass(frozen=True)
class TableColumns:
    """Titles of the columns to read.

    id_column: column of ids; None: `ID_TITLE`
    sequence_column: column of sequences; None: the first of `SEQUENCE_TITLES` that the table has
    same: columns in which records must agree to be compared; they become annotations of the records
    keep_text: whether to keep the text of the table, because it will be needed again and cannot be read again
    locus: loci of the rows that are records; (): all rows
    and_locus: loci of a second chain, whose rows are records too; if there are any, records are annotated with `CELL` and `LOCUS`
    reads_abundances: whether the column `ABUNDANCE_TITLE`, if the table has it, becomes an annotation too
    reads_v_calls: whether the first of the titles that `find_v_titles` returns becomes the annotation `V_CALL`
    """

    id_column: str | None = None
    sequence_column: str | None = None
    same: tuple[str, ...] = ()
    keep_text: bool = False
    locus: tuple[str, ...] = ()
    and_locus: tuple[str, ...] = ()
    reads_abundances: bool = False
    reads_v_calls: bool = False

    @property
    def are_given(self) -> bool:
        """True if the user has named a column, so that every file is read as a table."""
        return self.id_column is not None or self.sequence_column is not None

    @property
    def chain_names(self) -> tuple[str, ...]:
        """Names of the columns with the distance at each of two loci; () unless there are two."""
        return tuple(f"distance_{'_'.join(loci)}" for loci in (self.locus, self.and_locus)) if self.and_locus else ()

    @property
    def read_loci(self) -> tuple[str, ...]:
        """Loci of all rows that are records; (): all rows."""
        return self.locus + self.and_locus


DEFAULT_COLUMNS = TableColumns()


@dataclass(frozen=True)
class TableOrigin:
    """Source of a table's records, where its rows can be read again.

    source: name of the file
    columns: columns that were read
    header: line of titles, without its line end
    record_count: number of rows that are records
    nbytes: size of the text in bytes, without the line of titles
    text: the whole text, if it cannot be read from the file again
    """

    source: str
    columns: TableColumns
    header: bytes
    record_count: int
    nbytes: int
    text: bytes | None = field(default=None, repr=False)


@dataclass(frozen=True)
class TableRecords:
    """Records of a table.

    ids: ids of the records
    letters: sequences, in the table's case
    annotations: annotations of the records, by the title of their column
    sequence_title: title of the column of sequences
    row_count: number of rows, including those left out because their sequence is missing or not productive
    other_loci: number of rows left out because they are of other loci, by locus
    is_unterminated: whether the table does not end with a newline
    origin: where the rows can be read again
    """

    ids: StringColumn
    letters: StringColumn
    annotations: Mapping[str, AnnotationColumn] = field(repr=False)
    sequence_title: str
    row_count: int
    other_loci: Counter[str]
    is_unterminated: bool
    origin: TableOrigin

    @property
    def alphabet(self) -> str:
        """Alphabet that the title of the sequences' column names; otherwise "auto"."""
        return PROTEIN.name if has_amino_acids(self.sequence_title) else "auto"


def is_receptor_table(start: bytes) -> bool:
    """Return whether a file is a table of receptors: its line of titles has those of ids and of sequences. start: first bytes of the
    file"""
    line, *others = start.split(b"\n", 2)
    if (named := named_delimiter(line)) and others:
        line = others[0]
    return has_receptor_titles({cell_text(cell) for cell in line.split((named or delimiter_of(line)).encode())})


def has_receptor_titles(titles: Collection[str]) -> bool:
    """Return whether the columns with these titles are those of a table of receptors."""
    return ID_TITLE in titles and not set(SEQUENCE_TITLES).isdisjoint(titles)


@dataclass(frozen=True)
class TableRows:
    """Some rows of a table.

    piece: the rows
    letters: sequence of each row
    is_record: mask of the rows that are records, because they have a productive sequence, and are of a locus to read
    loci: locus of each row; None if rows of all loci are records
    """

    piece: TablePiece
    letters: StringColumn
    is_record: Booleans
    loci: AnnotationColumn | None


class RecordTable:
    """Table whose rows are records.

    stream: decompressed text
    source: name of the file, for messages
    threads: maximum number of threads that find cells

    cell_column: index of the column of cells; None if it is not needed
    other_loci: number of rows of other loci that `rows` has left out so far, by locus

    Raises `InputError` if the table lacks a column that is needed.
    """

    def __init__(self, stream: BinaryIO, source: str, columns: TableColumns, threads: int = 1) -> None:
        self._threads = threads
        self.table = open_table(stream, source)
        self.sequence_title = columns.sequence_column or _find_sequence_title(self.table)
        id_title = columns.id_column or ID_TITLE
        if id_title not in self.table.titles and columns.id_column is None:
            raise InputError(f"{source}: no column is called '{ID_TITLE}'; name the column of ids with {parameter('id_column')}")
        self.id_column, self.sequence_column = map(self.table.column_index, (id_title, self.sequence_title))
        self._loci = LocusFinder(self.table, self.sequence_title, columns.same) if columns.read_loci else None
        self._locus_names = columns.read_loci
        self.cell_column = _find_cell_column(self.table) if columns.and_locus else None
        self.other_loci = Counter[str]()
        productive = next((title for title in PRODUCTIVE_TITLES if title in self.table.titles), None)
        self._productive_column = None if productive is None else self.table.titles.index(productive)

    def rows(self) -> Iterator[TableRows]:
        """Yield the rows in order, many at once."""
        for piece in self.table.pieces(self._threads):
            letters = _without_outer_blanks(read_cells(piece, self.sequence_column))
            kept = (letters.lengths > 0) & ~_missing_mask(letters)
            # Cell Ranger's cdr3 has amino acids too.
            if has_amino_acids(self.sequence_title) or self.sequence_title.lower() in SEQUENCE_TITLES:
                before = np.concatenate(([0], np.cumsum(np.isin(letters.text, _UNPRODUCTIVE_LETTERS))))[letters.offsets]
                kept &= before[1:] == before[:-1]
            if self._productive_column is not None:
                productive = AnnotationColumn.from_column(read_cells(piece, self._productive_column))
                kept &= ~productive.mask(is_unproductive)
            loci = None if self._loci is None else self._loci.find(piece)
            if loci is not None:
                kept &= self._is_of_loci(loci)
            yield TableRows(piece, letters, kept, loci)

    def _is_of_loci(self, loci: AnnotationColumn) -> Booleans:
        """Return a mask of the rows whose locus is one of those to read, and count the others. loci: locus of each row"""
        chosen = loci.is_any_of(self._locus_names)
        counts = np.bincount(loci.codes[~chosen], minlength=len(loci.values)).tolist()
        self.other_loci.update({locus: count for locus, count in zip(loci.values, counts, strict=True) if count})
        return chosen


def _without_outer_blanks(cells: StringColumn) -> StringColumn:
    return StringColumn.from_strings([cell.strip(" ") for cell in cells]) if ord(" ") in cells.text else cells


def _missing_mask(letters: StringColumn) -> Booleans:
    """Return a mask of the cells that are words for a missing sequence, in either case."""
    mask = np.zeros(len(letters), dtype=np.bool_)
    lower_case = ord("a") ^ ord("A")  # the bit in which the cases of a letter differ
    for word in MISSING_SEQUENCE_WORDS:
        cells = np.flatnonzero(letters.lengths == len(word))
        for place, byte in enumerate(word.encode()):
            cells = cells[(letters.text[letters.offsets[cells] + place] | lower_case) == (byte | lower_case)]
        mask[cells] = True
    return mask


def read_table_records(stream: BinaryIO, source: str, columns: TableColumns, threads: int = 1) -> TableRecords:
    """Read the records of a table. stream: decompressed text; threads: maximum number of threads

    Raises `InputError` for a table that is invalid or has no records.
    """
    table = RecordTable(stream, source, columns, threads)
    abundance = [ABUNDANCE_TITLE] if columns.reads_abundances and ABUNDANCE_TITLE in table.table.titles else []
    annotated = {title: table.table.column_index(title) for title in (*columns.same, *abundance)}
    ids, letters, row_count, terminated = list[StringColumn](), list[StringColumn](), 0, True
    nbytes, kept_text, texts = 0, list[bytes](), defaultdict[str, list[StringColumn]](list)
    if table.cell_column is not None:
        annotated[CELL] = table.cell_column
    if columns.reads_v_calls and (calls := find_v_titles(table.table.titles, table.sequence_title)):
        annotated[V_CALL] = table.table.column_index(calls[0])
    for rows in table.rows():
        piece, kept = rows.piece, np.flatnonzero(rows.is_record)
        ids.append(read_cells(piece, table.id_column).select(kept))
        if len(nameless := kept[ids[-1].lengths == 0]):
            title = table.table.titles[table.id_column]
            raise InputError(
                f"{source}: row {row_count + int(nameless[0]) + 1:,} below the titles has no id: its cell of {title!r} is empty"
            )
        row_count += len(piece)
        letters.append(rows.letters.select(kept))
        if table.cell_column is not None and rows.loci is not None:
            texts[LOCUS].append(rows.loci.texts_of(kept))
        for title, column in annotated.items():
            texts[title].append(read_cells(piece, column).select(kept))
        terminated = not piece.is_unterminated
        nbytes += len(piece.raw)
        if columns.keep_text:
            kept_text.append(piece.raw)
    if not sum(map(len, ids)):
        found = f"; its {row_count:,} rows have none" if row_count > 1 else "; its only row has none" if row_count else ""
        of_loci = f" of {' or '.join(columns.read_loci)}" if columns.read_loci else ""
        if table.other_loci:
            found = f"; found {describe_loci(table.other_loci)}"
        raise InputError(f"{source}: a table without any productive sequence{of_loci} in the column '{table.sequence_title}'{found}")
    annotations = {title: AnnotationColumn.from_column(join_columns(cells), threads) for title, cells in texts.items()}
    header = table.table.header
    text = b"".join([header, table.table.line_end, *kept_text]) if columns.keep_text else None
    origin = TableOrigin(source, columns, header, sum(map(len, ids)), nbytes, text)
    return TableRecords(
        join_columns(ids),
        join_columns(letters),
        annotations,
        table.sequence_title,
        row_count,
        table.other_loci,
        not terminated,
        origin,
    )


def describe_loci(counts: Counter[str]) -> str:
    """Return the numbers of rows of some loci as text."""
    return ", ".join(f"{count:,} of {locus or 'an unknown locus'}" for locus, count in sorted(counts.items()))


def _find_cell_column(table: DelimitedTable) -> int:
    for title in CELL_TITLES:
        if title in table.titles:
            return table.column_index(title)
    raise InputError(f"{table.source}: no column is called {' or '.join(CELL_TITLES)}, which says which chains are of the same cell")


def _find_sequence_title(table: DelimitedTable) -> str:
    for title in SEQUENCE_TITLES:
        if title in table.titles:
            return title
    raise InputError(
        f"{table.source}: none of the columns {', '.join(SEQUENCE_TITLES)} is there; name the column of sequences with"
        f" {parameter('sequence_column')}"
    )
