"""Aligns the listed pairs that remain after an edit distance threshold, using an engine that aligns rectangles."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from itertools import count
from typing import cast

import numpy as np

from gpualign.core.alignment.aligned_pairs import PairAlignments
from gpualign.core.alignment.pair_list import NearPairs
from gpualign.core.alignment.path_builder import RunsBuilder
from gpualign.core.alignment.task import Detail
from gpualign.core.alignment.tile_results import STATISTICS, TileAlignments, TileScores
from gpualign.core.common.arrays import Integers
from gpualign.core.execution.engine import Prepared
from gpualign.core.execution.pipeline import Closable
from gpualign.core.planning.tile_plan import Band, Pairing, Tile


def align_pairs(prepared: Prepared, pairs: NearPairs) -> PairAlignments:
    """Align pairs of the prepared task's records. pairs: sorted by query."""
    task = prepared.task
    scores = np.zeros(len(pairs), dtype=task.dtype)
    statistics = None if task.detail is Detail.SCORE else np.zeros(len(pairs), dtype=STATISTICS)
    runs = RunsBuilder((len(pairs),)) if task.detail is Detail.PATH else None
    flipped = np.zeros(len(pairs), dtype=np.bool_) if task.both_strands else None
    places: dict[int, Integers] = {}
    with closing(cast("Closable", results := prepared.run(_tiles(prepared, pairs, places)))):
        for result in results:
            assert isinstance(result, TileScores | TileAlignments)
            place = places.pop(result.tile.number)
            scores[place] = result.scores[0]
            if flipped is not None and result.is_reverse_complement is not None:
                flipped[place] = result.is_reverse_complement[0]
            if isinstance(result, TileAlignments) and statistics is not None:
                statistics[place] = result.statistics[0]
                if runs is not None and result.runs is not None:
                    runs.add(place, result.runs.part(0))
    return PairAlignments(scores, statistics, None if runs is None else runs.build(), flipped)


def _tiles(prepared: Prepared, pairs: NearPairs, places: dict[int, Integers]) -> Iterator[Tile]:
    """Yield tiles of a single query and its targets, sorted by target length.

    places: receives each tile's indices into `pairs`, keyed by tile number
    """
    task, limits, numbers = prepared.task, prepared.limits, count()
    lengths = task.targets.lengths[pairs.targets]
    order = np.lexsort((lengths, pairs.queries))
    cells = np.cumsum(task.queries.lengths[pairs.queries[order]] * lengths[order])
    start = 0
    while start < len(order):
        query, done = int(pairs.queries[order[start]]), int(cells[start - 1]) if start else 0
        reach = int(np.searchsorted(cells, done + limits.tile_cells, side="right"))
        stop = min(max(start + limits.lanes, reach), int(np.searchsorted(pairs.queries, query, side="right", sorter=order)))
        place = order[start:stop]
        targets, number = pairs.targets[place], next(numbers)
        band = Band(query, query + 1, int(targets.min()), int(targets.max()) + 1, number, 1)
        places[number] = place
        yield Tile.of_targets(targets, number, band, (query, query + 1), Pairing.ALL, int(cells[stop - 1]) - done)
        start = stop
