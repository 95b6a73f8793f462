"""Finds the locus of each row in a table of immune receptors: TRA, TRB, IGH and so on."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gpualign.core.common.arrays import Integers
from gpualign.core.common.errors import InputError, parameter
from gpualign.core.files.table_pieces import DelimitedTable, TablePiece
from gpualign.core.sequences.annotations import AnnotationColumn
from gpualign.core.sequences.gene_calls import CALL_SUFFIXES, locus_of
from gpualign.core.sequences.receptor_titles import find_v_titles, is_missing
from gpualign.core.sequences.table_cells import read_cells

_LOCUS_TITLES = ("locus", "chain")
"""Titles of columns that may have the loci: in the AIRR Rearrangement Schema, and in the contigs of Cell Ranger."""


class LocusFinder:
    """Finds the loci of a table's rows: the texts of a column, or the locus of the row's gene calls where the table has no such column or
    the cell is empty.

    sequence_title: title of the column of sequences
    same: titles of further columns, whose gene calls are used too

    Raises `InputError` if the table has none of these columns.
    """

    def __init__(self, table: DelimitedTable, sequence_title: str, same: Sequence[str] = ()) -> None:
        loci = [title for title in _LOCUS_TITLES if title in table.titles][:1]
        calls = find_v_titles(table.titles, sequence_title)
        calls += [title for title in same if title.endswith(CALL_SUFFIXES) and title in table.titles]
        if not loci and not calls:
            raise InputError(
                f"{table.source}: {parameter('locus')} needs a column locus, or gene calls in a column such as v_call; the table has none"
            )
        self._locus_columns = list(map(table.column_index, loci))
        self._call_columns = list(map(table.column_index, dict.fromkeys(calls)))

    def find(self, piece: TablePiece) -> AnnotationColumn:
        """Return the locus of each row, in upper case; "" if it is unknown."""
        numbers: dict[str, int] = {"": 0}
        codes = np.zeros(len(piece), dtype=np.int64)
        for column in (*self._locus_columns, *self._call_columns):
            cells = AnnotationColumn.from_column(read_cells(piece, column))
            read = _locus_text if column in self._locus_columns else locus_of
            texts = [read(text) for text in cells.values]
            known: Integers = np.array([numbers.setdefault(text, len(numbers)) for text in texts], dtype=np.int64)[cells.codes]
            codes = np.where(codes == 0, known, codes)
            if codes.all():
                break
        return AnnotationColumn.from_texts(numbers).select(codes)


def _locus_text(cell: str) -> str:
    return "" if is_missing(cell) else cell.strip().upper()
