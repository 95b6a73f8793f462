"""Search hits: lists of pairs with scores. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field, fields
from typing import TypeVar

import numpy as np

from gpualign.core.common.arrays import Booleans, Integers, Reals
from gpualign.core.common.dataclass import dataclass
from gpualign.core.scoring.composition import UNITS_PER_POINT

HitsType = TypeVar("HitsType", bound="Hits")


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

    def select(self: HitsType, index: slice | Booleans | Integers) -> HitsType:
        """Return the hits selected by `index`."""
        return type(self)(*(getattr(self, column.name)[index] for column in fields(self)))

    def extended_by(self: HitsType, hits: Hits) -> HitsType:
        """Return these hits, and then those of another list of the same kind."""
        return type(self)(*(np.concatenate((getattr(self, column.name), getattr(hits, column.name))) for column in fields(self)))

    @property
    def points(self) -> Integers | Reals:
        """Scores in the units of the scoring: int64[hits] or float64[hits]."""
        return self.scores

    @property
    def whole_points(self) -> Integers:
        """Scores in the units of the scoring, rounded to integers: int64[hits]."""
        return self.scores


@dataclass(frozen=True)
class AdjustedHits(Hits):
    """List of hits whose scores are adjusted to the compositions of the query and the target.

    scores: in units of 1/`UNITS_PER_POINT` of a score point, int64[hits]
    windows: the intervals whose compositions count: start and end in the query, start and end in the target, int64[hits][4]
    is_masked: whether low-complexity letters of the target are masked, bool[hits]
    """

    windows: Integers = field(repr=False)
    is_masked: Booleans = field(repr=False)

    @property
    def points(self) -> Reals:
        return self.scores / UNITS_PER_POINT

    @property
    def whole_points(self) -> Integers:
        return (self.scores + UNITS_PER_POINT // 2) // UNITS_PER_POINT


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
