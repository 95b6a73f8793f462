"""Joins near pairs of chains into near pairs of cells: two cells are near if their chains of both loci are near. Pure.

Chains that are equal, and agree in all columns in which near chains must agree, are one distinct chain. The near pairs of distinct chains
are known for each locus. The pairs of cells with near chains of one locus are generated from these lists, query by query, and looked up in
the list of the other locus, so memory holds the pairs of distinct chains, never all pairs of cells with one near chain.

A cell may have several chains of a locus. Any chain of one cell may be compared with any of the other, whatever is compared at the other
locus, so the smallest sum of both distances, over all choices of chains, is the sum of the smallest distance at each locus.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field
from functools import cached_property

import numpy as np

from gpualign.core.alignment.pair_list import NearPairs
from gpualign.core.common.arrays import Integers, expand_ranges, ranges_of_limited_size
from gpualign.core.common.dataclass import dataclass
from gpualign.core.common.errors import RunError, TooLittleMemory, parameter
from gpualign.core.common.units import format_bytes
from gpualign.core.near_pairs.index_lists import IndexLists

ENTRY_BYTES = 8
"""Memory for a near pair of distinct chains, in bytes. Pairs within one set are stored in both directions."""

CANDIDATES = 1 << 19
"""Number of pairs of cells with near chains of one locus that are generated together, unless a single query has more. With what is looked
up for them they take about a hundred megabytes."""

_INITIAL_ENTRIES = 1 << 16
_GROWTH_FACTOR = 1.25
_MAX_BITS = 62
_FAR = np.iinfo(np.int64).max
"""Distance of chains that are not near."""


@dataclass(frozen=True)
class NearChains:
    """Near pairs of distinct chains of one locus.

    entries: a number for each pair, (query * target_count + target) << distance_bits | distance, ascending, int64[pairs]
    offsets: place of each query's first entry, int64[queries + 1]
    target_count: number of distinct chains among the targets
    distance_bits: bits of a distance
    """

    entries: Integers = field(repr=False)
    offsets: Integers = field(repr=False)
    target_count: int
    distance_bits: int

    def __len__(self) -> int:
        return len(self.entries)

    def targets_and_distances(self, places: Integers | slice) -> tuple[Integers, Integers]:
        """Return (targets, distances) of the entries at some places."""
        entries = self.entries[places]
        return (entries >> self.distance_bits) % self.target_count, entries & ((1 << self.distance_bits) - 1)

    def distances_of(self, queries: Integers, targets: Integers) -> Integers:
        """Return the distance of each pair of chains, `_FAR` if they are not near: int64[pairs]."""
        keys = queries * self.target_count + targets
        places = np.searchsorted(self.entries, keys << self.distance_bits)
        found = self.entries[np.minimum(places, len(self.entries) - 1)] if len(self.entries) else np.full(len(keys), -1, dtype=np.int64)
        return np.where(found >> self.distance_bits == keys, found & ((1 << self.distance_bits) - 1), _FAR)


class NearChainsBuilder:
    """List of near pairs of distinct chains that grows as pairs are found.

    query_count, target_count: numbers of distinct chains
    one_set: whether queries and targets are the same chains, and each pair of different chains is added once
    max_distance: largest distance of a pair
    max_bytes: memory for the list
    name: name of the locus, for messages
    """

    def __init__(self, query_count: int, target_count: int, one_set: bool, max_distance: int, max_bytes: int, name: str) -> None:
        self._query_count, self._target_count, self._one_set = query_count, target_count, one_set
        self._bits, self._max_bytes, self._name = max_distance.bit_length(), max_bytes, name
        check_bits(query_count, target_count, self._bits)
        self._entries = np.empty(0, dtype=np.int64)
        self._count = 0

    def add(self, queries: Integers, targets: Integers, distances: Integers) -> None:
        """Add pairs. Raises `TooLittleMemory` if the list exceeds its memory."""
        self._append(queries, targets, distances)
        if self._one_set:
            self._append(targets, queries, distances)

    def finish(self, near_themselves: Integers) -> NearChains:
        """Return all pairs. No pairs can be added afterwards.

        near_themselves: for one set, the chains whose copies are near each other, at distance 0
        """
        self._append(near_themselves, near_themselves, np.zeros_like(near_themselves))
        self._entries.resize(self._count, refcheck=False)
        self._entries.sort()
        firsts = np.arange(self._query_count + 1, dtype=np.int64) * self._target_count << self._bits
        return NearChains(self._entries, np.searchsorted(self._entries, firsts).astype(np.int64), self._target_count, self._bits)

    def _append(self, queries: Integers, targets: Integers, distances: Integers) -> None:
        size = self._count + len(queries)
        if ENTRY_BYTES * size > self._max_bytes:
            raise TooLittleMemory(
                f"more than {self._count // (1 + self._one_set):,} pairs of different {self._name} chains are near, whose list has"
                f" {format_bytes(self._max_bytes)} of memory",
                ENTRY_BYTES * size,
                f"raise {parameter('memory')} or choose a nearer threshold",
            )
        if size > len(self._entries):
            capacity = max(int(_GROWTH_FACTOR * size), _INITIAL_ENTRIES)
            self._entries.resize(max(size, min(capacity, self._max_bytes // ENTRY_BYTES)), refcheck=False)
        keys = queries.astype(np.int64) * self._target_count + targets
        self._entries[self._count : size] = keys << self._bits | distances.astype(np.int64)
        self._count = size


def check_bits(query_count: int, target_count: int, distance_bits: int) -> None:
    """Raise `RunError` if there are too many queries and targets for their pairs to be numbered together with distances."""
    if query_count.bit_length() + target_count.bit_length() + distance_bits > _MAX_BITS:
        raise RunError(f"{query_count:,} x {target_count:,} are more than can be compared with distances of {distance_bits} bits")


@dataclass(frozen=True)
class LocusPairs:
    """Near chains of one locus and the cells that have them.

    queries, targets: distinct chains of each query cell and of each target cell, at least one each
    near: near pairs of these chains
    """

    queries: IndexLists
    targets: IndexLists
    near: NearChains

    @cached_property
    def cells_of_targets(self) -> IndexLists:
        """Target cells that have each chain."""
        return self.targets.inverted(self.near.target_count)

    @cached_property
    def candidate_counts(self) -> Integers:
        """Number of target cells of all near chains of each query cell's chains, in which a cell may count several times: int64[cells]."""
        sizes, by_chain = self.cells_of_targets.sizes, np.zeros(len(self.near.offsets) - 1, dtype=np.int64)
        for start, stop in ranges_of_limited_size(self.near.offsets, CANDIDATES):
            bounds = self.near.offsets[start : stop + 1]
            targets, _ = self.near.targets_and_distances(slice(int(bounds[0]), int(bounds[-1])))
            before = np.concatenate(([0], np.cumsum(sizes[targets])))
            by_chain[start:stop] = np.diff(before[bounds - bounds[0]])
        counts: Integers = np.add.reduceat(by_chain[self.queries.values], self.queries.offsets[:-1])
        return counts

    def candidates(self, start: int, stop: int) -> tuple[Integers, Integers, Integers]:
        """Return (query, target, distance) for each pair of near chains of query cells [start, stop) with any target cells."""
        near, cells = self.near, np.arange(start, stop, dtype=np.int64)
        places, chains = self.queries.expand(cells)
        chain_places, entries = expand_ranges(near.offsets[chains], near.offsets[chains + 1] - near.offsets[chains])
        near_chains, distances = near.targets_and_distances(entries)
        entry_places, targets = self.cells_of_targets.expand(near_chains)
        return cells[places[chain_places[entry_places]]], targets, distances[entry_places]

    def distances_of(self, queries: Integers, targets: Integers) -> Integers:
        """Return the smallest distance of the chains of each pair of cells, `_FAR` if none are near: int64[pairs]."""
        best = np.empty(len(queries), dtype=np.int64)
        before = np.concatenate(([0], np.cumsum(self.queries.sizes[queries] * self.targets.sizes[targets])))
        for start, stop in ranges_of_limited_size(before, CANDIDATES):
            places, chains = self.queries.expand(queries[start:stop])
            chain_places, others = self.targets.expand(targets[start:stop][places])
            distances = self.near.distances_of(chains[chain_places], others)
            best[start:stop] = np.minimum.reduceat(distances, before[start:stop] - before[start])
        return best


@dataclass(frozen=True)
class NearCells:
    """Near pairs of cells.

    pairs: the pairs, in order; their distances are the sums of both loci
    locus_distances: the distance at each locus, int64[pairs][2]
    """

    pairs: NearPairs
    locus_distances: Integers = field(repr=False)


def near_cells(loci: tuple[LocusPairs, LocusPairs], first_target: int | None, max_sum: int | None) -> Iterator[tuple[NearCells, int]]:
    """Yield near pairs of cells, in order, in lists of limited size, each with the number of queries whose pairs have all been yielded.

    loci: near chains of both loci, for the same cells
    first_target: first target of each query, counted from the query; None: all targets
    max_sum: largest sum of both distances; None: any
    """
    one = min(loci, key=lambda locus: int(locus.candidate_counts.sum()))
    other = loci[1] if one is loci[0] else loci[0]
    before = np.concatenate(([0], np.cumsum(one.candidate_counts)))
    for start, stop in ranges_of_limited_size(before, CANDIDATES):
        pairs = _smallest_distances(one, start, stop, first_target)
        others = other.distances_of(pairs.queries, pairs.targets)
        near = np.flatnonzero(others != _FAR)
        if max_sum is not None:
            near = near[pairs.distances[near] + others[near] <= max_sum]
        both = pairs.distances[near], others[near]
        sums = both[0] + both[1]
        yield (
            NearCells(NearPairs(pairs.queries[near], pairs.targets[near], sums), np.column_stack(both if one is loci[0] else both[::-1])),
            stop,
        )


def _smallest_distances(locus: LocusPairs, start: int, stop: int, first_target: int | None) -> NearPairs:
    """Return the pairs of query cells [start, stop) with near chains of a locus, in order, each once with its smallest distance."""
    queries, targets, distances = locus.candidates(start, stop)
    if first_target is not None:
        kept = targets >= queries + first_target
        queries, targets, distances = queries[kept], targets[kept], distances[kept]
    if not len(queries):
        return NearPairs(queries, targets, distances)
    ordered = NearPairs(queries, targets, distances).sorted()
    is_first = np.concatenate(([True], (ordered.queries[1:] != ordered.queries[:-1]) | (ordered.targets[1:] != ordered.targets[:-1])))
    return ordered.select(is_first)
