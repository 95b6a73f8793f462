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


def other_frames(frame_sets: QueryTargetFrames, queries: Integers, targets: Integers) -> tuple[Integers, Integers]:
    """Return (queries, targets) of all other pairs of strands or frames of the same records: int64[others] each.

    queries, targets: numbers of the sequences of each pair, int64[pairs]
    """
    of_query, of_target = frame_sets.queries.sequences_per_record, frame_sets.targets.sequences_per_record
    all_queries = queries[:, None, None] // of_query * of_query + np.arange(of_query)[:, None]
    all_targets = targets[:, None, None] // of_target * of_target + np.arange(of_target)
    is_other = (all_queries != queries[:, None, None]) | (all_targets != targets[:, None, None])
    return np.broadcast_to(all_queries, is_other.shape)[is_other], np.broadcast_to(all_targets, is_other.shape)[is_other]


def pair_indices(frame_sets: QueryTargetFrames, listed: tuple[Integers, Integers], pairs: tuple[Integers, Integers]) -> Integers:
    """Return the index of each pair's records in a list: int64[pairs].

    listed: queries and targets of the pairs in the list, int64[listed] each; no two of them belong to the same two records
    pairs: queries and targets, int64[pairs] each, of records in the list
    """

    def record_pairs(queries: Integers, targets: Integers) -> Integers:
        numbers: Integers = frame_sets.queries.record_numbers(queries) * len(frame_sets.targets.record_lengths)
        return numbers + frame_sets.targets.record_numbers(targets)

    keys = record_pairs(*listed)
    order = np.argsort(keys)
    indices: Integers = order[np.searchsorted(keys, record_pairs(*pairs), sorter=order)]
    return indices


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
