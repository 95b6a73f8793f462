"""Cuts the pair space into tiles. Pure: the same lengths, pairing and limits give the same plan.

The pair matrix is cut into *bands* of consecutive queries in input order, so that results can leave in input order while
only a few bands are held. Within a band the targets that any of its queries needs are sorted by length (target_order.py) and cut
into *tiles*, so that targets of similar length share the lanes of a vector. Tiles are what threads, devices and nodes pull.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import field, replace
from enum import Enum
from functools import cached_property, partial
from itertools import count

import numpy as np
import numpy.typing as npt

from gpualign.core.common.dataclass import dataclass
from gpualign.core.common.errors import TooLittleMemory
from gpualign.core.planning.cost import WHOLE_MATRIX, Cost
from gpualign.core.planning.rectangle import Rect
from gpualign.core.planning.target_order import by_length, ordered_targets

Lengths = npt.NDArray[np.int64]

MAX_BAND_ROWS = 256
"""Queries of a band, where an engine does not ask for more; results leave a band at a time."""

MIN_BAND_ROWS = 32
"""Packing the targets of a band costs about as much as aligning one query with them."""

DIAGONAL_BANDS = 16
"""For one set, a band computes the square on its diagonal whole and uses half of it: a band of 1/16 of the queries wastes 1/16. Engines to
which a band costs little ask for more of them."""

BANDS_IN_FLIGHT = 3
"""Bands whose results are held at once: one being written, one being filled, one that faster workers have begun."""


TILES_AHEAD = 4
"""Tiles that a worker has taken at most: in flight, and laid out for when one of those ends."""

_LEAST_TILE = 16
"""Near the end of shared work tiles shrink to one part in so many, below which kernels would be slow."""

MIN_PANEL = 16
"""Targets of a band at least; fewer would be slower than one should have to wait."""


class Pairing(Enum):
    """Which pairs (query i, target j) are wanted. All but ALL are of a set with itself, or with itself and more: the queries are the first
    of the targets."""

    ALL = "all"
    ABOVE = "above"
    ABOVE_OR_EQUAL = "above-or-equal"

    def first_target(self, query: int) -> int:
        """The first target wanted for a query; all later ones are wanted too."""
        return {Pairing.ALL: 0, Pairing.ABOVE: query + 1, Pairing.ABOVE_OR_EQUAL: query}[self]

    def first_targets(self, queries: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """The same of many."""
        return np.zeros_like(queries) if self is Pairing.ALL else queries + self.first_target(0)

    def count(self, queries: int, targets: int) -> int:
        """Pairs that are wanted of so many records."""
        if self is Pairing.ALL:
            return queries * targets
        left_out = queries * (queries + 1) // 2
        return queries * targets - (left_out if self is Pairing.ABOVE else left_out - queries)


@dataclass(frozen=True)
class Limits:
    """What an engine and a budget allow.

    result_bytes: memory for bands of results; scratch_bytes: memory that the engine itself takes; item_bytes: of one pair's
    result, letter_bytes: more for each of its letters, query_bytes: more for each query; lanes: targets that share one pass of
    the engine; tile_cells: DP cells of a tile, about; band_rows: queries of a band at most; sharing: workers for whose sake tiles shrink
    near the end, so that none waits long for another; query_lanes: queries that may share a pass of the engine, so that tiles of more
    should have a multiple of as many; first_rows: queries of the first band, so that somebody who waits for rows has
    the first ones soon, and each later band has twice as many as the one before, up to band_rows (0: all are alike); diagonal_bands: bands
    of one set at least; diagonal_group: targets that the engine leaves out together where a query wants none of them, so that neighbours
    should share a group where not all queries want them (0: it leaves out none).
    """

    result_bytes: int
    scratch_bytes: int
    item_bytes: int
    lanes: int
    tile_cells: int
    band_rows: int = MAX_BAND_ROWS
    letter_bytes: int = 0
    query_bytes: int = 0
    sharing: int = 1
    first_rows: int = 0
    diagonal_bands: int = DIAGONAL_BANDS
    diagonal_group: int = 0
    query_lanes: int = 1

    def cells_of_tile(self, left: int) -> int:
        """DP cells of a tile where so many are left: of what is left no worker takes more than its share ahead of the others."""
        if self.sharing == 1:
            return self.tile_cells
        return max(1, self.tile_cells // _LEAST_TILE, min(self.tile_cells, left // (TILES_AHEAD * self.sharing)))


@dataclass(frozen=True)
class Band(Rect):
    """A rectangle of the plan, the `index`-th, that is computed in `tiles` tiles. group: of its targets, where they stand as
    `ordered_targets` has them; None: in an order that somebody else has made."""

    index: int
    tiles: int
    group: int | None = None


@dataclass(frozen=True)
class Tile:
    """Queries [query_start, query_stop) against some targets.

    number: its place among the tiles of the plan, by which whoever makes the same plan knows it. target_count, make_targets: of the
    targets. cells: what the wanted pairs cost, DP cells for most tasks; left: those of this tile and all that follow, in plans that workers
    share (`Limits.sharing`), else 0. Pairs that `pairing` does not want may be left out.
    """

    number: int
    band: Band
    query_start: int
    query_stop: int
    target_count: int
    make_targets: Callable[[], npt.NDArray[np.int64]] = field(repr=False, compare=False)
    pairing: Pairing
    cells: int
    left: int = 0

    @classmethod
    def against(
        cls, targets: npt.NDArray[np.int64], number: int, band: Band, queries: tuple[int, int], pairing: Pairing, cells: int, left: int = 0
    ) -> Tile:
        """A tile of targets that are made already."""
        return cls(number, band, *queries, len(targets), lambda: targets, pairing, cells, left)

    @cached_property
    def targets(self) -> npt.NDArray[np.int64]:
        """Record numbers in the order of `ordered_targets`: int64[target_count]. Made when they are asked for: some work needs none."""
        return self.make_targets()

    @property
    def shape(self) -> tuple[int, int]:
        return self.query_stop - self.query_start, self.target_count


@dataclass(frozen=True)
class Plan:
    """Every wanted pair, each in exactly one tile; `tiles()` makes the tiles one by one.

    Bands have `band_rows` queries, the first ones as `Limits.first_rows` says, and all their targets, or one query and `panel` targets
    where all of a query's are too many. cost: of pairs. start, stop: the queries whose pairs are wanted, if not all of them are (None: up
    to the last): a part of a job.
    """

    query_lengths: Lengths = field(repr=False)
    target_lengths: Lengths = field(repr=False)
    pairing: Pairing
    limits: Limits
    band_rows: int
    panel: int
    cost: Cost = field(default=WHOLE_MATRIX, repr=False)
    start: int = 0
    stop: int | None = None

    def part(self, start: int, stop: int) -> Plan:
        """The same for queries [start, stop) alone."""
        return replace(self, start=start, stop=stop)

    @property
    def queries(self) -> int:
        """Of the whole matrix."""
        return len(self.query_lengths)

    @property
    def end(self) -> int:
        """Behind the last query whose pairs are wanted."""
        return self.queries if self.stop is None else self.stop

    @property
    def targets(self) -> int:
        return len(self.target_lengths)

    @property
    def pairs(self) -> int:
        """That are computed."""
        return self.pairing.count(self.end, self.targets) - self.pairing.count(self.start, self.targets)

    @cached_property
    def cells(self) -> int:
        """What all of these cost, DP cells for most tasks."""
        return self.cost.cells(self.query_lengths[self.start : self.end], self.target_lengths, self._firsts(self.start, self.end))

    @property
    def row_cells(self) -> npt.NDArray[np.float64]:
        """What the pairs of each query of the whole matrix cost, about: float64[queries]."""
        return self.cost.by_query(self.query_lengths, self.target_lengths, self._firsts(0, self.queries))

    def _firsts(self, start: int, stop: int) -> Lengths | None:
        """The first wanted target of each of these queries; None where all targets are wanted."""
        return None if self.pairing is Pairing.ALL else self.pairing.first_targets(np.arange(start, stop, dtype=np.int64))

    @property
    def result_bytes(self) -> int:
        """Memory that the bands in flight take at most."""
        rows = min(BANDS_IN_FLIGHT * self.band_rows, max(self.queries, 1))
        return rows * row_bytes(self.limits, self.query_lengths, self.target_lengths, min(self.panel, self.targets))

    @cached_property
    def band_count(self) -> int:
        return sum(1 for _ in self._bands())

    def _bands(self) -> Iterator[tuple[int, int, int, int]]:
        """Rectangles (query start, query stop, first target, target stop) in the order of their rows."""
        start, rows = self.start, min(self.limits.first_rows or self.band_rows, self.band_rows)
        while start < self.end:
            stop = min(self.end, start + rows)
            for first in range(self.pairing.first_target(start), self.targets, self.panel):
                yield start, stop, first, min(self.targets, first + self.panel)
            start, rows = stop, min(2 * rows, self.band_rows)

    def cuts(self, start: int, stop: int, targets: npt.NDArray[np.int64], left: int) -> Iterator[tuple[int, int, int, int]]:
        """Rectangles (query start, query stop, from, to in `targets`) of about as many cells as a tile has where so many are left."""
        before, at = self._cells_before(start, stop, targets), 0
        while at < len(targets):
            tile_cells = self.limits.cells_of_tile(left - int(before[at]))
            # As many whole passes of the lanes as the whole band may have against them, at least one; or all that are left.
            reach = int(np.searchsorted(before, before[at] + tile_cells, side="right")) - 1
            to = min(len(targets), at + max(1, (reach - at) // self.limits.lanes) * self.limits.lanes)
            if reach >= len(targets):
                to = len(targets)
            cells_a_row = float(before[to] - before[at]) / (stop - start)
            rows, lanes = max(1, int(tile_cells / cells_a_row)), self.limits.query_lanes
            if rows > lanes:  # of fewer a tile may be all that a thread is to have
                rows -= rows % lanes
            rows = min(stop - start, rows)
            for query in range(start, stop, rows):
                yield query, min(stop, query + rows), at, to
            at = to

    def _lengths_of(self, targets: npt.NDArray[np.int64]) -> Lengths:
        """Of some targets; where lengths do not count those of as many others, at which nobody has to look."""
        return self.target_lengths[: len(targets)] if self.cost.by_number else self.target_lengths[targets]

    def _cells_before(self, start: int, stop: int, targets: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
        """Cells of queries [start, stop) with the targets before each of these, and with all: float64[targets + 1]."""
        queries = self.query_lengths[start:stop]
        if self.cost.by_number:
            return np.arange(len(targets) + 1, dtype=np.float64) * self.cost.by_target(queries, self.target_lengths[:1])
        return np.concatenate(([0.0], np.cumsum(self.cost.by_target(queries, self.target_lengths[targets]))))

    def selected_cells(self, query_start: int, query_stop: int, targets: npt.NDArray[np.int64]) -> int:
        """What the wanted pairs of queries [query_start, query_stop) with some targets cost."""
        queries, firsts = self.query_lengths[query_start:query_stop], self._firsts(query_start, query_stop)
        if firsts is None:
            return self.cost.cells(queries, self._lengths_of(targets))
        # Most targets stand behind all queries; sorting those would take longer than some tiles.
        behind = targets >= firsts[-1]
        beside = np.sort(targets[~behind])
        cells = self.cost.cells(queries, self._lengths_of(beside), np.searchsorted(beside, firsts))
        return cells + self.cost.cells(queries, self._lengths_of(targets[behind]))

    def _cells_between(self, query_start: int, query_stop: int, first: int, stop: int) -> int:
        """Of the wanted pairs with targets [first, stop), where lengths do not count."""
        firsts = self._firsts(query_start, query_stop)
        places = None if firsts is None else np.clip(firsts - first, 0, stop - first)
        return self.cost.cells(self.query_lengths[query_start:query_stop], self.target_lengths[first:stop], places)

    def tiles(self) -> Iterator[Tile]:
        """Every tile that holds a wanted pair, band by band."""
        order = by_length(self.target_lengths)
        shared, group = self.limits.sharing > 1, 0 if self.pairing is Pairing.ALL else self.limits.diagonal_group
        numbers, left = count(), self.cells if shared else 0
        for index, (start, stop, first, target_stop) in enumerate(self._bands()):
            if self.cost.by_number and (stop - start) * (target_stop - first) <= self.limits.cells_of_tile(left):
                # One tile, without a look at its targets, of which there may be millions for each of hundreds of bands.
                if cells := self._cells_between(start, stop, first, target_stop):
                    band = Band(start, stop, first, target_stop, index, 1, group)
                    targets_of = partial(ordered_targets, order, first, target_stop, stop, group)
                    yield Tile(next(numbers), band, start, stop, target_stop - first, targets_of, self.pairing, cells, left)
                left -= cells * shared
                continue
            targets = ordered_targets(order, first, target_stop, stop, group)
            cuts = [(a, b, targets[at:to]) for a, b, at, to in self.cuts(start, stop, targets, left)]
            wanted = [(a, b, part, cells) for a, b, part in cuts if (cells := self.selected_cells(a, b, part))]
            band = Band(start, stop, first, target_stop, index, len(wanted), group)
            for query_start, query_stop, part, cells in wanted:
                yield Tile.against(part, next(numbers), band, (query_start, query_stop), self.pairing, cells, left)
                left -= cells * shared


def row_bytes(limits: Limits, query_lengths: Lengths, target_lengths: Lengths, targets: int) -> int:
    """Results of one query against `targets` targets, at most."""
    longest = int(query_lengths.max(initial=0)) + int(target_lengths.max(initial=0))
    letters = targets * longest
    if targets == len(target_lengths):
        letters = targets * int(query_lengths.max(initial=0)) + int(target_lengths.sum())
    return limits.query_bytes + targets * limits.item_bytes + limits.letter_bytes * letters


def make_plan(
    query_lengths: Lengths, target_lengths: Lengths, pairing: Pairing, limits: Limits, cost: Cost = WHOLE_MATRIX, together: int = 1
) -> Plan:
    """Plan all wanted pairs within `limits`; every length is at least 1. together: so many queries, from 0 on, stay in one band.

    Raises `TooLittleMemory` if not even a few pairs' results fit `limits.result_bytes`, `ValueError` for pairings that do not fit
    the sets.
    """
    if pairing is not Pairing.ALL and not np.array_equal(query_lengths, target_lengths[: len(query_lengths)]):
        raise ValueError("only a set with itself has pairs above the diagonal")
    targets = len(target_lengths)
    a_row = max(1, row_bytes(limits, query_lengths, target_lengths, targets))
    rows, panel = limits.result_bytes // (BANDS_IN_FLIGHT * a_row), max(1, targets)
    if rows < together:
        pair_bytes = row_bytes(limits, query_lengths, target_lengths, 1)
        rows, panel = 1, min(targets - 1, limits.result_bytes // (BANDS_IN_FLIGHT * pair_bytes))
        if panel < min(targets, MIN_PANEL) or together > 1:
            needed = BANDS_IN_FLIGHT * min(MIN_PANEL * pair_bytes, together * a_row)
            raise TooLittleMemory(
                f"the memory budget is too small: results on their way need {needed:,} bytes of it, {limits.result_bytes:,} are left",
                needed,
            )
    wanted = limits.band_rows if pairing is Pairing.ALL else max(MIN_BAND_ROWS, len(query_lengths) // limits.diagonal_bands)
    rows = max(together, min(rows, wanted, limits.band_rows) // together * together)
    limits = replace(limits, first_rows=-(-limits.first_rows // together) * together)
    return Plan(query_lengths, target_lengths, pairing, limits, int(rows), int(panel), cost)
