"""Covers a tile's selected pairs with rectangles, for engines whose record numbers differ from those in the tile's set. Pure.

Within one set, an engine compares record numbers to decide which pairs are selected (`Pairing`). This no longer works if the records are
renumbered, so such an engine must be given rectangles of selected pairs.
"""

from __future__ import annotations

from collections.abc import Iterator

from gpualign.core.common.arrays import Integers
from gpualign.core.planning.cost import Cost
from gpualign.core.planning.tile_plan import Tile

_MIN_SPLIT_CELLS = 30_000_000
"""Minimum number of cells near the diagonal that justifies a separate rectangle. Computing this many cells takes one millisecond."""


def selected_rectangles(
    tile: Tile, rows: Integers, columns: Integers, lengths: tuple[Integers, Integers], cost: Cost, lanes: int
) -> Iterator[tuple[int, int, Integers]]:
    """Yield (start, stop, columns) for each rectangle, which consists of queries rows[start : stop] and the tile's targets at these
    columns.

    rows: the tile's queries, ascending
    columns: indices into the tile's targets
    lengths: (lengths of all queries, lengths of all targets)
    cost: computes the cost of pairs
    lanes: number of targets that an engine computes simultaneously

    Each pair of `rows` and `columns` that the tile's pairing selects is in one of the rectangles. A rectangle on the diagonal also contains
    unselected pairs. It is split if it would take too long, unless it has at least `lanes` targets on the diagonal.
    """

    def cells(start: int, stop: int, some: Integers) -> int:
        return cost.cells(lengths[0][rows[start:stop]], lengths[1][tile.targets[some]])

    def cut(start: int, stop: int, some: Integers) -> Iterator[tuple[int, int, Integers]]:
        first, last = tile.pairing.first_target(int(rows[start])), tile.pairing.first_target(int(rows[stop - 1]))
        some = some[tile.targets[some] >= first]
        if not len(some):
            return
        is_beside = tile.targets[some] < last
        beside = some[is_beside]
        if len(beside) >= lanes or cells(start, stop, beside) <= _MIN_SPLIT_CELLS:
            yield start, stop, some
            return
        if len(clear := some[~is_beside]):
            yield start, stop, clear
        middle = (start + stop) // 2
        yield from cut(start, middle, beside)
        yield from cut(middle, stop, beside)

    yield from cut(0, len(rows), columns)
