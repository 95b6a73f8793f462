"""Assembles the results of tiles, which arrive in any order, into bands in plan order. Also gathers them into larger tiles and into lists
of pairs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Protocol, TypeVar

import numpy as np

from gpualign.core.alignment.band_results import BandResults
from gpualign.core.alignment.pair_list import NearPairs, join_pairs
from gpualign.core.alignment.path_builder import PathBuilder
from gpualign.core.alignment.task import Detail, Task
from gpualign.core.alignment.tile_results import STATISTICS, Runs, Statistics, TileAlignments, TilePairs, TileResult, TileScores
from gpualign.core.common.arrays import Booleans, Scores
from gpualign.core.common.dataclass import dataclass
from gpualign.core.common.iterators import closing_iterator
from gpualign.core.common.reorder_buffer import ReorderBuffer
from gpualign.core.common.scatter import AxisIndices, as_slice, put
from gpualign.core.execution.totals import Progress
from gpualign.core.planning.tile_plan import Band, Plan, Tile

CollectedT = TypeVar("CollectedT", covariant=True)
BandT = TypeVar("BandT")


class BandCollector(Protocol[CollectedT]):
    """Collects the tiles of one band."""

    def add(self, result: TileResult) -> None:
        """Add a tile of the band."""

    def finish(self) -> CollectedT:
        """Return the whole band. Called once, after every tile has been added."""


def bands_in_order(
    plan: Plan, results: Iterator[TileResult], make_collector: Callable[[Band], BandCollector[BandT]], progress: Progress
) -> Iterator[BandT]:
    """Yield each band as soon as all its tiles and all earlier bands are complete. make_collector: creates an empty collector for a band

    `results` is always closed. Raises `RuntimeError` if a band remains incomplete because an engine lost a tile.
    """
    open_bands: dict[int, tuple[BandCollector[BandT], int]] = {}
    complete = ReorderBuffer[BandCollector[BandT]]()
    with closing_iterator(results):
        for result in results:
            band = result.tile.band
            collector, missing = open_bands.pop(band.index) if band.index in open_bands else (make_collector(band), band.tile_count)
            collector.add(result)
            progress.advance(result.tile.cells)
            if missing > 1:
                open_bands[band.index] = collector, missing - 1
            else:
                yield from (whole.finish() for whole in complete.add(band.index, collector))
    if complete.following != plan.band_count:
        raise RuntimeError(f"results are missing: {plan.band_count - complete.following} of {plan.band_count} bands are incomplete")


class ResultGather:
    """Gathers scores and, if the task asks for them, alignments. The values of a pair are 0 until its result is added.

    shape: (number of rows, number of columns)
    threads: number of threads that copy results
    """

    def __init__(self, task: Task, shape: tuple[int, int], threads: int = 1) -> None:
        self._shape = shape
        self._threads = threads
        self._dtype = task.score_dtype
        self._scores: Scores | None = None
        self._runs = PathBuilder(shape) if task.detail is Detail.PATH else None
        self.statistics: Statistics | None = None if task.detail is Detail.SCORE else np.zeros(shape, dtype=STATISTICS)
        self.is_reverse_complement: Booleans | None = np.zeros(shape, dtype=np.bool_) if task.both_strands else None

    @property
    def scores(self) -> Scores:
        if self._scores is None:
            self._scores = np.zeros(self._shape, dtype=self._dtype)
        return self._scores

    @property
    def runs(self) -> Runs | None:
        return None if self._runs is None else self._runs.build()

    def put(self, rows: AxisIndices, columns: AxisIndices, result: TileResult) -> None:
        assert isinstance(result, TileScores | TileAlignments)
        columns = as_slice(columns)
        in_order = isinstance(rows, slice) and isinstance(columns, slice)
        if in_order and result.scores.shape == self._shape and result.scores.dtype == self._dtype:
            self._scores = result.scores  # everything at once: most bands of short records are one tile
        else:
            put(self.scores, rows, columns, result.scores, self._threads)
        if self.is_reverse_complement is not None and result.is_reverse_complement is not None:
            put(self.is_reverse_complement, rows, columns, result.is_reverse_complement, self._threads)
        if isinstance(result, TileAlignments) and self.statistics is not None:
            put(self.statistics, rows, columns, result.statistics, self._threads)
            if self._runs is not None and result.runs is not None:
                self._runs.put(rows, columns, result.runs, self._threads)

    def tile_result(self, tile: Tile) -> TileScores | TileAlignments:
        if self.statistics is None:
            return TileScores(tile, self.scores, self.is_reverse_complement)
        return TileAlignments(tile, self.scores, self.statistics, self.runs, self.is_reverse_complement)


class PairCollector(ResultGather):
    """Collects the results of all pairs in a band. threads: number of threads that copy results"""

    def __init__(self, task: Task, threads: int, band: Band) -> None:
        super().__init__(task, band.shape, threads)
        self._band = band
        self._completed_query_count = band.stop if band.target_stop == len(task.targets) else 0

    def add(self, result: TileResult) -> None:
        tile, band = result.tile, self._band
        self.put(slice(tile.query_start - band.start, tile.query_stop - band.start), tile.targets - band.first_target, result)

    def finish(self) -> BandResults:
        return BandResults(self._band, self.scores, self.statistics, self.runs, self.is_reverse_complement, self._completed_query_count)


@dataclass(frozen=True)
class NearPairBand:
    """Near pairs of a band.

    pairs: all near pairs in the band's tiles, in any order
    survivor_counts: number of pairs that remain after each of the engine's filter steps, keyed by the step's human-readable name
    """

    band: Band
    pairs: NearPairs
    survivor_counts: Mapping[str, int]


class NearPairCollector:
    """Collects the near pairs of a band or a single tile."""

    def __init__(self, band: Band) -> None:
        self._band = band
        self._pairs: list[NearPairs] = []
        self._survivors: Counter[str] = Counter()

    def add(self, result: TileResult) -> None:
        assert isinstance(result, TilePairs)
        self._pairs.append(result.pairs)
        self._survivors.update(result.survivor_counts)

    def finish(self) -> NearPairBand:
        return NearPairBand(self._band, join_pairs(self._pairs), self._survivors)
