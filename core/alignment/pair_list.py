"""Lists of the pairs that remain after a threshold is applied to the matrix of all pairs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from typing import Any

import numpy as np

from gpualign.core.common.arrays import Integers
from gpualign.core.common.dataclass import dataclass


@dataclass(frozen=True)
class NearPairs:
    """List of pairs within a threshold.

    queries, targets: record numbers, int64[pairs]
    distances: edit distances, int64[pairs]
    """

    queries: Integers = field(repr=False)
    targets: Integers = field(repr=False)
    distances: Integers = field(repr=False)

    def __len__(self) -> int:
        return len(self.queries)

    @property
    def nbytes(self) -> int:
        return self.queries.nbytes + self.targets.nbytes + self.distances.nbytes

    def select(self, indices: Any) -> NearPairs:  # any index of an array
        return NearPairs(self.queries[indices], self.targets[indices], self.distances[indices])

    def earlier_first(self) -> NearPairs:
        """Return the pairs with queries and targets swapped where the target has the lower number."""
        return NearPairs(np.minimum(self.queries, self.targets), np.maximum(self.queries, self.targets), self.distances)

    def transposed(self) -> NearPairs:
        """Return the pairs with queries and targets swapped."""
        return NearPairs(self.targets, self.queries, self.distances)

    def sorted(self) -> NearPairs:
        """Return the pairs sorted by query, then by target, then by distance."""
        same, later = self.queries[1:] == self.queries[:-1], self.queries[1:] > self.queries[:-1]
        if (later | (same & (self.targets[1:] > self.targets[:-1]))).all():
            return self
        first = self.queries.min()
        columns = (self.queries - first, self.targets, self.distances)
        bits = [int(column.max()).bit_length() for column in columns]
        if sum(bits) > 63:
            return self.select(np.lexsort((self.distances, self.targets, self.queries)))
        # One number per pair: sorting numbers is several times as fast as sorting by columns.
        packed = ((columns[0] << bits[1] | columns[1]) << bits[2]) | columns[2]
        packed.sort()
        targets = packed >> bits[2] & ((1 << bits[1]) - 1)
        return NearPairs((packed >> (bits[1] + bits[2])) + first, targets, packed & ((1 << bits[2]) - 1))


def join_pairs(lists: Sequence[NearPairs]) -> NearPairs:
    """Concatenate lists of pairs into one list."""
    filled = [one for one in lists if len(one)]
    if len(filled) == 1:
        return filled[0]
    none = np.zeros(0, dtype=np.int64)
    columns = ((one.queries, one.targets, one.distances) for one in (NearPairs(none, none, none), *filled))
    return NearPairs(*(np.concatenate(column) for column in zip(*columns, strict=True)))
