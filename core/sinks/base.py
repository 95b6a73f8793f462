"""The Sink protocol, and the assembly of tiles into bands that most sinks build on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from gpualign.core.engine import TileResult
from gpualign.core.plan import Band, Plan

Scores = npt.NDArray[np.signedinteger]


class Sink(Protocol):
    """Accepts every result of a plan once."""

    def begin(self, plan: Plan) -> None:
        """Called before the first result."""

    def accept(self, result: TileResult) -> None: ...

    def finish(self) -> None:
        """Called when every result has been accepted; raises if one is missing."""


@dataclass
class _OpenBand:
    band: Band
    scores: Scores
    missing: int


class Bands:
    """Collects tiles; hands on each band, in order, as soon as all its tiles and all earlier bands are there.

    `emit(band, scores)` gets scores[queries of the band][targets from band.first_target on], in record order.
    """

    def __init__(self, plan: Plan, dtype: np.dtype[np.signedinteger], emit: Callable[[Band, Scores], None]) -> None:
        self._targets = plan.targets
        self._count = plan.band_count
        self._dtype = dtype
        self._emit = emit
        self._next = 0
        self._open: dict[int, _OpenBand] = {}

    def accept(self, result: TileResult) -> None:
        tile = result.tile
        band = tile.band
        if band.index not in self._open:
            shape = (band.stop - band.start, self._targets - band.first_target)
            self._open[band.index] = _OpenBand(band, np.zeros(shape, dtype=self._dtype), band.tiles)
        entry = self._open[band.index]
        rows = slice(tile.query_start - band.start, tile.query_stop - band.start)
        columns = tile.targets - band.first_target
        if np.array_equal(columns, np.arange(columns[0], columns[0] + len(columns))):
            entry.scores[rows, columns[0] : columns[0] + len(columns)] = result.scores  # several times as fast
        else:
            entry.scores[rows, columns] = result.scores
        entry.missing -= 1
        while self._next in self._open and not self._open[self._next].missing:
            done = self._open.pop(self._next)
            self._emit(done.band, done.scores)
            self._next += 1

    def finish(self) -> None:
        """Raises `RuntimeError` if a band is incomplete: an engine lost a tile."""
        if self._next != self._count:
            raise RuntimeError(f"results are missing: {self._count - self._next} of {self._count} bands are incomplete")
