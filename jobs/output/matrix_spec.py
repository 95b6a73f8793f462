"""Describes the matrices that a run writes."""

from __future__ import annotations

from pathlib import Path

from gpualign.core.common.dataclass import dataclass


@dataclass(frozen=True)
class MatrixSpec:
    """path None is standard output; beside: of the second matrix, where it is a file of its own. names, titles: of the one or two matrices;
    decimals: of values that are no counts."""

    format: str
    path: Path | None
    beside: Path | None
    names: tuple[str, ...]
    titles: tuple[str, ...]
    decimals: int
