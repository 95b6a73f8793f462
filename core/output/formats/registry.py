"""Every output format: name, suffixes, contents and writer. To add a format, add an entry to `FORMATS`.

Writers are imported only when used, because commands read the format names for their help.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import TYPE_CHECKING, Any

from gpualign.core.common.dataclass import dataclass

if TYPE_CHECKING:
    import numpy.typing as npt

    from gpualign.core.output.formats.base import RowFormat
    from gpualign.core.output.matrix_files import IdentifiedRecords
    from gpualign.core.output.writer import ByteWriter
    from gpualign.core.results.columns import Field

    RowFormatMaker = Callable[[list[Field]], RowFormat]
    MatrixWriter = Callable[[ByteWriter, npt.NDArray[Any], "MatrixLabels", int], None]


class ResultKind(Enum):
    """Kind of results that a command writes: all-pairs alignments, search hits, all-pairs local scores, distances, clusters."""

    PAIRS = "pairs"
    HITS = "hits"
    SCORES = "scores"
    DISTANCES = "distances"
    CLUSTERS = "clusters"


class Layout(Enum):
    """How results are arranged in a file.

    ROWS: one row per pair
    BLOCKS: one human-readable block of lines per pair
    COLUMNS: one row per pair in typed columns, binary
    MATRIX: a text matrix
    ARRAY: a binary matrix
    SPARSE: a binary sparse matrix
    COUNTS: one row per record, with the number of its pairs
    """

    ROWS = "rows"
    BLOCKS = "blocks"
    COLUMNS = "columns"
    MATRIX = "matrix"
    ARRAY = "array"
    SPARSE = "sparse"
    COUNTS = "counts"


def _make_tsv(fields: list[Field]) -> RowFormat:
    from gpualign.core.output.formats.tsv import Tsv

    return Tsv(fields)


def _make_csv(fields: list[Field]) -> RowFormat:
    from gpualign.core.output.formats.tsv import Csv

    return Csv(fields)


def _make_m8(fields: list[Field]) -> RowFormat:
    from gpualign.core.output.formats.blast6 import Blast6

    return Blast6()


def _make_paf(fields: list[Field]) -> RowFormat:
    from gpualign.core.output.formats.paf import Paf

    return Paf()


def _make_sam(fields: list[Field]) -> RowFormat:
    from gpualign.core.output.formats.sam import Sam

    return Sam()


def _make_fasta(fields: list[Field]) -> RowFormat:
    from gpualign.core.output.formats.fasta import AlignedFasta

    return AlignedFasta()


@dataclass(frozen=True)
class MatrixLabels:
    """Labels of a matrix.

    queries: records that the rows represent
    targets: records that the columns represent
    title: title of the matrix
    decimals: decimal places for values that are not counts
    """

    queries: IdentifiedRecords
    targets: IdentifiedRecords
    title: str
    decimals: int


def _separated_matrix_writer(separator: str) -> MatrixWriter:
    def write(stream: ByteWriter, values: npt.NDArray[Any], labels: MatrixLabels, threads: int) -> None:
        from gpualign.core.output.matrix_files import write_matrix_text

        write_matrix_text(stream, values, labels.queries, labels.targets, separator, labels.decimals, threads)

    return write


def _write_phylip_matrix(stream: ByteWriter, values: npt.NDArray[Any], labels: MatrixLabels, threads: int) -> None:
    from gpualign.core.output.matrix_files import write_phylip

    write_phylip(stream, values, labels.queries, labels.decimals, threads)


def _write_mega_matrix(stream: ByteWriter, values: npt.NDArray[Any], labels: MatrixLabels, threads: int) -> None:
    from gpualign.core.output.formats.mega import write_mega

    write_mega(stream, labels.queries, values, labels.title, labels.decimals, threads)


@dataclass(frozen=True)
class Format:
    """An output format.

    layouts: layout of each kind of results that the format can hold
    suffixes: file suffixes that select the format
    make_row_format: builds the row format, with the given columns if columns can be chosen; None if the format has no rows
    write_matrix: writes a finished matrix; the last argument is the number of formatting threads
    square_only_name: if the format holds only matrices of one set, its name in messages; else None
    pair_list_separator: column separator in near-pair lists; None if the format holds no such lists
    has_fields: whether columns can be chosen
    """

    name: str
    layouts: dict[ResultKind, Layout]
    suffixes: tuple[str, ...] = ()
    make_row_format: RowFormatMaker | None = None
    write_matrix: MatrixWriter | None = None
    square_only_name: str | None = None
    pair_list_separator: str | None = None
    has_fields: bool = False

    @property
    def is_array(self) -> bool:
        """True if the format is a binary matrix of all pairs."""
        return Layout.ARRAY in self.layouts.values()

    @property
    def needs_file(self) -> bool:
        """True if the format cannot be written to standard output."""
        return self.is_array or Layout.SPARSE in self.layouts.values()

    @property
    def is_text(self) -> bool:
        """True if the format is plain text, which may be compressed."""
        return not self.needs_file and Layout.COLUMNS not in self.layouts.values()

    @property
    def supports_any_pairs(self) -> bool:
        """True if the format can hold distances for any selection of pairs, even if the pairs are selected while distances are computed."""
        listing = (Layout.COLUMNS, Layout.SPARSE, Layout.COUNTS)
        return self.pair_list_separator is not None or self.layouts.get(ResultKind.DISTANCES) in listing


def _pair_layouts(layout: Layout, includes_hits: bool = True) -> dict[ResultKind, Layout]:
    return {ResultKind.PAIRS: layout, ResultKind.HITS: layout} if includes_hits else {ResultKind.PAIRS: layout}


_ROW_LAYOUT, _COLUMN_LAYOUT, _MATRIX_LAYOUT, _ARRAY_LAYOUT = Layout.ROWS, Layout.COLUMNS, Layout.MATRIX, Layout.ARRAY
_ALL_PAIRS_RESULTS = (ResultKind.PAIRS, ResultKind.SCORES, ResultKind.DISTANCES)
_TEXT_TABLE_LAYOUTS = {results: _MATRIX_LAYOUT if results is ResultKind.DISTANCES else _ROW_LAYOUT for results in ResultKind}
"""Default layouts for tsv and csv."""

FORMATS: dict[str, Format] = {
    format.name: format
    for format in (
        Format("tsv", _TEXT_TABLE_LAYOUTS, (".tsv",), _make_tsv, _separated_matrix_writer("\t"), pair_list_separator="\t", has_fields=True),
        Format("csv", _TEXT_TABLE_LAYOUTS, (".csv",), _make_csv, _separated_matrix_writer(","), pair_list_separator=",", has_fields=True),
        Format("matrix", dict.fromkeys(_ALL_PAIRS_RESULTS, _MATRIX_LAYOUT), write_matrix=_separated_matrix_writer("\t")),
        Format("molten", {ResultKind.DISTANCES: _ROW_LAYOUT}, pair_list_separator="\t"),
        Format("parquet", dict.fromkeys(ResultKind, _COLUMN_LAYOUT), (".parquet",), has_fields=True),
        Format("arrow", dict.fromkeys(ResultKind, _COLUMN_LAYOUT), (".arrow", ".feather"), has_fields=True),
        Format("m8", _pair_layouts(_ROW_LAYOUT), (".m8",), make_row_format=_make_m8),
        Format("paf", _pair_layouts(_ROW_LAYOUT), (".paf",), make_row_format=_make_paf),
        Format("sam", _pair_layouts(_ROW_LAYOUT), (".sam",), make_row_format=_make_sam),
        Format("aln", _pair_layouts(Layout.BLOCKS), (".aln",)),
        Format("uc", {ResultKind.CLUSTERS: _ROW_LAYOUT}, (".uc",)),
        Format("airr", {ResultKind.CLUSTERS: _ROW_LAYOUT}),
        Format("microreact", {ResultKind.CLUSTERS: _ROW_LAYOUT}),
        Format(
            "fasta",
            _pair_layouts(_ROW_LAYOUT, includes_hits=False) | {ResultKind.CLUSTERS: _ROW_LAYOUT},
            (".fasta", ".fa"),
            make_row_format=_make_fasta,
        ),
        Format("npy", dict.fromkeys(_ALL_PAIRS_RESULTS, _ARRAY_LAYOUT), (".npy",)),
        Format("npz", dict.fromkeys(_ALL_PAIRS_RESULTS, _ARRAY_LAYOUT), (".npz",)),
        Format("csr", dict.fromkeys(_ALL_PAIRS_RESULTS, Layout.SPARSE)),
        Format("counts", dict.fromkeys((ResultKind.PAIRS, ResultKind.DISTANCES), Layout.COUNTS)),
        Format(
            "phylip",
            {ResultKind.PAIRS: _MATRIX_LAYOUT, ResultKind.DISTANCES: _MATRIX_LAYOUT},
            (".phy",),
            write_matrix=_write_phylip_matrix,
            square_only_name="phylip",
        ),
        Format("mega", {ResultKind.DISTANCES: _MATRIX_LAYOUT}, (".meg",), write_matrix=_write_mega_matrix, square_only_name="mega"),
    )
}


def format_names(results: ResultKind) -> tuple[str, ...]:
    """Return the names of the formats that hold these results."""
    return tuple(name for name, format in FORMATS.items() if results in format.layouts)
