"""Paths of hits: where they end by the rule, that they are worth their score, that they are as short as can be."""

import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracle import count, local_matrix, rescore
from work import expand, records, run_scores, scoring, sequence_set, two_valued

from gpualign.core.alignment.hits import Hits
from gpualign.core.alignment.task import Mode, Task
from gpualign.core.common.errors import RunError, TooLittleMemory
from gpualign.cpu.alignment import hit_tracing as hit_paths
from gpualign.cpu.alignment.engine import CpuEngine, instruction_sets
from gpualign.cpu.alignment.hit_tracing import HitTracer, split_hits
from gpualign.cpu.alignment.native_recipes import native_path_recipe

pytestmark = pytest.mark.slow

SETS = [s.name for s in instruction_sets() if s.is_supported]


def check(queries, targets, scheme, name=None, threads=1):
    engine = CpuEngine(threads, name)
    scores = run_scores(queries, targets, scheme, engine=engine, mode=Mode.LOCAL)
    found = np.argwhere(scores > 0)
    hits = Hits(found[:, 0].copy(), found[:, 1].copy(), scores[scores > 0])
    with HitTracer(Task(queries, targets, scheme, Mode.LOCAL), engine, 1 << 28) as tracer:
        statistics, runs = tracer.trace(hits)
    assert len(statistics) == len(hits)
    for k, (i, j) in enumerate(found):
        query, target, row = records(queries)[i], records(targets)[j], statistics[k]
        path = expand(runs.data[runs.starts[k] : runs.starts[k] + runs.sizes[k]])
        start, end, first, last = (int(row[n]) for n in ("query_start", "query_end", "target_start", "target_end"))
        assert rescore(path, query[start:end], target[first:last], scheme) == scores[i, j]
        assert tuple(int(row[n]) for n in ("matches", "mismatches", "gaps", "gap_opens", "end_gaps")) == count(path)
        # The end: the first column that has the score, and its first row.
        columns, rows = np.nonzero(scores[i, j] == local_matrix(query, target, scheme.substitution, scheme.gap_open, scheme.gap_extend).T)
        assert (last, end) == (columns[0], rows[0])
        # The beginning: no shorter part of the target, or of the query, has the score at this end.
        if last - first > 1:
            shorter = local_matrix(query[:end], target[first + 1 : last], scheme.substitution, scheme.gap_open, scheme.gap_extend)
            assert shorter[-1, -1] < scores[i, j]
        if end - start > 1:
            shorter = local_matrix(query[start + 1 : end], target[first:last], scheme.substitution, scheme.gap_open, scheme.gap_extend)
            assert shorter[-1, -1] < scores[i, j]


@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("scale", [1, 60, 5000], ids=lambda s: f"x{s}")
@pytest.mark.parametrize("linear", [False, True], ids=["affine", "linear"])
def test_paths(rng, name, scale, linear):
    table = rng.integers(-7, 8, (20, 20))
    scheme = scoring((table + table.T) // 2 * scale, 9 * scale, (9 if linear else 2) * scale)
    first = rng.integers(0, 20, 90)
    relatives = [np.where(rng.random(90) < 0.3, rng.integers(0, 20, 90), first)[: rng.integers(1, 91)] for _ in range(6)]
    others = [rng.integers(0, 20, rng.integers(1, 80)) for _ in range(4)]
    check(sequence_set([first, others[0]]), sequence_set(relatives + others), scheme, name)


@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize(("scale", "scratch"), [(60, 9_500), (5000, 14_000)], ids=["16 bits", "32 bits"])
def test_boxes_in_strips(rng, monkeypatch, name, scale, scratch):
    """The directions of 90 letters against 90 do not fit into memory, those of 30 to 45 columns do."""
    monkeypatch.setattr(hit_paths, "native_path_recipe", lambda recipe, _: native_path_recipe(recipe, scratch))
    table = rng.integers(-7, 8, (20, 20))
    scheme = scoring((table + table.T) // 2 * scale + np.eye(20, dtype=np.int64) * 4 * scale, 9 * scale, 2 * scale)
    first = rng.integers(0, 20, 90)
    relatives = [np.where(rng.random(90) < 0.2, rng.integers(0, 20, 90), first) for _ in range(6)]
    relatives += [np.delete(first, slice(20, 50)), np.insert(first, 40, rng.integers(0, 20, 30))]
    check(sequence_set([first]), sequence_set(relatives), scheme, name)


sequences = st.lists(st.lists(st.integers(0, 1), min_size=1, max_size=25), min_size=1, max_size=6)


@given(sequences, sequences, st.integers(1, 5), st.integers(-9, 0), st.integers(1, 9), st.integers(0, 9))
def test_ties(queries, targets, match, mismatch, gap_open, gap_extend):
    """Two letters: nearly every end, beginning and gap has rivals."""
    check(sequence_set(queries), sequence_set(targets), two_valued(2, match, mismatch, gap_open, min(gap_open, gap_extend)))


@pytest.mark.slow
def test_long_sequences_and_several_threads(rng, monkeypatch):
    monkeypatch.setattr(hit_paths, "MAX_UNTHREADED_CELLS", 0)  # the reference takes minutes for the 10^7 cells that threads are for
    gene = rng.integers(0, 4, 300)
    targets = [np.concatenate((rng.integers(0, 4, 90), np.delete(gene, slice(130, 170)), rng.integers(0, 4, 50))) for _ in range(3)]
    check(sequence_set([gene, gene[::-1].copy()]), sequence_set(targets), two_valued(4, 5, -4, 16, 6), threads=3)


def test_either_side_in_the_lanes(rng):
    """Many queries with hits in one long target are found side by side; the rule for ends is the same."""
    long = rng.integers(0, 3, 400)
    reads = [np.where(rng.random(30) < 0.1, rng.integers(0, 3, 30), long[k : k + 30]) for k in rng.integers(0, 370, 12)]
    for scheme in (two_valued(3, 2, -3, 5, 2), scoring([[5, -4, -1], [2, 5, -4], [-4, 0, 6]], 8, 3)):
        check(sequence_set(reads), sequence_set([long]), scheme)
        check(sequence_set([long]), sequence_set(reads), scheme)


def test_a_long_target_takes_the_memory_of_its_queries(rng):
    genome = rng.integers(0, 4, 200_000)
    reads, target = sequence_set([genome[k : k + 100] for k in range(1000, 9000, 1000)]), sequence_set([genome])
    task, engine = Task(reads, target, two_valued(4, 5, -4, 16, 6), Mode.LOCAL), CpuEngine(1)
    hits = Hits(np.arange(8), np.zeros(8, dtype=np.int64), np.full(8, 500))
    with HitTracer(task, engine, 1_000_000) as tracer:
        statistics, _ = tracer.trace(hits)
    assert statistics["target_start"].tolist() == list(range(1000, 9000, 1000))
    scores = run_scores(reads, target, task.scoring, engine=engine, mode=Mode.LOCAL, memory=2_000_000)
    assert scores.tolist() == [[500]] * 8


def test_a_budget_that_is_too_small_is_an_error(rng):
    gene = sequence_set([rng.integers(0, 4, 20_000)])
    task, engine = Task(gene, gene, two_valued(4, 5, -4, 16, 6), Mode.LOCAL), CpuEngine(4)
    with pytest.raises(RunError, match="raise memory"):
        HitTracer(task, engine, 1000)
    hits = Hits(np.array([0]), np.array([0]), np.array([100_000]))
    tracer = HitTracer(task, engine, 10_000_000)
    tracer._path_recipe.worker_bytes = tracer._lone_path_recipe.worker_bytes = 1000
    message = r"tracing a hit needs [\d,]{9} bytes of scratch, 1,000 are left; raise memory; [\d,]+ times as much is enough for this step"
    with tracer, pytest.raises(TooLittleMemory, match=message):
        tracer.trace(hits)


@pytest.mark.parametrize(("threads", "memory"), [(1, 340_000), (4, 920_000)])
def test_one_thread_traces_a_hit_that_does_not_fit_in_its_share(rng, threads, memory):
    codes = rng.integers(0, 4, 3000)
    other = np.where(rng.random(3000) < 0.3, rng.integers(0, 4, 3000), np.roll(codes, 700))
    queries, targets = sequence_set([codes, codes[:50]]), sequence_set([other, other[:1500], codes[:40]])
    task, pairs = Task(queries, targets, two_valued(4, 5, -4, 16, 6), Mode.LOCAL), (np.repeat(np.arange(2), 3), np.tile(np.arange(3), 2))
    with HitTracer(task, CpuEngine(threads), 1 << 26) as tracer:
        hits = Hits(*pairs, tracer.score(*pairs))
        statistics, runs = tracer.trace(hits)
        hsps = tracer.trace_hsps(hits, 3, np.full(6, 20))
    with HitTracer(task, CpuEngine(threads), memory) as tracer:
        assert tracer.threads == threads
        few_statistics, few_runs = tracer.trace(hits)
        few_hsps = tracer.trace_hsps(hits, 3, np.full(6, 20)) if threads > 1 else hsps  # those after the first need more memory
    np.testing.assert_array_equal(few_statistics, statistics)
    np.testing.assert_array_equal(few_hsps.statistics, hsps.statistics)
    for few_start, start, size in zip(few_runs.starts, runs.starts, runs.sizes, strict=True):
        np.testing.assert_array_equal(few_runs.data[few_start : few_start + size], runs.data[start : start + size])


def test_only_scratch_that_is_too_small_is_a_matter_of_memory(rng):
    """What the kernels refuse for another reason is not an error of the budget."""
    gene = sequence_set([rng.integers(0, 4, 20)])
    task = Task(gene, gene, two_valued(4, 5, -4, 16, 6), Mode.LOCAL)
    with HitTracer(task, CpuEngine(1), 1 << 20) as tracer, pytest.raises(ValueError, match="score above 0"):
        tracer.trace(Hits(np.array([0]), np.array([0]), np.array([0])))


def test_threads_are_for_more_than_a_few_hits(rng):
    """For more than 10^7 cells: four of these hits."""
    gene = sequence_set([rng.integers(0, 4, 1800)])
    one = np.zeros(1, dtype=np.int64)
    with HitTracer(Task(gene, gene, two_valued(4, 5, -4, 16, 6), Mode.LOCAL), CpuEngine(2), 1 << 20) as tracer:
        started = []
        for _ in range(5):
            statistics, _ = tracer.trace(Hits(one, one, one + 9000))
            assert statistics["matches"].tolist() == [1800]
            started.append(any(thread.name.startswith("gpualign-pool") for thread in threading.enumerate()))
    assert started == [False] * 3 + [True] * 2


def test_no_hits(rng):
    gene = sequence_set([rng.integers(0, 4, 20)])
    none = np.zeros(0, dtype=np.int64)
    with HitTracer(Task(gene, gene, two_valued(4, 5, -4, 16, 6), Mode.LOCAL), CpuEngine(1), 1 << 20) as tracer:
        statistics, runs = tracer.trace(Hits(none, none, none))
    assert len(statistics) == len(runs.data) == 0


@given(st.lists(st.tuples(st.integers(0, 6), st.integers(1, 1000)), max_size=600), st.integers(1, 40))
def test_calls_hold_each_hit_once_and_whole_queries(hits, threads):
    queries, cells = np.array(hits, dtype=np.int64).reshape(-1, 2).T
    calls = split_hits(queries, cells, threads)
    assert sorted(np.concatenate([np.zeros(0, np.int64), *calls]).tolist()) == list(range(len(queries)))
    assert all(0 < len(call) <= 256 for call in calls)
    work = [int(cells[call].sum()) for call in calls]
    assert work == sorted(work, reverse=True)
    for number in set(queries.tolist()):
        if cells[queries == number].sum() <= 1.4 * cells.sum() / threads:
            assert sum(number in queries[call] for call in calls) <= 1 + np.count_nonzero(queries == number) // 256


def test_few_queries_are_shared_by_the_threads():
    def sizes(queries, threads):
        return [len(call) for call in split_hits(queries, np.ones_like(queries), threads)]

    assert sizes(np.zeros(25, dtype=np.int64), 16) == [2] * 12 + [1]
    assert sizes(np.repeat(np.arange(3), 600), 2) == [200] * 9


def test_a_long_query_is_shared_among_many_short_ones():
    queries = np.repeat(np.arange(30), 40)
    cells = np.where(queries == 3, 100_000, 1_000)
    calls = split_hits(queries, cells, 8)
    assert [len(call) for call in calls[:6]] == [7, 7, 7, 7, 7, 5]
    assert all((queries[call] == 3).all() for call in calls[:6])
