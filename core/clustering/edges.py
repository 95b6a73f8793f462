"""Pairs of records with their distances."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import field
from functools import cached_property

import numpy as np
import numpy.typing as npt

from gpualign.core.common.arrays import Integers, Reals
from gpualign.core.common.dataclass import dataclass
from gpualign.core.common.errors import TooLittleMemory, parameter
from gpualign.core.common.units import format_bytes

Indices = npt.NDArray[np.signedinteger]

PAIR_BYTES = 16
"""Of a pair: two int32 and a float64."""

_PART = 1 << 18
"""Pairs that are looked at together: what is made of them takes some twenty megabytes."""

_FIRST_BYTES = 1 << 20
_GROWTH = 1.125
_ADVISED = 2.2
"""Times what pairs take, which is estimated: sequences take memory too."""


@dataclass(frozen=True)
class Edges:
    """Pairs of `count` records, each pair once and in any order: those that are near each other, or all that are known.

    i, j: int32 or int64[pairs], 0 <= i < j < count; distance: float64[pairs], not negative.
    """

    count: int
    i: Indices = field(repr=False)
    j: Indices = field(repr=False)
    distance: Reals = field(repr=False)

    def __len__(self) -> int:
        return len(self.i)

    @property
    def nbytes(self) -> int:
        return self.i.nbytes + self.j.nbytes + self.distance.nbytes

    def parts(self) -> Iterator[tuple[Indices, Indices, Reals]]:
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
        keys = self.i.astype(np.int64) * self.count + self.j
        order = np.argsort(keys)
        return keys[order], order

    def between(self, a: Integers, b: Integers) -> Reals:
        """Distances of pairs of records: float64[pairs]; 0 of a record to itself, nan where a pair is not in the list."""
        found = np.where(a == b, 0.0, np.nan)
        keys, order = self._by_pair
        if len(keys):
            wanted = np.minimum(a, b) * self.count + np.maximum(a, b)
            at = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
            there = keys[at] == wanted
            found[there] = self.distance[order[at[there]]]
        return found


class GrowingEdges:
    """Near pairs of `count` records, as they are found, in order of their first records. max_bytes: that they may take, None: any."""

    def __init__(self, count: int, max_bytes: int | None) -> None:
        self._count = count
        self._most = (sys.maxsize if max_bytes is None else max_bytes) // PAIR_BYTES
        self._size = 0
        self._i, self._j = np.empty(0, dtype=np.int32), np.empty(0, dtype=np.int32)
        self._distance = np.empty(0, dtype=np.float64)

    def add(self, i: Integers, j: Integers, distance: Reals) -> None:
        """Raises `TooLittleMemory`, saying how much memory all may take, where these are too many."""
        size = self._size + len(i)
        if size > self._most:
            left = (self._count - 1 - int(i[-1])) / max(1, self._count)  # of the records, whose pairs are not looked at
            needed = int(PAIR_BYTES * size / max(1 - left**2, 1e-9))
            advised = int(_ADVISED * needed)
            raise TooLittleMemory(
                f"too many pairs of {self._count:,} records are near: they take about {format_bytes(needed)} of memory, {PAIR_BYTES} bytes"
                f" each, and may take half of it, {format_bytes(PAIR_BYTES * self._most)} here",
                advised,
                f"choose a nearer threshold, or raise {parameter('memory')} to {format_bytes(advised)} or more",
            )
        if size > len(self._i):
            room = min(self._most, max(size, int(_GROWTH * size), _FIRST_BYTES // PAIR_BYTES))
            self._resize(room)
        part = slice(self._size, size)
        self._i[part], self._j[part], self._distance[part] = i, j, distance
        self._size = size

    def done(self) -> Edges:
        """All of them; nothing can be added then."""
        self._resize(self._size)
        return Edges(self._count, self._i, self._j, self._distance)

    def _resize(self, pairs: int) -> None:
        for array in (self._i, self._j, self._distance):
            array.resize(pairs, refcheck=False)  # large ones are not copied


def unique_edges(count: int, a: Indices, b: Indices, distance: Reals) -> tuple[Edges, tuple[int, int] | None]:
    """(pairs in either order, repeated or of a record with itself, each once; the places of two that contradict each other, or None)."""
    keys = np.minimum(a, b).astype(np.int64)
    keys *= count
    keys += np.maximum(a, b)
    if (a < b).all() and (keys[1:] > keys[:-1]).all():
        return Edges(count, a, b, distance), None  # as this program writes lists
    i, j = np.minimum(a, b), np.maximum(a, b)
    others = np.flatnonzero(i != j)
    order = np.argsort(keys[others], kind="stable")
    places = others[order]
    keys = keys[places]
    first = np.ones(len(keys), dtype=bool)
    first[1:] = keys[1:] != keys[:-1]
    leaders = places[first]
    of = leaders[np.cumsum(first) - 1]
    equal = (distance[places] == distance[of]) | (np.isnan(distance[places]) & np.isnan(distance[of]))
    wrong = np.flatnonzero(~equal)
    contradiction = None if not len(wrong) else (int(of[wrong[0]]), int(places[wrong[0]]))
    return Edges(count, i[leaders], j[leaders], distance[leaders]), contradiction
