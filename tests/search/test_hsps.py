"""Several alignments of each hit: the definition of Waterman and Eggert in plain Python, ties, widths of elements, threads."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracle import count, rescore
from work import expand, records, run_scores, scoring, sequence_set, two_valued

from gpualign.core.alignment.hits import Hits
from gpualign.core.alignment.task import Mode, Task
from gpualign.cpu.alignment.engine import CpuEngine, instruction_sets
from gpualign.cpu.alignment.hit_tracing import HitTracer

SETS = [s.name for s in instruction_sets() if s.is_supported]


def local_matrix_without(query, target, scheme, excluded):
    """Best scores of local alignments that end with each pair of letters, or with a gap, and contain no excluded pair."""
    m, n = len(query), len(target)
    h, e, f = (np.zeros((m + 1, n + 1), dtype=np.int64) for _ in range(3))
    for i in range(1, m + 1):
        for j in range(1, n + 1):
            e[i, j] = max(h[i, j - 1] - scheme.gap_open, e[i, j - 1] - scheme.gap_extend)
            f[i, j] = max(h[i - 1, j] - scheme.gap_open, f[i - 1, j] - scheme.gap_extend)
            pair = -(10**12) if (i - 1, j - 1) in excluded else h[i - 1, j - 1] + scheme.substitution[query[i - 1], target[j - 1]]
            h[i, j] = max(0, pair, e[i, j], f[i, j])
    return h[1:, 1:]


def paired_letters(path, query_start, target_start):
    i, j = query_start, target_start
    for column in path:
        if column in "=X":
            yield i, j
        i, j = i + (column != "D"), j + (column != "I")


def find(queries, targets, scheme, max_count, min_scores=None, name=None, threads=1):
    engine = CpuEngine(threads, name)
    scores = run_scores(queries, targets, scheme, engine=engine, mode=Mode.LOCAL)
    found = np.argwhere(scores > 0)
    hits = Hits(found[:, 0].copy(), found[:, 1].copy(), scores[scores > 0].astype(np.int64))
    least = np.ones(len(hits), dtype=np.int64) if min_scores is None else min_scores(hits)
    with HitTracer(Task(queries, targets, scheme, Mode.LOCAL), engine, 1 << 28) as tracer:
        return hits, least, tracer.trace_hsps(hits, max_count, least), tracer.trace(hits)


def check(queries, targets, scheme, max_count=4, **more):
    hits, least, hsps, (statistics, runs) = find(queries, targets, scheme, max_count, **more)
    texts = records(queries), records(targets)
    assert sorted(set(hsps.hit_indices.tolist())) == list(range(len(hits)))
    for k in range(len(hits)):
        query, target = texts[0][hits.queries[k]], texts[1][hits.targets[k]]
        rows, excluded = np.flatnonzero(hsps.hit_indices == k), set()
        assert np.all(np.diff(rows) == 1)
        assert 1 <= len(rows) <= max_count
        assert hsps.statistics[rows[0]] == statistics[k]
        for rank, row in enumerate(rows.tolist()):
            path = expand(hsps.runs.data[hsps.runs.starts[row] : hsps.runs.starts[row] + hsps.runs.sizes[row]])
            if rank == 0:
                assert path == expand(runs.data[runs.starts[k] : runs.starts[k] + runs.sizes[k]])
            counts, score = hsps.statistics[row], int(hsps.scores[row])
            start, end, first, last = (int(counts[n]) for n in ("query_start", "query_end", "target_start", "target_end"))
            matrix = local_matrix_without(query, target, scheme, excluded)
            assert score == matrix.max() >= (least[k] if rank else 1)
            columns, lines = np.nonzero(score == matrix.T)
            assert (last, end) == (columns[0] + 1, lines[0] + 1)
            assert rescore(path, query[start:end], target[first:last], scheme) == score
            assert tuple(int(counts[n]) for n in ("matches", "mismatches", "gaps", "gap_opens", "end_gaps")) == count(path)
            pairs = set(paired_letters(path, start, first))
            assert not pairs & excluded
            for more_query, more_target in ((1, 0), (0, 1)):  # no shorter part has the score at this end
                if start + more_query < end and first + more_target < last:
                    moved = {(i - start - more_query, j - first - more_target) for i, j in excluded}
                    part = query[start + more_query : end], target[first + more_target : last]
                    assert local_matrix_without(*part, scheme, moved)[-1, -1] < score
            excluded |= pairs
        if len(rows) < max_count:
            assert local_matrix_without(query, target, scheme, excluded).max() < max(1, least[k])


@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("scale", [1, 20, 900, 40000], ids=lambda s: f"x{s}")
@pytest.mark.parametrize("linear", [False, True], ids=["affine", "linear"])
def test_repeats(rng, name, scale, linear):
    table = rng.integers(-7, 8, (20, 20))
    np.fill_diagonal(table, 7)
    scheme = scoring((table + table.T) // 2 * scale, 9 * scale, (9 if linear else 2) * scale)
    unit = rng.integers(0, 20, 14)
    copies = [np.where(rng.random(14) < 0.2, rng.integers(0, 20, 14), unit) for _ in range(4)]
    spaced = np.concatenate([np.concatenate((copy, rng.integers(0, 20, 3))) for copy in copies])
    check(sequence_set([unit, spaced]), sequence_set([spaced, np.concatenate(copies)]), scheme, name=name)


sequences = st.lists(st.lists(st.integers(0, 1), min_size=1, max_size=14), min_size=1, max_size=3)


@given(sequences, sequences, st.integers(1, 5), st.integers(-9, 0), st.integers(1, 9), st.integers(0, 9), st.integers(1, 12))
def test_ties(queries, targets, match, mismatch, gap_open, gap_extend, least):
    """Two letters: nearly every end, beginning and gap has rivals."""
    scheme = two_valued(2, match, mismatch, gap_open, min(gap_open, gap_extend))
    check(sequence_set(queries), sequence_set(targets), scheme, min_scores=lambda hits: np.full(len(hits), least))


def test_strips_of_a_long_query(rng):
    """With the narrowest vectors a strip has 4,096 rows of 16-bit elements at most; copies lie in several strips, on both sides."""
    unit = rng.integers(0, 4, 300)
    spaced = np.concatenate([np.concatenate((rng.integers(0, 4, 1200), unit)) for _ in range(4)])
    scheme = two_valued(4, 2, -3, 7, 2)
    for queries, targets in (([spaced], [unit]), ([unit], [spaced])):
        _, _, hsps, _ = find(sequence_set(queries), sequence_set(targets), scheme, 5, name=SETS[-1])
        assert hsps.scores[:4].tolist() == [600] * 4
        assert hsps.scores[4] < 100
        side = "query" if len(queries[0]) > 1000 else "target"
        assert sorted(hsps.statistics[f"{side}_start"][:4].tolist()) == [1200, 2700, 4200, 5700]


def test_several_threads(rng):
    relatives = [rng.integers(0, 4, rng.integers(20, 60)) for _ in range(40)]
    both = [find(sequence_set(relatives[:7]), sequence_set(relatives), two_valued(4, 1, -2, 3, 1), 3, threads=n)[2] for n in (1, 3)]
    for name in ("hit_indices", "scores", "statistics"):
        assert np.array_equal(getattr(both[0], name), getattr(both[1], name))
    paths = [[part.runs.data[s : s + n].tobytes() for s, n in zip(part.runs.starts, part.runs.sizes, strict=True)] for part in both]
    assert paths[0] == paths[1]
