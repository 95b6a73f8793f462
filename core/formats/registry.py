"""Every output format: its name, its suffixes, what it can hold, and what writes it. A new format is one entry of `FORMATS`.

Nothing is loaded before it is used: commands read the names for their help.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy.typing as npt

    from gpualign.core.fields import Field
    from gpualign.core.formats.base import RowFormat
    from gpualign.core.sinks.matrix_files import Named
    from gpualign.core.sinks.writer import ByteWriter

    RowsMaker = Callable[[list[Field]], RowFormat]
    MatrixWriter = Callable[[ByteWriter, npt.NDArray[Any], Named, Named], None]


class Results(Enum):
    """What a command writes: alignments of all pairs, hits of a search, local scores of all pairs, distances."""

    PAIRS = "pairs"
    HITS = "hits"
    SCORES = "scores"
    DISTANCES = "distances"


class Layout(Enum):
    """ROWS: a row a pair; BLOCKS: a block of lines a pair, for people; MATRIX: text of a matrix; ARRAY: binary."""

    ROWS = "rows"
    BLOCKS = "blocks"
    MATRIX = "matrix"
    ARRAY = "array"


def _tsv(fields: list[Field]) -> RowFormat:
    from gpualign.core.formats.tsv import Tsv

    return Tsv(fields)


def _m8(fields: list[Field]) -> RowFormat:
    from gpualign.core.formats.m8 import M8

    return M8()


def _paf(fields: list[Field]) -> RowFormat:
    from gpualign.core.formats.paf import Paf

    return Paf()


def _sam(fields: list[Field]) -> RowFormat:
    from gpualign.core.formats.sam import Sam

    return Sam()


def _fasta(fields: list[Field]) -> RowFormat:
    from gpualign.core.formats.fasta import AlignedFasta

    return AlignedFasta()


def _matrix(stream: ByteWriter, values: npt.NDArray[Any], queries: Named, targets: Named) -> None:
    from gpualign.core.sinks.matrix_files import write_matrix_text

    write_matrix_text(stream, values, queries, targets)


def _phylip(stream: ByteWriter, values: npt.NDArray[Any], queries: Named, targets: Named) -> None:
    from gpualign.core.sinks.matrix_files import write_phylip

    write_phylip(stream, values, queries)


@dataclass(frozen=True)
class Format:
    """layouts: what it holds, and how. rows: makes the format of rows, which has these columns if it can choose; matrix: writes a finished
    matrix of pairs. (Distances are written by core/distance/sinks.)"""

    name: str
    layouts: dict[Results, Layout]
    suffixes: tuple[str, ...] = ()
    rows: RowsMaker | None = None
    matrix: MatrixWriter | None = None

    @property
    def is_array(self) -> bool:
        """Whether it is no text."""
        return Layout.ARRAY in self.layouts.values()


def _of_pairs(layout: Layout, hits: bool = True) -> dict[Results, Layout]:
    return {Results.PAIRS: layout, Results.HITS: layout} if hits else {Results.PAIRS: layout}


_ROWS, _MATRIX, _ARRAY = Layout.ROWS, Layout.MATRIX, Layout.ARRAY

FORMATS: dict[str, Format] = {
    format.name: format
    for format in (
        Format("tsv", _of_pairs(_ROWS) | {Results.SCORES: _ROWS, Results.DISTANCES: _MATRIX}, (".tsv",), rows=_tsv),
        Format("csv", {Results.DISTANCES: _MATRIX}, (".csv",)),
        Format("molten", {Results.DISTANCES: _ROWS}),
        Format("m8", _of_pairs(_ROWS), (".m8",), rows=_m8),
        Format("paf", _of_pairs(_ROWS), (".paf",), rows=_paf),
        Format("sam", _of_pairs(_ROWS), (".sam",), rows=_sam),
        Format("aln", _of_pairs(Layout.BLOCKS), (".aln",)),
        Format("fasta", _of_pairs(_ROWS, hits=False), (".fasta", ".fa"), rows=_fasta),
        Format("matrix", {Results.PAIRS: _MATRIX, Results.SCORES: _MATRIX}, matrix=_matrix),
        Format("npy", dict.fromkeys((Results.PAIRS, Results.SCORES, Results.DISTANCES), _ARRAY), (".npy",)),
        Format("npz", dict.fromkeys((Results.PAIRS, Results.SCORES, Results.DISTANCES), _ARRAY), (".npz",)),
        Format("condensed", {Results.DISTANCES: _ARRAY}),
        Format("phylip", {Results.PAIRS: _MATRIX, Results.DISTANCES: _MATRIX}, (".phy",), matrix=_phylip),
        Format("mega", {Results.DISTANCES: _MATRIX}, (".meg",)),
    )
}


def formats_of(results: Results) -> tuple[str, ...]:
    """Names of the formats that hold such results."""
    return tuple(name for name, format in FORMATS.items() if results in format.layouts)
