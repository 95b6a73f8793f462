"""Slow and plain definitions of every result, which all engines must equal."""

import numpy as np


def global_scores(query, targets, table, gap_open, gap_extend):
    """Global alignment scores of a code array with others by Gotoh's recurrence, in int64, one row of all matrices at a time.

    Within a row, a gap in the query that ends at column j started after some column k < j, so its best score is a running maximum of
    the row without such gaps, with the extension rebased: E(j) = max over k < j of h(k) + e k - open + e - e j. Rows are kept with that
    rebasing, as h(j) + e j. Columns right of a target's last one do not affect its score.
    """
    table = np.asarray(table, dtype=np.int64)
    lengths = np.array([len(target) for target in targets], dtype=np.int64)
    codes = np.zeros((len(targets), lengths.max(initial=0)), dtype=np.int64)
    for k, target in enumerate(targets):
        codes[k, : len(target)] = target
    diagonal_steps = {letter: table[letter][codes] + gap_extend for letter in set(np.asarray(query).tolist())}
    row = np.full((len(targets), codes.shape[1] + 1), gap_extend - gap_open, dtype=np.int64)
    row[:, 0] = 0
    vertical = np.full(row.shape, -(2**60), dtype=np.int64)
    best, other = np.empty_like(row), np.empty_like(row)
    for i, letter in enumerate(np.asarray(query).tolist(), 1):
        vertical -= gap_extend
        np.subtract(row, gap_open, out=other)
        np.maximum(vertical, other, out=vertical)
        best[:, 0] = -(gap_open + (i - 1) * gap_extend)
        np.add(row[:, :-1], diagonal_steps[letter], out=best[:, 1:])
        np.maximum(best[:, 1:], vertical[:, 1:], out=best[:, 1:])
        np.maximum.accumulate(best, axis=1, out=other)
        other += gap_extend - gap_open
        row[:, 0] = best[:, 0]
        np.maximum(best[:, 1:], other[:, :-1], out=row[:, 1:])
    return row[np.arange(len(targets)), lengths] - gap_extend * lengths


def global_score(query, target, table, gap_open, gap_extend):
    """Global alignment score of two code arrays."""
    return int(global_scores(query, [target], table, gap_open, gap_extend)[0])


def edit_distance(query, target):
    size = int(max(max(query, default=0), max(target, default=0))) + 1
    return -global_score(query, target, np.eye(size, dtype=np.int64) - 1, 1, 1)


def depth_of_free_ends(query, target, most, equal, other, ordinary):
    """The last of the first `most` pairs of letters up to which the sum of the gains is at most 0; 0 if there is none. A pair gains `equal`
    if both letters are the same one below `ordinary`, else `other`."""
    total, depth = 0, 0
    for y, (one, another) in enumerate(zip(query[:most], target[:most], strict=False), 1):
        total += equal if one == another < ordinary else other
        if total <= 0:
            depth = y
    return depth


def depths_of_free_ends(query, target, overhangs, gains):
    """`depth_of_free_ends` at the start and at the end."""
    most = max(0, min(overhangs))
    return [depth_of_free_ends(one, other, most, *gains) for one, other in ((query, target), (query[::-1], target[::-1]))]


UNLIMITED = (10**9, 10**9)


def edit_distance_free_ends(query, target, overhangs, depths=UNLIMITED):
    """The fewest edits from a cell (i, j) to a cell (m - i', n - j') of the table, where i and i' are at most overhangs[0], and j and j' at
    most overhangs[1]; None if an overhang is negative. One of i and j is at most depths[0], and one of i' and j' is at most depths[1].
    """
    if min(overhangs) < 0:
        return None
    query, target = np.asarray(query, np.int64), np.asarray(target, np.int64)
    row = columns = np.arange(len(target) + 1)
    fewest = len(query) + len(target)
    for i in range(len(query) + 1):
        if i > 0:
            row = np.append(row[0] + 1, np.minimum(row[1:] + 1, row[:-1] + (target != query[i - 1])))
        if i <= overhangs[0]:
            row = np.where(columns <= min(overhangs[1], overhangs[1] if i <= depths[0] else depths[0]), 0, row)
        row = np.minimum.accumulate(row - columns) + columns
        if (left := len(query) - i) <= overhangs[0]:
            beyond = min(overhangs[1], overhangs[1] if left <= depths[1] else depths[1])
            fewest = min(fewest, int(row[max(0, len(target) - beyond) :].min()))
    return fewest


def edit_distances_free_ends(pairs, overhangs, depths=None):
    """`edit_distance_free_ends` of many pairs, each with its own overhangs and depths."""
    found, depths = [], [UNLIMITED] * len(pairs) if depths is None else depths
    for start in range(0, len(pairs), 250):  # few enough that their rows fit into caches
        some = slice(start, start + 250)
        found += _some_distances_free_ends(pairs[some], overhangs[some], depths[some])
    return found


def _some_distances_free_ends(pairs, overhangs, depths):
    """Compute one row of all tables at a time. Rows hold the distance less the number of the column."""
    sizes, given = np.array([[len(q), len(t)] for q, t in pairs]), np.array(overhangs, dtype=np.int64)
    queries, targets = (np.full((len(pairs), most), -1 - side, np.int64) for side, most in enumerate(sizes.max(axis=0)))
    for k, (query, target) in enumerate(pairs):
        queries[k, : len(query)], targets[k, : len(target)] = query, target
    (rows, lengths), (own, other) = sizes.T[:, :, None], given.T[:, :, None]
    first_depth, last_depth = np.array(depths, dtype=np.int64).T[:, :, None]
    columns = np.arange(targets.shape[1] + 1)
    may_start, may_end = columns <= other, (columns >= lengths - other) & (columns <= lengths)
    row, fewest = np.zeros(may_start.shape, dtype=np.int64), rows + lengths
    for i in range(queries.shape[1] + 1):
        if i > 0:
            diagonal = row[:, :-1] - (targets == queries[:, i - 1, None])
            row += 1
            np.minimum(row[:, 1:], diagonal, out=row[:, 1:])
        if (starting := i <= own).any():
            row = np.where(may_start & starting & ((i <= first_depth) | (columns <= first_depth)), -columns, row)
        np.minimum.accumulate(row, axis=1, out=row)
        if (ending := (i >= rows - own) & (i <= rows)).any():
            ending = may_end & ending & ((rows - i <= last_depth) | (lengths - columns <= last_depth))
            fewest = np.minimum(fewest, np.where(ending, row + columns, fewest).min(axis=1, keepdims=True))
    return [int(edits) if min(ends) >= 0 else None for (edits,), ends in zip(fewest, overhangs, strict=True)]


def score_matrix(queries, targets, scoring):
    each = [global_scores(query, targets, scoring.substitution, scoring.gap_open, scoring.gap_extend) for query in queries]
    scores = np.array(each, dtype=np.int64).reshape(len(queries), len(targets))
    return -scores if scoring.edit else scores


def local_matrix(query, target, table, gap_open, gap_extend):
    """H of local alignment of two code arrays, cell by cell: int64[m + 1][n + 1]."""
    h = np.zeros((len(query) + 1, len(target) + 1), dtype=np.int64)
    vertical = [-(2**60)] * (len(target) + 1)
    for i, letter in enumerate(query, 1):
        horizontal = -(2**60)
        for j, other in enumerate(target, 1):
            horizontal = max(horizontal - gap_extend, h[i, j - 1] - gap_open)
            vertical[j] = max(vertical[j] - gap_extend, h[i - 1, j] - gap_open)
            h[i, j] = max(0, h[i - 1, j - 1] + table[letter][other], horizontal, vertical[j])
    return h


def local_score(query, target, table, gap_open, gap_extend):
    """Best local alignment score of two code arrays: the maximum of `local_matrix`, in a fraction of its time. One row of H is computed at
    a time; its horizontal gaps are a running maximum, as in `global_scores`."""
    if not len(query) or not len(target):
        return 0
    query, target, table = np.asarray(query), np.asarray(target), np.asarray(table, dtype=np.int64)
    steps = {letter: table[letter][target] for letter in set(query.tolist())}
    rebased = gap_extend * np.arange(len(target) + 1, dtype=np.int64)
    row, vertical = np.zeros(len(target) + 1, dtype=np.int64), np.full(len(target) + 1, -(2**60), dtype=np.int64)
    highest = np.zeros(len(target), dtype=np.int64)
    for letter in query.tolist():
        vertical = np.maximum(vertical - gap_extend, row - gap_open)
        best = np.maximum(vertical, 0)
        np.maximum(best[1:], row[:-1] + steps[letter], out=best[1:])
        running = np.maximum.accumulate(best + rebased)
        row = best
        np.maximum(best[1:], running[:-1] - (gap_open - gap_extend) - rebased[1:], out=row[1:])
        np.maximum(highest, row[1:], out=highest)
    return int(highest.max())


def align(query, target, scoring, free_query=False, free_target=False):
    """The path by the tie rule, from full matrices: (score, operations "=XID", (query start, query end, target start, target end)).

    From the end backwards: the diagonal first, then a gap in the target (I), then one in the query (D); a gap ends as soon as it can. If
    several ends (i, j) have the best score, it is the one with the largest min(i, j), then one in the last column, then the one with the
    largest i + j.
    """
    return align_all(query, [target], scoring, free_query, free_target)[0]


def align_all(query, targets, scoring, free_query=False, free_target=False):
    """`align` of a query with each of many targets."""
    found = []
    for start in range(0, len(targets), 32):  # few enough that their matrices fit into caches and memory
        some = targets[start : start + 32]
        matrices = _path_matrices(query, some, scoring, free_query, free_target)
        for k, target in enumerate(some):
            found.append(_trace(query, target, scoring, free_query, free_target, *(matrix[:, k] for matrix in matrices)))
    return found


def _path_matrices(query, targets, scoring, free_query, free_target):
    """The best scores of prefixes, and the best of those that end in a gap in the target and in the query: int64[m + 1][targets][n + 1]
    each.

    n is the length of the longest target; the columns right of a shorter target's last one have no meaning.
    """
    m, n, low = len(query), max(map(len, targets)), -(2**60)
    o, e = scoring.gap_open, scoring.gap_extend
    codes = np.zeros((len(targets), n), dtype=np.int64)
    for k, target in enumerate(targets):
        codes[k, : len(target)] = target
    steps = {letter: scoring.substitution[letter][codes] for letter in set(np.asarray(query).tolist())}
    h = np.full((m + 1, len(targets), n + 1), low, dtype=np.int64)
    up, left = h.copy(), h.copy()
    h[0, :, 0] = 0
    h[1:, :, 0] = 0 if free_target else np.array([-(o + i * e) for i in range(m)], dtype=np.int64)[:, None]
    h[0, :, 1:] = 0 if free_query else [-(o + j * e) for j in range(n)]
    rebased = e * np.arange(n + 1, dtype=np.int64)
    room = np.empty_like(h[0])
    for i in range(1, m + 1):  # a row at a time, as in global_scores
        row, gap = h[i], up[i, :, 1:]
        np.subtract(up[i - 1, :, 1:], e, out=gap)
        np.maximum(gap, h[i - 1, :, 1:] - o, out=gap)
        np.add(h[i - 1, :, :-1], steps[int(query[i - 1])], out=row[:, 1:])
        np.maximum(row[:, 1:], gap, out=row[:, 1:])
        np.add(row, rebased, out=room)
        np.maximum.accumulate(room, axis=1, out=room)
        np.subtract(room[:, :-1], rebased[1:] + (o - e), out=left[i, :, 1:])
        np.maximum(row[:, 1:], left[i, :, 1:], out=row[:, 1:])
    return h, up, left


def _trace(query, target, scoring, free_query, free_target, h, up, left):
    """The result of `align`, given its matrices."""
    m, n = len(query), len(target)
    ends = [(m, n)]
    if free_target:
        ends += [(i, n) for i in range(m)]
    if free_query:
        ends += [(m, j) for j in range(n)]
    end = max(ends, key=lambda cell: (h[cell], min(cell), cell[1] == n, sum(cell)))
    (i, j), gap, path = end, None, []
    best, above, before = h.item, up.item, left.item  # Python's numbers and lists are twice as fast as arrays
    query, target, table = (np.asarray(given).tolist() for given in (query, target, scoring.substitution))
    while i and j:
        if gap == "I" and above(i + 1, j) > best(i, j) - scoring.gap_open:
            path.append("I")
            i -= 1
        elif gap == "D" and before(i, j + 1) > best(i, j) - scoring.gap_open:
            path.append("D")
            j -= 1
        elif best(i, j) == best(i - 1, j - 1) + table[query[i - 1]][target[j - 1]]:
            path.append("=" if query[i - 1] == target[j - 1] else "X")
            i, j, gap = i - 1, j - 1, None
        elif best(i, j) == above(i, j):
            path.append("I")
            i, gap = i - 1, "I"
        else:
            path.append("D")
            j, gap = j - 1, "D"
    if not free_target:
        path += "I" * i
        i = 0
    if not free_query:
        path += "D" * j
        j = 0
    score = int(h[end])
    return -score if scoring.edit else score, "".join(reversed(path)), (i, end[0], j, end[1])


def rescore(path, query, target, scoring):
    """Score of a path. query, target: the aligned parts, which the path must consume completely"""
    total, i, j, before = 0, 0, 0, None
    table, query, target = (np.asarray(given).tolist() for given in (scoring.substitution, query, target))
    for op in path:
        if op in "=X":
            assert (query[i] == target[j]) == (op == "=")
            total += table[query[i]][target[j]]
            i, j = i + 1, j + 1
        else:
            total -= scoring.gap_extend if op == before else scoring.gap_open
            i, j = (i + 1, j) if op == "I" else (i, j + 1)
        before = op
    assert (i, j) == (len(query), len(target))
    return -total if scoring.edit else total


def count(path):
    """Counts of a path: (matches, mismatches, letters in gaps, gaps, letters in gaps before the first or after the last pair)."""
    runs = [k for k, op in enumerate(path) if op in "ID" and (k == 0 or path[k - 1] != op)]
    gaps = path.count("I") + path.count("D")
    pairs = [k for k, op in enumerate(path) if op in "=X"]
    ends = pairs[0] + len(path) - 1 - pairs[-1] if pairs else gaps
    return path.count("="), path.count("X"), gaps, len(runs), ends
