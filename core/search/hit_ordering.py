"""Hits in the order of the queries, though some queries are searched twice."""

from __future__ import annotations

from collections import deque

import numpy as np

from gpualign.core.alignment.hits import NO_HITS, HitBatch, Hits, join_hits
from gpualign.core.common.arrays import Integers
from gpualign.core.search.hit_assembly import QueryHits


class HitOrder:
    """Puts hits in order of the queries, though those of some come later. Holds what waits for them.

    per_record: queries that a record has, its strands.
    """

    def __init__(self, per_record: int) -> None:
        self._per_record = per_record
        self._held: list[Hits] = []  # of each, queries in order
        self._missing: deque[int] = deque()
        self._searched = 0

    @property
    def missing(self) -> Integers:
        """The queries, in order, whose hits are still to come."""
        return np.array(self._missing, dtype=np.int64)

    def first(self, found: QueryHits) -> HitBatch:
        """Take the hits of the next queries that are searched for the first time; cut ones are missing from now on. Returns all hits of the
        next whole records, as far as nothing of them is missing."""
        self._held.append(found.hits)
        self._missing.extend(found.queries[found.cut].tolist())
        self._searched = int(found.queries[-1]) + 1
        return self._release(NO_HITS)

    def again(self, found: QueryHits) -> HitBatch:
        """The same for the first missing queries, none of which is cut."""
        if found.cut.any() or any(self._missing.popleft() != query for query in found.queries.tolist()):
            raise RuntimeError("hits are missing of queries that were searched again")
        return self._release(found.hits)

    def _release(self, more: Hits) -> HitBatch:
        records = (self._missing[0] if self._missing else self._searched) // self._per_record
        stop = records * self._per_record
        ready, waiting = [NO_HITS], []
        for piece in (more, *self._held):
            inside = int(np.searchsorted(piece.queries, stop))
            ready.append(piece.part(slice(0, inside)))
            if inside < len(piece):
                waiting.append(piece.part(slice(inside, len(piece))))
        self._held = waiting
        hits = join_hits(ready)
        return HitBatch(hits.part(np.argsort(hits.queries, kind="stable")), records)
