"""CUDA that starts beside other work, with a made-up driver."""

import ctypes
import gzip
import importlib
import itertools
import os
import random
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from command import gpualign_here
from engines import set_device_files
from work import sequence_set

from gpualign.core.alignment.task import EndGaps, Task
from gpualign.core.common.errors import InputError
from gpualign.core.near_pairs.thresholds import edit_bound
from gpualign.core.results.filter import Filter
from gpualign.core.scoring.scoring import ScoringOptions, make_scoring
from gpualign.core.sequences.alphabet import DNA
from gpualign.gpu.runtime import inventory as devices
from gpualign.gpu.runtime import prestart as start
from gpualign.jobs.devices import cuda_prestart as early
from gpualign.jobs.devices.cuda_prestart import (
    CUDA_START_SECONDS,
    EDIT_CELLS_PER_SECOND,
    GLOBAL_CELLS_PER_SECOND,
    alignment_seconds,
    distance_seconds,
    near_pair_seconds,
    prestart_cuda,
)
from gpualign.jobs.options import PairThresholds


class FakeDriver:
    """Writes down what is asked of it; devices: how many it has."""

    def __init__(self, count=3, broken=False):
        self.calls = []
        self.count = count
        self.broken = broken

    def cuInit(self, flags):
        self.calls.append("init")
        return 100 if self.broken else 0

    def cuDeviceGet(self, device, ordinal):
        if ordinal >= self.count:
            return 101
        device._obj.value = 10 + ordinal
        return 0

    def cuDevicePrimaryCtxRetain(self, context, device):
        self.calls.append(device.value)
        return 2  # out of memory: for whoever uses the device to tell


@pytest.fixture
def driver(monkeypatch):
    fake = FakeDriver()
    monkeypatch.setattr(ctypes, "CDLL", lambda name: fake)
    importlib.reload(start)  # this process may have started some
    yield fake
    importlib.reload(start)


def test_contexts_start_once(driver):
    start.start_cuda([0, 2]).join()
    start.start_cuda([2, 1]).join()
    assert driver.calls == ["init", 10, 12, "init", 11]


def test_it_is_known_whether_a_context_is_on_its_way(driver):
    start.start_cuda([]).join()  # the driver alone
    assert not start.context_started()
    start.start_cuda([1]).join()
    assert start.context_started()


def test_what_is_missing_is_silent(driver, monkeypatch):
    start.start_cuda([5]).join()
    assert driver.calls == ["init"]
    driver.broken = True
    start.start_cuda([0]).join()
    assert driver.calls == ["init", "init"]

    def missing(name):
        raise OSError(name)

    monkeypatch.setattr(ctypes, "CDLL", missing)
    start.start_cuda([0]).join()


@pytest.mark.parametrize(
    ("device", "contexts"), [("auto", []), ("cuda", [0]), ("cuda:all", []), ("cuda:1", [1]), ("cuda:2,0", [2, 0]), ("cpu", None)]
)
def test_a_command_starts_what_its_device_may_need(monkeypatch, device, contexts):
    started = []
    monkeypatch.setattr(devices, "start_cuda", started.append)
    monkeypatch.setattr("gpualign.jobs.devices.cuda_prestart.find_spec", lambda name: name)
    set_device_files(monkeypatch, True)
    prestart_cuda(device, CUDA_START_SECONDS, 0)
    assert started == ([] if contexts is None else [contexts])
    set_device_files(monkeypatch, False)
    prestart_cuda(device, CUDA_START_SECONDS, 0)
    assert len(started) == (contexts is not None)


def test_a_device_that_is_none_is_refused(monkeypatch):
    monkeypatch.setattr("gpualign.jobs.devices.cuda_prestart.find_spec", lambda name: name)
    with pytest.raises(InputError, match="expected auto, cpu, cuda"):
        prestart_cuda("gpu:0", 0, 0)


def test_nothing_starts_without_pycuda(monkeypatch):
    monkeypatch.setattr("gpualign.jobs.devices.cuda_prestart.find_spec", lambda name: None)
    monkeypatch.setattr(devices, "start_cuda", lambda numbers: pytest.fail("started"))
    set_device_files(monkeypatch, True)
    prestart_cuda("cuda", 9, 9)


def test_little_work_starts_nothing_by_itself(monkeypatch):
    started = []
    monkeypatch.setattr("gpualign.jobs.devices.cuda_prestart.find_spec", lambda name: name)
    monkeypatch.setattr(devices, "start_cuda", started.append)
    set_device_files(monkeypatch, True)
    prestart_cuda("auto", CUDA_START_SECONDS / 2, CUDA_START_SECONDS / 2)
    assert started == []
    prestart_cuda("cuda", CUDA_START_SECONDS / 2, 0)
    assert started == [[0]]


def test_much_work_starts_what_it_will_need(monkeypatch):
    started = []
    monkeypatch.setattr("gpualign.jobs.devices.cuda_prestart.find_spec", lambda name: name)
    monkeypatch.setattr(devices, "start_cuda", started.append)
    set_device_files(monkeypatch, True)
    prestart_cuda("auto", 0.9 * CUDA_START_SECONDS, 0.9 * CUDA_START_SECONDS)
    prestart_cuda("auto", CUDA_START_SECONDS, CUDA_START_SECONDS)
    prestart_cuda("auto", 9 * CUDA_START_SECONDS, 0.9 * CUDA_START_SECONDS)
    assert started == [[0], []]


def test_work_goes_by_the_sizes_of_files(monkeypatch, tmp_path):
    monkeypatch.setattr("gpualign.jobs.devices.cuda_prestart.usable_cpu_count", lambda: 2)
    small, large, packed = (tmp_path / name for name in ("small.fa", "large.fa", "packed.fa.gz"))
    for path, size in ((small, 3000), (large, 6_000_000), (packed, 1_500_000)):
        path.write_bytes(b"A" * size)
    small, large, packed = map(str, (small, large, packed))
    assert alignment_seconds([large], None, GLOBAL_CELLS_PER_SECOND) == pytest.approx(6e6**2 / 2 / 6e10)
    assert alignment_seconds([large], None, EDIT_CELLS_PER_SECOND) == pytest.approx(6e6**2 / 2 / 60e10)
    assert (
        alignment_seconds([small], [large], GLOBAL_CELLS_PER_SECOND)
        == alignment_seconds([large], [small], GLOBAL_CELLS_PER_SECOND)
        == alignment_seconds([small], [packed], GLOBAL_CELLS_PER_SECOND)
        == pytest.approx(0.3)
    )
    assert distance_seconds([small, packed]) == pytest.approx(0.030015)
    for name, size in (("reads.fastq", 6_000_000), ("reads.fq.gz", 1_500_000)):  # of which half is qualities
        (tmp_path / name).write_bytes(b"A" * size)
        assert alignment_seconds([small], [str(tmp_path / name)], GLOBAL_CELLS_PER_SECOND) == pytest.approx(0.15)
    for unknown in ("-", str(tmp_path / "missing.fa")):
        assert (
            alignment_seconds([unknown], None, GLOBAL_CELLS_PER_SECOND)
            == alignment_seconds([large], [unknown], GLOBAL_CELLS_PER_SECOND)
            == distance_seconds([unknown])
            == 0
        )


def test_near_pairs_go_by_the_number_and_length_of_records(monkeypatch, tmp_path):
    monkeypatch.setattr("gpualign.jobs.devices.cuda_prestart.usable_cpu_count", lambda: 2)
    rng = random.Random(1)
    letters = ["".join(rng.choices("ACGT", k=100)) for _ in range(50_000)]
    reads = {
        "reads.fa": "".join(f">r{n:05}\n{read}\n" for n, read in enumerate(letters)),
        "wrapped.fa": "".join(f">r{n:05}\n{read[:60]}\n{read[60:]}\n" for n, read in enumerate(letters)),
        "reads.fq": "".join(f"@r{n:05}\n{read}\n+\n{'I' * 100}\n" for n, read in enumerate(letters)),
    }
    one_set = 50_000**2 / 2 * 100 * 9e-12 / 2
    for name, text in reads.items():
        (tmp_path / name).write_text(text)
        path = str(tmp_path / name)
        assert near_pair_seconds([path], None) == pytest.approx(one_set, rel=0.1)
        assert near_pair_seconds([path], [path, path]) == pytest.approx(4 * one_set, rel=0.1)
        assert near_pair_seconds([path], None, aligned=True) == pytest.approx(2 * one_set, rel=0.1)
    text = reads["reads.fa"].encode()
    for size in (len(text), 60_000, 4_000):  # members, as of bgzip
        members = [gzip.compress(text[k : k + size], 1) for k in range(0, len(text), size)]
        (tmp_path / "reads.fa.gz").write_bytes(b"".join(members))
        assert near_pair_seconds([str(tmp_path / "reads.fa.gz")], None) == pytest.approx(one_set, rel=0.2)
    (tmp_path / "receptors.fa").write_text(">r\nCASSLGQAYEQYF\n" * 50_000)  # joined by their deletions: few pairs are looked at
    (tmp_path / "packed.fa.gz").write_bytes(b"\x1f\x8b" + b"x" * 5000)
    (tmp_path / "empty.fa").write_bytes(b"")
    (tmp_path / "genome.fa").write_text(">g\n" + "ACGT" * 500_000 + "\n")  # longer than what is looked at
    for unknown in ("receptors.fa", "genome.fa", "packed.fa.gz", "empty.fa", "missing.fa", "."):
        assert near_pair_seconds([str(tmp_path / unknown)], None) == near_pair_seconds([path], [str(tmp_path / unknown)]) == 0
    os.mkfifo(tmp_path / "pipe")  # opening it would wait for a writer
    assert near_pair_seconds([str(tmp_path / "pipe"), "-"], None) == 0


@pytest.mark.parametrize("end_gaps", EndGaps)
@pytest.mark.parametrize("definition", range(5))
def test_what_leaves_pairs_out_is_known_before_all_else(definition, end_gaps):
    records = sequence_set([np.arange(20, dtype=np.uint8) % 4] * 2)
    for edit, score, identity, coverage in itertools.product([False, True], repeat=4):
        scoring = make_scoring(DNA, ScoringOptions(edit=edit), [records])
        task = Task(records, records, scoring, end_gaps=end_gaps, alphabet=DNA)
        found = Filter(max_score=5 if edit and score else None, min_score=40 if score and not edit else None)
        found = replace(found, min_identity=0.9 if identity else None, min_coverage=0.8 if coverage else None)
        given = PairThresholds(found.min_score, found.min_identity, found.min_coverage, found.max_score)
        known = given.bounds_edits(edit, definition, end_gaps is not EndGaps.PENALISED)
        assert known == (edit_bound(found, task, definition) is not None)


def test_little_is_unpacked():
    assert len(early._unpack_head(gzip.compress(b">" + bytes(100 << 20)))[0]) == 1 << 16


@pytest.mark.parametrize(
    ("words", "bounded"),
    [
        (["nw", "--edit", "--max-distance", "5"], True),
        (["nw", "--edit", "--max-distance", "5", "--end-gaps", "free"], False),
        (["nw", "--max-distance", "0.1", "--min-coverage", "0.9"], True),
        (["nw", "--min-score", "480"], True),
        (["nw", "--min-identity", "0.9"], False),
        (["nw", "--min-identity", "0.9", "--identity-def", "1"], True),
        (["nw"], False),
        (["cluster", "--edit", "--max-distance", "5"], True),
        (["cluster", "--edit", "--min-identity", "0.9"], True),
        (["cluster", "--edit", "--min-identity", "0.9", "--min-coverage", "0"], False),
        (["cluster", "--min-identity", "0.9", "--identity-def", "3"], False),
        (["cluster", "--min-identity", "0.9", "--min-coverage", "0.9"], True),
        (["cluster", "--max-distance", "0.1"], True),
        (["sw"], False),
    ],
)
def test_commands_say_whether_thresholds_leave_pairs_out(monkeypatch, tmp_path, words, bounded):
    """As the plan then says, which names the edits that pairs have at most."""
    asked = []
    monkeypatch.setattr(early, "prestart_for_pairs", lambda device, queries, targets, cells, bounded=False: asked.append(bounded))
    path = tmp_path / "reads.fa"
    path.write_text(f">a\n{'ACGT' * 25}\n>b\n{'ACGT' * 25}\n")
    command, *options = words
    plan, _ = gpualign_here(command, path, *options, "--device", "cpu", "--dry-run")
    assert asked == [bounded]
    assert (b"edits" in plan) == bounded


@pytest.mark.parametrize(("cells_per_second", "starts"), [(EDIT_CELLS_PER_SECOND, False), (GLOBAL_CELLS_PER_SECOND, True)])
def test_cuda_starts_earlier_if_near_pairs_are_aligned(monkeypatch, tmp_path, cells_per_second, starts):
    """20,000 genes of 1.5 kb: 0.17 s on 16 processors to find near pairs, 3 s with their alignments."""
    path, started = tmp_path / "genes.fa", []
    path.write_text("".join(f">gene{n:05}\n{'ACGT' * 375}\n" for n in range(20_000)))
    monkeypatch.setattr("gpualign.jobs.devices.cuda_prestart.usable_cpu_count", lambda: 16)
    monkeypatch.setattr("gpualign.jobs.devices.cuda_prestart.find_spec", lambda name: object())
    monkeypatch.setattr("gpualign.gpu.runtime.inventory.start_selected_devices", started.append)
    early.prestart_for_pairs("auto", [str(path)], None, cells_per_second, bounded=True)
    assert started == ["cuda"] * starts


def test_a_look_at_standard_input_leaves_it_where_it_is(tmp_path):
    path = tmp_path / "reads.fa"
    path.write_text(f">r\n{'ACGT' * 25}\n" * 1000)
    code = (
        "import sys; from gpualign.jobs.devices.cuda_prestart import near_pair_seconds;"
        " print(near_pair_seconds(['/dev/stdin'], None) > 0, sys.stdin.readline())"
    )
    with path.open() as stdin:
        done = subprocess.run([sys.executable, "-c", code], stdin=stdin, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["True", ">r"]
