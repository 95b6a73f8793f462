"""Distances as a list of pairs: query, target, distance and, where wanted, compared sites."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from gpualign.core._rows import Column, format_block
from gpualign.core.distance.calls import Samples
from gpualign.core.distance.metrics import Integers, Values
from gpualign.core.distance.sinks.base import NearDistances
from gpualign.core.sinks.writer import ByteWriter

_BLOCK_CELLS = 1 << 18


@dataclass(frozen=True)
class PairText:
    """How pairs are written. decimals: of distances, 0 for counts."""

    separator: str
    decimals: int


def _columns(queries: Column, targets: Column, values: Values, compared: Integers | None, text: PairText) -> list[Column]:
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


def _steps(rows: int, columns: int) -> Iterator[tuple[int, int]]:
    step = max(1, _BLOCK_CELLS // max(1, columns))
    for start in range(0, rows, step):
        yield start, min(rows, start + step)


def write_molten(stream: ByteWriter, samples: Samples, values: Values, compared: Integers | None, text: PairText) -> None:
    """A line for each query and each target, itself included, as snp-dists -m has them."""
    queries, targets = samples.queries.id_column, samples.targets.id_column
    ids = Column.query_text(queries.text, queries.offsets), Column.target_text(targets.text, targets.offsets)
    for start, stop in _steps(*values.shape):
        some = compared[start:stop] if compared is not None else None
        columns = _columns(*ids, values[start:stop], some, text)
        stream.write(format_block(columns, start, stop - start, values.shape[1], [0] * (stop - start), None))


class NearPairsSink:
    """A line for each near pair. No matrix is ever held."""

    def __init__(self, stream: ByteWriter, text: PairText) -> None:
        self._stream = stream
        self._text = text
        self.pairs = 0

    def begin(self, samples: Samples) -> None:
        self._samples = samples

    def write(self, near: NearDistances) -> None:
        """The pairs are a row of the block, with two texts each."""
        samples = self._samples
        for start in range(0, len(near.queries), _BLOCK_CELLS):
            some = slice(start, start + _BLOCK_CELLS)
            queries, targets = samples.queries.id_column.select(near.queries[some]), samples.targets.id_column.select(near.targets[some])
            ids = Column.target_text(queries.text, queries.offsets), Column.target_text(targets.text, targets.offsets)
            compared = near.compared[some][None, :] if near.compared is not None else None
            columns = _columns(*ids, near.values[some][None, :], compared, self._text)
            self._stream.write(format_block(columns, 0, 1, len(near.queries[some]), [0], None))
        self.pairs += len(near.queries)

    def finish(self) -> None:
        pass
