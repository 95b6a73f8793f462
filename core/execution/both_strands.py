"""Engine that aligns both strands of each query globally, using an inner engine, and keeps the better strand of each pair.

The better strand of a pair is the one with the higher score or the smaller edit distance; ties go to the plus strand. On the minus strand,
the query's reverse complement is aligned with the unchanged target.

Let s(a, b) be the score of letters a and b, and a' the complement of a letter or the reverse complement of a record. If
s(a, b) = s(a', b'), as for DNA, the score does not depend on which of the two records is reverse-complemented: an alignment of x' and y,
read backwards with all letters complemented, is an alignment of x and y' with the same columns, gaps and ends. If also s(a, b) = s(b, a),
it is an alignment of y' and x as well. Within one set the pairs (i, j) and (j, i) are therefore equivalent, and the pairs above the
diagonal are enough.

The two strands of a query are adjacent in the inner engine's task, so a rectangle of queries becomes a rectangle with twice as many rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field, replace
from functools import partial

import numpy as np
import numpy.typing as npt

from gpualign.core.alignment.aligned_pairs import PairAlignments, PairAlignmentsBuilder
from gpualign.core.alignment.pair_list import NearPairs
from gpualign.core.alignment.task import EndGaps, Task
from gpualign.core.alignment.tile_results import Runs, TileAlignments, TilePairs, TileResult, TileScores
from gpualign.core.common.arrays import Booleans, Codes, Integers, Scores, distinct
from gpualign.core.common.dataclass import dataclass
from gpualign.core.execution.engine import Capabilities, EditFinder, EditFindingEngine, Engine, PairAligner, PreparedTask
from gpualign.core.execution.retiling import SplitTile, TilePiece, retile
from gpualign.core.planning.memory_budget import Budget
from gpualign.core.planning.pair_rectangles import selected_rectangles
from gpualign.core.planning.tile_plan import Band, Pairing, Tile, TileLimits
from gpualign.core.scoring.edit_bounds import max_edits_by_scores, scores_bound_edits
from gpualign.core.scoring.scoring import Scoring

_MAX_CHECKED_EDITS = 0.5
"""Maximum bound on the edits of a pair, per letter of the longer sequence, for which the edit distance is found. Strangers of 1,500 random
bases have 0.51 to 0.54, so a higher bound rarely excludes them."""


class BothStrandsEngine:
    """Engine for tasks with `Task.both_strands`. It uses an inner engine, which aligns one strand at a time. Implements
    `gpualign.core.execution.engine.Engine`.
    """

    def __init__(self, inner: Engine) -> None:
        self.inner = inner

    @property
    def capabilities(self) -> Capabilities:
        return replace(self.inner.capabilities, supports_both_strands=True)

    def prepare(self, task: Task, budget: Budget) -> BothStrandsPreparedTask:
        """Prepare a task for both strands with the inner engine. Raises the same `RunError` as the inner engine."""
        inner = self.inner.prepare(_single_strand_task(task), budget)
        limits = inner.limits
        outer = replace(
            limits,
            band_rows=max(1, limits.band_rows // 2),
            pair_bytes=2 * limits.pair_bytes + (1 if limits.pair_bytes else 0),
            bytes_per_letter=2 * limits.bytes_per_letter,
            diagonal_group_size=0,  # all pairs of the rectangles that the engine gets are selected
        )
        return BothStrandsPreparedTask(task, outer, inner)

    def prepare_pair_aligner(self, task: Task, budget: Budget) -> BothStrandsPairAligner:
        """Prepare listed pairs for both strands with the inner engine, which must be an `EditFindingEngine`. Raises the same `RunError` as
        the inner engine."""
        assert isinstance(self.inner, EditFindingEngine)
        inner = _single_strand_task(task)
        letters = distinct(np.concatenate((inner.queries.used_codes, inner.targets.used_codes)))
        is_bounded = scores_bound_edits(task.scoring, letters, task.end_gaps is not EndGaps.PENALISED)
        finder = self.inner.prepare_edit_finder(inner, budget) if is_bounded else None
        return BothStrandsPairAligner(task, self.inner.prepare_pair_aligner(inner, budget), letters, finder)


def _single_strand_task(task: Task) -> Task:
    """Return the inner engine's task, in which each query is replaced by its two strands."""
    ambiguous = None if task.ambiguity is None else task.ambiguity.for_both_strands()
    return replace(task, queries=task.strands.sequences, both_strands=False, ambiguity=ambiguous)


def with_both_strands(engine: Engine) -> BothStrandsEngine:
    """Wrap an engine for tasks with both strands. An engine that is already wrapped is returned unchanged."""
    return engine if isinstance(engine, BothStrandsEngine) else BothStrandsEngine(engine)


@dataclass(frozen=True)
class BothStrandsPreparedTask:
    """Prepared task that aligns both strands of each query and keeps the better result of each pair. Implements
    `gpualign.core.execution.engine.PreparedTask`.

    inner: the inner task, prepared by the inner engine; in place of each query, it has the query's two strands
    """

    task: Task
    limits: TileLimits
    inner: PreparedTask = field(repr=False)

    @property
    def kernel(self) -> str:
        return f"{self.inner.kernel}, both strands"

    @property
    def hardware(self) -> str:
        return self.inner.hardware

    def run(self, tiles: Iterator[Tile]) -> Iterator[TileResult]:
        return retile(self.task, self.inner, tiles, self._split)

    def _split(self, tile: Tile, first_number: int, band_index: int) -> SplitTile:
        """Split a tile into tiles of the inner task, which contain both strands of each query. See `retile` for the parameters of
        `split`."""
        rectangles = (
            [_whole_rectangle(tile)] if self.task.edit_bound is not None else list(_selected_rectangles(self.task, self.limits, tile))
        )
        left = max(0, tile.remaining_cells - tile.cells) + sum(rectangle.cells for rectangle in rectangles) if tile.remaining_cells else 0
        pieces: list[TilePiece] = []
        for number, rectangle in enumerate(rectangles, first_number):
            rows = slice(rectangle.start - tile.query_start, rectangle.stop - tile.query_start)
            columns = slice(0, tile.target_count) if rectangle.columns is None else rectangle.columns
            pieces.append(TilePiece(rectangle.inner_tile(tile, number, band_index, left), rows, columns))
            left = max(0, left - rectangle.cells)
        return SplitTile(tile, pieces, partial(_select_better_strands, self.task, tile))


@dataclass(frozen=True)
class BothStrandsPairAligner:
    """Aligner of listed pairs on both strands of each query, which keeps the better result of each pair. Implements
    `gpualign.core.execution.engine.PairAligner`.

    inner: the inner engine's aligner; in place of each query, its task has the query's two strands
    letters: codes that occur in the sequences and the reverse complements
    finder: finds edit distances of the inner task; None if scores do not bound them

    The strand with fewer edits is aligned first. Its score is one that the other strand must reach, or exceed if it is the minus strand.
    A score bounds the edit distance (`max_edits_by_scores`), so the other strand is aligned only if its edit distance is within the bound.
    On the other strand most sequences are strangers, which takes much less time to find out than to align them.
    """

    task: Task
    inner: PairAligner = field(repr=False)
    letters: Codes = field(repr=False)
    finder: EditFinder | None = field(repr=False)

    @property
    def kernel(self) -> str:
        return f"{self.inner.kernel}, both strands"

    @property
    def uses_device(self) -> bool:
        return self.inner.uses_device

    def align_pairs(self, pairs: NearPairs) -> PairAlignments:
        """Align the listed pairs. Their distances also encode the strand, as those from a `BothStrandsEngine` do."""
        distances, is_minus = decode_distances(pairs.distances)
        aligned = self.inner.align_pairs(NearPairs(2 * pairs.queries + is_minus, pairs.targets, distances))
        others, edits = self._may_be_better(pairs, is_minus, aligned.scores)
        if not len(others):
            return replace(aligned, is_reverse_complement=is_minus)
        strands = 2 * pairs.queries[others] + ~is_minus[others]
        other = self.inner.align_pairs(NearPairs(strands, pairs.targets[others], edits))
        plus, minus = (np.where(is_minus[others] == on_minus, aligned.scores[others], other.scores) for on_minus in (False, True))
        better = np.flatnonzero(is_minus_better(self.task.scoring, minus, plus) != is_minus[others])
        built = PairAlignmentsBuilder(self.task, len(pairs))
        built.put(np.arange(len(pairs)), aligned)
        built.put(others[better], other.select(better))
        is_minus[others[better]] ^= True
        return replace(built.build(), is_reverse_complement=is_minus)

    def _may_be_better(self, pairs: NearPairs, is_minus: Booleans, scores: Scores) -> tuple[Integers, Integers]:
        """Return (indices of the pairs that may be better on the other strand than on the strand with these scores, the edits to expect
        there). is_minus: whether the scores are those of the minus strand"""
        lengths = self.task.queries.lengths[pairs.queries], self.task.targets.lengths[pairs.targets]
        edits = np.maximum(*lengths)
        if self.finder is None:
            return np.arange(len(pairs)), edits
        needed = np.where(self.task.scoring.edit, -scores, scores).astype(np.int64) + ~is_minus  # on a tie, the plus strand is better
        free_ends = self.task.end_gaps is not EndGaps.PENALISED
        limits = max_edits_by_scores(needed, lengths[0] + lengths[1], self.task.scoring, self.letters, free_ends)
        bounded = np.flatnonzero(limits < _MAX_CHECKED_EDITS * edits)
        strands = 2 * pairs.queries[bounded] + ~is_minus[bounded]
        edits[bounded] = self.finder.find_edits(NearPairs(strands, pairs.targets[bounded], limits[bounded]))
        others = np.flatnonzero(edits >= 0)
        return others, edits[others]

    def close(self) -> None:
        self.inner.close()
        if self.finder is not None:
            self.finder.close()


@dataclass(frozen=True)
class _TileRectangle:
    """Rectangle of pairs: the queries [start, stop) of a tile, with some of the tile's targets.

    columns: indices into the tile's targets; None: all targets
    cells: DP cells for both strands
    """

    start: int
    stop: int
    columns: Integers | None
    cells: int

    def inner_tile(self, tile: Tile, number: int, band_index: int, remaining_cells: int) -> Tile:
        """Return the tile of the inner task that covers this rectangle of `tile`, with both strands of each query.

        number, remaining_cells: values for the returned tile's fields of these names
        band_index: index of the returned tile's band
        """
        rows = 2 * self.start, 2 * self.stop
        if self.columns is None:
            band = Band(*rows, tile.band.first_target, tile.band.target_stop, band_index, 1)
            return Tile(number, band, *rows, tile.target_count, lambda: tile.targets, Pairing.ALL, self.cells, remaining_cells)
        targets = tile.targets[self.columns]
        band = Band(*rows, int(targets.min()), int(targets.max()) + 1, band_index, 1)
        return Tile.from_targets(targets, number, band, rows, Pairing.ALL, self.cells, remaining_cells)


def _whole_rectangle(tile: Tile) -> _TileRectangle:
    return _TileRectangle(tile.query_start, tile.query_stop, None, tile.cells)


def _selected_rectangles(task: Task, limits: TileLimits, tile: Tile) -> Iterator[_TileRectangle]:
    """Yield rectangles that together cover all selected pairs of a tile, and only few other pairs.

    Within one set, engines determine which pairs are selected by comparing record numbers. The inner engine's records are strands, which
    are numbered differently, so the inner engine cannot do that.
    """
    if tile.pairing is Pairing.ALL or tile.pairing.first_target(tile.query_stop - 1) <= tile.band.first_target:
        yield _whole_rectangle(tile)
        return

    rows, lengths = np.arange(tile.query_start, tile.query_stop), (task.queries.lengths, task.targets.lengths)
    for start, stop, columns in selected_rectangles(tile, rows, np.arange(tile.target_count), lengths, task.cost, limits.lane_count):
        cells = task.cost.cells(lengths[0][rows[start:stop]], lengths[1][tile.targets[columns]])
        yield _TileRectangle(tile.query_start + start, tile.query_start + stop, columns, cells)


def is_minus_better(scoring: Scoring, minus: npt.NDArray[np.signedinteger], plus: npt.NDArray[np.signedinteger]) -> npt.NDArray[np.bool_]:
    """Return a mask of the pairs that are better on the minus strand. minus, plus: scores of the same pairs on each strand"""
    return minus < plus if scoring.edit else minus > plus


def _select_better_strands(task: Task, tile: Tile, result: TileResult) -> TileResult:
    """Return the result for the better strand of each pair in a tile.

    tile: a tile of the task
    result: result of the inner engine, whose rows alternate between the plus and the minus strand of each query; near pairs contain the
        numbers of strands instead
    """
    if isinstance(result, TilePairs):
        return _select_better_pairs(tile, result)
    assert isinstance(result, TileScores | TileAlignments)
    plus, minus = result.scores[0::2], result.scores[1::2]
    is_minus = is_minus_better(task.scoring, minus, plus)
    scores = np.where(is_minus, minus, plus)
    if isinstance(result, TileScores):
        return TileScores(tile, scores, is_minus)
    statistics = result.statistics[0::2].copy()
    statistics[is_minus] = result.statistics[1::2][is_minus]
    runs = result.runs
    if runs is not None:
        starts, sizes = (np.where(is_minus, one[1::2], one[0::2]) for one in (runs.starts, runs.sizes))
        runs = Runs(runs.pieces, starts, sizes)
    return TileAlignments(tile, scores, statistics, runs, is_minus)


def _select_better_pairs(tile: Tile, result: TilePairs) -> TilePairs:
    """Convert near pairs of strands to near pairs of records. Each pair is returned once, with the distance on its better strand.

    The returned distances also encode the strand; `decode_distances` separates the two.
    """
    strands, targets = result.pairs.queries, result.pairs.targets
    queries, distances = strands // 2, 2 * result.pairs.distances + strands % 2
    pairs = NearPairs(queries, targets, distances).select(targets >= tile.pairing.first_targets(queries))
    if len(pairs):
        pairs = pairs.sorted()  # the better strand of a pair first
        first = (np.diff(pairs.queries, prepend=-1) != 0) | (np.diff(pairs.targets, prepend=-1) != 0)
        pairs = pairs.select(first)
    return TilePairs(tile, pairs, result.survivor_counts)


def decode_distances(distances: Integers) -> tuple[Integers, npt.NDArray[np.bool_]]:
    """Decode the distances of near pairs from a `BothStrandsEngine`. Returns (edit distances, mask of the pairs on the minus strand)."""
    return distances // 2, distances % 2 == 1
