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

    RowsMaker = Callable[[list[Field]], RowFormat]
    MatrixWriter = Callable[[ByteWriter, npt.NDArray[Any], "Labels", int], None]


class Results(Enum):
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
    """

    ROWS = "rows"
    BLOCKS = "blocks"
    COLUMNS = "columns"
    MATRIX = "matrix"
    ARRAY = "array"
    SPARSE = "sparse"


def _tsv(fields: list[Field]) -> RowFormat:
    from gpualign.core.output.formats.tsv import Tsv

    return Tsv(fields)


def _csv(fields: list[Field]) -> RowFormat:
    from gpualign.core.output.formats.tsv import Csv

    return Csv(fields)


def _m8(fields: list[Field]) -> RowFormat:
    from gpualign.core.output.formats.blast6 import Blast6

    return Blast6()


def _paf(fields: list[Field]) -> RowFormat:
    from gpualign.core.output.formats.paf import Paf

    return Paf()


def _sam(fields: list[Field]) -> RowFormat:
    from gpualign.core.output.formats.sam import Sam

    return Sam()


def _fasta(fields: list[Field]) -> RowFormat:
    from gpualign.core.output.formats.fasta import AlignedFasta

    return AlignedFasta()


@dataclass(frozen=True)
class Labels:
    """Matrix labels.

    queries: row records
    targets: column records
    title: matrix title
    decimals: decimal places for values that are not counts
    """

    queries: IdentifiedRecords
    targets: IdentifiedRecords
    title: str
    decimals: int


def _separated(separator: str) -> MatrixWriter:
    def write(stream: ByteWriter, values: npt.NDArray[Any], labels: Labels, threads: int) -> None:
        from gpualign.core.output.matrix_files import write_matrix_text

        write_matrix_text(stream, values, labels.queries, labels.targets, separator, labels.decimals, threads)

    return write


def _phylip(stream: ByteWriter, values: npt.NDArray[Any], labels: Labels, threads: int) -> None:
    from gpualign.core.output.matrix_files import write_phylip

    write_phylip(stream, values, labels.queries, labels.decimals, threads)


def _mega(stream: ByteWriter, values: npt.NDArray[Any], labels: Labels, threads: int) -> None:
    from gpualign.core.output.formats.mega import write_mega

    write_mega(stream, labels.queries, values, labels.title, labels.decimals, threads)


@dataclass(frozen=True)
class Format:
    """An output format.

    layouts: the kinds of results that the format can hold, and their layouts
    suffixes: file suffixes that select the format
    rows: builds the row format, with the given columns if columns can be chosen
    matrix: writes a finished matrix; the last argument is the number of formatting threads
    square: name of the format in messages, if the format holds only one-set matrices
    lists: column separator in near-pair lists; None if the format holds no such lists
    has_fields: whether columns can be chosen
    """

    name: str
    layouts: dict[Results, Layout]
    suffixes: tuple[str, ...] = ()
    rows: RowsMaker | None = None
    matrix: MatrixWriter | None = None
    square: str | None = None
    lists: str | None = None
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
    def keeps_any_pairs(self) -> bool:
        """True if the format can hold distances for any selection of pairs, even pairs selected while distances are computed."""
        return self.lists is not None or self.layouts.get(Results.DISTANCES) in (Layout.COLUMNS, Layout.SPARSE)


def _of_pairs(layout: Layout, hits: bool = True) -> dict[Results, Layout]:
    return {Results.PAIRS: layout, Results.HITS: layout} if hits else {Results.PAIRS: layout}


_ROWS, _COLUMNS, _MATRIX, _ARRAY = Layout.ROWS, Layout.COLUMNS, Layout.MATRIX, Layout.ARRAY
_OF_EVERY_PAIR = (Results.PAIRS, Results.SCORES, Results.DISTANCES)
_OF_TEXT = {results: _MATRIX if results is Results.DISTANCES else _ROWS for results in Results}
"""Default layouts for tsv and csv."""

FORMATS: dict[str, Format] = {
    format.name: format
    for format in (
        Format("tsv", _OF_TEXT, (".tsv",), _tsv, _separated("\t"), lists="\t", has_fields=True),
        Format("csv", _OF_TEXT, (".csv",), _csv, _separated(","), lists=",", has_fields=True),
        Format("matrix", dict.fromkeys(_OF_EVERY_PAIR, _MATRIX), matrix=_separated("\t")),
        Format("molten", {Results.DISTANCES: _ROWS}, lists="\t"),
        Format("parquet", dict.fromkeys(Results, _COLUMNS), (".parquet",), has_fields=True),
        Format("arrow", dict.fromkeys(Results, _COLUMNS), (".arrow", ".feather"), has_fields=True),
        Format("m8", _of_pairs(_ROWS), (".m8",), rows=_m8),
        Format("paf", _of_pairs(_ROWS), (".paf",), rows=_paf),
        Format("sam", _of_pairs(_ROWS), (".sam",), rows=_sam),
        Format("aln", _of_pairs(Layout.BLOCKS), (".aln",)),
        Format("uc", {Results.CLUSTERS: _ROWS}, (".uc",)),
        Format("fasta", _of_pairs(_ROWS, hits=False) | {Results.CLUSTERS: _ROWS}, (".fasta", ".fa"), rows=_fasta),
        Format("npy", dict.fromkeys(_OF_EVERY_PAIR, _ARRAY), (".npy",)),
        Format("npz", dict.fromkeys(_OF_EVERY_PAIR, _ARRAY), (".npz",)),
        Format("csr", dict.fromkeys(_OF_EVERY_PAIR, Layout.SPARSE)),
        Format("phylip", {Results.PAIRS: _MATRIX, Results.DISTANCES: _MATRIX}, (".phy",), matrix=_phylip, square="phylip"),
        Format("mega", {Results.DISTANCES: _MATRIX}, (".meg",), matrix=_mega, square="mega"),
    )
}


def formats_of(results: Results) -> tuple[str, ...]:
    """Return the names of the formats that hold these results."""
    return tuple(name for name, format in FORMATS.items() if results in format.layouts)
