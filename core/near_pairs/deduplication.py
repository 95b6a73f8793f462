"""Deduplication: compares groups of equal records instead of records, and expands pairs of groups into pairs of records. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sized
from dataclasses import field, replace
from functools import cached_property

import numpy as np

from gpualign.core.alignment.pair_list import NearPairs, join_pairs
from gpualign.core.common.arrays import Integers, ranges_of_limited_size
from gpualign.core.common.dataclass import dataclass
from gpualign.core.near_pairs._expansion import PairExpansion
from gpualign.core.scoring.v_genes import VGenes
from gpualign.core.sequences.receptor_titles import V_CALL
from gpualign.core.sequences.sequence_set import SequenceSet
from gpualign.core.sequences.string_column import StringColumn


@dataclass(frozen=True)
class DuplicateGroups:
    """Groups of equal records, numbered in the order of their first records.

    group_of: number of the group of each record, int64[records]
    first_records: first record of each group, int64[groups]
    """

    group_of: Integers = field(repr=False)
    first_records: Integers = field(repr=False)

    def __len__(self) -> int:
        return len(self.first_records)

    @property
    def record_count(self) -> int:
        return len(self.group_of)

    @property
    def repeated_count(self) -> int:
        """Number of records that are equal to an earlier record."""
        return self.record_count - len(self)

    def select_first(self, record_count: int) -> DuplicateGroups:
        """Return the groups of only the first `record_count` records."""
        return DuplicateGroups(self.group_of[:record_count], self.first_records[self.first_records < record_count])

    @cached_property
    def members(self) -> tuple[Integers, Integers]:
        """(records of all groups, start of each group in them), named members and starts.

        The records of group g are members[starts[g] : starts[g + 1]], ascending.
        """
        starts = np.concatenate(([0], np.cumsum(np.bincount(self.group_of, minlength=len(self))))).astype(np.int64)
        return np.argsort(self.group_of, kind="stable").astype(np.int64), starts

    @cached_property
    def sizes(self) -> Integers:
        """Number of records in each group: int64[groups]."""
        return np.diff(self.members[1])

    def members_of(self, group: int) -> Integers:
        """Return the records of a group, ascending."""
        members, starts = self.members
        return members[starts[group] : starts[group + 1]]

    @cached_property
    def last_records(self) -> Integers:
        """Last record in each group: int64[groups]."""
        members, starts = self.members
        return members[starts[1:] - 1]


def group_equal(sequences: SequenceSet, threads: int = 1) -> DuplicateGroups:
    """Return the groups of records whose sequences are equal. threads: maximum number of threads."""
    return DuplicateGroups(*StringColumn(sequences.codes, sequences.offsets).distinct(threads))


def group_copies(sequences: SequenceSet, v_genes: VGenes | None, threads: int = 1) -> DuplicateGroups:
    """Return the groups of records whose sequences are equal, and their V genes too if a scoring compares `v_genes`.

    threads: maximum number of threads
    """
    groups = group_equal(sequences, threads)
    return groups if v_genes is None else split_groups(groups, v_genes.deduplication_keys(sequences.annotations[V_CALL]))


def singleton_groups(records: Sized) -> DuplicateGroups:
    """Return groups of one record each, even if some records are equal."""
    numbers = np.arange(len(records), dtype=np.int64)
    return DuplicateGroups(numbers, numbers)


def split_groups(duplicates: DuplicateGroups, keys: Integers) -> DuplicateGroups:
    """Return the groups of records that are equal and also have the same key. keys: int64[records], at least 0"""
    _, firsts, numbers = np.unique(duplicates.group_of * (keys.max(initial=0) + 1) + keys, return_index=True, return_inverse=True)
    order = np.argsort(firsts)
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    return DuplicateGroups(rank[numbers], firsts[order])


def select_distinct(records: SequenceSet, groups: DuplicateGroups, threads: int) -> SequenceSet:
    """Return the first record of each group of equal records. threads: maximum number of threads."""
    if not groups.repeated_count:
        return records
    return replace(records.select(groups.first_records, threads), known_used_codes=records.used_codes)  # equal records, equal letters


def copy_bytes(sequences: SequenceSet, groups: DuplicateGroups) -> int:
    """Return the size, in bytes, of a set of the first record of each group; 0 if each group is a single record, which needs no new set."""
    if not groups.repeated_count:
        return 0
    return int(sequences.lengths[groups.first_records].sum()) + sequences.offsets.itemsize * (len(groups) + 1)


def worth_copying(copied_bytes: int, memory: int) -> bool:
    """Return whether a run compares a copy of the distinct records instead of all records: whether the copy leaves a quarter of the memory.

    copied_bytes: size of the copy
    memory: memory in addition to all records, in bytes
    """
    return copied_bytes <= memory - memory // 4


def expansion_bytes(queries: DuplicateGroups, targets: DuplicateGroups) -> int:
    """Return the memory, in bytes, that a `DuplicateExpansion` takes apart from near pairs."""
    if not (queries.repeated_count or targets.repeated_count):
        return 0
    return PairExpansion.nbytes(len(queries)) + sum(array.nbytes for array in targets.members)


class DuplicateExpansion:
    """Expands near pairs of groups of equal records into near pairs of records, band by band.

    queries, targets: groups of the queries and of the targets
    queries_are_targets: whether the queries are the first records of the targets, so that their groups are the first target groups. Each
        query is then paired only with later records. Otherwise, each query is paired with all targets
    with_self: whether each query is also paired with itself, if `queries_are_targets` is set
    max_pairs: maximum number of record pairs per list. A list is longer only if a single query has more pairs. The number is limited
        because copies of a single record can form more pairs than fit in memory
    threads: number of threads that expand pairs

    Each pair of groups is passed to `expand_band` once, with the band that contains the first record of its query group. If a later record
    belongs to either group, the pair is stored until the last such record has been processed as a query. Memory therefore grows with the
    near pairs of repeated records. Near pairs of unique records are stored for one band only, whose short lists keep their memory for the
    next one.
    """

    def __init__(
        self,
        queries: DuplicateGroups,
        targets: DuplicateGroups,
        queries_are_targets: bool,
        with_self: bool,
        max_pairs: int,
        threads: int = 1,
    ) -> None:
        self._queries = queries
        self._targets = targets
        self._offset = (0 if with_self else 1) if queries_are_targets else -1
        self._max_pairs = max_pairs
        self._threads = threads
        self._all_unique = not (queries.repeated_count or targets.repeated_count)
        if not self._all_unique:
            self._near = PairExpansion(len(queries), *targets.members, self._offset)

    @property
    def held_pair_count(self) -> int:
        """Number of pairs of groups that are stored."""
        return 0 if self._all_unique else self._near.held

    def expand_band(self, start: int, stop: int, group_pairs: NearPairs) -> Iterator[NearPairs]:
        """Yield the record pairs for queries [start, stop), in order, in lists of limited size. All pairs of a query are in one list.

        group_pairs: near pairs of groups in which the first record of the query's group is in this range. If `queries_are_targets` is set,
            these are only the pairs in which the target's group is later than the query's group

        Bands must be passed in record order, without gaps, and each iterator must be exhausted.
        """
        if self._all_unique:
            yield from self._expand_singletons(start, stop, group_pairs)
            return
        self._near.add(group_pairs.queries, group_pairs.targets, group_pairs.distances, self._threads)
        if self._offset >= 0:
            new = np.arange(*np.searchsorted(self._queries.first_records, (start, stop)), dtype=np.int64)
            new = new[self._targets.sizes[new] > self._offset]
            self._near.add(new, new, np.zeros_like(new), self._threads)  # records of a group are equal
        groups = self._queries.group_of[start:stop]
        pairs = np.concatenate(([0], np.cumsum(self._near.max_pairs(groups, self._threads))))
        for row, end in ranges_of_limited_size(pairs, self._max_pairs):
            yield NearPairs(*self._near.expand(start + row, groups[row:end], self._threads))
        self._near.forget(groups[self._queries.last_records[groups] < stop], self._threads)

    def _expand_singletons(self, start: int, stop: int, group_pairs: NearPairs) -> Iterator[NearPairs]:
        """Yield the record pairs for queries [start, stop), in order, if every group is a single record.

        group_pairs: the same as in `expand_band`
        """
        if self._offset == 0:
            own = np.arange(start, stop, dtype=np.int64)
            group_pairs = join_pairs([group_pairs, NearPairs(own, own, np.zeros(len(own), dtype=np.int64))])
        group_pairs = group_pairs.sorted()
        first = 0
        while first < len(group_pairs):
            end = min(first + self._max_pairs, len(group_pairs))
            last = int(np.searchsorted(group_pairs.queries, group_pairs.queries[end - 1], side="right"))
            yield group_pairs.select(slice(first, last))
            first = last
