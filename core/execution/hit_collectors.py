"""Gathers the hits for each band's queries from the tiles of a search: the best hits, or every hit that reaches a score cutoff."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field

import numpy as np
import numpy.typing as npt

from gpualign.core.alignment.hit_order import BestTargetCollector
from gpualign.core.alignment.hits import NO_HITS, HitBatch, Hits, join_hits
from gpualign.core.alignment.task import Task
from gpualign.core.alignment.tile_results import TileHits, TileResult
from gpualign.core.common.arrays import Booleans, Integers, Scores, ranges_of_limited_size
from gpualign.core.common.dataclass import dataclass
from gpualign.core.planning.tile_plan import Band

_CHUNK_HITS = 1 << 17
"""Approximate number of hits that are passed on together. The hits of one query are never split."""


class BestHitCollector:
    """Gathers the best `task.top_count` targets for each query in a band, and returns the targets that score at least `min_score`.

    queries_per_record: number of queries (strands or frames) per input record; all queries of a record are in the same band
    """

    def __init__(self, task: Task, min_score: int, queries_per_record: int, band: Band) -> None:
        assert task.top_count is not None
        self._per_record = queries_per_record
        self._band = band
        self._min_score = max(1, min_score)
        self._best = BestTargetCollector(band.stop - band.start, task.top_count, task.score_dtype, task.targets.file_positions)

    def add(self, result: TileResult) -> None:
        assert isinstance(result, TileHits)
        start = self._band.start
        self._best.add(slice(result.tile.query_start - start, result.tile.query_stop - start), result.scores, result.targets)

    def finish(self) -> HitBatch:
        scores = self._best.scores
        rows, places = np.nonzero(scores >= self._min_score)
        queries = (self._band.start + rows).astype(np.int64)
        hits = Hits(queries, self._best.targets[rows, places], scores[rows, places].astype(np.int64))
        return HitBatch(hits, self._band.stop // self._per_record)


@dataclass(frozen=True)
class _TileHits:
    """Hits in a tile, ordered by row.

    rows: row of each hit's query in the band, int32[hits]
    targets: target of each hit, int32[hits]
    scores: score of each hit, [hits]
    """

    rows: npt.NDArray[np.int32] = field(repr=False)
    targets: npt.NDArray[np.int32] = field(repr=False)
    scores: Scores = field(repr=False)


@dataclass(frozen=True)
class QueryHits:
    """Hits of consecutive queries, in query order.

    hits: the hits of all queries that are not truncated
    queries: query numbers, int64[queries]
    is_truncated: whether each query has, or may have, more hits than fit in memory, bool[queries]; the hits of such queries are left out
    """

    hits: Hits
    queries: Integers = field(repr=False)
    is_truncated: Booleans = field(repr=False)


class CutoffHitCollector:
    """Gathers every target that scores at least the query's cutoff, for each query in a band.

    task: a search for the best `task.top_count` targets
    query_numbers: numbers of the task's queries in the whole search, int64[queries]
    cutoffs: score cutoff of each of these queries, at least 1, int64[queries]

    A tile reports only its best targets for a query. If it reports all its targets, or any target below the query's cutoff, it has
    certainly reported every target that reaches the cutoff. A query is truncated if a tile may have left out such a target. It is also
    truncated if it has more than `task.top_count` hits, because memory is planned for only that many.
    """

    def __init__(self, task: Task, query_numbers: Integers, cutoffs: Integers, band: Band) -> None:
        assert task.top_count is not None
        self._top = task.top_count
        self._start = band.start
        self._queries = query_numbers[band.start : band.stop]
        self._cutoffs = cutoffs[band.start : band.stop]
        # For each row: number of hits so far, and whether hits are missing.
        self._counts = np.zeros(len(self._queries), dtype=np.int64)
        self._is_truncated = np.zeros(len(self._queries), dtype=bool)
        self._tiles: list[_TileHits] = []

    def add(self, result: TileResult) -> None:
        assert isinstance(result, TileHits)
        tile, scores = result.tile, result.scores
        place = slice(tile.query_start - self._start, tile.query_stop - self._start)
        counts, is_truncated = self._counts[place], self._is_truncated[place]  # views
        passing = scores >= self._cutoffs[place, None]
        counts += passing.sum(axis=1)
        is_truncated |= counts > self._top
        if scores.shape[1] < len(tile.targets):
            is_truncated |= passing.all(axis=1)
        rows, columns = np.nonzero(passing & ~is_truncated[:, None])
        if len(rows):
            targets = result.targets[rows, columns].astype(np.int32)
            self._tiles.append(_TileHits((rows + place.start).astype(np.int32), targets, scores[rows, columns]))

    def finish(self) -> Iterator[QueryHits]:
        """Yield the hits of the band's queries. Each item holds the hits of a few consecutive queries."""
        before = np.concatenate(([0], np.cumsum(np.where(self._is_truncated, 0, self._counts))))
        for start, stop in ranges_of_limited_size(before, _CHUNK_HITS):
            yield QueryHits(self._hits(start, stop), self._queries[start:stop], self._is_truncated[start:stop])

    def _hits(self, start: int, stop: int) -> Hits:
        """Return the hits of rows start .. stop-1 in query order, without the hits of truncated queries."""
        pieces = [NO_HITS]
        for tile in self._tiles:
            within = slice(*np.searchsorted(tile.rows, (start, stop)))
            pieces.append(Hits(*(column[within].astype(np.int64) for column in (tile.rows, tile.targets, tile.scores))))
        hits = join_hits(pieces)
        hits = hits.select(~self._is_truncated[hits.queries])
        hits = hits.select(np.argsort(hits.queries, kind="stable"))
        return Hits(self._queries[hits.queries], hits.targets, hits.scores)
