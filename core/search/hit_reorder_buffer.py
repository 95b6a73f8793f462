"""Puts hits in query order even when some queries are searched twice."""

from __future__ import annotations

from collections import deque

import numpy as np

from gpualign.core.alignment.hits import NO_HITS, HitBatch, Hits, join_hits
from gpualign.core.common.arrays import Integers
from gpualign.core.execution.hit_collectors import QueryHits


class HitReorderBuffer:
    """Puts hits in query order even when the hits of some queries arrive late, and holds the hits that must wait for late hits.

    queries_per_record: number of queries (strands or frames) per input record
    """

    def __init__(self, queries_per_record: int) -> None:
        self._per_record = queries_per_record
        self._held: list[Hits] = []  # each in the order of its queries
        self._missing_queries: deque[int] = deque()
        self._searched_stop = 0

    @property
    def missing_queries(self) -> Integers:
        """Numbers of the queries whose hits are still missing, ascending."""
        return np.array(self._missing_queries, dtype=np.int64)

    def add_first_pass(self, result: QueryHits) -> HitBatch:
        """Add the hits of the next queries, searched for the first time. The hits of truncated queries are then missing.

        Returns the hits of all records before the first record with a missing query, except hits that an earlier call returned.
        """
        self._held.append(result.hits)
        self._missing_queries.extend(result.queries[result.is_truncated].tolist())
        self._searched_stop = int(result.queries[-1]) + 1
        return self._release(NO_HITS)

    def add_repeated(self, result: QueryHits) -> HitBatch:
        """Add the hits of the first missing queries, none of which may be truncated.

        Returns the hits of all records before the first record with a missing query, except hits that an earlier call returned.
        """
        if result.is_truncated.any() or any(self._missing_queries.popleft() != query for query in result.queries.tolist()):
            raise RuntimeError("queries that were searched again lack hits")
        return self._release(result.hits)

    def _release(self, more: Hits) -> HitBatch:
        records = (self._missing_queries[0] if self._missing_queries else self._searched_stop) // self._per_record
        stop = records * self._per_record
        ready, waiting = [NO_HITS], []
        for piece in (more, *self._held):
            inside = int(np.searchsorted(piece.queries, stop))
            ready.append(piece.select(slice(0, inside)))
            if inside < len(piece):
                waiting.append(piece.select(slice(inside, len(piece))))
        self._held = waiting
        hits = join_hits(ready)
        return HitBatch(hits.select(np.argsort(hits.queries, kind="stable")), records)
