"""Distances as a list of pairs: query, target, distance and, where wanted, compared sites."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

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


@dataclass(frozen=True)
class ChosenPairs:
    """Pairs of queries from first_query on and targets from first_target on, both counted from 0: [queries][targets]. keep: those that are
    written."""

    first_query: int
    first_target: int
    values: Values
    compared: Integers | None
    keep: npt.NDArray[np.bool_]


class PairsSink:
    """Base of the sinks that write pairs in input order: those at `most` or less (None: all, also those without a distance); of one set
    each pair once. No matrix is ever held."""

    def __init__(self, most: float | None) -> None:
        self._most = most

    def begin(self, samples: Samples) -> None:
        self.samples = samples

    def write_pairs(self, pairs: ChosenPairs) -> None:
        """Write those that are kept."""
        raise NotImplementedError

    def write(self, distances: BandDistances) -> None:
        band, samples = distances.band, self.samples
        first = band.first_target - samples.first_target
        for start, stop in _steps(*distances.values.shape):
            values = distances.values[start:stop]
            keep = np.ones(values.shape, dtype=bool) if self._most is None else values <= self._most  # NaN is not
            if samples.one_set:
                later = np.arange(first, first + values.shape[1])[None, :] > np.arange(band.start + start, band.start + stop)[:, None]
                keep &= later
            compared = distances.compared[start:stop] if distances.compared is not None else None
            self.write_pairs(ChosenPairs(band.start + start, first, values, compared, keep))

    def finish(self) -> None:
        pass


class NearPairsSink(PairsSink):
    """A line for each pair."""

    def __init__(self, stream: ByteWriter, most: float, text: PairText) -> None:
        super().__init__(most)
        self._stream = stream
        self._text = text
        self.pairs = 0

    def write_pairs(self, pairs: ChosenPairs) -> None:
        rows, targets = pairs.values.shape
        self.pairs += int(np.count_nonzero(pairs.keep))
        columns = _columns(self.samples.queries, self.samples.targets, pairs.first_target, pairs.values, pairs.compared, self._text)
        self._stream.write(format_block(columns, pairs.first_query, rows, targets, [0] * rows, pairs.keep))
