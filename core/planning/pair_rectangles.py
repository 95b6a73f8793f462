"""Wanted pairs of a tile as rectangles, for engines that know a set with itself by its numbers where these have changed. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from gpualign.core.common.arrays import Integers
from gpualign.core.planning.cost import Cost
from gpualign.core.planning.tile_plan import Tile

_SPLIT_CELLS = 30_000_000
"""Of pairs beside the diagonal, a millisecond's work: fewer are not worth a rectangle of their own."""


def selected_rectangles(
    tile: Tile, rows: Integers, columns: Integers, lengths: tuple[Integers, Integers], cost: Cost, lanes: int
) -> Iterator[tuple[int, int, Integers]]:
    """(start, stop, columns): rows[start : stop] with the targets at these columns of a tile, so that each pair of rows and columns that
    the tile's pairing wants is in one of them. rows: queries of the tile, ascending; columns: places among its targets. lengths: of all
    queries and targets.

    A triangle on the diagonal is cut where its unwanted pairs would take long. They do not where targets fill the `lanes` of a vector
    anyway.
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
        if len(beside) >= lanes or cells(start, stop, beside) <= _SPLIT_CELLS:
            yield start, stop, some
            return
        if len(clear := some[~is_beside]):
            yield start, stop, clear
        middle = (start + stop) // 2
        yield from cut(start, middle, beside)
        yield from cut(middle, stop, beside)

    yield from cut(0, len(rows), columns)
