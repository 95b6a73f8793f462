"""The table of pairs: one row a pair, in input order."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from gpualign.core._rows import format_block
from gpualign.core.engine import Task, TileResult
from gpualign.core.fields import BlockData, Field
from gpualign.core.plan import Band, Plan
from gpualign.core.sinks.base import Bands, Scores

_BLOCK_PAIRS = 200_000
"""Pairs formatted at a time: some ten megabytes of text."""


class ByteWriter(Protocol):
    def write(self, data: bytes, /) -> object: ...


class TableSink:
    """Writes a header line and tab-separated rows to a binary stream.

    keep_from / keep_to: only pairs with keep_from <= score <= keep_to are written (None: no bound).
    """

    def __init__(
        self, stream: ByteWriter, task: Task, fields: list[Field], keep_from: int | None = None, keep_to: int | None = None
    ) -> None:
        self._stream = stream
        self._task = task
        self._fields = fields
        self._keep_from = keep_from
        self._keep_to = keep_to

    def begin(self, plan: Plan) -> None:
        self._plan = plan
        self._stream.write(("\t".join(f.name for f in self._fields) + "\n").encode())
        self._bands = Bands(plan, self._task.dtype, self._write)

    def accept(self, result: TileResult) -> None:
        self._bands.accept(result)

    def finish(self) -> None:
        self._bands.finish()

    def _write(self, band: Band, scores: Scores) -> None:
        targets = scores.shape[1]
        step = max(1, _BLOCK_PAIRS // max(1, targets))
        for row in range(0, scores.shape[0], step):
            part = scores[row : row + step]
            data = BlockData(self._task.queries, self._task.targets, band.first_target, part)
            first = [self._plan.pairing.first_target(band.start + row + r) - band.first_target for r in range(len(part))]
            self._stream.write(
                format_block([f.column(data) for f in self._fields], band.start + row, len(part), targets, first, self._kept(part))
            )

    def _kept(self, scores: Scores) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]] | None:
        if self._keep_from is None and self._keep_to is None:
            return None
        keep = np.ones(scores.shape, dtype=bool)
        if self._keep_from is not None:
            keep &= scores >= self._keep_from
        if self._keep_to is not None:
            keep &= scores <= self._keep_to
        return keep
