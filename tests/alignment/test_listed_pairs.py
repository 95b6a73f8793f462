"""Listed pairs, in any combination: the same as in a rectangle of all pairs, whatever shares a vector with them."""

import signal
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from listed import all_pairs_in_disorder, families
from oracle import align
from path_cases import NAMES, SCHEMES
from relatives import edited, mutated
from work import expand, records, run_paths, sequence_set, two_valued

from gpualign.core.alignment.pair_list import NearPairs
from gpualign.core.alignment.task import Detail, EndGaps, Task
from gpualign.core.planning.memory_budget import Budget
from gpualign.cpu.alignment import _kernels
from gpualign.cpu.alignment.engine import CpuEngine, instruction_sets
from gpualign.cpu.alignment.native_recipes import native_path_recipe
from gpualign.cpu.alignment.path_recipe import make_path_recipe

SETS = [s.name for s in instruction_sets() if s.is_supported]


def align_listed(queries, targets, scheme, pairs, engine, end_gaps=EndGaps.PENALISED, detail=Detail.PATH, memory=1 << 30):
    task = Task(queries, targets, scheme, detail=detail, end_gaps=end_gaps)
    return engine.prepare_pair_aligner(task, Budget.from_total(memory)).align_pairs(pairs)


def check(aligned, pairs, whole):
    data = aligned.runs.data
    for k, pair in enumerate(zip(pairs.queries.tolist(), pairs.targets.tolist(), strict=True)):
        assert aligned.scores[k] == whole.scores[pair]
        assert tuple(aligned.statistics[k].tolist()) == whole.statistics[pair], NAMES
        assert expand(data[aligned.runs.starts[k] :][: aligned.runs.sizes[k]]) == whole.paths[pair]


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("name", SETS)
def test_as_in_a_rectangle(rng, name, scheme):
    """As many pairs as fill vectors of every width, and more."""
    letters = 15 if scheme == "protein" else int(rng.choice([2, 4, 15]))
    queries, targets = families(rng, letters, 24, 150)
    pairs = all_pairs_in_disorder(rng, queries, targets)
    engine = CpuEngine(2, name)
    check(
        align_listed(queries, targets, SCHEMES[scheme], pairs, engine), pairs, run_paths(queries, targets, SCHEMES[scheme], engine=engine)
    )


@pytest.mark.parametrize("end_gaps", [gaps for gaps in EndGaps if gaps is not EndGaps.PENALISED])
def test_free_ends(rng, end_gaps):
    queries, targets = families(rng, 4, 12, 80)
    pairs = all_pairs_in_disorder(rng, queries, targets)
    aligned = align_listed(queries, targets, SCHEMES["default"], pairs, CpuEngine(2), end_gaps)
    check(aligned, pairs, run_paths(queries, targets, SCHEMES["default"], end_gaps))


@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize(("letters", "scheme"), [(4, "default"), (15, "default"), (25, "protein")])
def test_letters_of_every_look_up(rng, name, letters, scheme):
    """Sequences of four letters, of four letters with a few others, and of many letters."""
    queries, targets = families(rng, letters if letters > 15 else 4, 20, 300)
    if letters == 15:
        codes = queries.codes.copy()
        codes[rng.random(len(codes)) < 0.01] = 14
        queries = sequence_set(np.split(codes, queries.offsets[1:-1]))
    pairs, engine = all_pairs_in_disorder(rng, queries, targets), CpuEngine(1, name)
    check(
        align_listed(queries, targets, SCHEMES[scheme], pairs, engine), pairs, run_paths(queries, targets, SCHEMES[scheme], engine=engine)
    )


weights = st.tuples(st.integers(0, 6), st.integers(-6, 0), st.integers(0, 8), st.integers(0, 8))


@settings(max_examples=60)
@given(st.integers(0, 2**32 - 1), weights, st.integers(1, 3), st.sampled_from(SETS))
def test_any_weights_and_many_ties(seed, weights, letters, name):
    """Against a plain loop over the matrix. Copies of one pair fill the vectors."""
    match, mismatch, first, second = weights
    rng = np.random.default_rng(seed)
    ancestor = np.resize(rng.integers(0, letters, int(rng.integers(1, 9))), int(rng.integers(1, 120)))
    queries = sequence_set([edited(rng, ancestor, int(rng.integers(0, 8)), letters, 20) for _ in range(3)])
    scheme = two_valued(3, match, mismatch, max(first, second), min(first, second))
    pairs = NearPairs(np.repeat([0, 1, 2], 60), np.tile([1, 2, 0], 60), rng.integers(0, 12, 180))
    aligned = align_listed(queries, queries, scheme, pairs, CpuEngine(1, name))
    plain = {
        (q, t): align(query, target, scheme)[:2] for q, query in enumerate(records(queries)) for t, target in enumerate(records(queries))
    }
    for k, pair in enumerate(zip(pairs.queries.tolist(), pairs.targets.tolist(), strict=True)):
        runs = aligned.runs.data[aligned.runs.starts[k] :][: aligned.runs.sizes[k]]
        assert (aligned.scores[k], expand(runs)) == plain[pair]


def test_only_speed_depends_on_the_expected_edits(rng):
    queries, targets = families(rng, 4, 20, 200)
    pairs = all_pairs_in_disorder(rng, queries, targets)
    whole = run_paths(queries, targets, SCHEMES["default"])
    for edits in (0, 1, 1 << 40):
        expected = NearPairs(pairs.queries, pairs.targets, np.full(len(pairs), edits))
        check(align_listed(queries, targets, SCHEMES["default"], expected, CpuEngine(1)), pairs, whole)


@pytest.mark.parametrize("detail", [Detail.SCORE, Detail.STATISTICS])
def test_no_more_detail_than_asked_for(rng, detail):
    queries, targets = families(rng, 4, 16, 100)
    pairs = all_pairs_in_disorder(rng, queries, targets)
    aligned = align_listed(queries, targets, SCHEMES["default"], pairs, CpuEngine(2), detail=detail)
    whole = run_paths(queries, targets, SCHEMES["default"])
    assert aligned.runs is None
    assert aligned.scores.tolist() == [whole.scores[pair] for pair in zip(pairs.queries, pairs.targets, strict=True)]
    if detail is Detail.SCORE:
        assert aligned.statistics is None
    else:
        assert [tuple(one.tolist()) for one in aligned.statistics] == [
            whole.statistics[pair] for pair in zip(pairs.queries.tolist(), pairs.targets.tolist(), strict=True)
        ]


def test_no_pairs(rng):
    queries, targets = families(rng, 4, 3, 20)
    none = np.zeros(0, dtype=np.int64)
    aligned = align_listed(queries, targets, SCHEMES["default"], NearPairs(none, none, none), CpuEngine(2))
    assert len(aligned.scores) == len(aligned.statistics) == len(aligned.runs.starts) == 0


def test_long_pairs_beside_short_ones(rng):
    """Pairs too long for the memory of a vector are traced alone."""
    ancestor = rng.integers(0, 4, 12_000)
    long = [mutated(rng, ancestor, 0.002, 4) for _ in range(4)]
    short = [mutated(rng, ancestor[:50], 0.02, 4) for _ in range(8)]
    queries = sequence_set(long + short)
    pairs = all_pairs_in_disorder(rng, queries, queries)
    pairs = pairs.select((pairs.queries < 4) == (pairs.targets < 4))
    check(align_listed(queries, queries, SCHEMES["default"], pairs, CpuEngine(1)), pairs, run_paths(queries, queries, SCHEMES["default"]))


def test_cancelled(rng):
    queries, _ = families(rng, 4, 4, 50)
    cancel, numbers = _kernels.Cancel(), np.arange(4)
    cancel.request()
    recipe = native_path_recipe(make_path_recipe(SCHEMES["default"], 4, EndGaps.PENALISED), 1 << 24)
    sets = (queries.codes, queries.offsets, numbers)
    assert _kernels.align_listed(CpuEngine(1).instruction_set.name, *sets, *sets, numbers, recipe, True, cancel) is None


def test_lists_that_do_not_fit_together(rng):
    queries, _ = families(rng, 4, 4, 50)
    numbers = np.arange(4)
    recipe = native_path_recipe(make_path_recipe(SCHEMES["default"], 4, EndGaps.PENALISED), 1 << 24)
    sets = (queries.codes, queries.offsets, numbers)
    with pytest.raises(ValueError, match="a pair is a query, a target and a number of edits"):
        _kernels.align_listed("baseline", *sets, *sets, numbers[:3], recipe, True, _kernels.Cancel())
    with pytest.raises(IndexError, match="record number out of range"):
        _kernels.align_listed("baseline", *sets, *sets[:2], numbers + 1, numbers, recipe, True, _kernels.Cancel())


@pytest.mark.parametrize("threads", [1, 2])
def test_an_interrupt_stops_all_work(rng, threads):
    """Uninterrupted, the list would take a minute."""
    strangers = sequence_set([rng.integers(0, 4, 6_000) for _ in range(60)])
    pairs = all_pairs_in_disorder(rng, strangers, strangers)
    aligner = CpuEngine(threads).prepare_pair_aligner(Task(strangers, strangers, SCHEMES["default"]), Budget.from_total(1 << 30))
    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    signal.setitimer(signal.ITIMER_REAL, 0.3)
    start = time.monotonic()
    try:
        with pytest.raises(KeyboardInterrupt):
            aligner.align_pairs(pairs)
    finally:
        signal.signal(signal.SIGALRM, before)
    assert time.monotonic() - start < 5
