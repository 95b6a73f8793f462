"""The CUDA engine on a real device: long sequences, real genes, memory, side by side."""

import os
import subprocess
import sys
from functools import partial

import numpy as np
import pytest
from work import at_once, edit, run_scores, sequence_set, two_valued

from gpualign.core.alignment.task import Task
from gpualign.core.common.errors import RunError
from gpualign.core.planning.memory_budget import Budget
from gpualign.core.planning.tile_plan import Pairing
from gpualign.core.scoring.scoring import ScoringOptions, make_scoring
from gpualign.core.sequences.alphabet import DNA
from gpualign.core.sequences.loading import encode_all, read_raw_records
from gpualign.cpu.alignment.engine import CpuEngine
from gpualign.gpu.alignment.engine import CudaEngine
from gpualign.gpu.factory import make_engine
from gpualign.gpu.runtime.inventory import detect_devices

pytestmark = [pytest.mark.gpu, pytest.mark.slow]

SCHEMES = {
    "linear": ScoringOptions(match=5, mismatch=-4, gap=6),
    "2/-1/1": ScoringOptions(match=2, mismatch=-1, gap=1),
    "affine": ScoringOptions(),
    "edit": ScoringOptions(edit=True),
}


@pytest.fixture
def device(real_device):
    return real_device


def compare(queries, targets, scheme, engine, pairing=Pairing.ALL):
    scores = run_scores(queries, targets, scheme, pairing, engine)
    expected = run_scores(queries, targets, scheme, pairing, CpuEngine(), memory=8 << 30)
    wanted = np.triu(np.ones(scores.shape, dtype=bool), 1) if pairing is Pairing.ABOVE else np.ones(scores.shape, dtype=bool)
    np.testing.assert_array_equal(scores[wanted], expected[wanted])


@pytest.mark.parametrize("options", SCHEMES.values(), ids=SCHEMES)
def test_lengths_to_5000(rng, device, options):
    queries, targets = (sequence_set([rng.integers(0, 15, rng.integers(1, 5001)) for _ in range(n)]) for n in (100, 300))
    compare(queries, targets, make_scoring(DNA, options), CudaEngine([device]))


@pytest.mark.slow
@pytest.mark.parametrize("options", SCHEMES.values(), ids=SCHEMES)
def test_real_genes(device, real_data, options):
    path = real_data / "16s_gold.fasta.gz"
    if not path.exists():
        pytest.skip(f"{path.name} is not among the real data")
    with path.open("rb") as stream:
        _, (genes,) = encode_all([read_raw_records(stream, path.name, allow_duplicates=True)], "dna")
    part = type(genes)(genes.source, genes.ids[:700], genes.codes[: genes.offsets[700]], genes.offsets[:701])
    compare(part, part, make_scoring(DNA, options), CudaEngine([device]), Pairing.ABOVE)


@pytest.mark.parametrize(
    ("length", "scheme"), [(1_000_000, edit(4)), (200_000, two_valued(4, 5, -4, 10, 1)), (200_000, two_valued(4, 5, -4, 6, 6))]
)
def test_one_pair_of_long_sequences(rng, device, length, scheme):
    first = rng.integers(0, 4, length)
    second = np.where(rng.random(length) < 0.2, rng.integers(0, 4, length), first)[: length - 1234]
    compare(sequence_set([first]), sequence_set([second]), scheme, CudaEngine([device]))


def test_memory_that_is_not_there_is_survived(rng, device, monkeypatch):
    monkeypatch.setattr(type(device), "free_memory", lambda self: 1 << 42)
    sequences = sequence_set(list(rng.integers(0, 4, (60, 20_000))))
    import pycuda.driver as cuda

    free = []

    def allocate(nbytes, real=cuda.mem_alloc):
        if nbytes > 1 << 27:
            free.append(nbytes)
            raise cuda.MemoryError("made up: so much is not left")
        return real(nbytes)

    monkeypatch.setattr(cuda, "mem_alloc", allocate)
    compare(sequences, sequences, two_valued(4, 5, -4, 10, 1), CudaEngine([device]), Pairing.ABOVE)
    assert free


def test_all_the_memory_there_is(rng, whole_device):
    """The whole device's memory asked for in earnest, while another allocation holds most of it: other tests would find none."""
    import pycuda.driver as cuda

    device = whole_device
    device.open()
    held = cuda.mem_alloc(int(cuda.mem_get_info()[0] * 0.97))
    try:
        sequences = sequence_set(list(rng.integers(0, 4, (500, 1500))))
        compare(sequences, sequences, two_valued(4, 5, -4, 10, 1), CudaEngine([type(device)(0)]), Pairing.ABOVE)
    finally:
        held.free()
        device.close()


def test_two_engines_side_by_side(rng, device):
    sequences = sequence_set(list(rng.integers(0, 4, (400, 900))))

    def work(scheme):
        compare(sequences, sequences, scheme, CudaEngine([type(device)(0)]), Pairing.ABOVE)

    at_once(*(partial(work, scheme) for scheme in (edit(4), two_valued(4, 5, -4, 10, 1))))


def test_a_forked_child_is_told(device):
    sequences = sequence_set([[0, 1], [2, 3]])
    prepared = CudaEngine([device]).prepare(Task(sequences, sequences, two_valued(4, 5, -4, 10, 1)), Budget.from_total(1 << 30))
    child = os.fork()
    if child == 0:
        try:
            prepared.run(iter([]))
        except RunError:
            os._exit(0)
        os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_a_stopped_run_ends_soon_and_frees_the_device(rng, whole_device):
    """The free memory is that of the whole device: other tests would take some of it."""
    import time

    import pycuda.driver as cuda

    from gpualign.core.execution.runner import plan_task

    device = whole_device
    sequences = sequence_set(list(rng.integers(0, 4, (9000, 1500))))
    task = Task(sequences, sequences, two_valued(4, 5, -4, 10, 1))
    engine = CudaEngine([type(device)(0)])
    device.open()
    before = cuda.mem_get_info()[0]
    try:
        prepared = engine.prepare(task, Budget.from_total(1 << 33))
        results = prepared.run(plan_task(prepared, Pairing.ABOVE).tiles())
        next(results)
        start = time.process_time()
        results.close()
        assert time.process_time() - start < 1
        assert cuda.mem_get_info()[0] > before - (256 << 20)
    finally:
        device.close()


def test_a_device_that_is_not_there():
    inventory = detect_devices()
    if inventory.reason:
        pytest.skip(inventory.reason)
    with pytest.raises(RunError, match="there is no CUDA device 99"):
        make_engine("cuda:99", inventory)


@pytest.mark.slow
@pytest.mark.parametrize("options", [[], ["--edit"], ["--format", "matrix"]], ids=["table", "edit", "matrix"])
def test_the_command_writes_the_same_bytes_as_on_the_cpu(device, small_16s, options):
    written = [
        subprocess.run(
            [sys.executable, "-m", "gpualign", "nw", "-q", "--device", name, *options, str(small_16s)], check=True, capture_output=True
        ).stdout
        for name in ("cpu", "cuda")
    ]
    assert written[0] == written[1]
