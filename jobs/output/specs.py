"""Describe what a run writes: pairs, hits or matrices."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from gpualign.core.alignment.task import Detail
from gpualign.core.common.dataclass import dataclass
from gpualign.core.output.formats.registry import Layout
from gpualign.core.output.matrix_value import Value
from gpualign.core.results.filter import Filter
from gpualign.jobs.output.shards import Shard

if TYPE_CHECKING:
    from gpualign.core.output.formats.base import RowFormat
    from gpualign.core.output.formats.typed import TypedTable


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


Rows: TypeAlias = "RowFormat | TypedTable"
"""What makes the rows of a table."""

MATRIX_LAYOUTS = (Layout.MATRIX, Layout.ARRAY)


@dataclass(frozen=True)
class OutputSpec:
    """layout: rows of pairs or a matrix; some formats hold both. path None is standard output; rows and filter are for rows, value,
    condensed for matrices; of a sparse one filter and value. resume: go on with what an earlier run has left; shard: the share that this
    run does, None: all."""

    format: str
    layout: Layout
    path: Path | None
    rows: Rows | None
    filter: Filter
    value: Value
    condensed: bool
    resume: bool = False
    shard: Shard | None = None

    @property
    def matrices(self) -> MatrixSpec:
        """How a matrix is written."""
        from gpualign.core.output.matrix_files import DECIMALS

        return MatrixSpec(self.format, self.path, None, (self.value.array_name,), (self.value.kind,), DECIMALS)

    @property
    def is_matrix(self) -> bool:
        return self.layout in MATRIX_LAYOUTS

    @property
    def is_sparse(self) -> bool:
        return self.layout is Layout.SPARSE

    @property
    def detail(self) -> Detail:
        """What of each alignment is written, or decides what is."""
        of_rows = Detail.PATH if self.rows is None else self.rows.detail
        written = self.value.detail if self.is_matrix or self.is_sparse else of_rows
        return Detail.STATISTICS if self.filter.by_statistics and written is Detail.SCORE else written


@dataclass(frozen=True)
class HitSpec:
    """path None is standard output; rows None is the format of blocks for people; traced: whether paths are needed. resume,
    shard: as of `OutputSpec`."""

    path: Path | None
    rows: Rows | None
    traced: bool
    format: str
    resume: bool
    shard: Shard | None
