"""Aligns the pairs that remain after an edit distance threshold. An engine computes the listed pairs as tiles."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from itertools import count
from typing import cast

import numpy as np

from gpualign.core.alignment.aligned_pairs import PairAlignments
from gpualign.core.alignment.pair_list import NearPairs
from gpualign.core.common.arrays import Integers
from gpualign.core.execution.band_collectors import ResultGather
from gpualign.core.execution.engine import PreparedTask
from gpualign.core.execution.pipeline import Closable
from gpualign.core.planning.tile_plan import Band, Pairing, Tile


def align_pairs(prepared: PreparedTask, pairs: NearPairs) -> PairAlignments:
    """Align the listed pairs, which must be sorted by query. Their record numbers are those of the prepared task."""
    gather = ResultGather(prepared.task, (1, len(pairs)))
    indices_by_tile: dict[int, Integers] = {}
    with closing(cast("Closable", results := prepared.run(_query_tiles(prepared, pairs, indices_by_tile)))):
        for result in results:
            gather.put(slice(0, 1), indices_by_tile.pop(result.tile.number), result)
    scores, statistics, runs, flipped = gather.scores[0], gather.statistics, gather.runs, gather.is_reverse_complement
    return PairAlignments(
        scores, None if statistics is None else statistics[0], runs and runs.select(0), None if flipped is None else flipped[0]
    )


def _query_tiles(prepared: PreparedTask, pairs: NearPairs, indices_by_tile: dict[int, Integers]) -> Iterator[Tile]:
    """Yield tiles that cover the pairs. Each tile has a single query and some of its targets, sorted by length.

    indices_by_tile: receives each tile's indices into `pairs`, keyed by tile number
    """
    task, limits, numbers = prepared.task, prepared.limits, count()
    lengths = task.targets.lengths[pairs.targets]
    order = np.lexsort((lengths, pairs.queries))
    cells = np.cumsum(task.queries.lengths[pairs.queries[order]] * lengths[order])
    start = 0
    while start < len(order):
        query, done = int(pairs.queries[order[start]]), int(cells[start - 1]) if start else 0
        reach = int(np.searchsorted(cells, done + limits.tile_cells, side="right"))
        stop = min(max(start + limits.lane_count, reach), int(np.searchsorted(pairs.queries, query, side="right", sorter=order)))
        place = order[start:stop]
        targets, number = pairs.targets[place], next(numbers)
        band = Band(query, query + 1, int(targets.min()), int(targets.max()) + 1, number, 1)
        indices_by_tile[number] = place
        yield Tile.from_targets(targets, number, band, (query, query + 1), Pairing.ALL, int(cells[stop - 1]) - done)
        start = stop
