"""`--summary`: what a run says of itself to programs."""

import hashlib
import json
import os
import platform
import shutil
import subprocess
import sys
from datetime import datetime, timedelta
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from command import GPUALIGN, gpualign, gpualign_here, shell
from sites import write_fileset

import gpualign as package
from gpualign.cli.terminal import stage_timer as stages
from gpualign.core.common.errors import InputError, RunError
from gpualign.jobs.devices.memory import peak_memory
from gpualign.jobs.output.result_writing import write_results

RECORDS = {"a": "ACGTACGTACGTAAAA", "b": "ACGTACGTACGTAAAA", "c": "ACGTACGTACGTAAAT", "d": "TTTTTGGGGGCCCCCA"}
FASTA = "".join(f">{name}\n{letters}\n" for name, letters in RECORDS.items()).encode()


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A folder that has files of sequences."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "x.fa").write_bytes(FASTA)
    (tmp_path / "y.fa").write_bytes(FASTA.replace(b">", b">y") + b">z\nACGT\n")
    return tmp_path


def summary_of(*words, name="s.json"):
    gpualign_here(*words, "--device", "cpu", "--summary", name)
    return json.loads(Path(name).read_bytes())


def test_all_of_it(here):
    found = summary_of("nw", "x.fa", "-o", "x.tsv", "--threads", 1, "--memory", "1G", "--min-identity", 0.9)
    assert found["gpualign_summary"] == 1
    assert found["command"] == "nw"
    assert datetime.fromisoformat(found["ended"]) - datetime.fromisoformat(found["started"]) < timedelta(hours=1)
    versions = found["versions"]
    assert (versions["gpualign"], versions["python"], versions["numpy"]) == (package.__version__, platform.python_version(), np.__version__)
    options = found["options"]
    assert (options["seqs"], options["seqs2"], options["min_identity"], options["identity_def"]) == ("x.fa", None, 0.9, 2)
    assert (options["self"], "with_self" in options) == (False, False)
    assert (options["format"], options["edit"], options["memory"]) == (None, False, 1 << 30)
    assert found["resolved"] == {
        "threads": 1,
        "memory": 1 << 30,
        "alphabet": "dna",
        "format": "tsv",
        "scoring": "NUC.4.4, gap open 10, extend 1",
    }
    digest = hashlib.sha256(FASTA).hexdigest()
    assert found["inputs"] == [{"path": "x.fa", "bytes": len(FASTA), "sha256": digest, "records": 4, "letters": 64}]
    assert set(found["engine"]) == {"hardware", "kernel"}
    assert found["engine"]["hardware"].startswith("cpu (")
    results = found["results"]
    assert (results["sequences"], results["pairs"], results["cells"], results["pairs_kept"]) == (4, 6, 6 * 256, 3)
    seconds = found["seconds"]
    assert list(seconds) == ["starting", "reading", "planning", "computing", "writing", "total"]
    assert all(value >= 0 for value in seconds.values())
    assert seconds["total"] == pytest.approx(sum(seconds.values()) / 2, abs=1e-5)
    rows = (here / "x.tsv").read_bytes()
    assert len(rows.splitlines()) == 1 + results["pairs_kept"]
    assert found["outputs"] == [{"path": "x.tsv", "bytes": len(rows)}]
    assert found["bytes_written"] == len(rows)
    assert 10 << 20 < found["peak_memory"] < 100 << 30


@pytest.mark.parametrize(
    ("words", "results", "outputs"),
    [
        (["nw", "x.fa", "y.fa", "-o", "o.npy"], {"sequences": 9, "pairs": 20}, ["o.npy", "o.query_ids.txt", "o.target_ids.txt"]),
        (["nw", "x.fa", "--edit", "--max-distance", "1", "-o", "o.npz", "--format", "csr"], {"pairs": 6, "pairs_kept": 3}, ["o.npz"]),
        (
            ["sw", "x.fa", "y.fa", "--evalue", "none", "--max-hits", "2", "-o", "o.tsv"],
            {"sequences": 9, "hits": 8, "queries_with_more_hits": 4},
            ["o.tsv"],
        ),
        (["sw", "x.fa", "--all"], {"sequences": 4, "pairs": 6}, [None]),
        (["dist", "x.fa", "-o", "o.tsv.gz"], {"samples": 4, "sites": 16, "pairs": 6, "pairs_without_distance": 0}, ["o.tsv.gz"]),
        (["dist", "x.fa", "--max-distance", "1"], {"samples": 4, "pairs": 6, "pairs_kept": 3}, [None]),
        (
            ["cluster", "x.fa", "--edit", "--max-distance", "1", "--method", "greedy", "-o", "o.tsv", "--uc", "o.uc"],
            {"sequences": 4, "pairs": 6, "near_pairs": 2, "clusters": 2, "singletons": 1, "largest_cluster": 3},
            ["o.tsv", "o.uc"],
        ),
        (["nw", "x.fa", "-o", "o.tsv", "--shard", "1/1"], {"sequences": 4, "pairs": 6}, ["o.tsv.1-of-1.part"]),
        (["nw", "x.fa", "-o", "/dev/null"], {"sequences": 4, "pairs": 6}, ["/dev/null"]),
    ],
    ids=lambda value: " ".join(value[:2]) if isinstance(value, list) and value[0] else None,
)
def test_each_command(here, words, results, outputs):
    found = summary_of(*words)
    assert {name: found["results"].get(name) for name in results} == results
    written = found["outputs"]
    assert [one["path"] for one in written] == outputs
    files = [one for one in written if one["path"] not in (None, "/dev/null")]
    assert all(one["bytes"] == Path(one["path"]).stat().st_size for one in files)
    assert all(one["bytes"] is None for one in written if one not in files)
    counts = {one["path"]: (one["records"], one["letters"]) for one in found["inputs"]}
    expected = {"x.fa": (4, 64), "y.fa": (5, 68)} if "y.fa" in words else {"x.fa": (4, None if words[0] == "dist" else 64)}
    assert counts == expected
    assert all(one["sha256"] == hashlib.sha256(Path(one["path"]).read_bytes()).hexdigest() for one in found["inputs"])


@pytest.mark.parametrize("name", ["x", "x.bed", "x.fam"])
def test_samples_of_a_fileset_are_counted_where_its_calls_are(here, name):
    write_fileset(here / "x.bed", np.zeros((5, 9), np.uint8))
    inputs = {one["path"]: one["records"] for one in summary_of("dist", name)["inputs"]}
    assert inputs == {"x.bed": 5, "x.bim": None, "x.fam": None}


def test_what_each_step_has_left(here, rng):
    letters = rng.integers(0, 4, (300, 200))
    letters[150:, :190] = letters[:150, :190]  # each has a near one
    letters[150:, 199] = (letters[:150, 199] + 1) % 4  # and none is the same
    text = np.frombuffer(b"ACGT", np.uint8)[letters]
    (here / "many.fa").write_bytes(b"".join(b">r%d\n%s\n" % (i, row.tobytes()) for i, row in enumerate(text)))
    results = summary_of("nw", "many.fa", "--edit", "--max-distance", "10", "-o", "o.tsv")["results"]
    left = list(results["pairs_left"].values())
    assert left == sorted(left, reverse=True)
    assert left[0] == 300 * 299 // 2
    assert left[-1] == results["pairs_kept"] == len((here / "o.tsv").read_text().splitlines()) - 1
    assert results["distinct_sequences"] == 300


@pytest.mark.parametrize(("words", "count"), [(["new.fa"], 2), (["new.fa", "--add", "old.fa"], 3), (["new.fa", "old.fa"], 2 + 2)])
def test_different_sequences_are_counted_once_in_each_input(here, words, count):
    (here / "new.fa").write_text(">a\nACGTACGT\n>b\nACGTACGA\n>c\nACGTACGT\n")
    (here / "old.fa").write_text(">d\nACGTACGA\n>e\nACGTACCC\n")
    assert summary_of("nw", *words, "--edit", "--max-distance", "2")["results"]["distinct_sequences"] == count


def test_added_records_and_standard_input(here):
    done = gpualign("nw", "-", "--add", "y.fa", "--device", "cpu", "--summary", "s.json", stdin=FASTA)
    assert done.returncode == 0
    found = json.loads((here / "s.json").read_bytes())
    assert found["results"]["pairs"] == 6 + 4 * 5
    first, second = found["inputs"]
    assert first == {"path": "-", "bytes": None, "sha256": None, "records": 4, "letters": 64}
    assert (second["path"], second["records"], second["letters"]) == ("y.fa", 5, 68)


def test_nothing_changes_else(here):
    plain = gpualign_here("nw", "x.fa", "-q", "--device", "cpu")
    assert gpualign_here("nw", "x.fa", "-q", "--device", "cpu", "--summary", "s.json") == plain


def test_none_without_success_or_work(here):
    (here / "bad.fa").write_bytes(b">a\nAC!GT\n")
    for words in (["nw", "bad.fa"], ["nw", "x.fa", "-o", "no/x.tsv"], ["nw", "x.fa", "--memory", "1"]):
        with pytest.raises((InputError, RunError)):
            gpualign_here(*words, "--summary", "s.json")
    gpualign_here("nw", "x.fa", "--dry-run", "--summary", "s.json")
    assert sorted(path.name for path in here.iterdir()) == ["bad.fa", "x.fa", "y.fa"]


@pytest.mark.parametrize(
    ("name", "error"),
    [("x.fa", InputError), ("o.tsv", InputError), ("run.log", InputError), ("-", InputError), ("no/s.json", RunError), (".", RunError)],
)
def test_names_that_are_refused(here, name, error):
    with pytest.raises(error):
        gpualign_here("nw", "x.fa", "-o", "o.tsv", "--log", "run.log", "--summary", name)
    assert sorted(path.name for path in here.iterdir()) == ["x.fa", "y.fa"]
    assert (here / "x.fa").read_bytes() == FASTA


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="this system has no /dev/full")
def test_no_output_without_its_summary(here):
    done = gpualign("nw", "-q", "x.fa", "-o", "x.tsv", "--summary", "/dev/full", check=False)
    assert (done.returncode, done.stderr) == (1, b"gpualign: error: cannot write /dev/full: No space left on device\n")
    assert not Path("x.tsv").exists()


def test_who_reads_the_summary_may_have_gone(here):
    done = shell(f"{GPUALIGN} nw -q x.fa -o x.tsv --summary >(exec 0<&-)")
    assert (done.returncode, done.stderr) == (0, b"")
    assert Path("x.tsv").read_bytes() == gpualign("nw", "-q", "x.fa").stdout


def test_stages_add_up(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(stages.time, "perf_counter", lambda: now[0])
    clock = stages.RunStageTimer()

    def work(seconds):
        now[0] += seconds

    class Slow:
        def begin(self, plan):
            work(8)

        def write(self, band):
            work(16)
            assert band.completed_query_count, "a disk that is full"

        def finish(self):
            work(32)

    work(128)
    clock.enter(stages.READING)
    work(1)
    clock.enter(stages.PLANNING)
    work(2)
    clock.enter(stages.COMPUTING)

    def bands(*counts):
        for count in counts:
            work(4)
            yield SimpleNamespace(completed_query_count=count)

    assert write_results(Slow(), "plan", bands(1, 2), within=clock.within) == 8 + 2 * (4 + 16) + 32
    with pytest.raises(AssertionError):
        write_results(Slow(), "plan", bands(0), within=clock.within)
    work(64)
    assert clock.stage_seconds() == {"starting": 128, "reading": 1, "planning": 2, "computing": 3 * 4 + 64, "writing": 2 * 8 + 3 * 16 + 32}


def test_an_input_that_has_gone_has_no_digest(here, monkeypatch):
    def gone(path):
        raise InputError(f"{path}: no such file")

    monkeypatch.setattr("gpualign.jobs.output.run_summary.digest_file", gone)
    assert summary_of("nw", "x.fa", "-o", "x.tsv")["inputs"] == [
        {"path": "x.fa", "bytes": None, "sha256": None, "records": 4, "letters": 64}
    ]
    assert (here / "x.tsv").stat().st_size


def test_memory_is_that_of_this_process():
    """Not of what has started it."""
    before = peak_memory()
    held = np.ones(64 << 20, np.uint8)
    assert peak_memory() >= before
    assert peak_memory() >= held.nbytes
    code = "from gpualign.jobs.devices.memory import peak_memory; print(peak_memory())"
    assert int(subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout) < peak_memory()


def test_a_section_for_multiqc(here):
    found = summary_of("nw", "x.fa", "-o", "x.tsv", "--min-identity", 0.9, name="genes_mqc.json")
    row = found["data"]["genes"]
    assert (found["id"], found["plot_type"]) == ("gpualign", "table")
    assert (row["command"], row["sequences"], row["pairs"], row["pairs_kept"]) == ("nw", 4, 6, 3)
    assert set(found["headers"]) == set(row)


def test_multiqc_reads_it(here):
    if (program := shutil.which("multiqc")) is None:
        pytest.skip("multiqc is not installed (pip install multiqc)")
    summary_of("nw", "x.fa", "-o", "x.tsv", name="genes_mqc.json")
    summary_of("dist", "x.fa", "-o", "d.tsv", name="core_mqc.json")
    subprocess.run([program, "-q", ".", "-o", "report"], check=True, capture_output=True)
    table = (here / "report" / "multiqc_data" / "multiqc_gpualign_table.txt").read_text().splitlines()
    header, *rows = (line.split("\t") for line in table)
    by_name = {row[0]: dict(zip(header, row, strict=False)) for row in rows}
    assert by_name["genes"]["pairs"] == by_name["core"]["pairs"] == "6"
    assert (by_name["genes"]["command"], by_name["core"]["command"]) == ("nw", "dist")
    assert "gpualign: runs" in (here / "report" / "multiqc_report.html").read_text()
