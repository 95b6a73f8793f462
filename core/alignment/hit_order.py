"""Order of hits: by descending score; ties are broken by the target's position in its file. Pure."""

from __future__ import annotations

import numpy as np

from gpualign.core.common.arrays import Integers, Scores


def order_hits(records: Integers, scores: Integers, file_positions: Integers, tie_breaks: Integers) -> Integers:
    """Return the indices that sort hits by record, and the hits of each record from best to worst: int64[hits].

    records: record to which each hit belongs, int64[hits]
    scores: score of each hit, int64[hits]
    file_positions: position of each hit's target in its file, int64[hits]
    tie_breaks: numbers, int64[hits], by whose ascending order hits are sorted if they are otherwise equal
    """
    return np.lexsort((tie_breaks, file_positions, -scores, records))


class BestTargetCollector:
    """Collects the best targets for some queries from parts of the database, which may arrive in any order.

    scores, targets: scores and record numbers of the best targets for each query, best first, [queries][top]; unused entries have a score
        of 0
    file_positions: position of each target in its file, which breaks ties
    """

    def __init__(self, query_count: int, top: int, dtype: np.dtype[np.signedinteger], file_positions: Integers) -> None:
        self.scores: Scores = np.zeros((query_count, top), dtype=dtype)
        self.targets: Integers = np.zeros((query_count, top), dtype=np.int64)
        self._ranks = file_positions

    def add(self, rows: slice | Integers, scores: Scores, targets: Integers) -> None:
        """Add some targets for some queries.

        rows: rows of these queries in the collector's arrays
        scores, targets: scores and record numbers of the targets, [rows][targets]
        """
        all_scores, all_targets = np.hstack((self.scores[rows], scores)), np.hstack((self.targets[rows], targets))
        top = self.scores.shape[1]
        self.scores[rows], self.targets[rows] = best_targets(all_scores, all_targets, self._ranks, top)


def best_column_indices(scores: Scores, file_positions: Integers, top: int) -> Integers:
    """Return the column indices of the `top` best entries in each row, best first: int64[rows][min(top, columns)].

    scores: [rows][columns]
    file_positions: position of each entry's target in its file, [rows][columns], below 2**31
    """
    columns = scores.shape[1]
    if scores.dtype == np.int64 and scores.size and int(scores.max()) >= 2**31:
        return np.stack([np.lexsort((r, -s))[:top] for s, r in zip(scores, file_positions, strict=True)])
    # One number per pair, smaller is better, so that a partition finds the best without sorting the others.
    keys = (-scores.astype(np.int64) << 31) + file_positions
    if columns <= top:
        return np.argsort(keys, axis=1, kind="stable")
    best = np.argpartition(keys, top - 1, axis=1)[:, :top]
    return np.take_along_axis(best, np.argsort(np.take_along_axis(keys, best, axis=1), axis=1), axis=1)


def best_targets(scores: Scores, targets: Integers, file_positions: Integers, top: int) -> tuple[Scores, Integers]:
    """Return (scores, record numbers) of the `top` best targets for each query, best first: arrays [queries][min(top, targets)].

    scores: [queries][targets]
    targets: record numbers, [targets] or [queries][targets]
    file_positions: each record's position in its file
    """
    records = np.broadcast_to(targets, scores.shape)
    order = best_column_indices(scores, file_positions[records], top)
    return np.take_along_axis(scores, order, axis=1), np.take_along_axis(records, order, axis=1)
