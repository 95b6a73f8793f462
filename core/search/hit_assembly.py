"""What the tiles of a search tell of each band's queries: their best hits, or every hit above a floor."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field

import numpy as np
import numpy.typing as npt

from gpualign.core.alignment.hits import NO_HITS, BestTargets, HitBatch, Hits, join_hits
from gpualign.core.alignment.task import Task
from gpualign.core.alignment.tile_results import TileHits, TileResult
from gpualign.core.common.arrays import Integers
from gpualign.core.common.dataclass import dataclass
from gpualign.core.planning.tile_plan import Band

_CHUNK = 1 << 17
"""Hits that are handed on at a time, about: those of whole queries."""


class BestAssembly:
    """Gathers the best targets of each query of a band, `task.top` of them; in the end, those that score `min_score` or more. per_record:
    queries that a record has, its strands, which are all in one band."""

    def __init__(self, task: Task, min_score: int, per_record: int, band: Band) -> None:
        assert task.top is not None
        self._per_record = per_record
        self._band = band
        self._min_score = max(1, min_score)
        self._best = BestTargets(band.stop - band.start, task.top, task.dtype, task.targets.ranks)

    def add(self, result: TileResult) -> None:
        assert isinstance(result, TileHits)
        start = self._band.start
        self._best.add(slice(result.tile.query_start - start, result.tile.query_stop - start), result.scores, result.targets)

    def done(self) -> HitBatch:
        scores = self._best.scores
        rows, places = np.nonzero(scores >= self._min_score)
        queries = (self._band.start + rows).astype(np.int64)
        hits = Hits(queries, self._best.targets[rows, places], scores[rows, places].astype(np.int64))
        return HitBatch(hits, self._band.stop // self._per_record)


@dataclass(frozen=True)
class _Part:
    """Hits of a tile, in order of their rows: int32[hits] rows of the band and targets, and their scores."""

    rows: npt.NDArray[np.int32] = field(repr=False)
    targets: npt.NDArray[np.int32] = field(repr=False)
    scores: npt.NDArray[np.signedinteger] = field(repr=False)


@dataclass(frozen=True)
class QueryHits:
    """The hits of consecutive queries, in their order. queries: int64[]; cut: bool[], which of them have more hits than there are here, and
    none here."""

    hits: Hits
    queries: Integers = field(repr=False)
    cut: npt.NDArray[np.bool_] = field(repr=False)


class PassingAssembly:
    """Gathers every target of a query of a band that scores its floor or more.

    task: a search for the best `task.top` targets; numbers: int64[queries], what its queries are called; floors: int64[queries], 1 or more.
    A tile tells all targets above the floor of a query if it tells all of its targets, or one below the floor. A query of which a tile
    tells fewer, or that has more than `task.top` hits, which memory is not planned for, is cut.
    """

    def __init__(self, task: Task, numbers: Integers, floors: Integers, band: Band) -> None:
        assert task.top is not None
        self._top = task.top
        self._start = band.start
        self._queries = numbers[band.start : band.stop]
        self._floors = floors[band.start : band.stop]
        # By row: hits so far, and whether there are more than are kept.
        self._counts = np.zeros(len(self._queries), dtype=np.int64)
        self._cut = np.zeros(len(self._queries), dtype=bool)
        self._parts: list[_Part] = []

    def add(self, result: TileResult) -> None:
        assert isinstance(result, TileHits)
        tile, scores = result.tile, result.scores
        place = slice(tile.query_start - self._start, tile.query_stop - self._start)
        floors, counts, cut = self._floors[place], self._counts[place], self._cut[place]  # views
        wanted = scores >= floors[:, None]
        counts += wanted.sum(axis=1)
        cut |= counts > self._top
        if scores.shape[1] < len(tile.targets):
            cut |= wanted.all(axis=1)
        rows, columns = np.nonzero(wanted & ~cut[:, None])
        if len(rows):
            targets = result.targets[rows, columns].astype(np.int32)
            self._parts.append(_Part((rows + place.start).astype(np.int32), targets, scores[rows, columns]))

    def done(self) -> Iterator[QueryHits]:
        """The band's queries, some at a time."""
        before = np.concatenate(([0], np.cumsum(np.where(self._cut, 0, self._counts))))
        start = 0
        while start < len(self._queries):
            stop = max(start + 1, int(np.searchsorted(before, before[start] + _CHUNK, side="right")) - 1)
            yield QueryHits(self._hits(start, stop), self._queries[start:stop], self._cut[start:stop])
            start = stop

    def _hits(self, start: int, stop: int) -> Hits:
        """Those of rows start .. stop-1, but not of cut ones, in order of their queries."""
        found = [NO_HITS]
        for part in self._parts:
            within = slice(*np.searchsorted(part.rows, (start, stop)))
            found.append(Hits(*(column[within].astype(np.int64) for column in (part.rows, part.targets, part.scores))))
        hits = join_hits(found)
        hits = hits.part(~self._cut[hits.queries])
        hits = hits.part(np.argsort(hits.queries, kind="stable"))
        return Hits(self._queries[hits.queries], hits.targets, hits.scores)
