"""Distances as a list of pairs: query, target, distance and, where wanted, compared sites."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from gpualign.core._rows import Column, format_block
from gpualign.core.distance.calls import Names, Samples
from gpualign.core.distance.metrics import Integers, Values
from gpualign.core.distance.sinks.base import BandDistances
from gpualign.core.sinks.writer import ByteWriter

_BLOCK_CELLS = 1 << 18


@dataclass(frozen=True)
class PairText:
    """How pairs are written. decimals: of distances, 0 for counts."""

    separator: str
    decimals: int


def _columns(queries: Names, targets: Names, first: int, values: Values, compared: Integers | None, text: PairText) -> list[Column]:
    """Targets count from `first` on."""
    names = targets.id_column
    numbers = (
        Column.pair_fixed(np.ascontiguousarray(values), text.decimals)
        if values.dtype.kind == "f"
        else Column.pair_numbers(np.ascontiguousarray(values))
    )
    columns = [
        Column.query_text(queries.id_column.text, queries.id_column.offsets),
        Column.target_text(names.text, names.offsets[first:]),
        numbers,
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
    for start, stop in _steps(*values.shape):
        some = compared[start:stop] if compared is not None else None
        columns = _columns(samples.queries, samples.targets, 0, values[start:stop], some, text)
        stream.write(format_block(columns, start, stop - start, values.shape[1], [0] * (stop - start), None))


class NearPairsSink:
    """A line for each pair at `most` or less; of one set each pair once. No matrix is ever held."""

    def __init__(self, stream: ByteWriter, most: float, text: PairText) -> None:
        self._stream = stream
        self._most = most
        self._text = text
        self.pairs = 0

    def begin(self, samples: Samples) -> None:
        self._samples = samples

    def write(self, distances: BandDistances) -> None:
        band, samples = distances.band, self._samples
        first = band.first_target - samples.first_target
        for start, stop in _steps(*distances.values.shape):
            values = distances.values[start:stop]
            keep = values <= self._most  # NaN is not
            # Of one set, the later records of each row.
            begin = [max(0, band.start + row + 1 - first) if samples.one_set else 0 for row in range(start, stop)]
            keep &= np.arange(values.shape[1])[None, :] >= np.array(begin)[:, None]
            self.pairs += int(np.count_nonzero(keep))
            compared = distances.compared[start:stop] if distances.compared is not None else None
            columns = _columns(samples.queries, samples.targets, first, values, compared, self._text)
            self._stream.write(format_block(columns, band.start + start, stop - start, values.shape[1], begin, keep))

    def finish(self) -> None:
        pass
