"""Pairs of records with their distances."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field
from functools import cached_property

import numpy as np
import numpy.typing as npt

from gpualign.core.dataclass import dataclass

Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

_PART = 1 << 20
"""Pairs that are looked at together: tens of megabytes."""


@dataclass(frozen=True)
class Edges:
    """Pairs of `count` records, each pair once and in any order: those that are near each other, or all that are known.

    i, j: int64[pairs], 0 <= i < j < count; distance: float64[pairs], not negative.
    """

    count: int
    i: Integers = field(repr=False)
    j: Integers = field(repr=False)
    distance: Floats = field(repr=False)

    def __len__(self) -> int:
        return len(self.i)

    def parts(self) -> Iterator[tuple[Integers, Integers, Floats]]:
        """(i, j, distance) of pairs in the order of the list, so many at a time that what is made of them takes little memory."""
        for start in range(0, len(self), _PART):
            part = slice(start, start + _PART)
            yield self.i[part], self.j[part], self.distance[part]

    def standing_for(self, copies: Integers) -> int:
        """How many pairs there are if each of the records is there so many times, int64[count], and copies are near each other."""
        within = int((copies * (copies - 1) // 2).sum())
        return within + sum(int((copies[i] * copies[j]).sum()) for i, j, _ in self.parts())

    @cached_property
    def _by_pair(self) -> tuple[Integers, Integers]:
        """(numbers of the pairs, ascending; where each is in the list)."""
        keys = self.i * self.count + self.j
        order = np.argsort(keys)
        return keys[order], order

    def between(self, a: Integers, b: Integers) -> Floats:
        """Distances of pairs of records: float64[pairs]; 0 of a record to itself, nan where a pair is not in the list."""
        found = np.where(a == b, 0.0, np.nan)
        keys, order = self._by_pair
        if len(keys):
            wanted = np.minimum(a, b) * self.count + np.maximum(a, b)
            at = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
            there = keys[at] == wanted
            found[there] = self.distance[order[at[there]]]
        return found

    def select(self, keep: npt.NDArray[np.bool_]) -> Edges:
        """Some of the pairs."""
        return Edges(self.count, self.i[keep], self.j[keep], self.distance[keep])


def unique_edges(count: int, a: Integers, b: Integers, distance: Floats) -> tuple[Edges, tuple[int, int] | None]:
    """(pairs in either order, repeated or of a record with itself, each once; the places of two that contradict each other, or None)."""
    i, j = np.minimum(a, b), np.maximum(a, b)
    others = np.flatnonzero(i != j)
    keys = (i * count + j)[others]
    order = np.argsort(keys, kind="stable")
    keys, places = keys[order], others[order]
    first = np.ones(len(keys), dtype=bool)
    first[1:] = keys[1:] != keys[:-1]
    leaders = places[first]
    of = leaders[np.cumsum(first) - 1]
    equal = (distance[places] == distance[of]) | (np.isnan(distance[places]) & np.isnan(distance[of]))
    wrong = np.flatnonzero(~equal)
    contradiction = None if not len(wrong) else (int(of[wrong[0]]), int(places[wrong[0]]))
    return Edges(count, i[leaders], j[leaders], distance[leaders]), contradiction
