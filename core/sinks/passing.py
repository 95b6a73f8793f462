"""Every hit above a floor: gathers them from engines that keep only so many targets, and knows of which queries some are missing."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from gpualign.core.engine import Task, TileResult
from gpualign.core.plan import Band, Plan
from gpualign.core.search.hits import NO_HITS, Hits, Integers, join_hits
from gpualign.core.sinks.base import BandOrder

_CHUNK = 1 << 17
"""Hits that are handed on at a time, about: those of whole queries."""

Found = Callable[[Hits, Integers, npt.NDArray[np.bool_]], None]
"""Takes the hits of the next queries, in their order; the queries; and which of them have more than there are here, and none here."""


@dataclass(frozen=True)
class _Part:
    """Hits of a tile, in order of their rows: int32[hits] rows of the band and targets, and their scores."""

    rows: npt.NDArray[np.int32] = field(repr=False)
    targets: npt.NDArray[np.int32] = field(repr=False)
    scores: npt.NDArray[np.signedinteger] = field(repr=False)


@dataclass(frozen=True)
class _BandHits:
    """counts, cut: by row, hits so far and whether there are more than are kept."""

    band: Band
    floors: Integers
    counts: Integers
    cut: npt.NDArray[np.bool_]
    parts: list[_Part] = field(default_factory=list)

    def hits(self, start: int, stop: int, queries: Integers) -> Hits:
        """Those of rows start .. stop-1, but not of cut ones, in order of their queries; queries: by row of the band."""
        found = [NO_HITS]
        for part in self.parts:
            within = slice(*np.searchsorted(part.rows, (start, stop)))
            found.append(Hits(*(column[within].astype(np.int64) for column in (part.rows, part.targets, part.scores))))
        hits = join_hits(found)
        hits = hits.part(~self.cut[hits.queries])
        hits = hits.part(np.argsort(hits.queries, kind="stable"))
        return Hits(queries[hits.queries], hits.targets, hits.scores)


class PassingSink:
    """Gathers every target of a query that scores its floor or more.

    task: a search for the best `task.top` targets; numbers: int64[queries], what its queries are called; floors: int64[queries], 1 or more.
    A tile tells all targets above the floor of a query if it tells all of its targets, or one below the floor. A query of which a tile
    tells fewer, or that has more than `task.top` hits, which memory is not planned for, is cut.
    """

    def __init__(self, task: Task, numbers: Integers, floors: Integers, found: Found) -> None:
        assert task.top is not None
        self._top = task.top
        self._numbers = numbers
        self._floors = floors
        self._found = found

    def begin(self, plan: Plan) -> None:
        self._bands = BandOrder(plan, self._empty, self._put, self._finish)

    def accept(self, result: TileResult) -> None:
        self._bands.accept(result)

    def finish(self) -> None:
        self._bands.finish()

    def _empty(self, band: Band) -> _BandHits:
        rows = band.stop - band.start
        return _BandHits(band, self._floors[band.start : band.stop], np.zeros(rows, dtype=np.int64), np.zeros(rows, dtype=bool))

    def _put(self, entry: _BandHits, result: TileResult) -> None:
        assert result.targets is not None
        tile, scores = result.tile, result.scores
        place = slice(tile.query_start - entry.band.start, tile.query_stop - entry.band.start)
        floors, counts, cut = entry.floors[place], entry.counts[place], entry.cut[place]  # views
        wanted = scores >= floors[:, None]
        counts += wanted.sum(axis=1)
        cut |= counts > self._top
        if scores.shape[1] < len(tile.targets):
            cut |= wanted.all(axis=1)
        rows, columns = np.nonzero(wanted & ~cut[:, None])
        if len(rows):
            targets = result.targets[rows, columns].astype(np.int32)
            entry.parts.append(_Part((rows + place.start).astype(np.int32), targets, scores[rows, columns]))

    def _finish(self, entry: _BandHits) -> None:
        queries = self._numbers[entry.band.start : entry.band.stop]
        before = np.concatenate(([0], np.cumsum(np.where(entry.cut, 0, entry.counts))))
        start = 0
        while start < len(queries):
            stop = max(start + 1, int(np.searchsorted(before, before[start] + _CHUNK, side="right")) - 1)
            self._found(entry.hits(start, stop, queries), queries[start:stop], entry.cut[start:stop])
            start = stop


class HitOrder:
    """Hands hits on in order of the queries, though those of some come later. Holds what waits for them.

    add: takes the next queries, those before a number, with all their hits.
    """

    def __init__(self, add: Callable[[Hits, int], None]) -> None:
        self._add = add
        self._held: deque[Hits] = deque()
        self._missing: deque[int] = deque()
        self._searched = 0

    @property
    def missing(self) -> Integers:
        """The queries, in order, whose hits are still to come."""
        return np.array(self._missing, dtype=np.int64)

    def first(self, hits: Hits, queries: Integers, cut: npt.NDArray[np.bool_]) -> None:
        """Take the hits of the next queries that are searched for the first time, as `Found` does; `cut` ones are missing from now on."""
        self._held.append(hits)
        self._missing.extend(queries[cut].tolist())
        self._searched = int(queries[-1]) + 1
        self._release(NO_HITS)

    def again(self, hits: Hits, queries: Integers, cut: npt.NDArray[np.bool_]) -> None:
        """Take those of the first missing queries, none of which is cut."""
        if cut.any() or any(self._missing.popleft() != query for query in queries.tolist()):
            raise RuntimeError("hits are missing of queries that were searched again")
        self._release(hits)

    def _release(self, more: Hits) -> None:
        stop = self._missing[0] if self._missing else self._searched
        ready = [more]
        while self._held:
            piece = self._held.popleft()
            inside = int(np.searchsorted(piece.queries, stop))
            ready.append(piece.part(slice(0, inside)))
            if inside < len(piece):
                self._held.appendleft(piece.part(slice(inside, len(piece))))
                break
        hits = join_hits(ready)
        self._add(hits.part(np.argsort(hits.queries, kind="stable")), stop)
