"""Assembles tiles, which arrive in any order, into result bands in plan order."""

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
    """Collects the tiles of one band."""

    def add(self, result: TileResult) -> None:
        """Add a tile of the band."""

    def finish(self) -> Whole:
        """Return the whole band. Called once, after every tile has been added."""


def bands_in_order(
    plan: Plan, results: Iterator[TileResult], make_assembly: Callable[[Band], Assembly[T]], progress: Progress
) -> Iterator[T]:
    """Yield each band as soon as all its tiles and all earlier bands are complete. make_assembly: creates an empty band.

    `results` is always closed. Raises `RuntimeError` if a band remains incomplete because an engine lost a tile.
    """
    open_bands: dict[int, tuple[Assembly[T], int]] = {}
    following = 0
    with closing(cast("Closable", results)):
        for result in results:
            band = result.tile.band
            assembly, missing = open_bands.get(band.index) or (make_assembly(band), band.tiles)
            assembly.add(result)
            open_bands[band.index] = assembly, missing - 1
            progress.advance(result.tile.cells)
            while following in open_bands and not open_bands[following][1]:
                yield open_bands.pop(following)[0].finish()
                following += 1
    if following != plan.band_count:
        raise RuntimeError(f"results are missing: {plan.band_count - following} of {plan.band_count} bands are incomplete")


_FEW_BYTES = 1 << 20
"""Scores smaller than this are copied with NumPy, because loading the compiled module would take as long."""


class PairAssembly:
    """Collects the results of all pairs in a band, using `threads` threads."""

    def __init__(self, task: Task, threads: int, band: Band) -> None:
        self._band = band
        self._threads = threads
        self._dtype = task.dtype
        self._scores: Scores | None = None
        self._statistics = None if task.detail is Detail.SCORE else np.zeros(band.shape, dtype=STATISTICS)
        self._runs = RunsBuilder(band.shape) if task.detail is Detail.PATH else None
        self._is_reverse_complement = np.zeros(band.shape, dtype=np.bool_) if task.both_strands else None

    def add(self, result: TileResult) -> None:
        assert isinstance(result, TileScores | TileAlignments)  # other kinds have assemblies of their own
        tile = result.tile
        start, stop = tile.query_start - tile.band.start, tile.query_stop - tile.band.start
        columns = tile.targets - tile.band.first_target
        place = _place(columns)
        if tile.shape == self._band.shape and isinstance(place, slice) and result.scores.dtype == self._dtype:
            self._scores = result.scores  # the whole band in order: most bands of short records are one tile
        else:
            if self._scores is None:
                self._scores = np.zeros(self._band.shape, dtype=self._dtype)
            if isinstance(place, slice) or result.scores.nbytes < _FEW_BYTES:
                self._scores[start:stop, place] = result.scores
            else:
                from gpualign.core.common.scatter import put

                put(self._scores, start, columns, result.scores.astype(self._dtype, copy=False), self._threads)
        if self._is_reverse_complement is not None:
            self._is_reverse_complement[start:stop, place] = result.is_reverse_complement
        if isinstance(result, TileAlignments) and self._statistics is not None:
            from gpualign.core.common.scatter import put

            put(self._statistics, start, columns, result.statistics, self._threads)
            if self._runs is not None and result.runs is not None:
                self._runs.add_columns(start, columns, result.runs, self._threads)

    def finish(self) -> BandResults:
        assert self._scores is not None  # a band has at least one tile
        runs = None if self._runs is None else self._runs.build()
        return BandResults(self._band, self._scores, self._statistics, runs, self._is_reverse_complement)


def _place(tile_columns: npt.NDArray[np.int64]) -> slice | npt.NDArray[np.int64]:
    """Index for these columns: a slice if they are consecutive, because slices are several times as fast."""
    first = int(tile_columns[0])
    if np.array_equal(tile_columns, np.arange(first, first + len(tile_columns))):
        return slice(first, first + len(tile_columns))
    return tile_columns
