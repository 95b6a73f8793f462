"""Writes the tables that the records came from, with a column for the clusters."""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import BinaryIO

import numpy as np

from gpualign.core.common.arrays import Integers
from gpualign.core.common.errors import InputError, RunError, parameter
from gpualign.core.files.decompression import open_decompressed
from gpualign.core.files.paths import open_input
from gpualign.core.files.table_pieces import TablePiece
from gpualign.core.output.writer import ByteWriter
from gpualign.core.sequences.annotations import AnnotationColumn
from gpualign.core.sequences.record_tables import RecordTable, TableOrigin
from gpualign.core.sequences.table_cells import read_cells

CLUSTER_TITLE = "clone_id"
"""Title of the column of clusters, as in the AIRR Rearrangement Schema."""


def check_titles(tables: Sequence[TableOrigin]) -> None:
    """Raise `InputError` unless the tables have the same titles in the same order, and so can be written as one table, and keep the ids and
    sequences of their records when the clusters replace the column `CLUSTER_TITLE`."""
    first, *others = tables
    if CLUSTER_TITLE in (first.columns.id_column, first.columns.sequence_column):
        title = "id_column" if first.columns.id_column == CLUSTER_TITLE else "sequence_column"
        raise InputError(
            f"{parameter(title, CLUSTER_TITLE)}: the clusters would replace this column of {first.source}; give it another title, or write"
            f" a list of clusters with {parameter('format', 'tsv')}"
        )
    for table in others:
        if table.header != first.header:
            raise InputError(
                f"{table.source}: its columns are not those of {first.source}, and clusters are written as one table; cluster each file"
                f" by itself, or give {parameter('format', 'tsv')}"
            )


def write_clustered_tables(
    stream: ByteWriter,
    tables: Sequence[TableOrigin],
    labels: Integers,
    threads: int = 1,
    cells: Sequence[Mapping[str, int]] | None = None,
) -> None:
    """Write tables as they were read, one after the other under one line of titles, with the cluster of each record in a column
    `CLUSTER_TITLE`, which replaces an existing one and otherwise comes last. Rows that are not records have an empty cell there.

    tables: tables with the same titles
    labels: cluster of each record, counted from 0, in the order of the rows; with `cells`, cluster of each cell
    threads: maximum number of threads that read the tables
    cells: for each table, the number of each clustered cell, by its name in the column of cells. All rows of a cell then have its cluster

    Raises `RunError` if a table has changed since it was read.
    """
    written = 0
    for number, origin in enumerate(tables):
        with _open_again(origin) as text:
            table = RecordTable(text, origin.source, origin.columns, threads)
            if table.table.header != origin.header:
                raise _changed(origin)
            titles = table.table.titles
            column = titles.index(CLUSTER_TITLE) if CLUSTER_TITLE in titles else None
            delimiter = table.table.delimiter
            if number == 0:
                title = b'"%b"' if origin.header.startswith(b'"') else b"%b"
                stream.write(origin.header + (delimiter + title % CLUSTER_TITLE.encode() if column is None else b"") + table.table.line_end)
            count = 0
            for rows in table.rows():
                records = np.flatnonzero(rows.is_record)
                start, count = count, count + len(records)
                if count > origin.record_count:
                    raise _changed(origin)
                numbers = np.zeros(len(rows.piece), dtype=np.int64)
                if cells is None:
                    numbers[records] = labels[written + start : written + count] + 1
                elif table.cell_column is not None:
                    of_rows = AnnotationColumn.from_column(read_cells(rows.piece, table.cell_column))
                    clusters = [0 if (cell := cells[number].get(text)) is None else labels[cell] + 1 for text in of_rows.values]
                    numbers = np.array(clusters, dtype=np.int64)[of_rows.codes]
                stream.write(_with_clusters(rows.piece, column, delimiter, numbers))
            if count != origin.record_count:
                raise _changed(origin)
            written += count


def _with_clusters(piece: TablePiece, column: int | None, delimiter: bytes, numbers: Integers) -> bytes:
    """Return the rows of a piece with their clusters.

    column: index of the column of clusters that the table has already; None: it has none
    numbers: cluster of each row, counted from 1; 0: none
    """
    starts, ends = (piece.row_ends, piece.row_ends) if column is None else piece.cells(column)
    before = b"" if column is not None else delimiter
    pieces, place, raw = list[bytes](), 0, piece.raw
    for start, end, cluster in zip(starts.tolist(), ends.tolist(), numbers.tolist(), strict=True):
        pieces += (raw[place:start], before, b"%d" % cluster if cluster else b"")
        place = end
    pieces.append(raw[place:])
    return b"".join(pieces)


@contextmanager
def _open_again(origin: TableOrigin) -> Iterator[BinaryIO]:
    if origin.text is not None:
        yield io.BytesIO(origin.text)
        return
    with open_input(origin.source) as (stream, source):
        yield open_decompressed(stream, source)[1]


def _changed(origin: TableOrigin) -> RunError:
    return RunError(f"{origin.source} has changed since it was read; nothing was written")
