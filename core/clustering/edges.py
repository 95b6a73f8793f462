"""Record pairs with distances."""

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
"""Memory per pair, in bytes: two int32 and a float64."""

_CHUNK_PAIRS = 1 << 18
"""Number of pairs that are processed together. Temporary arrays for these pairs take about twenty megabytes."""

_INITIAL_BYTES = 1 << 20
_GROWTH_FACTOR = 1.125
_ADVISED_MEMORY_FACTOR = 2.2
"""Ratio of the advised memory to the estimated memory for pairs: sequences take memory too."""


@dataclass(frozen=True)
class Edges:
    """Record pairs with distances, each pair once and in any order: near pairs, or all known pairs.

    record_count: number of records
    i, j: indices of the records, int32 or int64[pairs], 0 <= i < j < record_count
    distance: float64[pairs], not negative
    """

    record_count: int
    i: Indices = field(repr=False)
    j: Indices = field(repr=False)
    distance: Reals = field(repr=False)

    def __len__(self) -> int:
        return len(self.i)

    @property
    def nbytes(self) -> int:
        return self.i.nbytes + self.j.nbytes + self.distance.nbytes

    def chunks(self) -> Iterator[tuple[Indices, Indices, Reals]]:
        """Yield (i, j, distance) of consecutive pairs, in the order of the list. A chunk has so few pairs that temporary arrays of its size
        take little memory."""
        for start in range(0, len(self), _CHUNK_PAIRS):
            chunk = slice(start, start + _CHUNK_PAIRS)
            yield self.i[chunk], self.j[chunk], self.distance[chunk]

    def near_pair_count(self, copy_counts: Integers) -> int:
        """Return the number of near pairs among the copies of all records. The copies of a record are near each other. copy_counts: number
        of copies of each record, int64[records]."""
        within = int((copy_counts * (copy_counts - 1) // 2).sum())
        return within + sum(int((copy_counts[i] * copy_counts[j]).sum()) for i, j, _ in self.chunks())

    @cached_property
    def _sorted_keys(self) -> tuple[Integers, Integers]:
        """Sorted keys for finding pairs: (i * record_count + j of each pair, ascending; for each key, the index of its pair in the
        arrays)."""
        keys = self.i.astype(np.int64) * self.record_count + self.j
        order = np.argsort(keys)
        return keys[order], order

    def distances_between(self, a: Integers, b: Integers) -> Reals:
        """Return the distances of record pairs: float64[pairs]; 0 between a record and itself, nan for a pair that is not among the edges.

        a, b: the records of each pair, in either order
        """
        distances = np.where(a == b, 0.0, np.nan)
        keys, order = self._sorted_keys
        if len(keys):
            requested = np.minimum(a, b) * self.record_count + np.maximum(a, b)
            at = np.minimum(np.searchsorted(keys, requested), len(keys) - 1)
            listed = keys[at] == requested
            distances[listed] = self.distance[order[at[listed]]]
        return distances


class EdgeListBuilder:
    """List of near pairs that grows as pairs are found, in order of their first records.

    record_count: number of records
    max_bytes: maximum memory for the pairs, in bytes; None: no limit
    """

    def __init__(self, record_count: int, max_bytes: int | None) -> None:
        self._record_count = record_count
        self._max_pairs = (sys.maxsize if max_bytes is None else max_bytes) // PAIR_BYTES
        self._pair_count = 0
        self._i, self._j = np.empty(0, dtype=np.int32), np.empty(0, dtype=np.int32)
        self._distance = np.empty(0, dtype=np.float64)

    def add(self, i: Integers, j: Integers, distance: Reals) -> None:
        """Add pairs. Raises `TooLittleMemory`, with an estimate of the memory for all pairs, if the pairs added so far exceed
        `max_bytes`."""
        size = self._pair_count + len(i)
        if size > self._max_pairs:
            left = (self._record_count - 1 - int(i[-1])) / max(1, self._record_count)  # fraction of records whose pairs are still to come
            needed = int(PAIR_BYTES * size / max(1 - left**2, 1e-9))
            advised = int(_ADVISED_MEMORY_FACTOR * needed)
            raise TooLittleMemory(
                f"too many pairs of {self._record_count:,} records are near: they take about {format_bytes(needed)} of memory,"
                f" {PAIR_BYTES} bytes each, and may take half of the budget, {format_bytes(PAIR_BYTES * self._max_pairs)} here",
                advised,
                f"choose a nearer threshold, or raise {parameter('memory')} to {format_bytes(advised)} or more",
            )
        if size > len(self._i):
            capacity = min(self._max_pairs, max(size, int(_GROWTH_FACTOR * size), _INITIAL_BYTES // PAIR_BYTES))
            self._resize(capacity)
        place = slice(self._pair_count, size)
        self._i[place], self._j[place], self._distance[place] = i, j, distance
        self._pair_count = size

    def finish(self) -> Edges:
        """Return all pairs. No pairs can be added afterwards."""
        self._resize(self._pair_count)
        return Edges(self._record_count, self._i, self._j, self._distance)

    def _resize(self, pair_count: int) -> None:
        for array in (self._i, self._j, self._distance):
            array.resize(pair_count, refcheck=False)  # large ones are not copied


def unique_edges(record_count: int, a: Indices, b: Indices, distance: Reals) -> tuple[Edges, tuple[int, int] | None]:
    """Return the distinct pairs among the given pairs.

    a, b: the records of each pair, in either order; pairs may be repeated, or pair a record with itself
    distance: the distance of each pair

    Returns (the pairs; the indices of two equal pairs with different distances, or None if there are no such pairs).
    """
    keys = np.minimum(a, b).astype(np.int64)
    keys *= record_count
    keys += np.maximum(a, b)
    if (a < b).all() and (keys[1:] > keys[:-1]).all():
        return Edges(record_count, a, b, distance), None  # the order in which this program writes lists
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
    return Edges(record_count, i[leaders], j[leaders], distance[leaders]), contradiction
