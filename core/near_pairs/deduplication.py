"""Equal records are compared once: groups of them, and the pairs of records that a pair of groups stands for. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sized
from dataclasses import field
from functools import cached_property

import numpy as np

from gpualign.core.alignment.pair_list import NearPairs, join_pairs
from gpualign.core.common.arrays import Integers
from gpualign.core.common.dataclass import dataclass
from gpualign.core.sequences._records import repeated
from gpualign.core.sequences.sequence_set import SequenceSet


@dataclass(frozen=True)
class DuplicateGroups:
    """of: int64[records], the group of each record; groups are numbered by their first records. firsts: int64[groups], those records."""

    of: Integers = field(repr=False)
    firsts: Integers = field(repr=False)

    def __len__(self) -> int:
        return len(self.firsts)

    @property
    def records(self) -> int:
        return len(self.of)

    @property
    def repeated(self) -> int:
        """Records that are equal to an earlier one."""
        return self.records - len(self)

    def first(self, records: int) -> DuplicateGroups:
        """The groups of the first records alone."""
        return DuplicateGroups(self.of[:records], self.firsts[self.firsts < records])

    @cached_property
    def members(self) -> tuple[Integers, Integers]:
        """(members, starts): records of group g, ascending, are members[starts[g] : starts[g + 1]]."""
        starts = np.concatenate(([0], np.cumsum(np.bincount(self.of, minlength=len(self))))).astype(np.int64)
        return np.argsort(self.of, kind="stable").astype(np.int64), starts

    @cached_property
    def lasts(self) -> Integers:
        """The last record of each group."""
        members, starts = self.members
        return members[starts[1:] - 1]


def group_equal(sequences: SequenceSet) -> DuplicateGroups:
    """DuplicateGroups of records with the same codes."""
    again = repeated(sequences.codes, sequences.offsets)
    first = np.ones(len(sequences), dtype=np.bool_)
    first[again[:, 0]] = False
    of = np.cumsum(first) - 1
    of[again[:, 0]] = of[again[:, 1]]
    return DuplicateGroups(of, np.flatnonzero(first))


def no_duplicates(records: Sized) -> DuplicateGroups:
    """A group for each record, whether it is equal to others or not."""
    numbers = np.arange(len(records), dtype=np.int64)
    return DuplicateGroups(numbers, numbers)


class DuplicateExpansion:
    """Turns near pairs of groups into near pairs of records, band by band, each with the targets that are wanted of it.

    queries, targets: groups of either set. shared: the queries are the first records of the targets, and a query's targets are the later
    records, itself as well with `with_self`; so are the queries' groups the first of the targets'. Else all targets are wanted.
    at_once: pairs of records that are made at a time, or those of one query: copies of one record alone can make more than memory holds.

    A pair of groups is told once, when its first query comes; where a later record equals one of the two, the pair is kept until the last
    such record has been. So memory goes with the near pairs of repeated records, those of others leave at once.
    """

    def __init__(self, queries: DuplicateGroups, targets: DuplicateGroups, shared: bool, with_self: bool, at_once: int) -> None:
        self._queries = queries
        self._targets = targets
        self._shared = shared
        self._offset = 0 if with_self else 1
        self._at_once = at_once
        self._held = join_pairs([])
        self._alone = len(queries) == queries.records and len(targets) == targets.records
        if self._alone:
            return
        # Members of all groups in one ascending row: group, then record.
        members, _ = targets.members
        self._keys = targets.of[members] * (targets.records + 1) + members

    @property
    def held_bytes(self) -> int:
        return self._held.nbytes

    def band(self, start: int, stop: int, found: NearPairs) -> Iterator[NearPairs]:
        """The pairs of records start .. stop-1 as queries, in order: in parts of bounded size, all pairs of a query in one. found: pairs of
        the groups that begin in these records; where sets are shared, each of them with later groups only. Bands come in the order of
        their records, without gaps, each of them to its end."""
        if self._alone:
            yield from self._of_single(start, stop, found)
            return
        known = self._known(start, stop, found)
        known = known.part(np.argsort(known.queries, kind="stable"))
        groups = self._queries.of[start:stop]
        first, last = np.searchsorted(known.queries, groups), np.searchsorted(known.queries, groups, side="right")
        _, starts = self._targets.members
        before = np.concatenate(([0], np.cumsum(np.diff(starts)[known.targets])))  # records that the pairs of groups stand for
        most = np.concatenate(([0], np.cumsum(before[last] - before[first])))  # pairs of records, unwanted ones included
        row = 0
        while row < stop - start:
            end = max(row + 1, int(np.searchsorted(most, most[row] + self._at_once, side="right")) - 1)
            yield self._expand(start + row, first[row:end], last[row:end], known)
            row = end
        self._keep(stop, known)

    def _of_single(self, start: int, stop: int, found: NearPairs) -> Iterator[NearPairs]:
        """A band where every group is one record."""
        if self._shared and self._offset == 0:
            own = np.arange(start, stop, dtype=np.int64)
            found = join_pairs([found, NearPairs(own, own, np.zeros(len(own), dtype=np.int64))])
        found = found.in_order()
        first = 0
        while first < len(found):
            end = min(first + self._at_once, len(found))
            last = int(np.searchsorted(found.queries, found.queries[end - 1], side="right"))
            yield found.part(slice(first, last))
            first = last

    def _expand(self, start: int, first: Integers, last: Integers, known: NearPairs) -> NearPairs:
        """The pairs of the records from `start` on, in order: those of a record's group are known[first : last]."""
        rows, at = _ranges(first, last)
        members, starts = self._targets.members
        partners = known.targets[at]
        begin, end = starts[partners], starts[partners + 1]
        if self._shared:  # only members from a number on
            begin = np.searchsorted(self._keys, partners * (self._targets.records + 1) + rows + start + self._offset)
        pair, place = _ranges(begin, end)
        return NearPairs(rows[pair] + start, members[place], known.distances[at][pair]).in_order()

    def _known(self, start: int, stop: int, found: NearPairs) -> NearPairs:
        """All pairs that records of a band may need, by the group of the query."""
        parts = [self._held, found]
        if self._shared:
            # Only a group with a record behind the first one of the other is a target of that.
            parts.append(found.part(self._targets.lasts[found.queries] > self._targets.firsts[found.targets]).transposed())
            new = np.arange(*np.searchsorted(self._queries.firsts, (start, stop)), dtype=np.int64)
            parts.append(NearPairs(new, new, np.zeros(len(new), dtype=np.int64)))  # a group's records are equal
        return join_pairs(parts)

    def _keep(self, stop: int, known: NearPairs) -> None:
        """Keep what records from `stop` on may need: pairs of groups that have such records."""
        if not self._shared:
            self._held = known.part(self._queries.lasts[known.queries] >= stop)
            return
        # DuplicateGroups that no query is of have no records that come as queries.
        last = np.full(len(self._targets), -1, dtype=np.int64)
        last[: len(self._queries)] = self._queries.lasts
        wanted = (last[known.queries] >= stop) & (self._targets.lasts[known.targets] >= stop)
        self._held = known.part(wanted)


def _ranges(starts: Integers, stops: Integers) -> tuple[Integers, Integers]:
    """All numbers of the ranges starts[i] .. stops[i]-1, one behind the other, and of each the i it comes from: (i, number)."""
    counts = stops - starts
    rows = np.repeat(np.arange(len(starts), dtype=np.int64), counts)
    before = np.cumsum(counts) - counts
    return rows, np.arange(len(rows), dtype=np.int64) + np.repeat(starts - before, counts)
