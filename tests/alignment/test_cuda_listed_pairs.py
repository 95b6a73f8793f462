"""Listed pairs on CUDA devices against those of the CPU engine: on the host everywhere, on a device where there is one."""

import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from host_device import FailingDevice, HostDevice, HostStream, WaitingDevice
from listed import align_by_both, all_pairs_in_disorder, check_equal, check_equal_without_runs, families
from path_cases import SCHEMES
from relatives import mutated
from work import scoring, sequence_set, two_valued

from gpualign.core.alignment.pair_list import NearPairs
from gpualign.core.alignment.task import Detail, EndGaps, Task
from gpualign.core.common.errors import RunError
from gpualign.core.planning.memory_budget import Budget
from gpualign.cpu.alignment.engine import CpuEngine
from gpualign.gpu.alignment import pair_list, sliced_bands
from gpualign.gpu.alignment.pair_bands import BAND_WIDTHS, packed_scores, plan_batches
from gpualign.gpu.alignment.pair_list import CudaPairEngine
from gpualign.gpu.alignment.recipe import make_recipe, packed_score_type

BYTES = ["default", "linear", "2/-1/1", "edit", "protein", "loose", "dear mismatch", "free extension", "free gaps"]


@pytest.fixture(autouse=True)
def every_list_is_long(monkeypatch):
    """For a device: lists go to the host up to 2 x 10^9 cells for each of its threads, which take an emulated device minutes. Pairs are
    aligned one by one."""
    monkeypatch.setattr(pair_list, "MIN_CELLS_PER_THREAD", 0)
    monkeypatch.setattr(sliced_bands, "MIN_WARPS", 1 << 30)  # test_cuda_sliced_bands.py


@pytest.mark.parametrize("scheme", BYTES)
def test_as_on_the_cpu(rng, device, scheme):
    """From equal to unrelated: bands of every width, and pairs for the host."""
    on_host = isinstance(device, HostDevice)
    letters = 20 if scheme == "protein" else int(rng.choice([2, 4]))
    queries, targets = families(rng, letters, 10 if on_host else 100, 90 if on_host else 900)
    pairs = all_pairs_in_disorder(rng, queries, targets)
    check_equal(*align_by_both([device], queries, targets, SCHEMES[scheme], pairs))
    if on_host:
        assert {kernel.file for kernel in device.launched} == {"trace_bands.cu"}


@pytest.mark.parametrize("arch", ["sm_90a", "sm_80", "sm_70"])
@pytest.mark.parametrize("scheme", ["default", "linear", "protein", "dear mismatch"])
def test_every_score_type(rng, scheme, arch):
    """16-bit integers, half-precision floats, and 32 bits where neither has maxima of its own."""
    queries, targets = families(rng, 20 if scheme == "protein" else 4, 10, 90)
    device = HostDevice(arch=arch)
    check_equal(*align_by_both([device], queries, targets, SCHEMES[scheme], all_pairs_in_disorder(rng, queries, targets)))
    assert {dict(kernel.macros)["CELL"] for kernel in device.launched} == {packed_score_type([arch]) or "S32"}


@pytest.mark.parametrize("arch", ["sm_90a", "sm_80"])
def test_scores_at_the_limits_of_16_bits(rng, arch):
    """Pairs as long as 16 bits allow, and by a letter longer: equal ones, which score most, and ones without a letter in common, which
    score least, also with gaps at either end."""
    scheme = two_valued(15, 30, -120, 60, 30)
    letters = sequence_set([[0, 1, 2, 3]])
    recipe = make_recipe(Task(letters, letters, scheme, detail=Detail.PATH), packed_score_type=packed_score_type([arch]))
    longest = packed_scores(recipe).max_length
    assert 100 < longest < 400
    for length, cell in ((longest, packed_score_type([arch])), (longest + 1, "S32")):
        ancestor = rng.integers(0, 2, length)
        queries = sequence_set([ancestor, ancestor[: length - 9], mutated(rng, ancestor, 0.3, 2)[:length]])
        targets = sequence_set([ancestor, ancestor + 2, np.append(ancestor[5:], ancestor[:5] + 2), ancestor[7:]])
        device = HostDevice(arch=arch)
        pairs = all_pairs_in_disorder(rng, queries, targets, 20)
        if cell == "S32":  # the shorter sequence is what counts
            pairs = pairs.select(np.flatnonzero((queries.lengths[pairs.queries] == length) & (targets.lengths[pairs.targets] == length)))
        check_equal(*align_by_both([device], queries, targets, scheme, pairs))
        assert {dict(kernel.macros)["CELL"] for kernel in device.launched} == {cell}


@pytest.mark.parametrize("detail", [Detail.SCORE, Detail.STATISTICS])
def test_no_more_detail_than_asked_for(rng, device, detail):
    queries, targets = families(rng, 4, 8, 60)
    found, expected = align_by_both([device], queries, targets, SCHEMES["default"], all_pairs_in_disorder(rng, queries, targets), detail)
    check_equal_without_runs(found, expected, detail)


def test_every_parity_of_bands(rng, device):
    """Lengths that differ by every small number, with edits at the corners: odd and even first diagonals."""
    ancestor = rng.integers(0, 4, 60)
    queries = sequence_set([ancestor[start:] for start in range(5)])
    targets = sequence_set([ancestor[: len(ancestor) - stop] for stop in range(5)] + [mutated(rng, ancestor, 0.1, 4) for _ in range(3)])
    check_equal(*align_by_both([device], queries, targets, SCHEMES["default"], all_pairs_in_disorder(rng, queries, targets, 8)))


def test_long_runs_of_equal_pairs(rng, device):
    """Runs around 64 pairs, the most that a byte holds, and around twice as many, which begin at any place of a word of directions."""
    ancestor = rng.integers(0, 4, 160)
    records = [ancestor[start : start + length] for start in range(2) for length in (*range(61, 69), *range(126, 131))]
    queries = sequence_set(records)
    found = align_by_both([device], queries, queries, SCHEMES["default"], all_pairs_in_disorder(rng, queries, queries, 8))
    check_equal(*found)


def test_equal_letters_need_not_score_most(rng, device):
    """Runs of equal letters that a path had better avoid, so that directions decide, not letters."""
    table = np.array([[-1, 4, 0, 0], [4, -1, 0, 0], [0, 0, 5, -1], [0, 0, -1, 5]])
    ancestor = np.repeat(rng.integers(0, 4, 20), rng.integers(1, 9, 20))
    queries = sequence_set([mutated(rng, ancestor, 0.1, 4, 0.05) for _ in range(6)])
    pairs = all_pairs_in_disorder(rng, queries, queries, 30)
    check_equal(*align_by_both([device], queries, queries, scoring(table, 2, 1), pairs))


def test_tiny_sequences(rng, device):
    queries = sequence_set([rng.integers(0, 4, length) for length in (1, 1, 2, 3, 7, 8, 9)])
    pairs = all_pairs_in_disorder(rng, queries, queries, 3)
    check_equal(*align_by_both([device], queries, queries, SCHEMES["default"], pairs))


def test_several_devices_and_many_batches(rng, monkeypatch):
    monkeypatch.setattr(pair_list, "MAX_BATCH_PAIRS", 7)  # of 32,768
    queries, targets = families(rng, 4, 10, 60)
    devices = [HostDevice(), HostDevice()]
    check_equal(*align_by_both(devices, queries, targets, SCHEMES["default"], all_pairs_in_disorder(rng, queries, targets)))
    assert all(device.launched and not device.opened for device in devices)


def test_several_lists_at_the_same_time(rng):
    queries, targets = families(rng, 5, 10, 90)
    devices, host = [HostDevice(), HostDevice()], CpuEngine(1)
    lists = [all_pairs_in_disorder(rng, queries, targets) for _ in range(6)]
    task, budget = Task(queries, targets, SCHEMES["default"], detail=Detail.PATH), Budget.from_total(1 << 28)
    aligner = CudaPairEngine(lambda: devices, host, pytest.fail).prepare_pair_aligner(task, budget)
    with ThreadPoolExecutor(3) as pool:
        for found, pairs in zip(pool.map(aligner.align_pairs, lists), lists, strict=True):
            check_equal(found, host.prepare_pair_aligner(task, budget).align_pairs(pairs))
    aligner.close()
    assert not any(device.opened for device in devices)


def test_a_device_that_fails_in_several_lists_is_left_out_once(rng):
    queries, targets = families(rng, 4, 6, 60)
    task, budget, host, notes = Task(queries, targets, SCHEMES["default"], detail=Detail.PATH), Budget.from_total(1 << 28), CpuEngine(1), []
    aligner = CudaPairEngine(lambda: [FailingDevice()], host, notes.append).prepare_pair_aligner(task, budget)
    lists = [all_pairs_in_disorder(rng, queries, targets) for _ in range(8)]
    with ThreadPoolExecutor(4) as pool:
        for found, pairs in zip(pool.map(aligner.align_pairs, lists), lists, strict=True):
            check_equal(found, host.prepare_pair_aligner(task, budget).align_pairs(pairs))
    aligner.close()
    assert len(notes) == 1


@pytest.mark.parametrize("memory", [1 << 12, 1 << 16])
def test_a_device_with_little_memory_leaves_pairs_to_the_host(rng, memory):
    queries, targets = families(rng, 4, 10, 200)
    device = HostDevice(memory)
    check_equal(*align_by_both([device], queries, targets, SCHEMES["default"], all_pairs_in_disorder(rng, queries, targets)))
    assert device.used == 0


def test_a_device_that_fails_leaves_its_pairs_to_the_host(rng):
    queries, targets = families(rng, 4, 6, 60)
    pairs = all_pairs_in_disorder(rng, queries, targets)
    task, budget, host, notes = Task(queries, targets, SCHEMES["default"], detail=Detail.PATH), Budget.from_total(1 << 28), CpuEngine(1), []
    device = FailingDevice()
    aligner = CudaPairEngine(lambda: [device], host, notes.append).prepare_pair_aligner(task, budget)
    found = aligner.align_pairs(pairs)
    aligner.close()
    check_equal(found, host.prepare_pair_aligner(task, budget).align_pairs(pairs))
    assert notes == ["broken is left out, and the CPU aligns its pairs: the CUDA device failed: made up"]
    assert not device.opened


def test_without_a_device_the_host_aligns(rng):
    """PyCUDA is installed, but no GPU can be used."""
    queries, targets = families(rng, 4, 6, 60)
    check_equal(*align_by_both([], queries, targets, SCHEMES["default"], all_pairs_in_disorder(rng, queries, targets)))


def test_a_device_that_does_not_open(rng):
    queries, targets = families(rng, 4, 6, 60)
    pairs = all_pairs_in_disorder(rng, queries, targets)
    task, budget, host, notes = Task(queries, targets, SCHEMES["default"], detail=Detail.PATH), Budget.from_total(1 << 28), CpuEngine(1), []

    def refuse(_):
        raise RunError("no context")

    aligner = CudaPairEngine(lambda: [WaitingDevice(refuse)], host, notes.append).prepare_pair_aligner(task, budget)
    check_equal(aligner.align_pairs(pairs), host.prepare_pair_aligner(task, budget).align_pairs(pairs))
    aligner.close()
    assert len(notes) == 1


def test_an_error_on_the_way_closes_the_device(rng, monkeypatch):
    queries, targets = families(rng, 4, 6, 60)
    device, host = HostDevice(), CpuEngine(1)
    task, budget = Task(queries, targets, SCHEMES["default"], detail=Detail.PATH), Budget.from_total(1 << 28)
    aligner = CudaPairEngine(lambda: [device], host, print).prepare_pair_aligner(task, budget)
    monkeypatch.setattr(pair_list, "plan_batches", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        aligner.align_pairs(all_pairs_in_disorder(rng, queries, targets))
    assert not device.opened
    assert device.used == 0


def test_closing_the_aligner_ends_the_work_of_another_thread(rng, monkeypatch):
    """The device stops, and the host does not take over the rest of the list."""
    entered, closing, launch = threading.Event(), threading.Event(), HostStream.launch

    def wait(*given):
        entered.set()
        assert closing.wait(60)
        return launch(*given)

    monkeypatch.setattr(HostStream, "launch", wait)
    monkeypatch.setattr(pair_list, "MAX_BATCH_PAIRS", 7)  # so that there is more to be done behind the first batch
    queries, targets = families(rng, 4, 6, 60)
    task = Task(queries, targets, SCHEMES["default"], detail=Detail.PATH)
    pairs, device = all_pairs_in_disorder(rng, queries, targets), HostDevice()
    aligner = CudaPairEngine(lambda: [device], CpuEngine(2), pytest.fail).prepare_pair_aligner(task, Budget.from_total(1 << 28))
    assert aligner.uses_device
    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(aligner.align_pairs, pairs)
        assert entered.wait(60)
        threading.Timer(0.2, closing.set).start()
        aligner.close()
        with pytest.raises(RunError, match="stopped"):
            future.result(timeout=60)
    assert len(device.launched) == 1 < len(pairs) // 7


@pytest.mark.parametrize(("scheme", "end_gaps"), [("16 bits", EndGaps.PENALISED), ("default", EndGaps.FREE)])
def test_scorings_without_bands_are_for_the_host(rng, scheme, end_gaps):
    queries, targets = families(rng, 4, 6, 60)
    device, pairs = HostDevice(), all_pairs_in_disorder(rng, queries, targets)
    check_equal(*align_by_both([device], queries, targets, SCHEMES[scheme], pairs, end_gaps=end_gaps))
    assert not device.launched


def test_short_lists_are_for_the_host(rng, monkeypatch):
    monkeypatch.undo()  # a list is long as it is without this module's fixture
    queries, targets = families(rng, 4, 6, 60)
    device = HostDevice()
    check_equal(*align_by_both([device], queries, targets, SCHEMES["default"], all_pairs_in_disorder(rng, queries, targets)))
    assert not device.launched


def test_short_lists_open_the_device_once_they_are_many(rng, monkeypatch):
    """As where memory allows only short lists."""
    queries, targets = families(rng, 4, 6, 60)
    pairs = all_pairs_in_disorder(rng, queries, targets)
    cells = float((queries.lengths[pairs.queries] * targets.lengths[pairs.targets]).sum())
    monkeypatch.setattr(pair_list, "MIN_CELLS_PER_THREAD", 2.5 * cells)
    device, host = HostDevice(), CpuEngine(1)
    task, budget = Task(queries, targets, SCHEMES["default"], detail=Detail.PATH), Budget.from_total(1 << 28)
    aligner = CudaPairEngine(lambda: [device], host, pytest.fail).prepare_pair_aligner(task, budget)
    for number in range(5):
        check_equal(aligner.align_pairs(pairs), host.prepare_pair_aligner(task, budget).align_pairs(pairs))
        assert bool(device.launched) == (number >= 2)
    aligner.close()


def test_no_pairs(device):
    queries, none = sequence_set([[0, 1, 2]]), np.zeros(0, dtype=np.int64)
    found, _ = align_by_both([device], queries, queries, SCHEMES["default"], NearPairs(none, none, none))
    assert len(found.scores) == len(found.runs.starts) == 0


def test_batches_cover_the_pairs(rng):
    """Each pair once, in a band that holds both corners and the slack, and no batch is larger than allowed."""
    m, n = rng.integers(1, 900, 500), rng.integers(1, 900, 500)
    indices, slacks = rng.permutation(500)[:400], rng.integers(0, 120, 400)
    batches = plan_batches((m, n), indices, slacks, 32, 150, 30)
    planned = np.concatenate([batch.indices for batch in batches])
    too_wide = np.setdiff1d(indices, planned)
    assert len(np.unique(planned)) == len(planned)
    assert set(planned.tolist()) <= set(indices.tolist())
    needed = dict(zip(indices.tolist(), slacks.tolist(), strict=True))
    assert all(abs(n[k] - m[k]) + 2 * needed[k] + 2 > 64 * BAND_WIDTHS[-1] for k in too_wide.tolist())
    for batch in batches:
        assert len(batch.indices) <= 30
        width = 64 * batch.width
        for k, lowest, slack in zip(batch.indices.tolist(), batch.lowest.tolist(), batch.slacks.tolist(), strict=True):
            assert slack >= needed[k]
            assert min(0, n[k] - m[k]) - slack - 1 <= lowest <= min(0, n[k] - m[k]) - slack
            assert (m[k] + n[k] + lowest) % 2 == 1
            assert lowest + width - 1 >= max(0, n[k] - m[k]) + slack
            assert m[k] + n[k] <= batch.max_letters
