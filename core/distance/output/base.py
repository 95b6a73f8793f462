"""Defines what sinks of distances receive: `Samples` at the beginning, then distances or numbers of near pairs."""

from __future__ import annotations

from dataclasses import field
from typing import ClassVar

import numpy as np

from gpualign.core.common.dataclass import dataclass
from gpualign.core.distance.metrics import CountArray, Values
from gpualign.core.planning.rectangle import Rect

DECIMALS = 9
"""Number of decimals for distances that are not counts: enough to show a difference at one site in a whole bacterial genome."""


@dataclass(frozen=True)
class BandDistances:
    """Distances for the pairs in a band. Arrays are [queries][targets].

    band: queries and targets of the pairs
    values: distances
    compared_sites: number of compared sites of each pair, int32; None: not requested
    too_few_sites_count: number of pairs with too few compared sites for a distance
    undefined_count: number of additional pairs for which the metric's formula has no value
    """

    band: Rect
    values: Values = field(repr=False)
    compared_sites: CountArray | None = field(repr=False)
    too_few_sites_count: int = 0
    undefined_count: int = 0

    @property
    def completed_query_count(self) -> int:
        """Index of a query. Once this band has been delivered, all pairs of the queries before it have been, too."""
        return self.band.stop


@dataclass(frozen=True)
class NearPairDistances:
    """Distances for near pairs, in ascending order of query, then target. Arrays are [pairs].

    queries, targets: indices into `Samples.queries` and `Samples.targets`, int64
    values: distances
    compared_sites: number of compared sites of each pair, int32; None: not requested
    too_few_sites_count: number of pairs, not included here, with too few compared sites for a distance
    undefined_count: number of additional pairs, not included here, for which the metric's formula has no value
    completed_query_count: index of a query, or 0 if unknown. Once these pairs have been delivered, all pairs of the queries before it have
        been, too
    """

    queries: CountArray = field(repr=False)
    targets: CountArray = field(repr=False)
    values: Values = field(repr=False)
    compared_sites: CountArray | None = field(repr=False)
    completed_query_count: int = 0
    too_few_sites_count: int = 0
    undefined_count: int = 0

    @property
    def near_count(self) -> int:
        """Number of pairs."""
        return len(self.queries)

    def select(self, which: slice) -> NearPairDistances:
        """Return the distances of a slice of the pairs."""
        compared = self.compared_sites[which] if self.compared_sites is not None else None
        return NearPairDistances(self.queries[which], self.targets[which], self.values[which], compared)


@dataclass(frozen=True)
class NeighbourTally:
    """Numbers of near pairs in which samples occur, from one piece of the pairs.

    first_query: index of the first query in `query_counts`
    query_counts: number of pairs of consecutive queries, int64[queries]
    first_target: index of the first target in `target_counts`
    target_counts: number of pairs of consecutive targets, int64[targets]
    near_count, too_few_sites_count, undefined_count: numbers of near pairs, and of other pairs as in `NearPairDistances`
    """

    first_query: int
    query_counts: CountArray = field(repr=False)
    first_target: int
    target_counts: CountArray = field(repr=False)
    near_count: int
    too_few_sites_count: int
    undefined_count: int
    completed_query_count: ClassVar[int] = 0

    @classmethod
    def of(cls, pairs: NearPairDistances) -> NeighbourTally:
        """Count the pairs of each sample in a list of pairs."""
        (first_query, queries), (first_target, targets) = _occurrences(pairs.queries), _occurrences(pairs.targets)
        others = pairs.too_few_sites_count, pairs.undefined_count
        return cls(first_query, queries, first_target, targets, pairs.near_count, *others)


def _occurrences(samples: CountArray) -> tuple[int, CountArray]:
    """Return (smallest index, how often this index and each of the following ones occurs)."""
    if not len(samples):
        return 0, samples
    first = int(samples.min())
    return first, np.bincount(samples - first)
