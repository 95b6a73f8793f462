"""Global alignments of both strands of the queries, of which the better one of each pair is told: an engine around any other.

A pair's better strand is that with the higher score, or the smaller edit distance; where they tie, plus. A minus strand is the query's
reverse complement against the target as it is.

Which of the two records is turned makes no difference to the score of a scoring by which s(a, b) = s(a', b'), a' the complement of a, as
DNA's has: read an alignment of x' and y backwards and exchange all letters for their complements, and it is one of x and y' with the same
columns, gaps and ends. With s(a, b) = s(b, a) it is one of y' and x as well. So of one set the pairs (i, j) and (j, i) are the same, and
those above the diagonal do for all.

The strands of a query stand one behind the other in the inner engine's task, so that a rectangle of queries is one of twice as many rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import field, replace
from itertools import count
from typing import cast

import numpy as np
import numpy.typing as npt

from gpualign.core.alignment.pair_list import NearPairs
from gpualign.core.alignment.path_builder import RunsBuilder
from gpualign.core.alignment.task import Detail, Task
from gpualign.core.alignment.tile_results import STATISTICS, Runs, TileAlignments, TilePairs, TileResult, TileScores
from gpualign.core.common.arrays import Integers
from gpualign.core.common.dataclass import dataclass
from gpualign.core.execution.engine import Capabilities, Engine, Prepared
from gpualign.core.execution.pipeline import Closable
from gpualign.core.planning.memory_budget import Budget
from gpualign.core.planning.pair_rectangles import selected_rectangles
from gpualign.core.planning.tile_plan import Band, Limits, Pairing, Tile
from gpualign.core.scoring.scoring import Scoring


class BothStrandsEngine:
    """Implements `gpualign.core.execution.engine.Engine` for tasks with `Task.both_strands`, by an engine that aligns one strand."""

    def __init__(self, inner: Engine) -> None:
        self.inner = inner

    @property
    def capabilities(self) -> Capabilities:
        return replace(self.inner.capabilities, strands=True)

    def prepare(self, task: Task, budget: Budget) -> BothStrandsPrepared:
        """Raises as the inner engine's."""
        ambiguous = None if task.ambiguous is None else task.ambiguous.of_strands()
        one = replace(task, queries=task.strands.sequences, both_strands=False, ambiguous=ambiguous)
        inner = self.inner.prepare(one, budget)
        limits = inner.limits
        outer = replace(
            limits,
            band_rows=max(1, limits.band_rows // 2),
            item_bytes=2 * limits.item_bytes + (1 if limits.item_bytes else 0),
            letter_bytes=2 * limits.letter_bytes,
            diagonal_group=0,  # the engine gets rectangles of which all is wanted
        )
        return BothStrandsPrepared(task, outer, inner)


def with_both_strands(engine: Engine) -> BothStrandsEngine:
    """The engine for tasks with both strands; itself, where it is one."""
    return engine if isinstance(engine, BothStrandsEngine) else BothStrandsEngine(engine)


@dataclass(frozen=True)
class BothStrandsPrepared:
    """Implements `gpualign.core.execution.engine.Prepared`."""

    task: Task
    limits: Limits
    inner: Prepared = field(repr=False)

    @property
    def kernel(self) -> str:
        return f"{self.inner.kernel}, both strands"

    @property
    def hardware(self) -> str:
        return self.inner.hardware

    def run(self, tiles: Iterator[Tile]) -> Iterator[TileResult]:
        near = self.task.within is not None
        open_tiles: dict[int, _OpenTile] = {}

        def turn() -> Iterator[Tile]:
            numbers = count()
            for index, tile in enumerate(tiles):
                parts = [_whole(tile)] if near else list(_rectangles(self.task, self.limits, tile))
                gathered = _OpenTile(self.task, tile, len(parts))
                left = max(0, tile.left - tile.cells) + sum(part.cells for part in parts) if tile.left else 0
                for part in parts:
                    number = next(numbers)
                    open_tiles[number] = gathered
                    gathered.parts[number] = part
                    yield part.stranded(tile, number, index, left)
                    left = max(0, left - part.cells)

        with closing(cast("Closable", results := self.inner.run(turn()))):
            for result in results:
                gathered = open_tiles.pop(result.tile.number)
                if gathered.add(result):
                    yield gathered.result()


@dataclass(frozen=True)
class _Rectangle:
    """Queries [start, stop) of a tile with those of its targets that stand at `columns`, None for all of them. cells: of both strands."""

    start: int
    stop: int
    columns: Integers | None
    cells: int

    def stranded(self, tile: Tile, number: int, index: int, left: int) -> Tile:
        """The tile of the inner task."""
        rows = 2 * self.start, 2 * self.stop
        if self.columns is None:
            band = Band(*rows, tile.band.first_target, tile.band.target_stop, index, 1)
            return Tile(number, band, *rows, tile.target_count, lambda: tile.targets, Pairing.ALL, self.cells, left)
        targets = tile.targets[self.columns]
        band = Band(*rows, int(targets.min()), int(targets.max()) + 1, index, 1)
        return Tile.against(targets, number, band, rows, Pairing.ALL, self.cells, left)


def _whole(tile: Tile) -> _Rectangle:
    return _Rectangle(tile.query_start, tile.query_stop, None, tile.cells)


def _rectangles(task: Task, limits: Limits, tile: Tile) -> Iterator[_Rectangle]:
    """All wanted pairs of a tile. Engines know a set with itself by its numbers, which strands do not have."""
    if tile.pairing is Pairing.ALL or tile.pairing.first_target(tile.query_stop - 1) <= tile.band.first_target:
        yield _whole(tile)
        return

    rows, lengths = np.arange(tile.query_start, tile.query_stop), (task.queries.lengths, task.targets.lengths)
    for start, stop, columns in selected_rectangles(tile, rows, np.arange(tile.target_count), lengths, task.cost, limits.lanes):
        cells = task.cost.cells(lengths[0][rows[start:stop]], lengths[1][tile.targets[columns]])
        yield _Rectangle(tile.query_start + start, tile.query_start + stop, columns, cells)


class _OpenTile:
    """Gathers the better strands of a tile. parts: what is still to come, by the numbers of the inner tiles."""

    def __init__(self, task: Task, tile: Tile, count: int) -> None:
        self.parts: dict[int, _Rectangle] = {}
        self._task = task
        self._tile = tile
        self._cut = count > 1
        self._left = count
        self._whole: TileResult | None = None

    def add(self, result: TileResult) -> bool:
        """Take the result of a part; whether it was the last one."""
        part = self.parts.pop(result.tile.number)
        self._left -= 1
        if isinstance(result, TilePairs):
            self._whole = _better_pairs(self._tile, result)
            return True
        assert isinstance(result, TileScores | TileAlignments)
        better = _better(self._task, self._tile, result)
        if not self._cut and (part.columns is None or len(part.columns) == self._tile.target_count):
            self._whole = better
        else:
            self._put(part, better)
        return not self._left

    def _put(self, part: _Rectangle, better: TileScores | TileAlignments) -> None:
        if self._whole is None:
            shape = self._tile.shape
            self._scores = np.zeros(shape, dtype=self._task.dtype)
            self._minus = np.zeros(shape, dtype=np.bool_)
            self._statistics = np.zeros(shape, dtype=STATISTICS)
            self._runs = RunsBuilder(shape)
            self._whole = TileScores(self._tile, self._scores, self._minus)  # until the last part is there
        assert part.columns is not None
        place = np.ix_(np.arange(part.start, part.stop) - self._tile.query_start, part.columns)
        self._scores[place], self._minus[place] = better.scores, better.is_reverse_complement
        if isinstance(better, TileAlignments):
            self._statistics[place] = better.statistics
            if better.runs is not None:
                self._runs.add(place, better.runs)
            if not self._left:
                runs = self._runs.build() if self._task.detail is Detail.PATH else None
                self._whole = TileAlignments(self._tile, self._scores, self._statistics, runs, self._minus)

    def result(self) -> TileResult:
        """All of it, when every part is there."""
        assert self._whole is not None
        return self._whole


def is_better(scoring: Scoring, minus: npt.NDArray[np.signedinteger], plus: npt.NDArray[np.signedinteger]) -> npt.NDArray[np.bool_]:
    """Of which pairs the minus strand is the better one, by the scores of either strand."""
    return minus < plus if scoring.edit else minus > plus


def _better(task: Task, tile: Tile, found: TileScores | TileAlignments) -> TileScores | TileAlignments:
    """Of rows that are plus and minus strands in turn, the better of two."""
    plus, other = found.scores[0::2], found.scores[1::2]
    minus = is_better(task.scoring, other, plus)
    scores = np.where(minus, other, plus)
    if isinstance(found, TileScores):
        return TileScores(tile, scores, minus)
    statistics = found.statistics[0::2].copy()
    statistics[minus] = found.statistics[1::2][minus]
    runs = found.runs
    if runs is not None:
        starts, sizes = (np.where(minus, one[1::2], one[0::2]) for one in (runs.starts, runs.sizes))
        runs = Runs(runs.pieces, starts, sizes)
    return TileAlignments(tile, scores, statistics, runs, minus)


def _better_pairs(tile: Tile, found: TilePairs) -> TilePairs:
    """Near pairs of strands as pairs of records, each once, with its better strand: distances are as `decode_distances` takes them."""
    strands, targets = found.pairs.queries, found.pairs.targets
    queries, distances = strands // 2, 2 * found.pairs.distances + strands % 2
    pairs = NearPairs(queries, targets, distances).part(targets >= tile.pairing.first_targets(queries))
    if len(pairs):
        pairs = pairs.in_order()  # of a pair the better strand first
        first = (np.diff(pairs.queries, prepend=-1) != 0) | (np.diff(pairs.targets, prepend=-1) != 0)
        pairs = pairs.part(first)
    return TilePairs(tile, pairs, found.left)


def decode_distances(distances: Integers) -> tuple[Integers, npt.NDArray[np.bool_]]:
    """(edit distances, which are of minus strands) of near pairs that `BothStrandsEngine` has found."""
    return distances // 2, distances % 2 == 1
