"""Several local alignments of each hit (high-scoring segment pairs, HSPs), which share no pair of letters. Pure.

Each is the best of those that share no pair of letters with the ones before it (Waterman & Eggert 1987).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field, replace

import numpy as np
import numpy.typing as npt

from gpualign.core.alignment.hit_order import order_hits
from gpualign.core.alignment.hits import HitsType
from gpualign.core.alignment.tile_results import STATISTICS, Runs, Statistics
from gpualign.core.common.arrays import Booleans, Integers
from gpualign.core.common.dataclass import dataclass
from gpualign.core.sequences.strands_frames import QueryTargetFrames


@dataclass(frozen=True)
class Hsps:
    """Alignments of some hits.

    hit_indices: the hit to which each alignment belongs, int64[alignments]; the alignments of a hit are consecutive, best first
    scores: in the units of the hits' scores, int64[alignments]
    statistics: `STATISTICS`[alignments]
    runs: paths, of shape [alignments]
    """

    hit_indices: Integers = field(repr=False)
    scores: Integers = field(repr=False)
    statistics: Statistics = field(repr=False)
    runs: Runs = field(repr=False)

    def select(self, index: Booleans | Integers) -> Hsps:
        """Return the alignments selected by `index`."""
        return Hsps(self.hit_indices[index], self.scores[index], self.statistics[index], self.runs.select(index))

    def as_hits(self, hits: HitsType) -> HitsType:
        """Return the alignments as hits. hits: those to which they belong"""
        return replace(hits.select(self.hit_indices), scores=self.scores)


def join_hsps(parts: Sequence[tuple[Integers, Hsps]]) -> Hsps:
    """Return the alignments of all hits of a list.

    parts: for parts of the list, (indices of the hits in the list, their alignments)
    """
    pieces: list[npt.NDArray[np.uint8]] = []
    starts, held_bytes = [np.zeros(0, dtype=np.int64)], 0
    for _, part in parts:
        starts.append(part.runs.starts + held_bytes)
        pieces += part.runs.pieces
        held_bytes += sum(map(len, part.runs.pieces))
    hit_indices = np.concatenate([np.zeros(0, dtype=np.int64), *(indices[part.hit_indices] for indices, part in parts)])
    scores = np.concatenate([np.zeros(0, dtype=np.int64), *(part.scores for _, part in parts)])
    statistics = np.concatenate([np.zeros(0, dtype=STATISTICS), *(part.statistics for _, part in parts)])
    sizes = np.concatenate([np.zeros(0, dtype=np.int32), *(part.runs.sizes for _, part in parts)])
    joined = Hsps(hit_indices, scores, statistics, Runs(pieces, np.concatenate(starts), sizes))
    return joined.select(np.argsort(hit_indices, kind="stable"))


def other_frames(frame_sets: QueryTargetFrames, queries: Integers, targets: Integers) -> tuple[Integers, Integers, Integers]:
    """Return all other pairs of strands or frames of the records of each pair: (index of the given pair, query, target), int64[others].

    queries, targets: numbers of the sequences of each pair, int64[pairs]
    """
    of_query, of_target = frame_sets.queries.sequences_per_record, frame_sets.targets.sequences_per_record
    indices = np.arange(len(queries))[:, None, None]
    all_queries = queries[:, None, None] // of_query * of_query + np.arange(of_query)[:, None]
    all_targets = targets[:, None, None] // of_target * of_target + np.arange(of_target)
    is_other = (all_queries != queries[:, None, None]) | (all_targets != targets[:, None, None])
    return tuple(np.broadcast_to(numbers, is_other.shape)[is_other] for numbers in (indices, all_queries, all_targets))


def best_hsps(pairs: Integers, scores: Integers, file_positions: Integers, queries: Integers, limit: int) -> Integers:
    """Return the indices of the best alignments of each pair of records, by pair and best first: int64[chosen]. Equally good ones are in
    the order of their targets and queries, which are strands or frames, and then in the given order.

    pairs: the pair of records of each alignment, int64[alignments]
    scores, file_positions, queries: score, position of the target in its file and number of the query of each alignment, int64[alignments]
    limit: maximum number of alignments per pair
    """
    order = order_hits(pairs, scores, file_positions, queries)
    return order[ranks_in_groups(pairs[order]) < limit]


def ranks_in_groups(groups: Integers) -> Integers:
    """Return the position, from 0, of each element among its equals: int64[elements]. groups: ascending numbers"""
    return np.arange(len(groups)) - np.searchsorted(groups, groups)
