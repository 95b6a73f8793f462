"""Pairs as rows, in input order, in any of the formats of gpualign.core.formats."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from gpualign.core._rows import format_block
from gpualign.core.engine import Task, TileResult
from gpualign.core.fields import BlockData
from gpualign.core.formats.base import RowFormat
from gpualign.core.identity import DEFAULT
from gpualign.core.plan import Plan
from gpualign.core.sinks.base import BandResults, Bands

_BLOCK_PAIRS = 200_000
"""Pairs formatted at a time: some ten megabytes of text."""

_BLOCK_RUNS = 4 << 20
"""Bytes of runs formatted at a time, of which text makes several times as many."""


class ByteWriter(Protocol):
    def write(self, data: bytes, /) -> object: ...


@dataclass(frozen=True)
class Filter:
    """Pairs that are written: least_score <= score <= most_score, identity >= least_identity, 1 - identity <= most_distance; None
    is no bound."""

    least_score: int | None = None
    most_score: int | None = None
    least_identity: float | None = None
    most_distance: float | None = None

    @property
    def by_identity(self) -> bool:
        return self.least_identity is not None or self.most_distance is not None

    def keeps(self, block: BlockData) -> npt.NDArray[np.bool_] | None:
        """bool[queries][targets]; None where every pair is written."""
        if self == Filter():
            return None
        found = block.results.scores
        keep = np.ones(found.shape, dtype=bool)
        if self.least_score is not None:
            keep &= found >= self.least_score
        if self.most_score is not None:
            keep &= found <= self.most_score
        if self.least_identity is not None:
            keep &= block.identity_fraction >= self.least_identity
        if self.most_distance is not None:
            keep &= 1 - block.identity_fraction <= self.most_distance
        return keep


def blocks(results: BandResults, limit: int) -> list[tuple[int, int]]:
    """Rows (start, stop) of a band in parts of about `_BLOCK_PAIRS` pairs and `limit` bytes of runs, a row at least."""
    rows, targets = results.scores.shape
    step = max(1, _BLOCK_PAIRS // max(1, targets))
    if results.runs is None:
        return [(row, min(rows, row + step)) for row in range(0, rows, step)]
    sizes = results.runs.sizes.sum(axis=1, dtype=np.int64)
    cuts, start, held = [], 0, 0
    for row in range(rows):
        if row > start and (row - start >= step or held + sizes[row] > limit):
            cuts.append((start, row))
            start, held = row, 0
        held += int(sizes[row])
    return [*cuts, (start, rows)]


class TableSink:
    """Writes a format of rows to a binary stream."""

    def __init__(
        self, stream: ByteWriter, task: Task, format: RowFormat, filter: Filter | None = None, identity_definition: int = DEFAULT
    ) -> None:
        self._stream = stream
        self._task = task
        self._format = format
        self._filter = filter or Filter()
        self._identity_definition = identity_definition

    def begin(self, plan: Plan) -> None:
        self._plan = plan
        self._stream.write(self._format.header(self._task))
        self._bands = Bands(plan, self._task, self._write)

    def accept(self, result: TileResult) -> None:
        self._bands.accept(result)

    def finish(self) -> None:
        self._bands.finish()

    def _write(self, results: BandResults) -> None:
        band = results.band
        for start, stop in blocks(results, _BLOCK_RUNS):
            data = BlockData(self._task, band.start + start, results.rows(start, stop), self._identity_definition)
            firsts = [max(self._plan.pairing.first_target(band.start + row) - band.first_target, 0) for row in range(start, stop)]
            keep = self._filter.keeps(data)
            targets = results.scores.shape[1]
            wanted = np.arange(targets)[None, :] >= np.array(firsts)[:, None]
            if keep is not None:
                wanted &= keep
            columns = self._format.columns(data, wanted)
            self._stream.write(format_block(columns, data.first_query, stop - start, targets, firsts, keep))
