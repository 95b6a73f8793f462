"""Writes distances as a list of pairs: query, target, distance (or kinship) and, if requested, compared sites."""

from __future__ import annotations

import numpy as np

from gpualign.core.common.dataclass import dataclass
from gpualign.core.distance.calls import Samples
from gpualign.core.distance.metrics import CountArray, Values
from gpualign.core.distance.output.base import BandDistances, NearPairDistances
from gpualign.core.output.matrix_files import IdentifiedRecords
from gpualign.core.output.writer import ByteWriter, keep_freed_memory, row_blocks
from gpualign.core.results._rows import Column, format_block
from gpualign.core.sequences.string_column import StringColumn

_BLOCK_CELLS = 1 << 18


@dataclass(frozen=True)
class PairTextFormat:
    """Text format for pairs.

    separator: column separator
    decimals: decimals for distances, 0 for counts
    has_header: whether a line with the column names comes first
    value_name: name of the value column
    """

    separator: str
    decimals: int
    has_header: bool = False
    value_name: str = "distance"

    def format_ids(self, ids: StringColumn) -> StringColumn:
        """Return ids as they are written."""
        return ids.csv_quoted if self.separator == "," else ids

    def header(self, has_compared_sites: bool) -> bytes:
        """Return the header line, or b"" if there is none."""
        names = ["query", "target", self.value_name, *(["compared"] if has_compared_sites else [])]
        return (self.separator.join(names) + "\n").encode() if self.has_header else b""


def _id_column(ids: StringColumn, which: CountArray) -> Column:
    """Return a column with the id of each listed sample."""
    return Column.listed_text(ids.text, ids.offsets, np.ascontiguousarray(which, np.int64))


def _columns(
    queries: Column, targets: Column, values: Values, compared_sites: CountArray | None, text_format: PairTextFormat
) -> list[Column]:
    """Return the text columns for a block of pairs.

    queries, targets: columns with the ids
    values: the distances, [rows][targets]
    compared_sites: numbers of compared sites, [rows][targets]; None: without this column
    """
    columns = [
        queries,
        targets,
        Column.pair_fixed(np.ascontiguousarray(values), text_format.decimals)
        if values.dtype.kind == "f"
        else Column.pair_numbers(np.ascontiguousarray(values)),
    ]
    if compared_sites is not None:
        columns.append(Column.pair_numbers(np.ascontiguousarray(compared_sites)))
    return [column.between("", text_format.separator) for column in columns]


def write_molten(
    stream: ByteWriter,
    queries: IdentifiedRecords,
    targets: IdentifiedRecords,
    values: Values,
    compared_sites: CountArray | None,
    text_format: PairTextFormat,
    threads: int = 1,
) -> None:
    """Write a line for each pair of a query and a target, including pairs of a sample with itself, like snp-dists -m.

    values, compared_sites: [queries][targets]
    threads: threads for formatting text
    """
    keep_freed_memory()
    rows, columns = text_format.format_ids(queries.id_column), text_format.format_ids(targets.id_column)
    ids = Column.query_text(rows.text, rows.offsets), Column.target_text(columns.text, columns.offsets)
    for start, stop in row_blocks(values.shape, _BLOCK_CELLS, threads):
        some = compared_sites[start:stop] if compared_sites is not None else None
        cells = _columns(*ids, values[start:stop], some, text_format)
        for piece in format_block(cells, start, stop - start, values.shape[1], [0] * (stop - start), None, threads):
            stream.write(piece)


class PairsSink:
    """Base class for sinks that write pairs in input order: near pairs, or all pairs, including pairs without a distance.

    Each pair within one set is written once; if samples were added to a set, each query is written only with the targets that come after
    it. No matrix is ever held in memory.
    """

    def begin(self, samples: Samples) -> None:
        self.samples = samples

    def write_pairs(self, pairs: NearPairDistances) -> None:
        """Write some of the pairs. `write` passes the pairs in blocks of limited size."""
        raise NotImplementedError

    def write(self, distances: BandDistances | NearPairDistances) -> None:
        if isinstance(distances, NearPairDistances):
            for start in range(0, len(distances.queries), _BLOCK_CELLS):
                self.write_pairs(distances.select(slice(start, start + _BLOCK_CELLS)))
            return
        band, first = distances.band, distances.band.first_target
        for start, stop in row_blocks(distances.values.shape, _BLOCK_CELLS, 1):
            values = distances.values[start:stop]
            mask = np.ones(values.shape, dtype=bool)
            if self.samples.upper_triangle:
                mask = np.arange(first, first + values.shape[1])[None, :] > np.arange(band.start + start, band.start + stop)[:, None]
            queries, targets = np.nonzero(mask)
            compared = distances.compared_sites[start:stop][mask] if distances.compared_sites is not None else None
            self.write_pairs(NearPairDistances(queries + band.start + start, targets + first, values[mask], compared))

    def finish(self) -> None:
        pass


class NearPairsSink(PairsSink):
    """Writes a line for each near pair.

    stream: destination of the text
    text: format of the text
    compared: whether there is a column for compared sites
    threads: threads for formatting text
    """

    def __init__(self, stream: ByteWriter, text: PairTextFormat, compared: bool = False, threads: int = 1) -> None:
        self._stream = stream
        self._text = text
        self._compared = compared
        self._threads = threads
        self.pairs = 0

    def begin(self, samples: Samples) -> None:
        super().begin(samples)
        keep_freed_memory()
        self._stream.write(self._text.header(self._compared))

    def write_pairs(self, pairs: NearPairDistances) -> None:
        """Write pairs as text. The text formatter receives them as one row of cells, each with its own query id and target id."""
        samples, count = self.samples, len(pairs.queries)
        queries = _id_column(self._text.format_ids(samples.queries.id_column), pairs.queries)
        targets = _id_column(self._text.format_ids(samples.targets.id_column), pairs.targets)
        compared = pairs.compared_sites[None, :] if pairs.compared_sites is not None else None
        columns = _columns(queries, targets, pairs.values[None, :], compared, self._text)
        for piece in format_block(columns, 0, 1, count, [0], None, self._threads):
            self._stream.write(piece)
        self.pairs += count
