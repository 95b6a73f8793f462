"""Edit distances of listed pairs, each up to a maximum of its own."""

import signal
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from listed import all_pairs_in_disorder, families
from oracle import edit_distance
from path_cases import SCHEMES
from work import records, sequence_set

from gpualign.core.alignment.pair_list import NearPairs
from gpualign.core.alignment.task import Task
from gpualign.core.common.errors import RunError
from gpualign.core.planning.memory_budget import Budget
from gpualign.cpu.alignment.engine import CpuEngine


def finder_of(queries, targets, threads=2, memory=1 << 28):
    task = Task(queries, targets, SCHEMES["default"])
    return CpuEngine(threads).prepare_edit_finder(task, Budget.from_total(memory))


def distances(queries, targets, pairs):
    sets = records(queries), records(targets)
    return np.array([edit_distance(sets[0][i], sets[1][j]) for i, j in zip(pairs.queries, pairs.targets, strict=True)])


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 3), st.sampled_from([1 << 28, 2000, 16]), st.sampled_from([2, 4, 15]))
def test_up_to_the_maximum_of_each_pair(seed, threads, memory, letters):
    """The distance itself, one less and one more as maxima, and others; parts of the list from all pairs to a single one."""
    rng = np.random.default_rng(seed)
    queries, targets = families(rng, letters, 6, 90)
    pairs = all_pairs_in_disorder(rng, queries, targets)
    true = distances(queries, targets, pairs)
    limits = np.where(rng.random(len(pairs)) < 0.6, true + rng.integers(-1, 2, len(pairs)), rng.integers(-3, 200, len(pairs)))
    found = finder_of(queries, targets, threads, memory).find_edits(NearPairs(pairs.queries, pairs.targets, limits))
    np.testing.assert_array_equal(found, np.where(true <= limits, true, -1))


def test_no_pairs():
    empty = np.zeros(0, dtype=np.int64)
    one = sequence_set([[0, 1, 2]])
    assert len(finder_of(one, one).find_edits(NearPairs(empty, empty, empty))) == 0


def strangers(rng):
    """Pairs whose whole matrices take minutes."""
    sequences = sequence_set([rng.integers(0, 4, 40_000) for _ in range(60)])
    pairs = all_pairs_in_disorder(rng, sequences, sequences)
    return sequences, NearPairs(pairs.queries, pairs.targets, np.full(len(pairs), 40_000))


@pytest.mark.parametrize("threads", [1, 2])
def test_an_interrupt_stops_all_work(rng, threads):
    sequences, pairs = strangers(rng)
    finder = finder_of(sequences, sequences, threads)
    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    signal.setitimer(signal.ITIMER_REAL, 0.3)
    start = time.monotonic()
    try:
        with pytest.raises(KeyboardInterrupt):
            finder.find_edits(pairs)
    finally:
        signal.signal(signal.SIGALRM, before)
    assert time.monotonic() - start < 5


def test_closing_stops_all_work(rng):
    sequences, pairs = strangers(rng)
    finder = finder_of(sequences, sequences)
    before = signal.signal(signal.SIGALRM, lambda *_: finder.close())
    signal.setitimer(signal.ITIMER_REAL, 0.3)
    try:
        with pytest.raises(RunError, match="stopped"):
            finder.find_edits(pairs)
    finally:
        signal.signal(signal.SIGALRM, before)
    few = pairs.select(slice(3))
    short = NearPairs(few.queries, few.targets, np.full(3, 5))
    assert (finder.find_edits(short) == np.where(few.queries == few.targets, 0, -1)).all()  # it can be used again
