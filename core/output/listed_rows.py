"""Writes tables whose rows are records, or listed pairs of them."""

from __future__ import annotations

from collections.abc import Sequence

from gpualign.core.output.writer import ByteWriter
from gpualign.core.results._rows import Column, format_block


def write_listed_rows(stream: ByteWriter, columns: Sequence[Column], separator: str, count: int, threads: int = 1) -> None:
    """Write one line per row.

    columns: one cell per row each, as for the targets of a single query
    separator: column separator
    count: number of rows
    threads: formatting threads
    """
    for piece in format_block([column.between("", separator) for column in columns], 0, 1, count, [0], None, threads):
        stream.write(piece)
