"""The Sink protocol, and the assembly of tiles into bands that most sinks build on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from gpualign.core.engine import STATISTICS, Detail, Runs, Statistics, Task, TileResult
from gpualign.core.plan import Band, Plan

Scores = npt.NDArray[np.signedinteger]


class Sink(Protocol):
    """Accepts every result of a plan once."""

    def begin(self, plan: Plan) -> None:
        """Called before the first result."""

    def accept(self, result: TileResult) -> None: ...

    def finish(self) -> None:
        """Called when every result has been accepted; raises if one is missing."""


@dataclass(frozen=True)
class BandResults:
    """All results of a band: arrays are [queries of the band][targets from band.first_target on], in record order.

    scores, statistics and runs as in `TileResult`.
    """

    band: Band
    scores: Scores
    statistics: Statistics | None
    runs: Runs | None

    def rows(self, start: int, stop: int) -> BandResults:
        """The part of queries start .. stop-1, counted within the band."""
        part = slice(start, stop)
        runs = self.runs and Runs(self.runs.data, self.runs.starts[part], self.runs.sizes[part])
        return BandResults(self.band, self.scores[part], None if self.statistics is None else self.statistics[part], runs)


T = TypeVar("T")


@dataclass
class _Open(Generic[T]):
    content: T
    missing: int


class BandOrder(Generic[T]):
    """Hands on what is gathered of each band, in order, as soon as all its tiles and all earlier bands are there.

    begin(band): what is gathered, empty; add(content, result): take a tile; emit(content): a band is complete.
    """

    def __init__(self, plan: Plan, begin: Callable[[Band], T], add: Callable[[T, TileResult], None], emit: Callable[[T], None]) -> None:
        self._count = plan.band_count
        self._begin, self._add, self._emit = begin, add, emit
        self._next = 0
        self._open: dict[int, _Open[T]] = {}

    def accept(self, result: TileResult) -> None:
        band = result.tile.band
        if band.index not in self._open:
            self._open[band.index] = _Open(self._begin(band), band.tiles)
        entry = self._open[band.index]
        self._add(entry.content, result)
        entry.missing -= 1
        while self._next in self._open and not self._open[self._next].missing:
            self._emit(self._open.pop(self._next).content)
            self._next += 1

    def finish(self) -> None:
        """Raises `RuntimeError` if a band is incomplete: an engine lost a tile."""
        if self._next != self._count:
            raise RuntimeError(f"results are missing: {self._count - self._next} of {self._count} bands are incomplete")


@dataclass
class _OpenBand:
    results: BandResults
    data: list[npt.NDArray[np.uint8]] = field(default_factory=list)
    length: int = 0


def _place(tile_columns: npt.NDArray[np.int64]) -> slice | npt.NDArray[np.int64]:
    """An index for these columns: a slice where they are consecutive, which is several times as fast."""
    first = int(tile_columns[0])
    if np.array_equal(tile_columns, np.arange(first, first + len(tile_columns))):
        return slice(first, first + len(tile_columns))
    return tile_columns


class Bands(BandOrder[_OpenBand]):
    """Collects tiles; hands each band to `emit`, in order."""

    def __init__(self, plan: Plan, task: Task, emit: Callable[[BandResults], None]) -> None:
        super().__init__(plan, self._empty, self._put, lambda done: emit(_joined(done)))
        self._task = task

    def _empty(self, band: Band) -> _OpenBand:
        detail = self._task.detail
        statistics = None if detail is Detail.SCORE else np.zeros(band.shape, dtype=STATISTICS)
        runs = None
        if detail is Detail.PATH:
            runs = Runs(np.zeros(0, dtype=np.uint8), np.zeros(band.shape, dtype=np.int64), np.zeros(band.shape, dtype=np.int32))
        return _OpenBand(BandResults(band, np.zeros(band.shape, dtype=self._task.dtype), statistics, runs))

    @staticmethod
    def _put(entry: _OpenBand, result: TileResult) -> None:
        tile = result.tile
        into = entry.results
        place = slice(tile.query_start - tile.band.start, tile.query_stop - tile.band.start), _place(tile.targets - tile.band.first_target)
        into.scores[place] = result.scores
        if into.statistics is not None:
            into.statistics[place] = result.statistics
        if into.runs is not None:
            assert result.runs is not None
            into.runs.starts[place] = result.runs.starts + entry.length
            into.runs.sizes[place] = result.runs.sizes
            entry.data.append(result.runs.data)
            entry.length += len(result.runs.data)


def _joined(done: _OpenBand) -> BandResults:
    results = done.results
    if results.runs is None:
        return results
    runs = Runs(np.concatenate(done.data), results.runs.starts, results.runs.sizes)
    return BandResults(results.band, results.scores, results.statistics, runs)
