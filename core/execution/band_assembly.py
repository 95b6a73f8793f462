"""From tiles, which come in any order, to bands of results in the order of the plan."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Protocol, TypeVar, cast

import numpy as np
import numpy.typing as npt

from gpualign.core.alignment.band_results import BandResults, Scores
from gpualign.core.alignment.path_builder import RunsBuilder
from gpualign.core.alignment.task import Detail, Task
from gpualign.core.alignment.tile_results import STATISTICS, TileAlignments, TileResult, TileScores
from gpualign.core.execution.pipeline import Closable, Progress
from gpualign.core.planning.tile_plan import Band, Plan

Whole = TypeVar("Whole", covariant=True)
T = TypeVar("T")


class Assembly(Protocol[Whole]):
    """What is gathered of one band."""

    def add(self, result: TileResult) -> None:
        """Take a tile of the band."""

    def done(self) -> Whole:
        """All that the tiles of the band make. Called once, when every tile is there."""


def bands_in_order(plan: Plan, results: Iterator[TileResult], begin: Callable[[Band], Assembly[T]], progress: Progress) -> Iterator[T]:
    """What the tiles of each band make, as soon as all of them and all earlier bands are there. begin: an empty band.

    Closes `results` in the end, whatever happens. Raises `RuntimeError` if a band stays incomplete: an engine lost a tile.
    """
    gathered: dict[int, tuple[Assembly[T], int]] = {}
    following = 0
    with closing(cast("Closable", results)):
        for result in results:
            band = result.tile.band
            assembly, missing = gathered.get(band.index) or (begin(band), band.tiles)
            assembly.add(result)
            gathered[band.index] = assembly, missing - 1
            progress.advance(result.tile.cells)
            while following in gathered and not gathered[following][1]:
                yield gathered.pop(following)[0].done()
                following += 1
    if following != plan.band_count:
        raise RuntimeError(f"results are missing: {plan.band_count - following} of {plan.band_count} bands are incomplete")


_FEW_BYTES = 1 << 20
"""Of scores that NumPy puts in their places: a compiled module would take as long to load."""


class PairAssembly:
    """Gathers the results of every pair of a band, in so many threads."""

    def __init__(self, task: Task, threads: int, band: Band) -> None:
        self._band = band
        self._threads = threads
        self._dtype = task.dtype
        self._scores: Scores | None = None
        self._statistics = None if task.detail is Detail.SCORE else np.zeros(band.shape, dtype=STATISTICS)
        self._runs = RunsBuilder(band.shape) if task.detail is Detail.PATH else None
        self._minus = np.zeros(band.shape, dtype=np.bool_) if task.both_strands else None

    def add(self, result: TileResult) -> None:
        assert isinstance(result, TileScores | TileAlignments)  # others are gathered elsewhere
        tile = result.tile
        start, stop = tile.query_start - tile.band.start, tile.query_stop - tile.band.start
        columns = tile.targets - tile.band.first_target
        place = _place(columns)
        if tile.shape == self._band.shape and isinstance(place, slice) and result.scores.dtype == self._dtype:
            self._scores = result.scores  # all there is, in order: of short records most bands are one tile
        else:
            if self._scores is None:
                self._scores = np.zeros(self._band.shape, dtype=self._dtype)
            if isinstance(place, slice) or result.scores.nbytes < _FEW_BYTES:
                self._scores[start:stop, place] = result.scores
            else:
                from gpualign.core.common.scatter import put

                put(self._scores, start, columns, result.scores.astype(self._dtype, copy=False), self._threads)
        if self._minus is not None:
            self._minus[start:stop, place] = result.is_reverse_complement
        if isinstance(result, TileAlignments) and self._statistics is not None:
            from gpualign.core.common.scatter import put

            put(self._statistics, start, columns, result.statistics, self._threads)
            if self._runs is not None and result.runs is not None:
                self._runs.add_columns(start, columns, result.runs, self._threads)

    def done(self) -> BandResults:
        assert self._scores is not None  # a band has a tile at least
        return BandResults(self._band, self._scores, self._statistics, None if self._runs is None else self._runs.build(), self._minus)


def _place(tile_columns: npt.NDArray[np.int64]) -> slice | npt.NDArray[np.int64]:
    """An index for these columns: a slice where they are consecutive, which is several times as fast."""
    first = int(tile_columns[0])
    if np.array_equal(tile_columns, np.arange(first, first + len(tile_columns))):
        return slice(first, first + len(tile_columns))
    return tile_columns
