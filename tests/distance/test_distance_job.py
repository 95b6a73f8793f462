"""Distances without a command line: options, a job with its plan, and the numbers that the command writes."""

import io
import subprocess
import sys
from fractions import Fraction

import numpy as np
import pytest
from command import gpualign
from places import GOLDEN
from work import RecordingReporter

from gpualign.core.common.errors import InputError, RunError
from gpualign.core.distance.metrics import MissingRule
from gpualign.core.distance.output.matrix import DistanceMatrices
from gpualign.core.distance.readers.array import CallArray, read_arrays
from gpualign.core.distance.readers.detection import CallFile
from gpualign.core.distance.tables.options import CallOptions
from gpualign.core.execution.totals import NullProgress
from gpualign.core.files.scratch import ScratchFiles
from gpualign.core.output.matrix import MatrixSink
from gpualign.core.output.memory import MemoryArray
from gpualign.cpu.distance.engine import CpuDistanceEngine
from gpualign.jobs.call_rate_report import describe_undefined_pairs
from gpualign.jobs.devices.resources import Resources
from gpualign.jobs.dist import DistOptions, prepare, read_source
from gpualign.jobs.output.result_writing import write_results

CORE = GOLDEN / "dist" / "core.aln"


def job_of(content, options, notes=None):
    with ScratchFiles() as files:
        source = read_source([CallFile(io.BytesIO(content), "x")], options, files, notes or RecordingReporter())
        return prepare(options, source, CpuDistanceEngine(1), files.new_scratch, notes or RecordingReporter())


@pytest.mark.parametrize("metric", ["hamming", "fraction", "tn93"])
@pytest.mark.parametrize("least", [1, 15, Fraction("0.9")])
def test_what_the_command_writes(tmp_path, metric, least):
    options = DistOptions(metric=metric, min_compared=least, compared=True)
    job = job_of(CORE.read_bytes(), options)
    sink = MatrixSink(DistanceMatrices(job.dtype, has_compared_sites=True), [MemoryArray, MemoryArray])
    distances, totals = job.run(NullProgress())
    write_results(sink, job.samples, distances)
    words = ["--metric", metric, "--min-compared", least if isinstance(least, int) else float(least), "--compared", "--device", "cpu"]
    done = gpualign("dist", CORE, *words, "-o", tmp_path / "m.npy")
    expected = np.load(tmp_path / "m.npy")
    np.testing.assert_array_equal(sink.arrays[0].values, expected)
    assert sink.arrays[0].values.dtype == expected.dtype
    np.testing.assert_array_equal(sink.arrays[1].values, np.load(tmp_path / "m.compared.npy"))
    assert totals.work == totals.pair_count * totals.site_count == 6 * 20
    without = describe_undefined_pairs(job.prepared, totals)
    assert without is None or f"{without}: they have no distance".encode() in done.stderr
    assert (without is None) == (b"no distance" not in done.stderr)


def test_the_plan_is_that_of_a_dry_run():
    notes = RecordingReporter()
    job = job_of(CORE.read_bytes(), DistOptions(resources=Resources(memory=1 << 26)), notes)
    printed = gpualign("dist", CORE, "--dry-run", "--device", "cpu", "--threads", "1", "--memory", "64M").stdout.decode().splitlines()
    rows = [f"{name:<10} {text}" for name, text in job.describe()]
    assert rows[:-1] == printed[:-2]
    assert rows[-1].startswith("estimate")
    assert printed[-1].startswith("output     about ")
    assert notes.notes == []
    assert notes.details == [f"{job.prepared.counter.kernel}; 1 band of all samples, 1 panel of sites"]


def test_progress_is_told_of_all_the_work():
    job = job_of(CORE.read_bytes(), DistOptions())
    done = []

    class Listening:
        def advance(self, work):
            done.append(work)

    list(job.run(Listening())[0])
    assert sum(done) == job.total_work


def test_notes():
    notes = RecordingReporter()
    job = job_of(b"id,r1\na b,0\nc,\n", DistOptions(), notes)
    assert notes.notes == ["1 sample has calls at less than half of the sites: c (0 of 1); \ue000min_called=0.5\ue001 leaves it out"]
    assert job.samples_for_format("phylip", notes).queries.ids == ["a_b", "c"]
    assert job.samples.queries.ids == ["a b", "c"]
    assert notes.notes[1:] == ["phylip cannot hold all characters of the ids: 1 id is changed: 'a b' to 'a_b'"]


def test_an_array_in_an_array_out(rng):
    calls = rng.integers(0, 3, (30, 100))
    options = DistOptions(metric="allele")
    with ScratchFiles() as files:
        job = prepare(
            options,
            read_arrays([CallArray(calls)], CallOptions(), pytest.fail),
            CpuDistanceEngine(2),
            files.new_scratch,
            RecordingReporter(),
        )
        sink = MatrixSink(DistanceMatrices(job.dtype), [MemoryArray])
        write_results(sink, job.samples, job.run(NullProgress())[0])
    np.testing.assert_array_equal(sink.arrays[0].values, np.abs(calls[:, None] - calls[None]).sum(axis=2))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (DistOptions(metric="manhattan"), "no metric 'manhattan'; there are hamming, fraction"),
        (
            DistOptions(metric="tn93", missing=MissingRule.AS_DIFFERENCE),
            "tn93 needs the bases of both samples; it cannot be combined with missing='as-difference'",
        ),
        *(
            (options, "kernel='shared' counts differing calls: metric='hamming'")
            for options in (
                DistOptions(kernel="shared", metric="fraction"),
                DistOptions(kernel="shared", metric="allele"),
                DistOptions(kernel="shared", compared=True),
                DistOptions(kernel="shared", missing=MissingRule.AS_DIFFERENCE),
            )
        ),
    ],
)
def test_options_that_contradict_themselves(options, message):
    with pytest.raises(InputError, match=message):
        options.task()
    with pytest.raises(InputError, match=message):
        job_of(CORE.read_bytes(), options)


def test_kernels_of_payne_go_with_hamming():
    for missing in (MissingRule.PAIRWISE, MissingRule.COMPLETE):
        assert DistOptions(kernel="shared", missing=missing).task().missing_rule is missing


def test_calls_that_do_not_go_with_options():
    with pytest.raises(InputError, match="metric='ibs' is for genotypes; these are nucleotides"):
        job_of(CORE.read_bytes(), DistOptions(metric="ibs"))
    with pytest.raises(InputError, match="transpose is for tables; x is an alignment"):
        job_of(CORE.read_bytes(), DistOptions(call_options=CallOptions(transpose=True)))
    with pytest.raises(RunError, match="the memory budget is too small"):
        job_of(CORE.read_bytes(), DistOptions(resources=Resources(memory=100)))


def test_no_command_line_is_needed():
    """Neither Click, nor what draws progress, nor a GPU's libraries."""
    code = "import sys, gpualign.jobs.dist; print(sorted({'click', 'tqdm', 'pycuda', 'cyvcf2', 'gpualign.cli'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)
    assert done.stdout.strip() == "[]"
