"""Search hits: lists of pairs with scores. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field

import numpy as np

from gpualign.core.common.arrays import Booleans, Integers
from gpualign.core.common.dataclass import dataclass


@dataclass(frozen=True)
class Hits:
    """List of hits. The hits of a query are consecutive, best first.

    queries, targets: record numbers, int64[hits]
    scores: int64[hits]
    """

    queries: Integers = field(repr=False)
    targets: Integers = field(repr=False)
    scores: Integers = field(repr=False)

    def __len__(self) -> int:
        return len(self.queries)

    def select(self, index: slice | Booleans | Integers) -> Hits:
        """Return the hits selected by `index`."""
        return Hits(self.queries[index], self.targets[index], self.scores[index])


@dataclass(frozen=True)
class HitBatch:
    """All hits for the next query records of a search.

    hits: hits for all strands of these records
    record_stop: number of the first query record whose hits are neither in this batch nor in earlier ones
    """

    hits: Hits
    record_stop: int


NO_HITS = Hits(*(np.zeros(0, dtype=np.int64) for _ in range(3)))


def join_hits(lists: Sequence[Hits]) -> Hits:
    """Concatenate lists of hits.

    lists: at least one list
    """
    if len(lists) == 1:
        return lists[0]
    columns = ([p.queries for p in lists], [p.targets for p in lists], [p.scores for p in lists])
    return Hits(*(np.concatenate(column) for column in columns))
