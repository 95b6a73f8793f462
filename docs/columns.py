"""Tab-separated text with its columns side by side, for the site: pages hold the tabs that commands print."""

from itertools import groupby

CUT = "..."
"""Stands for omitted rows, and leaves the columns around it alone."""


def columns(text: str) -> str:
    """Return `text` with the cells of each table padded to the width of their column.

    A table is a run of lines with tabs; lines without any are kept as they are.
    """
    shown: list[str] = []
    for is_table, run in groupby(text.split("\n"), key=lambda line: "\t" in line or line == CUT):
        lines = list(run)
        shown += _aligned(lines) if is_table else lines
    return "\n".join(shown)


def _aligned(lines: list[str]) -> list[str]:
    rows = [line.split("\t") for line in lines if line != CUT]
    widths = [max(len(row[k]) for row in rows if k < len(row)) for k in range(max(map(len, rows), default=0))]
    padded = iter("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=False)).rstrip() for row in rows)
    return [CUT if line == CUT else next(padded) for line in lines]
