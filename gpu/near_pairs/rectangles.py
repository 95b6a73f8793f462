"""Rectangles of queries and targets, and for each query the limits that the screen applies. Pure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field

import numpy as np
import numpy.typing as npt

from gpualign.core.alignment.task import Task
from gpualign.core.common.arrays import Integers
from gpualign.core.common.dataclass import dataclass
from gpualign.core.planning.tile_plan import Tile
from gpualign.core.scoring.edit_bounds import EditBound
from gpualign.gpu.kernels.argument_structs import NEAR_ROW_STRUCT

_FEW_AMBIGUITY_LETTERS = 8
"""Maximum number of ambiguity letters in a record that is compared together with those that have none."""

_MAX_DIFFERENT_GRAMS = 1 << 20
"""Maximum slack (number of q-grams that one record of a pair may have and the other lack). It exceeds the size of any sketch in bits."""


@dataclass(frozen=True)
class Rectangle:
    """Queries and targets of a tile or of part of a tile: int64 record numbers, in order of length."""

    tile: Tile = field(repr=False)
    queries: Integers = field(repr=False)
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
            cuts = np.array_split(self.queries, min(len(self.queries), max(2, max_pieces)))
            return [Rectangle(self.tile, queries, self.targets) for queries in cuts]
        cuts = np.array_split(self.targets, min(len(self.targets), max(2, max_pieces)))
        return [Rectangle(self.tile, self.queries, targets) for targets in cuts]


def tile_rectangles(tile: Tile, task: Task) -> list[Rectangle]:
    """Return a tile as rectangles: one, unless some records have many ambiguity letters, which allow more edits and so make diagonal bands
    wider. A tile's targets are already in order of length."""
    queries = np.arange(tile.query_start, tile.query_stop, dtype=np.int64)
    queries = queries[np.argsort(task.queries.lengths[queries], kind="stable")]
    halves = [_split_by_ambiguity(one, counts) for one, counts in zip((queries, tile.targets), task.ambiguity_letter_counts, strict=True)]
    return [Rectangle(tile, some, others) for some in halves[0] for others in halves[1]]


def _split_by_ambiguity(records: Integers, ambiguity_letters: Integers) -> list[Integers]:
    """Return the records with few ambiguity letters, and those with many. ambiguity_letters: their numbers in each record of the set"""
    few = ambiguity_letters[records] <= _FEW_AMBIGUITY_LETTERS
    return [part for part in (records[few], records[~few]) if len(part)]


@dataclass(frozen=True)
class QueryRows:
    """Limits that the screen reads for the rows of a rectangle, i.e. its queries.

    limits: `NEAR_ROW_STRUCT`[queries]; for each query, the range of columns with compatible lengths, the first target, and the maximum
        slack (number of q-grams that one record of a pair may have and the other lack), to which the screen adds the target's ambiguity
        letters
    compatible_pair_count: number of pairs whose lengths are within the bound
    partial_columns: int32, indices of the columns that are targets of only some of the queries
    max_diagonals: maximum, over all pairs, of the number of diagonals on which an alignment within the bound can lie, minus 1
    """

    limits: npt.NDArray[np.void] = field(repr=False)
    compatible_pair_count: int
    partial_columns: npt.NDArray[np.int32] = field(repr=False)
    max_diagonals: int


def make_query_rows(rectangle: Rectangle, task: Task, bound: EditBound, q: int) -> QueryRows:
    """Return the limits that the screen reads for each query.

    bound: bound for pairs without ambiguity letters
    q: length of the q-grams in sketches; 0 for no sketches
    """
    ours, theirs = task.queries.lengths[rectangle.queries], task.targets.lengths[rectangle.targets]
    distinct, inverse = np.unique(ours, return_inverse=True)
    ambiguous = task.ambiguity_letter_counts[0][rectangle.queries]
    most_ambiguous = int(ambiguous.max() + task.ambiguity_letter_counts[1][rectangle.targets].max())
    widest = bound.with_ambiguity_letters(most_ambiguous)
    first, stop = compatible_columns(distinct, theirs, widest)
    # k is linear in the target's length on either side of the query's, so it is largest at an end or where the lengths are equal. And a
    # distance is never more than the longer length.
    ends = theirs[np.minimum(first, len(theirs) - 1)], theirs[np.maximum(stop, 1) - 1], distinct
    edits = np.minimum(np.maximum.reduce([bound.max_edits(distinct, end) for end in ends]), np.maximum.reduce(ends))
    edits[stop <= first] = 0
    rows = np.zeros(len(ours), dtype=NEAR_ROW_STRUCT)
    rows["first"], rows["stop"] = first[inverse], stop[inverse]
    rows["wanted"] = rectangle.tile.pairing.first_targets(rectangle.queries)
    # The slack that a coverage allows the query, or the target, is the maximum of two such functions, but of rounded numbers.
    covered = np.maximum.reduce(
        [bound.max_different_grams_by_coverage(q, *pair) for end in ends for pair in ((distinct, end), (end, distinct))]
    )
    slacks = np.clip(np.minimum(edits * q, covered + 2), 0, _MAX_DIFFERENT_GRAMS)
    rows["slack"] = slacks[inverse] + q * ambiguous  # the screen adds those of the target
    beside = np.flatnonzero(rectangle.targets < int(rows["wanted"].max(initial=0))).astype(np.int32)
    diagonals = edits + most_ambiguous
    if bound.coverage:  # linear likewise, but a sum of three rounded numbers
        diagonals = np.maximum.reduce([widest.max_diagonals(distinct, end) for end in ends]) + 2
    return QueryRows(rows, int((stop - first)[inverse].sum()), beside, max(0, int(diagonals[stop > first].max(initial=0))))


def compatible_columns(query_lengths: Integers, target_lengths: Integers, bound: EditBound) -> tuple[Integers, Integers]:
    """Return, for each query length m, the index range (first, stop) of the target lengths n with |m - n| <= k(m, n).

    k(m, n) is `bound.max_edits`. target_lengths: in ascending order

    k(m, n) - |m - n| is linear in n on either side of m. Up to m the difference rises or is constant, because no bound has
    per_letter + per_shorter < -1. Beyond m the difference falls or is constant, but rises if per_letter > 1. So the lengths that
    satisfy the condition form a range on either side of m, which is found by bisection.
    """

    def fits(at: Integers) -> npt.NDArray[np.bool_]:
        lengths = target_lengths[at]
        within: npt.NDArray[np.bool_] = np.abs(query_lengths - lengths) <= bound.max_edits(query_lengths, lengths)
        return within

    middle = np.searchsorted(target_lengths, query_lengths).astype(np.int64)
    first = _bisect(np.zeros_like(middle), middle, fits)
    end = np.full_like(middle, len(target_lengths))
    if bound.per_letter > 1:
        return np.where(first < middle, first, _bisect(middle, end, fits)), end
    return first, _bisect(middle, end, lambda at: ~fits(at))


def _bisect(start: Integers, stop: Integers, predicate: Callable[[Integers], npt.NDArray[np.bool_]]) -> Integers:
    """Return the first index in start .. stop - 1 for which `predicate` is true, or `stop` if there is none.

    If the predicate is true for an index, it must be true for all later indices. Each element of the arrays
    is a separate search.
    """
    start, stop = start.copy(), stop.copy()
    while np.any(open_ := start < stop):
        middle = (start + stop) // 2
        held = predicate(np.where(open_, middle, 0))
        stop = np.where(open_ & held, middle, stop)
        start = np.where(open_ & ~held, middle + 1, start)
    return start
