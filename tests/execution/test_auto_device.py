"""Where --device auto works."""

import sys
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from work import sequence_set

from gpualign.core.alignment.task import Detail, Mode, Task
from gpualign.core.common.errors import RunError
from gpualign.core.planning.memory_budget import Budget
from gpualign.core.scoring.edit_bounds import distance_bound
from gpualign.core.scoring.scoring import ScoringOptions, make_scoring
from gpualign.core.sequences.alphabet import DNA
from gpualign.core.sequences.sequence_set import SequenceSet
from gpualign.cpu.alignment.engine import CpuEngine
from gpualign.cpu.distance.engine import CpuDistanceEngine
from gpualign.gpu.runtime import prestart as start
from gpualign.jobs.devices import local_engines as engines
from gpualign.jobs.devices.auto import AutoDeviceEngine, cuda_is_faster, cuda_seconds
from gpualign.jobs.devices.cuda_prestart import CUDA_START_SECONDS
from gpualign.jobs.devices.resources import Resources
from gpualign.jobs.devices.selection import pick_distance_engine, pick_engine
from gpualign.jobs.reporter import SILENT_REPORTER

BUDGET = Budget(1 << 28, 1 << 28)


class Cuda:
    """Stands in for the CUDA engine: prepares nothing but its name."""

    def __init__(self, refusal=None):
        self.capabilities = SimpleNamespace(unsupported_reason=lambda task: refusal)

    def prepare(self, task, budget):
        return "cuda"


@pytest.fixture
def small(rng):
    sequences = sequence_set(list(rng.integers(0, 4, (20, 100), dtype=np.uint8)))
    return Task(sequences, sequences, make_scoring(DNA, ScoringOptions(), [sequences]), alphabet=DNA)


def records_of_1000_letters(count):
    sequences = SequenceSet("zeros", [str(k) for k in range(count)], np.zeros(1000 * count, np.uint8), np.arange(0, 1000 * count + 1, 1000))
    return Task(sequences, sequences, make_scoring(DNA, ScoringOptions(), [sequences]), alphabet=DNA)


@pytest.fixture
def much():
    """Minutes of work for a CPU, as it is estimated: nothing is computed."""
    return records_of_1000_letters(10_000)


def test_little_work_asks_for_no_gpu(small):
    def never():
        raise AssertionError("CUDA was looked for")

    prepared = AutoDeviceEngine(CpuEngine(2), never, SILENT_REPORTER).prepare(small, BUDGET)
    assert prepared.hardware.startswith("cpu")
    assert 0 < prepared.estimated_seconds < CUDA_START_SECONDS


@pytest.mark.parametrize("detail", [Detail.SCORE, Detail.PATH])
def test_much_work_is_cudas(much, detail):
    asked = []
    engine = AutoDeviceEngine(CpuEngine(2), lambda: asked.append(1) or Cuda(), SILENT_REPORTER)
    task = replace(much, detail=detail)
    assert [engine.prepare(task, BUDGET) for _ in range(2)] == ["cuda", "cuda"]
    assert asked == [1]


@pytest.mark.parametrize(("begun", "taken"), [(False, "cpu"), (True, "cuda")])
def test_cuda_that_has_started_is_taken_for_less_work(monkeypatch, begun, taken):
    """Its start is spent already, and would be in vain."""
    monkeypatch.setattr(start, "context_started", lambda: begun)
    some = CpuEngine(1).prepare(records_of_1000_letters(100), BUDGET).estimated_seconds
    task = records_of_1000_letters(round(100 * (0.9 * CUDA_START_SECONDS / some) ** 0.5))
    prepared = AutoDeviceEngine(CpuEngine(1), Cuda, SILENT_REPORTER).prepare(task, BUDGET)
    assert (prepared if prepared == "cuda" else "cpu") == taken


@pytest.mark.parametrize("gpu", [None, Cuda("it cannot")])
def test_without_a_gpu_that_can_the_cpu_does_it(much, gpu):
    assert AutoDeviceEngine(CpuEngine(2), lambda: gpu, SILENT_REPORTER).prepare(much, BUDGET).hardware.startswith("cpu")


def test_what_the_cpu_has_no_memory_for(small):
    tiny = Budget(1000, 1000)
    assert AutoDeviceEngine(CpuEngine(2), Cuda, SILENT_REPORTER).prepare(small, tiny) == "cuda"
    with pytest.raises(RunError, match="memory budget is too small"):
        AutoDeviceEngine(CpuEngine(2), lambda: None, SILENT_REPORTER).prepare(small, tiny)


@pytest.mark.parametrize("mode", Mode)
def test_a_long_pair_is_cudas_however_many_threads_there_are(rng, mode):
    """A single thread computes it, and takes more than a second."""
    query, target = (sequence_set([rng.integers(0, 4, 200_000, dtype=np.uint8)]) for _ in range(2))
    task = Task(query, target, make_scoring(DNA, ScoringOptions(), [query]), mode, alphabet=DNA)
    budget = Budget.from_total(8 << 30)
    assert CpuEngine(8).prepare(task, budget).estimated_seconds > 1
    assert AutoDeviceEngine(CpuEngine(8), Cuda, SILENT_REPORTER).prepare(task, budget) == "cuda"


def test_the_longest_pair_bounds_what_threads_gain(rng):
    """One record of 10,000 letters beside 30 of 100."""
    records = sequence_set([rng.integers(0, 4, length) for length in (10_000, *[100] * 30)])
    queries = sequence_set([rng.integers(0, 4, 10_000)])
    scheme = make_scoring(DNA, ScoringOptions(), [records])
    one_set, two_sets = Task(records, records, scheme), Task(queries, records, scheme)
    assert one_set.longest_pair_cells == 10_000 * 100
    assert two_sets.longest_pair_cells == Task(queries, queries, scheme).longest_pair_cells == 10_000 * 10_000

    def seconds(task, threads):
        return CpuEngine(threads).prepare(task, Budget.from_total(1 << 30)).estimated_seconds

    assert seconds(one_set, 1) == pytest.approx(8 * seconds(one_set, 8))
    assert seconds(two_sets, 1) == pytest.approx(1.3 * seconds(two_sets, 8))
    assert seconds(two_sets, 8) == seconds(two_sets, 2)


def test_near_pairs_cost_by_pairs(rng):
    """A join of many short records is the CPU's, however many pairs there are."""
    records = sequence_set(list(rng.integers(0, 4, (3000, 14), dtype=np.uint8)))
    edit = make_scoring(DNA, ScoringOptions(edit=True))
    near = Task(records, records, edit, alphabet=DNA, edit_bound=distance_bound(1))
    prepared = CpuEngine(1).prepare(near, BUDGET)
    assert prepared.kernel.startswith("joined")
    assert prepared.estimated_seconds < cuda_seconds(near, started=True) < CUDA_START_SECONDS < cuda_seconds(near, started=False)
    every = Task(records, records, edit, alphabet=DNA)
    assert near.approximate_pair_count == every.approximate_pair_count == 3000 * 3000 / 2
    assert every.approximate_cell_count == 14 * 14 * every.approximate_pair_count


def test_distances():
    assert not cuda_is_faster(1e9, 1)
    assert cuda_is_faster(1e15, 64)
    assert not cuda_is_faster(5e11, 16)


@pytest.mark.parametrize("device", ["auto", "cpu"])
def test_distances_of_few_calls_start_no_cuda(monkeypatch, device):
    monkeypatch.setattr(engines, "find_spec", lambda name: object())
    monkeypatch.setitem(sys.modules, "pycuda.driver", None)
    assert isinstance(pick_distance_engine(Resources(device, 2), SILENT_REPORTER, comparisons=1e6), CpuDistanceEngine)


def test_auto_is_the_cpu_where_there_is_no_pycuda(monkeypatch):
    monkeypatch.setattr(engines, "find_spec", lambda name: None)
    monkeypatch.setitem(sys.modules, "pycuda", None)
    assert isinstance(pick_engine(Resources("auto", 1), SILENT_REPORTER), CpuEngine)
    monkeypatch.setattr(engines, "find_spec", lambda name: object())
    assert isinstance(pick_engine(Resources("auto", 1), SILENT_REPORTER), AutoDeviceEngine)
