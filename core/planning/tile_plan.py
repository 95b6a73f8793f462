"""Splits the pair space into tiles. Pure: the same lengths, pairing and limits give the same plan.

The pair matrix is split into *bands* of consecutive queries in input order, so that results can be written in input order with only a few
bands held in memory. Within a band, the targets needed by any query are sorted by length (target_order.py) and split into *tiles*, so that
targets of similar length share the lanes of a vector. Tiles are the units of work that workers take from the queue.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import field, replace
from enum import Enum
from functools import cached_property, lru_cache, partial
from itertools import count

import numpy as np

from gpualign.core.common.arrays import Integers, Reals
from gpualign.core.common.dataclass import dataclass
from gpualign.core.common.errors import TooLittleMemory
from gpualign.core.planning.cost import FULL_MATRIX_COST, Cost, Lengths
from gpualign.core.planning.rectangle import Rect
from gpualign.core.planning.target_order import RecordNumbers, order_by_length, ordered_targets

MAX_BAND_ROWS = 256
"""Maximum number of queries in a band, unless an engine asks for more. Results are written one band at a time."""

MIN_BAND_ROWS = 32
"""Minimum number of queries in a band. Packing the band's targets costs approximately as much as aligning one query with them, so smaller
bands would spend too much time on packing."""

MIN_DIAGONAL_BANDS = 16
"""Minimum number of bands for one set. A band computes the whole square on its diagonal but uses only half of it, so a plan of 16 bands
computes 1/16 more than necessary. Engines that spend little time on each band ask for more bands."""

BANDS_IN_FLIGHT = 3
"""Number of bands whose results are in memory together: one is being written, one is being filled, and faster workers have already started
one."""


MAX_TILES_PER_WORKER = 4
"""Maximum number of tiles that a worker holds: tiles in flight and tiles prepared to follow them."""

_MAX_TILE_SHRINKAGE = 16
"""Maximum factor by which tiles shrink near the end of a plan that several workers share. Kernels would be slow on even smaller tiles."""

BLOCK_TARGETS = 1 << 17
"""Number of targets whose costs are computed at a time."""

MIN_BAND_TARGETS = 16
"""Minimum number of targets in a band. Bands with fewer targets would be too slow."""


class Pairing(Enum):
    """Selection of the pairs of query i and target j: all pairs, those with j > i, or those with j >= i.

    All pairings except ALL require that the queries are the first targets. This is so for a set with itself, and for a set with itself and
    additional records.
    """

    ALL = "all"
    ABOVE = "above"
    ABOVE_OR_EQUAL = "above-or-equal"

    def first_target(self, query: int) -> int:
        """Return the first target selected for a query. All later targets are selected too."""
        return {Pairing.ALL: 0, Pairing.ABOVE: query + 1, Pairing.ABOVE_OR_EQUAL: query}[self]

    def first_targets(self, queries: Integers) -> Integers:
        """Return the first target selected for each query: int64[queries]."""
        return np.zeros_like(queries) if self is Pairing.ALL else queries + self.first_target(0)

    def pair_count(self, query_count: int, target_count: int) -> int:
        """Return the number of pairs selected among `query_count` queries and `target_count` targets."""
        if self is Pairing.ALL:
            return query_count * target_count
        left_out = query_count * (query_count + 1) // 2
        return query_count * target_count - (left_out if self is Pairing.ABOVE else left_out - query_count)


@dataclass(frozen=True)
class TileLimits:
    """Limits by which a task is split into tiles for an engine and a budget.

    result_bytes: memory for the results of bands, in bytes
    scratch_bytes: memory for the engine itself, in bytes
    pair_bytes: size of the result of one pair, in bytes
    lane_count: number of targets that the engine computes simultaneously
    tile_cells: approximate cost of a tile, in DP cells for most tasks
    band_rows: maximum number of queries in a band
    bytes_per_letter: additional bytes of a pair's result for each letter of its two records
    query_bytes: additional bytes of results for each query
    worker_count: number of workers that share the tiles; if there are several, tiles shrink towards the end, so that no worker waits long
    first_band_rows: number of queries in the first band, which is small so that the first rows are ready soon; each later band has twice as
        many queries as the previous band, up to `band_rows`. 0: all bands have the same size
    min_diagonal_bands: minimum number of bands for one set
    diagonal_group_size: number of targets that the engine can skip together, for queries whose pairs with all these targets are unselected
        because they lie below the diagonal of one set. The plan therefore orders targets near the diagonal in groups of this size (see
        `ordered_targets`). 0: the engine skips no targets
    query_lane_count: number of queries that the engine may compute together; the number of queries in a larger tile should be a multiple of
        it
    """

    result_bytes: int
    scratch_bytes: int
    pair_bytes: int
    lane_count: int
    tile_cells: int
    band_rows: int = MAX_BAND_ROWS
    bytes_per_letter: int = 0
    query_bytes: int = 0
    worker_count: int = 1
    first_band_rows: int = 0
    min_diagonal_bands: int = MIN_DIAGONAL_BANDS
    diagonal_group_size: int = 0
    query_lane_count: int = 1

    def next_tile_cells(self, remaining_cells: int) -> int:
        """Return the cost of the next tile, low enough that no worker takes more than its share of the remaining cells in advance.

        remaining_cells: number of cells that remain to be computed
        """
        if self.worker_count == 1:
            return self.tile_cells
        return max(
            1, self.tile_cells // _MAX_TILE_SHRINKAGE, min(self.tile_cells, remaining_cells // (MAX_TILES_PER_WORKER * self.worker_count))
        )


@dataclass(frozen=True)
class Band(Rect):
    """A band of the plan, which is computed in tiles.

    index: index among the plan's bands
    tile_count: number of tiles
    group_size: group size with which `ordered_targets` ordered the targets; None if the targets have a different order
    """

    index: int
    tile_count: int
    group_size: int | None = None


@dataclass(frozen=True)
class Tile:
    """A rectangle of queries [query_start, query_stop) and some targets. Engines may skip pairs that `pairing` does not select.

    number: index among the plan's tiles; the same in every process that builds the same plan
    target_count: number of targets
    make_targets: returns the record numbers of the targets, int64[target_count] or a range of them
    cells: cost of the selected pairs, in DP cells for most tasks
    remaining_cells: cost of this tile and all later tiles if several workers share the plan, otherwise 0
    """

    number: int
    band: Band
    query_start: int
    query_stop: int
    target_count: int
    make_targets: Callable[[], RecordNumbers] = field(repr=False, compare=False)
    pairing: Pairing
    cells: int
    remaining_cells: int = 0

    @classmethod
    def from_targets(
        cls, targets: Integers, number: int, band: Band, queries: tuple[int, int], pairing: Pairing, cells: int, remaining_cells: int = 0
    ) -> Tile:
        """Create a tile from the record numbers of its targets. `Tile` explains the other parameters.

        queries: (query_start, query_stop)
        """
        return cls(number, band, *queries, len(targets), lambda: targets, pairing, cells, remaining_cells)

    @cached_property
    def targets(self) -> Integers:
        """Record numbers of the targets, int64[target_count]. They are computed on first access, because not all work needs them."""
        return self.make_targets()[:]

    @property
    def shape(self) -> tuple[int, int]:
        return self.query_stop - self.query_start, self.target_count


@dataclass(frozen=True)
class Plan:
    """Division of all selected pairs into tiles. Each pair is in exactly one tile, and `tiles()` yields the tiles in order.

    band_rows: number of queries per band, except in the first bands (see `TileLimits.first_band_rows`)
    targets_per_band: maximum number of targets per band; less than the number of all targets only if each band has a single query
    cost: computes the cost of pairs
    start, stop: if the plan covers only part of a job, the range [start, stop) of its queries. If `stop` is None, the range ends with the
        last query
    """

    query_lengths: Lengths = field(repr=False)
    target_lengths: Lengths = field(repr=False)
    pairing: Pairing
    limits: TileLimits
    band_rows: int
    targets_per_band: int
    cost: Cost = field(default=FULL_MATRIX_COST, repr=False)
    start: int = 0
    stop: int | None = None

    def for_queries(self, start: int, stop: int) -> Plan:
        """Return the part of this plan for the queries [start, stop)."""
        return replace(self, start=start, stop=stop)

    @property
    def query_count(self) -> int:
        """Number of queries in the whole job."""
        return len(self.query_lengths)

    @property
    def query_stop(self) -> int:
        """Number of the last query whose pairs are computed, plus one."""
        return self.query_count if self.stop is None else self.stop

    @property
    def target_count(self) -> int:
        return len(self.target_lengths)

    @property
    def pair_count(self) -> int:
        """Number of pairs to compute."""
        return self.pairing.pair_count(self.query_stop, self.target_count) - self.pairing.pair_count(self.start, self.target_count)

    @cached_property
    def cells(self) -> int:
        """Cost of the pairs to compute, in DP cells for most tasks."""
        return self.cost.cells(
            self.query_lengths[self.start : self.query_stop], self.target_lengths, self._first_targets(self.start, self.query_stop)
        )

    @property
    def row_cells(self) -> Reals:
        """Approximate cost of each query's pairs, for all queries in the whole job: float64[queries]."""
        return self.cost.cells_by_query(self.query_lengths, self.target_lengths, self._first_targets(0, self.query_count))

    def _first_targets(self, start: int, stop: int) -> Lengths | None:
        """Return the first selected target for each of the queries [start, stop), or None if all targets are selected."""
        return None if self.pairing is Pairing.ALL else self.pairing.first_targets(np.arange(start, stop, dtype=np.int64))

    @property
    def result_bytes(self) -> int:
        """Upper bound, in bytes, on the memory for the results of the bands that are in flight together."""
        rows = min(BANDS_IN_FLIGHT * self.band_rows, max(self.query_count, 1))
        return rows * row_bytes(self.limits, self.query_lengths, self.target_lengths, min(self.targets_per_band, self.target_count))

    @cached_property
    def band_count(self) -> int:
        return sum(1 for _ in self._band_rectangles())

    def _band_rectangles(self) -> Iterator[tuple[int, int, int, int]]:
        """Yield (query start, query stop, first target, target stop) for each band, in row order."""
        start, rows = self.start, min(self.limits.first_band_rows or self.band_rows, self.band_rows)
        while start < self.query_stop:
            stop = min(self.query_stop, start + rows)
            for first in range(self.pairing.first_target(start), self.target_count, self.targets_per_band):
                yield start, stop, first, min(self.target_count, first + self.targets_per_band)
            start, rows = stop, min(2 * rows, self.band_rows)

    def tile_rectangles(self, start: int, stop: int, targets: RecordNumbers, remaining_cells: int) -> Iterator[tuple[int, int, int, int]]:
        """Yield rectangles of queries [start, stop) and some targets. The cost of each rectangle is approximately that of a tile.

        remaining_cells: number of cells that remain to be computed

        Each rectangle is yielded as (query start, query stop, start in `targets`, stop in `targets`).
        """
        # Costs are computed for a block of targets at a time, because there may be too many targets to hold a cost for each.
        at = previous = block_start = block_stop = 0  # `previous`: number of targets of the previous tile
        cells_before_block, before = 0.0, np.zeros(1)
        while at < len(targets):
            first = at - block_start
            tile_cells = self.limits.next_tile_cells(remaining_cells - int(cells_before_block + before[first]))
            # As many whole passes of the lanes as the tile has cells for with all queries of the band, at least one; or all that are left.
            reach = block_start + int(np.searchsorted(before, before[first] + tile_cells, side="right")) - 1
            to = min(len(targets), at + max(1, (reach - at) // self.limits.lane_count) * self.limits.lane_count)
            if block_stop < len(targets) and max(reach, to) >= block_stop:  # the tile may end after this block
                # As a rule, the targets are ordered by length, so that a tile has no more of them than the previous one.
                size = max(BLOCK_TARGETS, 2 * (block_stop - block_start) if first == 0 else previous + previous // 8)
                cells_before_block += float(before[first])
                block_start, block_stop = at, min(len(targets), at + size)
                before = self._cells_before(start, stop, targets[block_start:block_stop])
                continue
            if reach >= len(targets):
                to = len(targets)
            cells_per_row = float(before[to - block_start] - before[first]) / (stop - start)
            rows, lanes = max(1, int(tile_cells / cells_per_row)), self.limits.query_lane_count
            if rows > lanes:  # a tile of fewer queries may be all that a thread gets
                rows -= rows % lanes
            rows = min(stop - start, rows)
            for query in range(start, stop, rows):
                yield query, min(stop, query + rows), at, to
            at, previous = to, to - at

    def _cells_before(self, start: int, stop: int, targets: Integers) -> Reals:
        """Return the cumulative cost of queries [start, stop): float64[targets + 1]. Element k is the cost of these queries with the first
        k targets."""
        queries = self.query_lengths[start:stop]
        if self.cost.ignores_lengths:
            return _multiples(len(targets) + 1, float(self.cost.cumulative_cells(queries, self.target_lengths[:1])[1]))
        return self.cost.cumulative_cells(queries, self.target_lengths[targets])

    def selected_cost(self, query_start: int, query_stop: int, targets: Integers) -> int:
        """Return the cost of the selected pairs of queries [query_start, query_stop) with some targets."""
        queries = self.query_lengths[query_start:query_stop]
        if self.cost.ignores_lengths:
            return self._selected_pair_count(query_start, query_stop, targets) * self.cost.cells(queries[:1], self.target_lengths[:1])
        firsts = self._first_targets(query_start, query_stop)
        if firsts is None:
            return self.cost.cells(queries, self.target_lengths[targets])
        # Most targets are after all queries; sorting those would take longer than computing some tiles.
        is_after = targets >= firsts[-1]
        near_diagonal = np.sort(targets[~is_after])
        # `firsts` are consecutive, so the number of targets before each is a running count of the targets.
        before = np.cumsum(np.bincount(np.clip(near_diagonal + 1 - firsts[0], 0, None), minlength=len(firsts)))[: len(firsts)]
        cells = self.cost.cells(queries, self.target_lengths[near_diagonal], before)
        return cells + self.cost.cells(queries, self.target_lengths[targets[is_after]])

    def _selected_pair_count(self, query_start: int, query_stop: int, targets: Integers) -> int:
        """Return the number of selected pairs of queries [query_start, query_stop) with some targets."""
        pairs = (query_stop - query_start) * len(targets)
        if self.pairing is Pairing.ALL:
            return pairs
        # The first targets of the queries are consecutive records, so a target is not selected for as many queries as it precedes the last
        # query's first target.
        last = self.pairing.first_target(query_stop - 1)
        distances = last - targets[targets < last]
        return pairs - int(np.minimum(distances, query_stop - query_start).sum())

    def _cells_between(self, query_start: int, query_stop: int, first: int, stop: int) -> int:
        """Return the cost of the selected pairs of queries [query_start, query_stop) and targets [first, stop).

        Only for costs that ignore lengths.
        """
        firsts = self._first_targets(query_start, query_stop)
        places = None if firsts is None else np.clip(firsts - first, 0, stop - first)
        return self.cost.cells(self.query_lengths[query_start:query_stop], self.target_lengths[first:stop], places)

    def tiles(self) -> Iterator[Tile]:
        """Yield every tile that contains a selected pair, band by band."""
        order = order_by_length(self.target_lengths)
        shared, group = self.limits.worker_count > 1, 0 if self.pairing is Pairing.ALL else self.limits.diagonal_group_size
        numbers, left = count(), self.cells if shared else 0
        for index, (start, stop, first, target_stop) in enumerate(self._band_rectangles()):
            if self.cost.ignores_lengths and (stop - start) * (target_stop - first) <= self.limits.next_tile_cells(left):
                # One tile, without reading its targets: there may be millions of them for each of hundreds of bands.
                if cells := self._cells_between(start, stop, first, target_stop):
                    band = Band(start, stop, first, target_stop, index, 1, group)
                    targets_of = partial(ordered_targets, order, first, target_stop, stop, group)
                    yield Tile(next(numbers), band, start, stop, target_stop - first, targets_of, self.pairing, cells, left)
                left -= cells * shared
                continue
            targets = ordered_targets(order, first, target_stop, stop, group)
            if group == 0 and first == self.pairing.first_target(start) and target_stop == self.target_count:
                order = targets  # no later band has earlier ones
            cuts = [(a, b, slice(at, to)) for a, b, at, to in self.tile_rectangles(start, stop, targets, left)]
            selected = [(a, b, some, cells) for a, b, some in cuts if (cells := self.selected_cost(a, b, targets[some]))]
            band = Band(start, stop, first, target_stop, index, len(selected), group)
            for query_start, query_stop, some, cells in selected:
                make = partial(targets.__getitem__, some)
                yield Tile(next(numbers), band, query_start, query_stop, some.stop - some.start, make, self.pairing, cells, left)
                left -= cells * shared


@lru_cache(maxsize=1)
def _multiples(count: int, step: float) -> Reals:
    """Return 0, step, 2 step ...: float64[count]. Most bands of a run need the same array, for each of their blocks of targets."""
    multiples = np.arange(count, dtype=np.float64) * step
    multiples.flags.writeable = False
    return multiples


def row_bytes(limits: TileLimits, query_lengths: Lengths, target_lengths: Lengths, target_count: int) -> int:
    """Return an upper bound, in bytes, on the size of the results of one query with `target_count` targets."""
    longest = int(query_lengths.max(initial=0)) + int(target_lengths.max(initial=0))
    letters = target_count * longest
    if target_count == len(target_lengths):
        letters = target_count * int(query_lengths.max(initial=0)) + int(target_lengths.sum())
    return limits.query_bytes + target_count * limits.pair_bytes + limits.bytes_per_letter * letters


def make_plan(
    query_lengths: Lengths,
    target_lengths: Lengths,
    pairing: Pairing,
    limits: TileLimits,
    cost: Cost = FULL_MATRIX_COST,
    group_size: int = 1,
) -> Plan:
    """Plan all selected pairs within `limits`. Every length must be at least 1.

    cost: computes the cost of pairs
    group_size: size of the groups of consecutive queries, starting at query 0, that must each stay in one band

    Raises `TooLittleMemory` if not even the results of a few pairs fit into `limits.result_bytes`, and `ValueError` if the pairing does not
    match the sets.
    """
    if pairing is not Pairing.ALL and not np.array_equal(query_lengths, target_lengths[: len(query_lengths)]):
        raise ValueError("expected a set with itself: only such a set has pairs above the diagonal")
    targets = len(target_lengths)
    bytes_per_row = max(1, row_bytes(limits, query_lengths, target_lengths, targets))
    rows, panel = limits.result_bytes // (BANDS_IN_FLIGHT * bytes_per_row), max(1, targets)
    if rows < group_size:
        pair_bytes = row_bytes(limits, query_lengths, target_lengths, 1)
        rows, panel = 1, min(targets - 1, limits.result_bytes // (BANDS_IN_FLIGHT * pair_bytes))
        if panel < min(targets, MIN_BAND_TARGETS) or group_size > 1:
            needed = BANDS_IN_FLIGHT * min(MIN_BAND_TARGETS * pair_bytes, group_size * bytes_per_row)
            raise TooLittleMemory(
                f"the memory budget is too small: buffered results need {needed:,} bytes of it, {limits.result_bytes:,} are left",
                needed,
                available_bytes=limits.result_bytes,
            )
    preferred_rows = limits.band_rows if pairing is Pairing.ALL else max(MIN_BAND_ROWS, len(query_lengths) // limits.min_diagonal_bands)
    rows = max(group_size, min(rows, preferred_rows, limits.band_rows) // group_size * group_size)
    limits = replace(limits, first_band_rows=-(-limits.first_band_rows // group_size) * group_size)
    return Plan(query_lengths, target_lengths, pairing, limits, int(rows), int(panel), cost)
