"""The definition of every result, slow and plain: what the engines must equal."""

import numpy as np


def global_score(query, target, table, gap_open, gap_extend):
    """Global alignment score of two code arrays by Gotoh's recurrence, a row at a time in int64.

    Within a row, a gap in the query ends at column j and began behind some k < j, so its best score is a running maximum of
    the row without such gaps, with the extension rebased: E(j) = max over k < j of h(k) + e k - open + e - e j.
    """
    table = np.asarray(table, dtype=np.int64)
    columns = np.arange(len(target) + 1, dtype=np.int64)
    row = np.where(columns > 0, -(gap_open + (columns - 1) * gap_extend), 0)
    vertical = np.full(len(target) + 1, -(2**60), dtype=np.int64)
    for i, letter in enumerate(query, 1):
        vertical = np.maximum(vertical - gap_extend, row - gap_open)
        best = vertical.copy()
        best[0] = -(gap_open + (i - 1) * gap_extend)
        best[1:] = np.maximum(best[1:], row[:-1] + table[letter, target])
        running = np.maximum.accumulate(best + gap_extend * columns)
        best[1:] = np.maximum(best[1:], running[:-1] - gap_open + gap_extend - gap_extend * columns[1:])
        row = best
    return int(row[-1])


def edit_distance(query, target):
    size = int(max(max(query, default=0), max(target, default=0))) + 1
    return -global_score(query, target, np.eye(size, dtype=np.int64) - 1, 1, 1)


def score_matrix(queries, targets, scoring):
    scores = np.array(
        [[global_score(q, t, scoring.substitution, scoring.gap_open, scoring.gap_extend) for t in targets] for q in queries],
        dtype=np.int64,
    ).reshape(len(queries), len(targets))
    return -scores if scoring.edit else scores


def local_score(query, target, table, gap_open, gap_extend):
    """Best local alignment score of two code arrays, cell by cell."""
    above = [0] * (len(target) + 1)
    vertical = [-(2**60)] * (len(target) + 1)
    best = 0
    for letter in query:
        row = [0] * (len(target) + 1)
        horizontal = -(2**60)
        for j, other in enumerate(target, 1):
            horizontal = max(horizontal - gap_extend, row[j - 1] - gap_open)
            vertical[j] = max(vertical[j] - gap_extend, above[j] - gap_open)
            row[j] = max(0, above[j - 1] + int(table[letter][other]), horizontal, vertical[j])
            best = max(best, row[j])
        above = row
    return best
