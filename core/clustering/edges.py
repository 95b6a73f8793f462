"""Record pairs with distances."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from dataclasses import field
from functools import cached_property

import numpy as np
import numpy.typing as npt

from gpualign.core.common.arrays import Integers, Reals
from gpualign.core.common.dataclass import dataclass

Indices = npt.NDArray[np.signedinteger]

Chunk = tuple[Indices, Indices, Reals]
"""Some record pairs: their first records, their second records, and their distances."""

PairKeys = Callable[[Indices, Indices], Integers]
"""Function that returns a key for each of the given pairs: int64[pairs], from 0; -1 for a pair to leave out."""

PAIR_BYTES = 16
"""Memory per pair, in bytes: two int32 and a float64."""

CHUNK_PAIRS = 1 << 18
"""Number of pairs that are processed together. Temporary arrays for these pairs take about twenty megabytes."""

_PART_COUNT = 16
"""Number of parts in which a long list of pairs in memory is processed. Selecting each part takes a pass over the list."""


class EdgeList(ABC):
    """Record pairs with distances, each pair once and in any order: near pairs, or all known pairs. `Edges` holds them in memory,
    `stored_edges.StoredEdges` in a temporary file.

    record_count: number of records
    """

    record_count: int

    @abstractmethod
    def __len__(self) -> int:
        """Return the number of pairs."""

    @property
    @abstractmethod
    def nbytes(self) -> int:
        """Memory that holds the pairs, in bytes."""

    @property
    @abstractmethod
    def part_pairs(self) -> int:
        """Maximum number of pairs in a part of `parts`. A part exceeds it only if more pairs have the same key."""

    @abstractmethod
    def chunks(self) -> Iterator[Chunk]:
        """Yield (i, j, distance) of consecutive pairs, in the order of the list. Chunks are small, so that temporary arrays of their size
        take little memory. Their sizes do not depend on where the pairs are held, so that sums over them are equal to the last bit."""

    def parts(self, key: PairKeys, counts: Integers) -> Iterator[tuple[int, int, Iterator[Chunk]]]:
        """Yield the pairs in parts with ascending keys: (first key, key after the last, chunks of the part's pairs in the order of the
        list). The chunks of a part must be read before the next part is requested.

        key: returns the keys of pairs
        counts: number of pairs with each key, int64[keys]
        """
        before = np.concatenate(([0], np.cumsum(counts)))
        bounds = [_last_place(before, 0)]
        while before[bounds[-1]] < before[-1]:
            stop = max(bounds[-1] + 1, _last_place(before, before[bounds[-1]] + self.part_pairs))
            bounds.append(_last_place(before, before[stop]))  # so that no part is empty
        divided = self._split(key, np.array(bounds), np.diff(before[bounds]))
        yield from zip(bounds[:-1], bounds[1:], divided, strict=True)

    def _split(self, key: PairKeys, bounds: Integers, counts: Integers) -> Iterator[Iterator[Chunk]]:
        """Yield the chunks of each part. bounds: first key of each part, and the key after all; counts: number of pairs in each part."""
        for start, stop in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
            yield self._chunks_between(key, start, stop)

    def _chunks_between(self, key: PairKeys, start: int, stop: int) -> Iterator[Chunk]:
        for i, j, distance in self.chunks():
            keys = key(i, j)
            mask = (keys >= start) & (keys < stop)
            if mask.any():
                yield i[mask], j[mask], distance[mask]

    def near_pair_count(self, copy_counts: Integers) -> int:
        """Return the number of near pairs among the copies of all records. The copies of a record are near each other. copy_counts: number
        of copies of each record, int64[records]."""
        within = int((copy_counts * (copy_counts - 1) // 2).sum())
        return within + sum(int((copy_counts[i] * copy_counts[j]).sum()) for i, j, _ in self.chunks())


def _last_place(ascending: Integers, limit: int) -> int:
    """Return the index of the last number that is at most `limit`."""
    return int(np.searchsorted(ascending, limit, side="right")) - 1


def concatenate_chunks(chunks: Iterable[Chunk]) -> Chunk:
    """Join one or more chunks into one."""
    i, j, distance = (np.concatenate(columns) for columns in zip(*chunks, strict=True))
    return i, j, distance


def pair_distances(i: Indices, j: Indices, record_count: int, chunks: Iterable[Chunk]) -> Reals:
    """Return the distances of pairs of different records, float64[pairs]; nan for a pair that is not in `chunks`.

    i, j: the records of each pair, in either order; pairs may be repeated
    chunks: (i, j, distance) of pairs with i < j
    """
    lower = np.minimum(i, j).astype(np.int64)
    keys, key_of = np.unique(lower * record_count + np.maximum(i, j), return_inverse=True)
    found = np.full(len(keys), np.nan)
    if len(keys):
        for one, other, distance in chunks:
            requested = one.astype(np.int64) * record_count + other
            at = np.minimum(np.searchsorted(keys, requested), len(keys) - 1)
            listed = keys[at] == requested
            found[at[listed]] = distance[listed]
    return found[key_of.reshape(-1)]


@dataclass(frozen=True)
class Edges(EdgeList):
    """Record pairs with distances in memory.

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

    @property
    def part_pairs(self) -> int:
        return max(CHUNK_PAIRS, len(self) // _PART_COUNT)

    def chunks(self) -> Iterator[Chunk]:
        for start in range(0, len(self), CHUNK_PAIRS):
            chunk = slice(start, start + CHUNK_PAIRS)
            yield self.i[chunk], self.j[chunk], self.distance[chunk]

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
