"""The engine's host: threads, errors, cancelling, memory."""

import threading
import time

import numpy as np
import pytest
from work import edit, sequence_set, two_valued

from gpualign.core.alignment.task import Detail, Mode, Task
from gpualign.core.common.errors import InputError, RunError
from gpualign.core.execution.runner import compute_pair_bands, measure_cell_rate, plan_task
from gpualign.core.execution.totals import NullProgress
from gpualign.core.planning.memory_budget import Budget
from gpualign.core.planning.tile_plan import BANDS_IN_FLIGHT, MIN_BAND_ROWS, MIN_DIAGONAL_BANDS, Pairing
from gpualign.core.scoring.edit_bounds import distance_bound
from gpualign.cpu.alignment import _kernels
from gpualign.cpu.alignment import engine as cpu_engine
from gpualign.cpu.alignment.engine import CpuEngine, instruction_sets
from gpualign.cpu.alignment.native_recipes import native_recipes
from gpualign.jobs.output.result_writing import write_results

PLENTY = Budget.from_total(1 << 30)


def workers():
    return [t for t in threading.enumerate() if t.name.startswith("gpualign-cpu")]


@pytest.fixture
def big_task(rng):
    sequences = sequence_set(list(rng.integers(0, 4, (3000, 1500))))
    return Task(sequences, sequences, two_valued(4, 5, -4, 10, 1))


def test_stopping_early_ends_the_threads_soon(big_task):
    prepared = CpuEngine(2).prepare(big_task, PLENTY)
    results = prepared.run(plan_task(prepared, Pairing.ALL).tiles())
    next(results)
    assert len(workers()) == 2
    start = time.process_time()
    results.close()
    assert time.process_time() - start < 2  # a second of each thread, however loaded the machine
    assert not workers()


@pytest.mark.parametrize("scheme", [two_valued(4, 5, -4, 10, 1), two_valued(4, 5, -4, 6, 6), edit(4)], ids=["affine", "linear", "edit"])
def test_a_kernel_in_the_middle_of_a_long_pair_stops_soon(rng, scheme):
    sequences = sequence_set(list(rng.integers(0, 4, (2, 1_000_000))))
    engine = CpuEngine(1)
    recipe = native_recipes(engine.make_score_recipe(Task(sequences, sequences, scheme), 1 << 30), engine.instruction_set.vector_bytes)
    cancel, outcome = _kernels.Cancel(), []

    def score():
        first, second = np.array([0]), np.array([1])
        scores = np.zeros((1, 1), dtype=np.int32)
        codes, offsets = sequences.codes, sequences.offsets
        name = engine.instruction_set.name
        outcome.append(_kernels.score_tile_32(name, codes, offsets, first, codes, offsets, second, "all", recipe, scores, cancel))

    thread = threading.Thread(target=score)
    start = time.process_time()
    thread.start()
    while time.process_time() - start < 0.3:
        time.sleep(0.02)
    assert thread.is_alive()
    start = time.process_time()
    cancel.request()
    thread.join()
    assert time.process_time() - start < 1
    assert outcome == [False]


def test_an_error_in_a_worker_reaches_the_consumer(big_task):
    def tiles():
        yield from ()
        raise ValueError("no more tiles")

    with pytest.raises(ValueError, match="no more tiles"):
        list(CpuEngine(2).prepare(big_task, PLENTY).run(tiles()))
    assert not workers()


def test_an_error_in_the_sink_ends_the_threads(big_task):
    class Full:
        def begin(self, plan):
            pass

        def write(self, band):
            raise OSError("disk full")

    prepared = CpuEngine(2).prepare(big_task, Budget(1 << 20, 1 << 28))  # bands of few queries
    plan = plan_task(prepared, Pairing.ALL)
    with pytest.raises(OSError, match="disk full"):
        write_results(Full(), plan, compute_pair_bands(plan, prepared, NullProgress()))
    assert not workers()


def test_refuses_what_it_cannot_do(big_task):
    task = Task(big_task.queries, big_task.targets, big_task.scoring, Mode.LOCAL, Detail.PATH)
    with pytest.raises(RunError, match="cannot do this"):
        CpuEngine(1).prepare(task, PLENTY)


def test_a_budget_that_is_too_small_is_an_error(rng):
    sequences = sequence_set(list(rng.integers(0, 4, (2, 1_000_000))))
    task = Task(sequences, sequences, two_valued(4, 5, -4, 10, 1))
    with pytest.raises(RunError, match="raise memory"):
        CpuEngine(2).prepare(task, Budget.from_total(10_000_000))


@pytest.mark.parametrize("detail", [Detail.SCORE, Detail.PATH])
def test_a_machine_of_many_processors_runs_as_many_threads_as_fit(rng, monkeypatch, detail):
    monkeypatch.setattr(cpu_engine, "usable_cpu_count", lambda: 64)
    sequences = sequence_set(list(rng.integers(0, 4, (3, 200_000))))
    task = Task(sequences, sequences, two_valued(4, 5, -4, 10, 1), detail=detail)
    engine = CpuEngine()
    prepared = engine.prepare(task, PLENTY)
    assert prepared.limits.scratch_bytes <= 1 << 29
    assert 1 < prepared.threads < 64
    assert f"{prepared.threads} threads" in prepared.hardware
    assert engine.threads == 64  # to ask changes nothing
    with pytest.raises(RunError, match="raise memory or lower threads"):
        CpuEngine(64).prepare(task, PLENTY)


@pytest.mark.parametrize("detail", list(Detail))
@pytest.mark.parametrize("pairing", [Pairing.ALL, Pairing.ABOVE])
def test_bands_take_some_seconds_at_most(rng, detail, pairing):
    """They are what an interrupted run loses."""
    for count, length in ((1000, 3000), (300, 30_000), (40, 100_000), (20_000, 30)):
        sequences = sequence_set(list(rng.integers(0, 4, (count, length), dtype=np.uint8)))
        task = Task(sequences, sequences, two_valued(4, 5, -4, 10, 1), detail=detail)
        prepared = CpuEngine(2).prepare(task, Budget.from_total(4 << 30))
        plan = plan_task(prepared, pairing)
        band = plan.band_rows * count * length * length
        rate = task.approximate_cell_count / prepared.estimated_seconds
        assert band <= 21 * rate or plan.band_rows <= MIN_BAND_ROWS


@pytest.mark.parametrize(("queries", "targets"), [(1, 16), (16, 1), (2, 40)])
def test_threads_share_a_search_with_few_long_pairs(rng, queries, targets):
    """16 threads, each of which has more lanes than there are pairs."""
    sets = [sequence_set(list(rng.integers(0, 4, (count, 20_000), dtype=np.uint8))) for count in (queries, targets)]
    prepared = CpuEngine(16).prepare(Task(*sets, two_valued(4, 5, -4, 16, 6), Mode.LOCAL, top_count=25), PLENTY)
    shapes = [tile.shape for tile in plan_task(prepared, Pairing.ALL).tiles()]
    assert len(shapes) >= 16
    assert sum(rows * columns for rows, columns in shapes) == queries * targets


def test_unknown_instruction_set():
    with pytest.raises(InputError, match="avx9000"):
        CpuEngine(1, "avx9000")


def test_instruction_sets_are_listed_with_what_runs():
    found = instruction_sets()
    assert found[-1].name == "baseline"
    assert found[-1].is_supported
    assert CpuEngine(1).instruction_set == next(s for s in found if s.is_supported)


def test_rate_estimate_is_positive(big_task):
    assert measure_cell_rate(big_task, CpuEngine(2), PLENTY) > 1e8


@pytest.mark.parametrize("change", ["ids", "empty", "shape"])
def test_the_extension_checks_what_it_is_given(change):
    sequences = sequence_set([[0, 1], [2]])
    offsets = np.array([0, 2, 2], dtype=np.int64) if change == "empty" else sequences.offsets
    ids = np.array([0, 2 if change == "ids" else 1])
    scores = np.zeros((2, 3 if change == "shape" else 2), dtype=np.int32)
    recipes = _kernels.Recipes(_kernels.Recipe(), _kernels.Recipe(), 0)
    with pytest.raises((ValueError, IndexError)):
        _kernels.score_tile_32(
            "baseline", sequences.codes, offsets, ids, sequences.codes, offsets, ids, "all", recipes, scores, _kernels.Cancel()
        )


@pytest.mark.parametrize("most", [2, 60])
def test_bands_hold_the_near_pairs_that_are_to_be_expected(rng, most):
    """By edit distances of unrelated records: at most 2 has none, at most 60 all."""
    sequences = sequence_set(list(rng.integers(0, 4, (3000, 60))))
    task = Task(sequences, sequences, edit(4), edit_bound=distance_bound(most))
    budget = Budget.from_total(32 << 20)
    prepared = CpuEngine(2).prepare(task, budget)
    plan = plan_task(prepared, Pairing.ABOVE)
    first = next(plan.tiles())
    near = len(sequences) if most == 60 else 0
    assert BANDS_IN_FLIGHT * plan.band_rows * near * 24 <= budget.result_bytes
    assert first.cells * (near > 0) * 24 <= budget.result_bytes
    if not near:
        assert plan.band_rows == len(sequences) // MIN_DIAGONAL_BANDS
