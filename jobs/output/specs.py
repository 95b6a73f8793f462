"""Specifications of outputs: pairs, hits or matrices."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from gpualign.core.alignment.task import Detail
from gpualign.core.common.dataclass import dataclass
from gpualign.core.common.units import FRACTION_DECIMALS
from gpualign.core.output.formats.registry import Layout
from gpualign.core.output.matrix_value import MatrixValueKind
from gpualign.core.planning.tile_plan import Pairing
from gpualign.core.results.filter import Filter
from gpualign.jobs.options import OutputOptions

if TYPE_CHECKING:
    from gpualign.core.output.formats.typed import AnyRowFormat
    from gpualign.jobs.plotting.output import PlotFile


@dataclass(frozen=True)
class MatrixSpec:
    """Output of one or two matrices.

    format: output format
    path: file of the first matrix; None: standard output
    second_path: file of the second matrix; None: no separate file
    names: array names, one per matrix
    titles: matrix titles
    decimals: decimal places for values that are not counts
    """

    format: str
    path: Path | None
    second_path: Path | None
    names: tuple[str, ...]
    titles: tuple[str, ...]
    decimals: int


MATRIX_LAYOUTS = (Layout.MATRIX, Layout.ARRAY)


@dataclass(frozen=True)
class FileSpec:
    """Output file of a run.

    options: output options of the run
    format: output format
    path: output file; None: standard output
    """

    options: OutputOptions
    format: str
    path: Path | None

    def outputs(self, one_set: bool) -> list[Path | None]:
        """Return the paths of all files of the output, None for standard output. one_set: whether queries and targets are the same set."""
        from gpualign.jobs.output.paths import output_paths

        return output_paths(self.path, self.format, one_set, self.options.shard)


@dataclass(frozen=True)
class OutputSpec(FileSpec):
    """Output of pairs: a table or a matrix.

    layout: rows of pairs or a matrix; some formats support both
    row_format: row format, for tables
    filter: pair filter, for tables and sparse matrices
    value: which value of a pair is written, for dense and sparse matrices
    pairing: which pairs are written, within one set or between one set and added records
    plot_file: file for a picture of the matrix; None: no picture is drawn
    """

    layout: Layout
    row_format: AnyRowFormat | None
    filter: Filter
    value: MatrixValueKind
    pairing: Pairing
    plot_file: PlotFile | None = None

    @property
    def matrices(self) -> MatrixSpec:
        """Specification of the matrix."""
        return MatrixSpec(self.format, self.path, None, (self.value.array_name,), (self.value.display_name,), FRACTION_DECIMALS)

    @property
    def is_matrix(self) -> bool:
        return self.layout in MATRIX_LAYOUTS

    @property
    def comparing_format(self) -> str | None:
        """The format, if its rows depend on the other rows of their query."""
        from gpualign.core.output.formats.base import RowComparison

        return self.format if isinstance(self.row_format, RowComparison) else None

    @property
    def is_sparse(self) -> bool:
        return self.layout is Layout.SPARSE

    @property
    def is_counts(self) -> bool:
        """True if only the number of pairs of each query is written."""
        return self.layout is Layout.COUNTS

    @property
    def detail(self) -> Detail:
        """Results to compute for each alignment, as needed for the output and the filter."""
        if self.is_counts:
            return self.filter.detail
        of_rows = Detail.PATH if self.row_format is None else self.row_format.alignment_detail
        written = self.value.detail if self.is_matrix or self.is_sparse else of_rows
        return self.filter.detail if written is Detail.SCORE else written

    def outputs(self, one_set: bool) -> list[Path | None]:
        return [*super().outputs(one_set), *([self.plot_file.path] if self.plot_file else [])]


@dataclass(frozen=True)
class HitSpec(FileSpec):
    """Output of search hits.

    row_format: row format; None: human-readable blocks
    needs_paths: whether alignment paths are needed
    """

    row_format: AnyRowFormat | None
    needs_paths: bool
