"""Rectangles of queries and targets as the screen reads them: which columns fit a query, and how many edits it may have. Pure."""

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
from gpualign.gpu.kernels.argument_structs import NEAR_ROW

_MOST_SLACK = 1 << 20
"""More q-grams than a sketch has bits."""


@dataclass(frozen=True)
class Rectangle:
    """Queries and targets of a tile, or of a part of it, each in order of length: int64 record numbers."""

    tile: Tile = field(repr=False)
    queries: Integers = field(repr=False)
    targets: Integers = field(repr=False)

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.queries), len(self.targets)

    @property
    def pairs(self) -> int:
        return len(self.queries) * len(self.targets)

    def parts(self, count: int) -> list[Rectangle]:
        """The same pairs in about so many parts, 2 at least; a single pair stays as it is."""
        if self.pairs < 2:
            return [self]
        if len(self.queries) > len(self.targets):
            cuts = np.array_split(self.queries, min(len(self.queries), max(2, count)))
            return [Rectangle(self.tile, queries, self.targets) for queries in cuts]
        cuts = np.array_split(self.targets, min(len(self.targets), max(2, count)))
        return [Rectangle(self.tile, self.queries, targets) for targets in cuts]


def whole_tile(tile: Tile, task: Task) -> Rectangle:
    """Targets of a tile are in order of length already."""
    queries = np.arange(tile.query_start, tile.query_stop, dtype=np.int64)
    return Rectangle(tile, queries[np.argsort(task.queries.lengths[queries], kind="stable")], tile.targets)


@dataclass(frozen=True)
class Rows:
    """Of a rectangle. rows: `NEAR_ROW`[queries]. fitting: pairs whose lengths fit. beside: int32, columns of targets that not every query
    wants. most: edits of any of its pairs."""

    rows: npt.NDArray[np.void] = field(repr=False)
    fitting: int
    beside: npt.NDArray[np.int32] = field(repr=False)
    most: int


def make_rows(rectangle: Rectangle, task: Task, bound: EditBound, q: int) -> Rows:
    """What the screen asks of each query."""
    ours, theirs = task.queries.lengths[rectangle.queries], task.targets.lengths[rectangle.targets]
    distinct, back = np.unique(ours, return_inverse=True)
    first, stop = fitting_columns(distinct, theirs, bound)
    # k is linear in the target's length on either side of the query's: it is largest at an end, or where the lengths are equal. And a
    # distance is never more than the longer length.
    ends = theirs[np.minimum(first, len(theirs) - 1)], theirs[np.maximum(stop, 1) - 1], distinct
    most = np.minimum(np.maximum.reduce([bound.most(distinct, end) for end in ends]), np.maximum.reduce(ends))
    most[stop <= first] = 0
    rows = np.zeros(len(ours), dtype=NEAR_ROW)
    rows["first"], rows["stop"] = first[back], stop[back]
    rows["wanted"] = rectangle.tile.pairing.first_targets(rectangle.queries)
    # So is what a coverage leaves the query, or the target.
    covered = np.maximum.reduce([bound.grams_by_coverage(q, *pair) for end in ends for pair in ((distinct, end), (end, distinct))])
    rows["slack"] = np.clip(np.minimum(most * q, covered), 0, _MOST_SLACK)[back]
    beside = np.flatnonzero(rectangle.targets < int(rows["wanted"].max(initial=0))).astype(np.int32)
    return Rows(rows, int((stop - first)[back].sum()), beside, max(0, int(most.max(initial=0))))


def fitting_columns(ours: Integers, theirs: Integers, bound: EditBound) -> tuple[Integers, Integers]:
    """For each of our lengths those of theirs, in ascending order, with |m - n| <= k(m, n): a range of places, (first, stop).

    k(m, n) - |m - n| is linear in n on either side of m. Up to m it rises, or stays, as no bound has per_letter + per_shorter < -1;
    beyond it falls or stays, but rises where per_letter > 1. So what fits is a range on either side of m, which a bisection finds.
    """

    def fits(at: Integers) -> npt.NDArray[np.bool_]:
        lengths = theirs[at]
        found: npt.NDArray[np.bool_] = np.abs(ours - lengths) <= bound.most(ours, lengths)
        return found

    middle = np.searchsorted(theirs, ours).astype(np.int64)
    first = _bisect(np.zeros_like(middle), middle, fits)
    end = np.full_like(middle, len(theirs))
    if bound.per_letter > 1:
        return np.where(first < middle, first, _bisect(middle, end, fits)), end
    return first, _bisect(middle, end, lambda at: ~fits(at))


def _bisect(start: Integers, stop: Integers, holds: Callable[[Integers], npt.NDArray[np.bool_]]) -> Integers:
    """The first place from start on, or else stop, at which something holds that holds ever after."""
    start, stop = start.copy(), stop.copy()
    while np.any(open_ := start < stop):
        middle = (start + stop) // 2
        found = holds(np.where(open_, middle, 0))
        stop = np.where(open_ & found, middle, stop)
        start = np.where(open_ & ~found, middle + 1, start)
    return start
