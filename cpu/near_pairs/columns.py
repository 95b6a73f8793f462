"""Finds the pairs of short sequences whose letters in the same columns cost at most a limit. Targets are sorted by the letters that differ
most, and a query is compared only with those whose sorted letters are near its own."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from gpualign.core.alignment.pair_list import NearPairs, join_pairs
from gpualign.core.alignment.task import Task
from gpualign.core.alignment.tile_results import TilePairs
from gpualign.core.common.arrays import Codes, Integers
from gpualign.core.common.dataclass import dataclass
from gpualign.core.common.threads import map_in_order
from gpualign.core.near_pairs.sampling import sample_records
from gpualign.core.planning.memory_budget import Budget
from gpualign.core.planning.tile_plan import BANDS_IN_FLIGHT, Pairing, Tile, TileLimits
from gpualign.core.scoring.alignment_distance import column_filter
from gpualign.core.scoring.listed_distances import ListedDistance
from gpualign.core.scoring.tcrdist import TRIM_END, TRIM_START, WEIGHT
from gpualign.core.sequences.receptor_titles import V_CALL
from gpualign.core.sequences.sequence_set import SequenceSet
from gpualign.cpu.alignment._kernels import Cancel
from gpualign.cpu.near_pairs import _near
from gpualign.cpu.near_pairs.recipe import NEAR_PAIR_BYTES, max_call_pairs

PAIRS_PER_SECOND = 2e10
"""Pairs that a thread with AVX2 decides per second, at distances of up to 20, among 100,000 targets. The rate grows with the targets."""

_MAX_BAND_ROWS = 1 << 14
"""Maximum number of queries in a tile. Similar queries are compared one after another, and those of larger tiles are more similar."""

_MIN_BANDS_PER_THREAD = 8
"""Minimum number of tiles for each thread, if there are enough queries, because the first tiles of one set have the most pairs."""

_SAMPLE_RECORDS = 4000
"""Number of records of a sample. One pair in 100,000 of a repertoire is within 15, so that a sample has about 80 near pairs."""

_SORTED_LETTERS = 12
"""Number of letters in the key that sorts targets; a key fits in 64 bits."""


@dataclass(frozen=True)
class ColumnDistance:
    """Distance along columns, as `_near.column_tile` computes it.

    name: name of the distance, for messages
    costs: cost of each letter with each other letter, uint8[32][32], symmetric, at most 64
    weight: factor of the costs of letters
    gap_open, gap_extend: cost of the first letter and of each further letter of a difference in length
    trim: number of letters that cost nothing, (at the start, at the end)
    gap_is_free: whether each letter costs the lower of the costs on both sides of the gap, instead of a gap at a fixed place
    max_distance: largest distance of near pairs
    """

    name: str
    costs: Codes
    weight: int
    gap_open: int
    gap_extend: int
    trim: tuple[int, int]
    gap_is_free: bool
    max_distance: int

    @property
    def kernel(self) -> str:
        return f"{self.name}, a target in each byte of a vector, of targets with similar letters beside the gap"


def column_distance(task: Task) -> ColumnDistance:
    """Return the distance along columns whose near pairs include those of a task: TCRdist, or the column costs of an alignment distance.
    `column_filter` must have a filter for the task's sequences."""
    assert task.edit_bound is not None
    scoring, max_distance = task.scoring, int(task.edit_bound.constant)
    if scoring.listed_distance is ListedDistance.ALIGNMENT:
        columns = column_filter(max_distance, scoring.of_alignments, task.queries, task.targets)
        assert columns is not None
        return ColumnDistance("column costs", columns.costs, 1, columns.gap_open, columns.gap_extend, (0, 0), True, columns.limit)
    costs, letters = np.zeros((32, 32), dtype=np.uint8), len(scoring.substitution)
    costs[:letters, :letters] = -scoring.substitution // WEIGHT
    return ColumnDistance("TCRdist", costs, WEIGHT, scoring.gap_open, scoring.gap_open, (TRIM_START, TRIM_END), False, max_distance)


def tile_limits(task: Task, distance: ColumnDistance, budget: Budget, instruction_set: str, threads: int) -> TileLimits:
    """Return limits with which each tile is a whole band, and the near pairs of a band, as predicted from a sample, fit in the memory for
    results.

    Panels of targets have two bytes for each letter; their order and the tree take at most 32 bytes for each target.
    """
    near_bytes = _near_fraction(task, distance, instruction_set) * len(task.targets) * NEAR_PAIR_BYTES  # per query
    rows = min(
        _MAX_BAND_ROWS,
        int(budget.result_bytes / (BANDS_IN_FLIGHT * near_bytes)),
        -(-len(task.queries) // (_MIN_BANDS_PER_THREAD * threads)),
    )
    scratch = 2 * len(task.targets.codes) + 32 * len(task.targets)
    return TileLimits(budget.result_bytes, scratch, task.pair_bytes, 1, 1 << 62, band_rows=max(1, rows))


def _near_fraction(task: Task, distance: ColumnDistance, instruction_set: str) -> float:
    """Return the approximate fraction of near pairs, measured on a sample."""
    queries, targets = sample_records(task.queries, task.targets, _SAMPLE_RECORDS)
    finder = ColumnPairFinder(replace(task, queries=queries, targets=targets), distance, instruction_set, 1, 1 << 40)
    numbers = np.arange(len(queries), dtype=np.int64)
    pairing = Pairing.ABOVE if targets is queries else Pairing.ALL
    pairs = finder.find_pairs(numbers, pairing.first_targets(numbers), Cancel())
    assert pairs is not None  # it is never cancelled
    return (len(pairs) + 1) / (pairing.pair_count(len(queries), len(targets)) + 1)  # one more: a sample may hold none


class ColumnPairFinder:
    """Finds the near pairs of tiles.

    distance: distance of pairs
    instruction_set: name of the kernel variant
    threads: number of threads that lay out the targets
    result_bytes: memory for the results of a thread, in bytes
    """

    def __init__(self, task: Task, distance: ColumnDistance, instruction_set: str, threads: int, result_bytes: int) -> None:
        self._task = task
        self._distance = distance
        self._instruction_set = instruction_set
        queries, targets = task.queries, task.targets
        own = others = self._labels = None
        if task.scoring.v_genes is not None:
            (own, others), distances = task.scoring.v_genes.label([queries.annotations[V_CALL], targets.annotations[V_CALL]])
            self._labels = own, distances
        self._targets = _near.ColumnTargets(targets.codes, targets.offsets, _similar_neighbours(targets, others), others)
        for _ in map_in_order(self._targets.fill, range(self._targets.panel_count), threads):
            pass
        self._max_pairs = max_call_pairs(result_bytes)

    def __call__(self, tile: Tile, cancel: Cancel) -> TilePairs | None:
        queries = np.arange(tile.query_start, tile.query_stop, dtype=np.int64)
        pairs = self.find_pairs(queries, tile.pairing.first_targets(queries), cancel)
        if pairs is None:
            return None
        return TilePairs(tile, pairs.sorted() if len(pairs) else pairs, {"pairs": tile.cells, self._distance.name: len(pairs)})

    def find_pairs(self, queries: Integers, first_targets: Integers, cancel: Cancel) -> NearPairs | None:
        """Return the near pairs of some queries; None if cancelled. If the pairs do not fit in memory, the queries are halved; the pairs of
        one query always fit."""
        records, distance = self._task.queries, self._distance
        result = _near.column_tile(
            self._instruction_set,
            records.codes,
            records.offsets,
            queries,
            first_targets,
            self._targets,
            distance.costs,
            distance.weight,
            distance.gap_open,
            distance.gap_extend,
            *distance.trim,
            distance.gap_is_free,
            self._labels,
            distance.max_distance,
            self._max_pairs if len(queries) > 1 else 1 << 40,
            cancel,
        )
        if result is None:
            return None
        if not result.overflow:
            return NearPairs(result.queries, result.targets, result.distances.astype(np.int64))
        half = len(queries) // 2
        halves = [self.find_pairs(queries[part], first_targets[part], cancel) for part in (slice(half), slice(half, None))]
        complete = [part for part in halves if part is not None]
        return join_pairs(complete) if len(complete) == 2 else None


def _similar_neighbours(records: SequenceSet, labels: npt.NDArray[np.int32] | None) -> Integers:
    """Return the records in ascending order of length, those of one length by label, if they have labels, and then by the letters that are
    compared first."""
    by_length = np.argsort(records.lengths, kind="stable")
    lengths, starts = np.unique(records.lengths[by_length], return_index=True)
    parts = []
    for length, numbers in zip(lengths.tolist(), np.split(by_length, starts[1:]), strict=True):
        keys = np.zeros(len(numbers), dtype=np.int64)
        for position in _near.comparison_order(length)[:_SORTED_LETTERS]:
            keys = keys * 32 + records.codes[records.offsets[numbers] + position]
        parts.append(numbers[np.argsort(keys, kind="stable") if labels is None else np.lexsort((keys, labels[numbers]))])
    return np.concatenate(parts)
