"""Recognises tables whose first column numbers their rows, before the column of ids. Pure."""

from __future__ import annotations

from collections.abc import Sequence

INDEX_TITLES = ("", "Unnamed: 0")
"""Titles of such a column: none (R, pandas), and the one that pandas gives it on reading it again."""


def are_row_numbers(names: Sequence[str]) -> bool:
    """Return whether the first cells of some rows count them, from 0 as pandas does or from 1 as R does."""
    return any(list(names) == [str(k) for k in range(first, first + len(names))] for first in (0, 1))
