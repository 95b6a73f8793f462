"""Rectangles of queries and targets, and for each query the limits that the screen applies. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import field
from functools import cached_property, lru_cache
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from gpualign.core.alignment.task import Task
from gpualign.core.common.arrays import Integers
from gpualign.core.common.dataclass import dataclass
from gpualign.core.planning.target_order import order_by_length
from gpualign.core.planning.tile_plan import Pairing, Tile
from gpualign.core.scoring.edit_bounds import EditBound
from gpualign.gpu.kernels.argument_structs import NEAR_LIMITS_STRUCT

_FEW_AMBIGUITY_LETTERS = 8
"""Maximum number of ambiguity letters in a record that is compared together with those that have none."""

_MAX_DIFFERENT_GRAMS = 1 << 20
"""Maximum slack (number of q-grams that one record of a pair may have and the other lack). It exceeds the size of any sketch in bits."""


@dataclass(frozen=True, eq=False)
class SortedQueries:
    """Queries in ascending order of length, with the values from which limits for each tile are computed. All arrays are int64[queries].

    records: record numbers
    lengths: numbers of letters
    ambiguity_letters: numbers of ambiguity letters
    first_targets: for each query, the first target to compare it with
    """

    records: Integers = field(repr=False)
    lengths: Integers = field(repr=False)
    ambiguity_letters: Integers = field(repr=False)
    first_targets: Integers = field(repr=False)

    def __len__(self) -> int:
        return len(self.records)

    def select(self, index: slice | npt.NDArray[np.bool_]) -> SortedQueries:
        """Return some of the queries, in the same order."""
        return SortedQueries(self.records[index], self.lengths[index], self.ambiguity_letters[index], self.first_targets[index])

    @cached_property
    def distinct_lengths(self) -> Integers:
        """The lengths that occur, in ascending order."""
        return self.lengths[self._is_longer]

    @cached_property
    def length_numbers(self) -> npt.NDArray[np.int32]:
        """For each query, the index of its length in `distinct_lengths`."""
        numbers: npt.NDArray[np.int32] = np.cumsum(self._is_longer, dtype=np.int32) - np.int32(1)
        return numbers

    @cached_property
    def length_counts(self) -> Integers:
        """For each of `distinct_lengths`, the number of queries of that length."""
        return np.bincount(self.length_numbers)

    @cached_property
    def _is_longer(self) -> npt.NDArray[np.bool_]:
        """For each query, whether it is longer than the one before."""
        return np.diff(self.lengths, prepend=-1) > 0

    @cached_property
    def first_target_numbers(self) -> npt.NDArray[np.int32]:
        """`first_targets` as kernels read them."""
        return self.first_targets.astype(np.int32)

    @cached_property
    def max_ambiguity_letters(self) -> int:
        return int(self.ambiguity_letters.max(initial=0))

    @cached_property
    def last_first_target(self) -> int:
        """The largest of `first_targets`."""
        return int(self.first_targets.max(initial=0))


def sort_queries(start: int, stop: int, pairing: Pairing, task: Task) -> list[SortedQueries]:
    """Return queries start .. stop - 1 of a task in order of length: those with few ambiguity letters, and those with many, if any."""
    records = start + order_by_length(task.queries.lengths[start:stop])[:]
    ambiguity_letters = task.ambiguity_letter_counts[0][records]
    queries = SortedQueries(records, task.queries.lengths[records], ambiguity_letters, pairing.first_targets(records))
    few = ambiguity_letters <= _FEW_AMBIGUITY_LETTERS
    return [some for some in (queries.select(few), queries.select(~few)) if len(some)]


@dataclass(frozen=True)
class Rectangle:
    """Queries and targets of a tile or of part of a tile.

    targets: int64 record numbers, in order of length
    """

    tile: Tile = field(repr=False)
    queries: SortedQueries = field(repr=False)
    targets: Integers = field(repr=False)

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.queries), len(self.targets)

    @property
    def pair_count(self) -> int:
        return len(self.queries) * len(self.targets)

    def split(self, max_pieces: int) -> list[Rectangle]:
        """Divide the pairs into smaller rectangles: at most `max_pieces`, but at least 2 unless there is only one pair."""
        if self.pair_count < 2:
            return [self]
        if len(self.queries) > len(self.targets):
            return [Rectangle(self.tile, self.queries.select(cut), self.targets) for cut in _cuts(len(self.queries), max_pieces)]
        return [Rectangle(self.tile, self.queries, self.targets[cut]) for cut in _cuts(len(self.targets), max_pieces)]


def _cuts(count: int, max_pieces: int) -> list[slice]:
    """Divide `count` items into at most `max_pieces` ranges of about equal size, but at least 2."""
    ends = np.linspace(0, count, min(count, max(2, max_pieces)) + 1).astype(np.int64).tolist()
    return [slice(start, stop) for start, stop in pairwise(ends)]


def tile_rectangles(tile: Tile, queries: Iterable[SortedQueries], task: Task) -> list[Rectangle]:
    """Return a tile as rectangles: one, unless some records have many ambiguity letters, which allow more edits and so make diagonal bands
    wider. A tile's targets are already in order of length.

    queries: the tile's queries, as returned by `sort_queries`
    """
    targets = [tile.targets]
    if task.edit_bound_varies:
        few = task.ambiguity_letter_counts[1][tile.targets] <= _FEW_AMBIGUITY_LETTERS
        targets = [some for some in (tile.targets[few], tile.targets[~few]) if len(some)]
    return [Rectangle(tile, some, others) for some in queries for others in targets]


@dataclass(frozen=True)
class QueryRows:
    """Limits from which the screen's limits for the rows of a rectangle, i.e. its queries, are made.

    limits: `NEAR_LIMITS_STRUCT`[distinct lengths of queries]; the range of columns with compatible lengths, and the maximum slack (number
        of q-grams that one record of a pair may have and the other lack), to which the ambiguity letters of both records are added
    compatible_pair_count: number of pairs whose lengths are within the bound
    partial_columns: int32, indices of the columns that are targets of only some of the queries
    max_diagonals: maximum, over all pairs, of the number of diagonals on which an alignment within the bound can lie, minus 1
    """

    limits: npt.NDArray[np.void] = field(repr=False)
    compatible_pair_count: int
    partial_columns: npt.NDArray[np.int32] = field(repr=False)
    max_diagonals: int


def make_query_rows(rectangle: Rectangle, task: Task, bound: EditBound, q: int) -> QueryRows:
    """Return the limits that the screen needs for the queries of each length.

    bound: bound for pairs without ambiguity letters
    q: length of the q-grams in sketches; 0 for no sketches
    """
    queries, targets = rectangle.queries, rectangle.targets
    distinct = queries.distinct_lengths
    target_letters = task.ambiguity_letter_counts[1]
    most_ambiguous = queries.max_ambiguity_letters
    most_ambiguous += int(target_letters[targets].max() if task.edit_bound_varies else target_letters[0])
    widest = bound.with_ambiguity_letters(most_ambiguous)

    lengths = task.targets.lengths
    limits_of_length = compatible_lengths(queries, widest, task.targets.max_length)
    first, stop = np.split(first_at_least(np.concatenate(limits_of_length), lengths, targets), 2)
    # k is linear in the target's length on either side of the query's, so it is largest at an end or where the lengths are equal. And a
    # distance is never more than the longer length.
    ends = lengths[targets[np.minimum(first, len(targets) - 1)]], lengths[targets[np.maximum(stop, 1) - 1]], distinct
    edits = np.minimum(np.maximum.reduce([bound.max_edits(distinct, end) for end in ends]), np.maximum.reduce(ends))
    edits[stop <= first] = 0
    slack, diagonals = edits * q, edits + most_ambiguous
    if bound.coverage:
        # The slack that a coverage allows the query, or the target, is the maximum of two such functions, but of rounded numbers.
        covered = [bound.max_different_grams_by_coverage(q, *pair) for end in ends for pair in ((distinct, end), (end, distinct))]
        slack = np.minimum(slack, np.maximum.reduce(covered) + 2)
        # Linear likewise, but a sum of three rounded numbers.
        diagonals = np.maximum.reduce([widest.max_diagonals(distinct, end) for end in ends]) + 2
    limits = np.zeros(len(distinct), dtype=NEAR_LIMITS_STRUCT)
    limits["first"], limits["stop"] = first, stop
    limits["slack"] = np.clip(slack, 0, _MAX_DIFFERENT_GRAMS)
    beside = np.flatnonzero(targets < queries.last_first_target).astype(np.int32)
    compatible = int((stop - first) @ queries.length_counts)
    return QueryRows(limits, compatible, beside, max(0, int(diagonals[stop > first].max(initial=0))))


def first_at_least(minimums: Integers, lengths: Integers, targets: Integers) -> Integers:
    """Return, for each minimum length, the index of the first target that is at least that long, or the number of targets if none is.

    lengths: lengths of all records
    targets: record numbers in order of length, at least one

    The lengths of all targets are never gathered, which would take longer than anything else that the host does for a tile. Its targets
    have few lengths, so few minimums lie between them.
    """
    shortest, longest = lengths[targets[[0, -1]]]
    places = np.where(minimums <= shortest, 0, len(targets))
    between = np.flatnonzero((minimums > shortest) & (minimums <= longest))
    wanted, start = minimums[between], np.zeros(len(between), dtype=np.int64)
    places[between] = _bisect(start, np.full_like(start, len(targets)), lambda index: lengths[targets[index]] >= wanted)
    return places


@lru_cache(maxsize=16)
def compatible_lengths(queries: SortedQueries, bound: EditBound, max_length: int) -> tuple[Integers, Integers]:
    """Return, for each distinct length m of the queries, the range [first, stop) of the target lengths n <= max_length for which
    |m - n| <= k(m, n). k(m, n) is `bound.max_edits`.

    k(m, n) - |m - n| is linear in n on either side of m. Up to m the difference rises or is constant, because no bound has
    per_letter + per_shorter < -1. Beyond m the difference falls or is constant, but rises if per_letter > 1. So the lengths that
    satisfy the condition form a range on either side of m, which is found by bisection.

    The result is kept, because a band has many tiles with the same queries.
    """
    query_lengths = queries.distinct_lengths

    def fits(lengths: Integers) -> npt.NDArray[np.bool_]:
        within: npt.NDArray[np.bool_] = np.abs(query_lengths - lengths) <= bound.max_edits(query_lengths, lengths)
        return within

    end = np.full_like(query_lengths, max_length + 1)
    middle = np.minimum(query_lengths, end)
    first = _bisect(np.zeros_like(middle), middle, fits)
    if bound.per_letter > 1:
        return np.where(first < middle, first, _bisect(middle, end, fits)), end
    return first, _bisect(middle, end, lambda lengths: ~fits(lengths))


def _bisect(start: Integers, stop: Integers, predicate: Callable[[Integers], npt.NDArray[np.bool_]]) -> Integers:
    """Return the first index in start .. stop - 1 for which `predicate` is true, or `stop` if there is none.

    If the predicate is true for an index, it must be true for all later indices. Each element of the arrays is a separate search.
    """
    start, stop = start.copy(), stop.copy()
    while np.any(open_ := start < stop):
        middle = (start + stop) // 2
        held = predicate(np.where(open_, middle, 0))
        stop = np.where(open_ & held, middle, stop)
        start = np.where(open_ & ~held, middle + 1, start)
    return start
