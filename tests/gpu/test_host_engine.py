"""The CUDA engine's host on a device that is the host: memory, errors, several devices."""

import os
import re
import subprocess
import sys
import threading

import numpy as np
import pytest
from command import LIMIT
from host_device import FailingDevice, HostDevice, HostStream, WaitingDevice, compiler
from work import at_once, edit, run_paths, run_scores, sequence_set, two_valued

from gpualign.core.alignment.task import Detail, Mode, Task
from gpualign.core.common.errors import RunError
from gpualign.core.execution.runner import compute_pair_bands, plan_task
from gpualign.core.execution.totals import NullProgress
from gpualign.core.planning.memory_budget import Budget
from gpualign.core.planning.tile_plan import Pairing, TileLimits, make_plan
from gpualign.cpu.alignment.engine import CpuEngine
from gpualign.gpu.alignment import batch_submission
from gpualign.gpu.alignment.engine import CudaEngine
from gpualign.gpu.alignment.families import (
    bit_sliced as slices,
)
from gpualign.gpu.alignment.families import (
    one_thread_per_pair as threads,
)
from gpualign.gpu.alignment.families import (
    warp_chain as chain,
)
from gpualign.gpu.alignment.families import (
    warp_chain_base as chained,
)
from gpualign.gpu.runtime import stream_pipeline
from gpualign.gpu.runtime.host_buffers import ResultBufferPool
from gpualign.jobs.output.result_writing import write_results

pytestmark = [pytest.mark.slow, pytest.mark.skipif(compiler() is None, reason="no C++ compiler on this machine")]

LINEAR = two_valued(4, 5, -4, 6, 6)
LITTLE = Budget.from_total(1 << 24)


@pytest.fixture
def sequences(rng):
    return sequence_set([rng.integers(0, 4, rng.integers(1, 60)) for _ in range(70)])


def check(sequences, engine, scheme=LINEAR, **how):
    scores = run_scores(sequences, sequences, scheme, Pairing.ABOVE_OR_EQUAL, engine, **how)
    expected = run_scores(sequences, sequences, scheme, Pairing.ABOVE_OR_EQUAL, CpuEngine(1))
    wanted = np.triu_indices(len(sequences))
    np.testing.assert_array_equal(scores[wanted], expected[wanted])


def assert_clean(device):
    assert device.used == 0
    assert not device.opened
    assert not [t for t in threading.enumerate() if t.name == "gpualign-cuda"]


@pytest.mark.parametrize("scheme", [LINEAR, edit(4)], ids=["linear", "edit"])
def test_tiles_of_any_size_give_the_same_scores(sequences, scheme):
    device = HostDevice()
    for cells in (300_000, 1 << 40):
        check(sequences, CudaEngine([device]), scheme, tile_cells=cells)
    assert_clean(device)


def test_neighbours_on_the_diagonal_share_items(rng, force):
    """With much memory, and in batches that too little memory halves again and again."""
    force(slices)
    sequences = sequence_set([rng.integers(0, 4, rng.integers(1, 60)) for _ in range(300)])
    prepared = CudaEngine([HostDevice()]).prepare(Task(sequences, sequences, edit(4)), Budget.from_total(1 << 28))
    size = prepared.limits.diagonal_group_size
    (tile, *_) = plan_task(prepared, Pairing.ABOVE).tiles()
    groups = [sorted(tile.targets[k : k + size].tolist()) for k in range(0, tile.target_count, size)]
    assert tile.query_stop > 2 * size
    for first in range(1, tile.query_stop - size, size):
        assert list(range(first, first + size)) in groups
    check(sequences, CudaEngine([HostDevice()]), edit(4))
    device = HostDevice(reported=1 << 26, limit=400_000)
    check(sequences, CudaEngine([device]), edit(4))
    assert_clean(device)


def test_less_memory_than_reported_is_survived(sequences):
    device = HostDevice(reported=1 << 26, limit=200_000)
    check(sequences, CudaEngine([device]))
    assert device.peak <= 200_000
    assert_clean(device)


def test_too_little_memory_for_one_pair_is_an_error(sequences):
    device = HostDevice(reported=1 << 20, limit=3000)
    with pytest.raises(RunError, match="memory is too small for one pair"):
        check(sequences, CudaEngine([device]))
    assert_clean(device)


def test_a_pair_that_takes_most_of_the_memory_has_the_device_to_itself(rng, monkeypatch):
    """From so little that no pair fits, to so much that three batches do."""
    sequences = sequence_set(list(rng.integers(0, 4, (3, 300))))
    expected = run_paths(sequences, sequences, LINEAR, engine=CpuEngine(1)).paths
    needed, submit = [], batch_submission.BatchSubmission.submit

    def spy(self, slot, max_bytes):
        needed.append(self.min_bytes)
        submit(self, slot, max_bytes)

    monkeypatch.setattr(batch_submission.BatchSubmission, "submit", spy)
    outcomes = set()
    for reported in range(20_000, 200_000, 10_000):
        device = HostDevice(reported=reported)
        needed.clear()
        try:
            found = run_paths(sequences, sequences, LINEAR, engine=CudaEngine([device])).paths
        except RunError as error:
            outcomes.add(re.search("too small for one pair", str(error))[0])
        else:
            assert found == expected
            outcomes.add("alone" if max(needed) > reported * stream_pipeline.USABLE_MEMORY_FRACTION / 3 else "three")
        assert_clean(device)
    assert outcomes == {"too small for one pair", "alone", "three"}


@pytest.mark.parametrize("reported", [120_000, 1 << 28], ids=["as it says", "though it says so"])
def test_sequences_that_do_not_fit_come_with_their_batches(rng, reported):
    targets = sequence_set([rng.integers(0, 4, 400) for _ in range(120)])
    queries = sequence_set([rng.integers(0, 4, 30) for _ in range(3)])
    device = HostDevice(reported, limit=46_000)
    assert targets.nbytes > device.limit > 0
    scores = run_scores(queries, targets, LINEAR, engine=CudaEngine([device]))
    np.testing.assert_array_equal(scores, run_scores(queries, targets, LINEAR, engine=CpuEngine(1)))
    assert device.peak <= device.limit
    assert_clean(device)


def test_a_launch_of_chains_takes_no_more_units_than_it_can_count(rng, monkeypatch, force):
    force(chain, strip_rows=12)
    # A launch has more than 10^9 strips only after hours. Strips of 96 rows on the host: 3 pairs of 3 strips.
    monkeypatch.setattr(chained, "MAX_STRIPS_PER_LAUNCH", 10)
    sequences = sequence_set([rng.integers(0, 4, n) for n in (200, 150, 20)])
    device = HostDevice()
    scores = run_scores(sequences, sequences, LINEAR, engine=CudaEngine([device]))
    np.testing.assert_array_equal(scores, run_scores(sequences, sequences, LINEAR, engine=CpuEngine(1)))
    assert len(device.launched) == 3


def test_devices_share_the_tiles(sequences, together):
    devices = [WaitingDevice(together(number)) for number in (0, 1)]
    check(sequences, CudaEngine(devices), tile_cells=100_000)
    for device in devices:
        assert device.launched
        assert_clean(device)


def test_what_the_least_of_several_devices_can_is_what_all_do(sequences, together, force):
    """Whichever of them is the first."""
    force(threads)
    for archs in (("sm_90a", "sm_86"), ("sm_86", "sm_90a")):
        devices = [WaitingDevice(together(number)) for number in (0, 1)]
        for device, arch in zip(devices, archs, strict=True):
            device.arch = arch
        check(sequences, CudaEngine(devices), tile_cells=100_000)
        cells = {dict(kernel.macros)["CELL"] for device in devices for kernel in device.launched if kernel.file == "threads.cu"}
        assert cells == {"H16x2"}


@pytest.mark.parametrize("launches", [0, 1, 5])
def test_a_device_that_fails_is_left_out(sequences, together, launches):
    notes, devices = [], [FailingDevice(launches, together(0)), WaitingDevice(together(1))]
    check(sequences, CudaEngine(devices, note=notes.append), tile_cells=100_000)
    assert notes == ["GPU 1 of 2 (broken) is left out, the others do its work: the CUDA device failed: made up"]
    for device in devices:
        assert_clean(device)


def test_two_engines_side_by_side(sequences):
    def work():
        check(sequences, CudaEngine([HostDevice()]), tile_cells=1_000_000)

    at_once(work, work)


def test_stopping_early_frees_everything(sequences):
    device = HostDevice()
    engine = CudaEngine([device])
    task = Task(sequences, sequences, LINEAR)
    plan = make_plan(sequences.lengths, sequences.lengths, Pairing.ALL, TileLimits(1 << 24, 0, 4, 1, 3000))
    results = engine.prepare(task, LITTLE).run(plan.tiles())
    next(results)
    results.close()
    assert_clean(device)


def test_stopping_while_runs_are_fetched_frees_everything(sequences, together):
    """The second device never finishes the copy of a batch's runs, until the consumer has had enough of what the first one gives."""
    waiting = threading.Event()

    class Never:
        def is_done(self):
            waiting.set()
            return False

    class Stuck(HostStream):
        before = 0  # events: four of a batch, then that of its runs

        def record_event(self):
            self.before += 1
            return super().record_event() if waiting.is_set() or self.before != 5 else Never()

    class Slow(WaitingDevice):
        def create_stream(self):
            return Stuck(self)

    devices = [WaitingDevice(together(0)), Slow(together(1))]
    task = Task(sequences, sequences, LINEAR, detail=Detail.PATH)
    plan = make_plan(sequences.lengths, sequences.lengths, Pairing.ALL, TileLimits(1 << 24, 0, 4, 1, 3000))
    results = CudaEngine(devices).prepare(task, LITTLE).run(plan.tiles())
    next(results)
    assert waiting.wait(LIMIT)
    results.close()
    for device in devices:
        assert_clean(device)


_LEFT_OPEN = """
import numpy as np
from host_device import HostDevice
from work import edit, sequence_set
from gpualign.core.planning.memory_budget import Budget
from gpualign.core.alignment.task import Task
from gpualign.core.planning.tile_plan import Pairing
from gpualign.core.execution.runner import plan_task
from gpualign.gpu.alignment.engine import CudaEngine
from dataclasses import replace
import time

sequences = sequence_set(list(np.random.default_rng(1).integers(0, 4, (70, 40))))
prepared = CudaEngine([HostDevice()]).prepare(Task(sequences, sequences, edit(4)), Budget.from_total(1 << 26))
prepared = replace(prepared, limits=replace(prepared.limits, lane_count=1, tile_cells=30_000))
results = prepared.run(plan_task(prepared, Pairing.ABOVE).tiles())
next(results)
time.sleep(1)
"""


def test_a_program_ends_though_a_run_is_left_open():
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    assert subprocess.run([sys.executable, "-c", _LEFT_OPEN], env=environment, timeout=LIMIT, check=False).returncode == 0


def test_an_error_on_the_way_frees_everything(sequences):
    device = HostDevice()
    task = Task(sequences, sequences, LINEAR)
    prepared = CudaEngine([device]).prepare(task, LITTLE)
    plan = plan_task(prepared, Pairing.ALL)

    def tiles():
        yield from plan.tiles()
        raise ValueError("no more tiles")

    with pytest.raises(ValueError, match="no more tiles"):
        list(prepared.run(tiles()))
    assert_clean(device)


def test_a_device_that_fails_is_reported_and_freed(sequences, monkeypatch):
    from host_device import HostEvent

    device = HostDevice()
    calls = []

    def is_done(self):
        calls.append(self)
        if len(calls) > 1:  # after the upload of the sequences
            raise RunError("the CUDA device failed: made up")
        return True

    monkeypatch.setattr(HostEvent, "is_done", is_done)
    task = Task(sequences, sequences, LINEAR)
    prepared = CudaEngine([device]).prepare(task, LITTLE)
    plan = plan_task(prepared, Pairing.ALL)
    with pytest.raises(RunError, match="made up"):
        list(prepared.run(plan.tiles()))
    assert_clean(device)


def test_the_sink_that_fails_ends_the_run(sequences):
    class Full:
        def begin(self, plan):
            pass

        def write(self, band):
            raise OSError("disk full")

        def finish(self):
            pass

    device = HostDevice()
    task = Task(sequences, sequences, LINEAR)
    prepared = CudaEngine([device]).prepare(task, LITTLE)
    plan = plan_task(prepared, Pairing.ALL)
    with pytest.raises(OSError, match="disk full"):
        write_results(Full(), plan, compute_pair_bands(plan, prepared, NullProgress()))
    assert_clean(device)


def test_what_it_cannot_do_is_refused(sequences):
    with pytest.raises(RunError, match="computes only scores of local alignments"):
        CudaEngine([HostDevice()]).prepare(Task(sequences, sequences, LINEAR, Mode.LOCAL, Detail.PATH), LITTLE)


def test_a_forked_child_must_make_its_own_engine(sequences, monkeypatch):
    engine = CudaEngine([HostDevice()])
    monkeypatch.setattr(os, "getpid", lambda: -1)
    with pytest.raises(RunError, match="forked"):
        list(engine.prepare(Task(sequences, sequences, LINEAR), LITTLE).run(iter([])))


def test_batches_are_logged_with_their_times(sequences):
    spans = []
    run_scores(sequences, sequences, LINEAR, engine=CudaEngine([HostDevice()], spans.append), tile_cells=700_000)
    assert len(spans) > 1
    assert {s.stream_number for s in spans} == {0, 1, 2}
    assert all(s.upload_start <= s.kernel_start <= s.download_start <= s.download_end for s in spans)


def test_results_are_reused_only_when_nobody_holds_them():
    pool = ResultBufferPool()
    first = pool.take((3, 4), np.dtype(np.int32))
    part = first[1:]
    address = first.ctypes.data
    del first
    second = pool.take((3, 4), np.dtype(np.int32))
    assert second.ctypes.data != address
    del part
    third = pool.take((2, 3), np.dtype(np.int64))
    assert third.ctypes.data == address
    rest = pool.take_bytes(40)[7:9]
    assert rest.ctypes.data - 7 != address
    del third
    assert pool.take_bytes(41).ctypes.data == address
    assert pool.take_bytes(48).ctypes.data == address
    assert rest.ctypes.data - 7 != address
