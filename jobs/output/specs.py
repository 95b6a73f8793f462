"""Specifications of outputs: pairs, hits or matrices."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from gpualign.core.alignment.task import Detail
from gpualign.core.common.dataclass import dataclass
from gpualign.core.output.formats.registry import Layout
from gpualign.core.output.matrix_value import MatrixValue
from gpualign.core.results.filter import Filter
from gpualign.jobs.output.shards import Shard

if TYPE_CHECKING:
    from gpualign.core.output.formats.base import RowFormat
    from gpualign.core.output.formats.typed import TypedTable


@dataclass(frozen=True)
class MatrixSpec:
    """Output of one or two matrices.

    format: output format
    path: file of the first matrix; None: standard output
    beside: file of the second matrix; None: no separate file
    names: array names, one per matrix
    titles: matrix titles
    decimals: decimal places for values that are not counts
    """

    format: str
    path: Path | None
    beside: Path | None
    names: tuple[str, ...]
    titles: tuple[str, ...]
    decimals: int


Rows: TypeAlias = "RowFormat | TypedTable"
"""Row format of a table."""

MATRIX_LAYOUTS = (Layout.MATRIX, Layout.ARRAY)


@dataclass(frozen=True)
class OutputSpec:
    """Output of pairs: a table or a matrix.

    layout: rows of pairs or a matrix; some formats support both
    path: output file; None: standard output
    rows: row format, for tables
    filter: pair filter, for tables and sparse matrices
    value: value per pair, for dense and sparse matrices
    condensed: write a condensed matrix
    resume: resume the output of an earlier run
    shard: shard to compute in this run; None: the whole job
    """

    format: str
    layout: Layout
    path: Path | None
    rows: Rows | None
    filter: Filter
    value: MatrixValue
    condensed: bool
    resume: bool = False
    shard: Shard | None = None

    @property
    def matrices(self) -> MatrixSpec:
        """Specification of the matrix."""
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
        """Alignment detail needed for the output or for the filter."""
        of_rows = Detail.PATH if self.rows is None else self.rows.detail
        written = self.value.detail if self.is_matrix or self.is_sparse else of_rows
        return self.filter.detail if written is Detail.SCORE else written


@dataclass(frozen=True)
class HitSpec:
    """Output of search hits.

    path: output file; None: standard output
    rows: row format; None: human-readable blocks
    traced: whether alignment paths are needed
    resume: as in `OutputSpec`
    shard: as in `OutputSpec`
    """

    path: Path | None
    rows: Rows | None
    traced: bool
    format: str
    resume: bool
    shard: Shard | None
