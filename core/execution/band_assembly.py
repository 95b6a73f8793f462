"""Assembles tiles, which arrive in any order, into result bands in plan order."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Protocol, TypeVar, cast

from gpualign.core.alignment.band_results import BandResults
from gpualign.core.alignment.task import Task
from gpualign.core.alignment.tile_results import TileResult
from gpualign.core.common.reorder_buffer import ReorderBuffer
from gpualign.core.execution.pipeline import Closable, Progress
from gpualign.core.execution.result_gather import ResultGather
from gpualign.core.planning.tile_plan import Band, Plan

AssembledT = TypeVar("AssembledT", covariant=True)
BandT = TypeVar("BandT")


class Assembly(Protocol[AssembledT]):
    """Collects the tiles of one band."""

    def add(self, result: TileResult) -> None:
        """Add a tile of the band."""

    def finish(self) -> AssembledT:
        """Return the whole band. Called once, after every tile has been added."""


def bands_in_order(
    plan: Plan, results: Iterator[TileResult], make_assembly: Callable[[Band], Assembly[BandT]], progress: Progress
) -> Iterator[BandT]:
    """Yield each band as soon as all its tiles and all earlier bands are complete. make_assembly: creates an empty assembly for a band

    `results` is always closed. Raises `RuntimeError` if a band remains incomplete because an engine lost a tile.
    """
    open_bands: dict[int, tuple[Assembly[BandT], int]] = {}
    complete = ReorderBuffer[Assembly[BandT]]()
    with closing(cast("Closable", results)):
        for result in results:
            band = result.tile.band
            assembly, missing = open_bands.pop(band.index) if band.index in open_bands else (make_assembly(band), band.tile_count)
            assembly.add(result)
            progress.advance(result.tile.cells)
            if missing > 1:
                open_bands[band.index] = assembly, missing - 1
            else:
                yield from (whole.finish() for whole in complete.add(band.index, assembly))
    if complete.following != plan.band_count:
        raise RuntimeError(f"results are missing: {plan.band_count - complete.following} of {plan.band_count} bands are incomplete")


class PairAssembly:
    """Collects the results of all pairs in a band. threads: number of threads that copy results"""

    def __init__(self, task: Task, threads: int, band: Band) -> None:
        self._band = band
        self._gather = ResultGather(task, band.shape, threads)

    def add(self, result: TileResult) -> None:
        tile = result.tile
        rows = slice(tile.query_start - self._band.start, tile.query_stop - self._band.start)
        self._gather.add(rows, tile.targets - self._band.first_target, result)

    def finish(self) -> BandResults:
        gather = self._gather
        return BandResults(self._band, gather.scores, gather.statistics, gather.runs, gather.is_reverse_complement)
