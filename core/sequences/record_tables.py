"""Reads records from tables, such as the tables of immune receptors that the AIRR Community defines (Rearrangement Schema, vander Heiden et
al. 2018): a column of ids, one of sequences, and others that annotate the records."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import field
from typing import BinaryIO

import numpy as np

from gpualign.core.common.arrays import Booleans
from gpualign.core.common.dataclass import dataclass
from gpualign.core.common.errors import InputError, parameter
from gpualign.core.files.delimiters import delimiter_of
from gpualign.core.files.quoting import cell_text
from gpualign.core.files.table_pieces import DelimitedTable, TablePiece, open_table
from gpualign.core.sequences.alphabet import PROTEIN
from gpualign.core.sequences.annotations import AnnotationColumn
from gpualign.core.sequences.string_column import StringColumn, join_columns

ID_TITLE = "sequence_id"
"""Title of the column with ids in tables of receptors."""

SEQUENCE_TITLES = ("junction_aa", "cdr3_aa", "junction", "cdr3")
"""Titles of columns that may have the sequences of receptors, the preferred one first."""

_PRODUCTIVE_TITLE = "productive"
_FALSE_TEXTS = frozenset({"F", "f", "FALSE", "False", "false", "None"})
_MISSING_TEXTS = frozenset({"None", "NA", "NaN", "nan", "null"})
"""Texts that stand for a missing sequence, apart from the empty one."""

_UNPRODUCTIVE_LETTERS = np.frombuffer(b"*_#", dtype=np.uint8)
"""Stops, and the marks of programs for amino acids that a shifted reading frame interrupts."""

_AMINO_ACID_SUFFIX = "_aa"


@dataclass(frozen=True)
class TableColumns:
    """Titles of the columns to read.

    id_column: column of ids; None: `ID_TITLE`
    sequence_column: column of sequences; None: the first of `SEQUENCE_TITLES` that the table has
    same: columns in which records must agree to be compared; they become annotations of the records
    keep_text: whether to keep the text of the table, because it will be needed again and cannot be read again
    """

    id_column: str | None = None
    sequence_column: str | None = None
    same: tuple[str, ...] = ()
    keep_text: bool = False

    @property
    def are_given(self) -> bool:
        """True if the user has named a column, so that every file is read as a table."""
        return self.id_column is not None or self.sequence_column is not None


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
    is_unterminated: whether the table does not end with a newline
    origin: where the rows can be read again
    """

    ids: StringColumn
    letters: StringColumn
    annotations: Mapping[str, AnnotationColumn] = field(repr=False)
    sequence_title: str
    row_count: int
    is_unterminated: bool
    origin: TableOrigin

    @property
    def alphabet(self) -> str:
        """Alphabet that the title of the sequences' column names; otherwise "auto"."""
        return PROTEIN.name if self.sequence_title.endswith(_AMINO_ACID_SUFFIX) else "auto"


def is_receptor_table(start: bytes) -> bool:
    """Return whether a file is a table of receptors: its first line has the titles of ids and of sequences. start: first bytes of the
    file"""
    line = start.split(b"\n", 1)[0]
    return has_receptor_titles({cell_text(cell) for cell in line.split(delimiter_of(line).encode())})


def has_receptor_titles(titles: Collection[str]) -> bool:
    """Return whether the columns with these titles are those of a table of receptors."""
    return ID_TITLE in titles and not set(SEQUENCE_TITLES).isdisjoint(titles)


class RecordTable:
    """Table whose rows are records.

    stream: decompressed text
    source: name of the file, for messages
    threads: maximum number of threads that find cells

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
        self._productive_column = self.table.titles.index(_PRODUCTIVE_TITLE) if _PRODUCTIVE_TITLE in self.table.titles else None

    def pieces(self) -> Iterator[tuple[TablePiece, StringColumn, Booleans]]:
        """Yield rows, the sequence of each, and a mask of the rows that are records, because they have a productive sequence."""
        for piece in self.table.pieces(self._threads):
            letters = read_cells(piece, self.sequence_column)
            kept = letters.lengths > 0
            for row in np.flatnonzero(letters.lengths <= max(map(len, _MISSING_TEXTS))).tolist():
                kept[row] &= letters[row] not in _MISSING_TEXTS
            if self.sequence_title.endswith(_AMINO_ACID_SUFFIX):
                before = np.concatenate(([0], np.cumsum(np.isin(letters.text, _UNPRODUCTIVE_LETTERS))))[letters.offsets]
                kept &= before[1:] == before[:-1]
            if self._productive_column is not None:
                productive = AnnotationColumn.from_column(read_cells(piece, self._productive_column))
                kept &= ~productive.is_any_of(_FALSE_TEXTS)
            yield piece, letters, kept


def read_table_records(stream: BinaryIO, source: str, columns: TableColumns, threads: int = 1) -> TableRecords:
    """Read the records of a table. stream: decompressed text; threads: maximum number of threads

    Raises `InputError` for a table that is invalid or has no records.
    """
    table = RecordTable(stream, source, columns, threads)
    annotated = {title: table.table.column_index(title) for title in columns.same}
    ids, letters, row_count, terminated = list[StringColumn](), list[StringColumn](), 0, True
    texts: dict[str, list[StringColumn]] = {title: [] for title in annotated}
    nbytes, kept_text = 0, list[bytes]()
    for piece, sequences, is_record in table.pieces():
        kept = np.flatnonzero(is_record)
        row_count += len(piece)
        ids.append(read_cells(piece, table.id_column).select(kept))
        letters.append(sequences.select(kept))
        for title, column in annotated.items():
            texts[title].append(read_cells(piece, column).select(kept))
        terminated = not piece.is_unterminated
        nbytes += len(piece.raw)
        if columns.keep_text:
            kept_text.append(piece.raw)
    if not sum(map(len, ids)):
        found = f"; its {row_count:,} rows have none" if row_count > 1 else "; its only row has none" if row_count else ""
        raise InputError(f"{source}: a table without any productive sequence in the column '{table.sequence_title}'{found}")
    annotations = {title: AnnotationColumn.from_column(join_columns(cells), threads) for title, cells in texts.items()}
    header = table.table.header
    text = b"".join([header, table.table.line_end, *kept_text]) if columns.keep_text else None
    origin = TableOrigin(source, columns, header, sum(map(len, ids)), nbytes, text)
    return TableRecords(join_columns(ids), join_columns(letters), annotations, table.sequence_title, row_count, not terminated, origin)


def read_cells(piece: TablePiece, column: int) -> StringColumn:
    """Return the cells of a column, without surrounding quotes."""
    spans = np.column_stack(piece.cells(column)).reshape(-1)
    if not len(spans):
        return StringColumn.from_strings([])
    cells = StringColumn(piece.text, spans).select(np.arange(0, len(spans), 2, dtype=np.int64))
    if ord('"') not in cells.text:
        return cells
    return StringColumn.from_strings([cell_text(cell.encode("utf-8", "surrogateescape")) for cell in cells])


def _find_sequence_title(table: DelimitedTable) -> str:
    for title in SEQUENCE_TITLES:
        if title in table.titles:
            return title
    raise InputError(
        f"{table.source}: none of the columns {', '.join(SEQUENCE_TITLES)} is there; name the column of sequences with"
        f" {parameter('sequence_column')}"
    )
