"""Builds lists of record pairs, in memory or, if they take too much of it, in a temporary file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from gpualign.core.clustering.edges import PAIR_BYTES, Chunk, EdgeList, Edges, Indices, concatenate_chunks
from gpualign.core.clustering.stored_edges import EdgeWriter
from gpualign.core.common.arrays import Booleans, Reals
from gpualign.core.common.dataclass import dataclass
from gpualign.core.files.scratch import MakeScratch

_INITIAL_PAIRS = 1 << 16
_GROWTH_FACTOR = 1.125
_PART_BYTES = 96
"""Memory for sorting a part of the list, in bytes per pair: copies of the pair, sorted and unsorted, and its keys."""
_PART_FRACTION = 0.25
"""Fraction of a list's memory that sorting a part of it may take, once the list is in a file."""


@dataclass(frozen=True)
class EdgeStorage:
    """Place of a list of pairs.

    memory: maximum memory for the pairs, in bytes; if they take more, they are written to a temporary file
    scratch: creates temporary files
    """

    memory: int
    scratch: MakeScratch


class EdgeListBuilder:
    """List of pairs that grows as pairs are found.

    storage: place of the pairs; None: in memory, without a limit
    """

    def __init__(self, storage: EdgeStorage | None) -> None:
        self._storage = storage
        self._pair_count = 0
        self._i, self._j = np.empty(0, dtype=np.int32), np.empty(0, dtype=np.int32)
        self._distance = np.empty(0, dtype=np.float64)
        self._writer: EdgeWriter | None = None

    def __len__(self) -> int:
        """Number of pairs so far."""
        return self._pair_count

    def add(self, i: Indices, j: Indices, distance: Reals) -> None:
        """Add pairs. Raises `RunError` if the temporary file cannot be written."""
        size = self._pair_count + len(i)
        if self._writer is None and self._storage is not None and PAIR_BYTES * size > self._storage.memory:
            self._writer = EdgeWriter(self._storage.scratch)
            self._writer.write(self._i[: self._pair_count], self._j[: self._pair_count], self._distance[: self._pair_count])
            self._resize(0)
        if self._writer is not None:
            self._writer.write(i, j, distance)
        else:
            if size > len(self._i):
                capacity = max(int(_GROWTH_FACTOR * size), _INITIAL_PAIRS)
                self._resize(capacity if self._storage is None else max(size, min(capacity, self._storage.memory // PAIR_BYTES)))
            place = slice(self._pair_count, size)
            self._i[place], self._j[place], self._distance[place] = i, j, distance
        self._pair_count = size

    def finish(self, record_count: int) -> EdgeList:
        """Return all pairs. No pairs can be added afterwards. record_count: number of records."""
        if self._writer is not None and self._storage is not None:
            return self._writer.finish(record_count, int(_PART_FRACTION * self._storage.memory) // _PART_BYTES)
        self._resize(self._pair_count)
        return Edges(record_count, self._i, self._j, self._distance)

    def _resize(self, pair_count: int) -> None:
        for array in (self._i, self._j, self._distance):
            array.resize(pair_count, refcheck=False)  # large ones are not copied


def collect_edges(record_count: int, chunks: Iterable[Chunk], storage: EdgeStorage | None) -> EdgeList:
    """Return the pairs of all chunks, in the same order.

    record_count: number of records
    storage: place of the pairs; None: in memory, without a limit
    """
    edges = EdgeListBuilder(storage)
    for i, j, distance in chunks:
        edges.add(i, j, distance)
    return edges.finish(record_count)


def distinct_edges(listed: EdgeList, storage: EdgeStorage | None) -> tuple[EdgeList, tuple[int, int] | None]:
    """Return the distinct pairs of a list in which pairs may be repeated.

    Returns (the pairs: `listed` itself if none is repeated, otherwise sorted by their records; the records of the first pair that has two
    different distances, or None if there is no such pair).
    """
    if _is_ascending(listed) or all(bool(first.all()) for _, _, _, first in sorted_parts(listed)):
        return listed, None
    distinct = EdgeListBuilder(storage)
    for i, j, distance, first in sorted_parts(listed):
        first_distance = distance[first][np.cumsum(first) - 1]
        differs = (distance != first_distance) & ~(np.isnan(distance) & np.isnan(first_distance))
        if differs.any():
            wrong = int(differs.argmax())
            return listed, (int(i[wrong]), int(j[wrong]))
        distinct.add(i[first], j[first], distance[first])
    return distinct.finish(listed.record_count), None


def sorted_parts(listed: EdgeList) -> Iterator[tuple[Indices, Indices, Reals, Booleans]]:
    """Yield (i, j, distance, whether it is the first of equal pairs) of pairs sorted by their records, in parts that share no pair. Equal
    pairs are in the order of the list."""
    counts = np.zeros(listed.record_count, dtype=np.int64)
    for i, _, _ in listed.chunks():
        counts += np.bincount(i, minlength=listed.record_count)
    for _, _, chunks in listed.parts(lambda i, _: i, counts):
        i, j, distance = concatenate_chunks(chunks)
        order = np.argsort(i.astype(np.int64) * listed.record_count + j, kind="stable")
        i, j, distance = i[order], j[order], distance[order]
        yield i, j, distance, np.concatenate(([True], (i[1:] != i[:-1]) | (j[1:] != j[:-1])))


def _is_ascending(edges: EdgeList) -> bool:
    """Return whether the pairs are sorted by their records, and none is repeated."""
    last = -1
    for i, j, _ in edges.chunks():
        keys = i.astype(np.int64) * edges.record_count + j
        if keys[0] <= last or not (keys[1:] > keys[:-1]).all():
            return False
        last = int(keys[-1])
    return True
