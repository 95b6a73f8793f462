"""Distances as a list of pairs: query, target, distance (or kinship) and, where wanted, compared sites."""

from __future__ import annotations

import numpy as np

from gpualign.core.common.dataclass import dataclass
from gpualign.core.distance.calls import Samples
from gpualign.core.distance.metrics import CountArray, Values
from gpualign.core.distance.output.base import BandDistances, NearDistances
from gpualign.core.output.matrix_files import Named
from gpualign.core.output.writer import ByteWriter, keep_freed_memory, row_blocks, write_pieces
from gpualign.core.results._rows import Column, format_block
from gpualign.core.sequences.string_column import StringColumn

_BLOCK_CELLS = 1 << 18


@dataclass(frozen=True)
class PairText:
    """How pairs are written. decimals: of distances, 0 for counts. headed: whether a line with the names of the columns comes first;
    value: what the numbers are, their column's name."""

    separator: str
    decimals: int
    headed: bool = False
    value: str = "distance"

    def cells(self, ids: StringColumn) -> StringColumn:
        """Ids as they are written."""
        return ids.quoted if self.separator == "," else ids

    def header(self, compared: bool) -> bytes:
        """What stands before the first pair."""
        names = ["query", "target", self.value, *(["compared"] if compared else [])]
        return (self.separator.join(names) + "\n").encode() if self.headed else b""


def _listed(ids: StringColumn, which: CountArray) -> Column:
    return Column.listed_text(ids.text, ids.offsets, np.ascontiguousarray(which, np.int64))


def _columns(queries: Column, targets: Column, values: Values, compared: CountArray | None, text: PairText) -> list[Column]:
    """values, compared: [rows][targets]."""
    columns = [
        queries,
        targets,
        Column.pair_fixed(np.ascontiguousarray(values), text.decimals)
        if values.dtype.kind == "f"
        else Column.pair_numbers(np.ascontiguousarray(values)),
    ]
    if compared is not None:
        columns.append(Column.pair_numbers(np.ascontiguousarray(compared)))
    return [column.between("", text.separator) for column in columns]


def write_molten(
    stream: ByteWriter, queries: Named, targets: Named, values: Values, compared: CountArray | None, text: PairText, threads: int = 1
) -> None:
    """A line for each query and each target, itself included, as snp-dists -m has them. threads: that make text."""
    keep_freed_memory()
    rows, columns = text.cells(queries.id_column), text.cells(targets.id_column)
    ids = Column.query_text(rows.text, rows.offsets), Column.target_text(columns.text, columns.offsets)
    for start, stop in row_blocks(values.shape, _BLOCK_CELLS, threads):
        some = compared[start:stop] if compared is not None else None
        cells = _columns(*ids, values[start:stop], some, text)
        write_pieces(stream, format_block(cells, start, stop - start, values.shape[1], [0] * (stop - start), None, threads))


class PairsSink:
    """Base of the sinks that write pairs in input order, near ones or all of them, also those without a distance; of one set each pair
    once, of a set to which others were added each with later ones. No matrix is ever held."""

    def begin(self, samples: Samples) -> None:
        self.samples = samples

    def write_pairs(self, pairs: NearDistances) -> None:
        """Write these, some 10^5 at most."""
        raise NotImplementedError

    def write(self, found: BandDistances | NearDistances) -> None:
        if isinstance(found, NearDistances):
            for start in range(0, len(found.queries), _BLOCK_CELLS):
                self.write_pairs(found.part(slice(start, start + _BLOCK_CELLS)))
            return
        band, first = found.band, found.band.first_target - self.samples.first_target
        for start, stop in row_blocks(found.values.shape, _BLOCK_CELLS, 1):
            values = found.values[start:stop]
            keep = np.ones(values.shape, dtype=bool)
            if self.samples.upper_triangle:
                keep = np.arange(first, first + values.shape[1])[None, :] > np.arange(band.start + start, band.start + stop)[:, None]
            queries, targets = np.nonzero(keep)
            compared = found.compared[start:stop][keep] if found.compared is not None else None
            self.write_pairs(NearDistances(queries + band.start + start, targets + first, values[keep], compared))

    def finish(self) -> None:
        pass


class NearPairsSink(PairsSink):
    """A line for each near pair. compared: whether they come with their compared sites; threads: that make text."""

    def __init__(self, stream: ByteWriter, text: PairText, compared: bool = False, threads: int = 1) -> None:
        self._stream = stream
        self._text = text
        self._compared = compared
        self._threads = threads
        self.pairs = 0

    def begin(self, samples: Samples) -> None:
        super().begin(samples)
        keep_freed_memory()
        self._stream.write(self._text.header(self._compared))

    def write_pairs(self, pairs: NearDistances) -> None:
        """The pairs are a row of the block, with two texts each."""
        samples, count = self.samples, len(pairs.queries)
        queries = _listed(self._text.cells(samples.queries.id_column), pairs.queries)
        targets = _listed(self._text.cells(samples.targets.id_column), pairs.targets)
        compared = pairs.compared[None, :] if pairs.compared is not None else None
        columns = _columns(queries, targets, pairs.values[None, :], compared, self._text)
        write_pieces(self._stream, format_block(columns, 0, 1, count, [0], None, self._threads))
        self.pairs += count
