"""Reads the cells of a table's column as strings."""

from __future__ import annotations

import numpy as np

from gpualign.core.files.quoting import cell_text
from gpualign.core.files.table_pieces import TablePiece
from gpualign.core.sequences.string_column import StringColumn


def read_cells(piece: TablePiece, column: int) -> StringColumn:
    """Return the cells of a column, without surrounding quotes."""
    spans = np.column_stack(piece.cells(column)).reshape(-1)
    if not len(spans):
        return StringColumn.from_strings([])
    cells = StringColumn(piece.text, spans).select(np.arange(0, len(spans), 2, dtype=np.int64))
    if ord('"') not in cells.text:
        return cells
    return StringColumn.from_strings([cell_text(cell.encode("utf-8", "surrogateescape")) for cell in cells])
