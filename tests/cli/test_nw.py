"""`gpualign nw` as people use it: pipes, notes, plans, signals, full disks."""

import gzip
import os
import signal
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest
from command import _COMMAND, GPUALIGN, LIMIT, gpualign, shell
from engines import set_device_files
from places import GOLDEN
from processes import interrupt, on_terminal

ONE = GOLDEN / "input.fasta"
PAIRS = (GOLDEN / "pairs.tsv").read_bytes() if (GOLDEN / "pairs.tsv").exists() else b""


@pytest.mark.parametrize("pack", [bytes, gzip.compress], ids=["plain", "gzip"])
def test_standard_input(pack):
    assert gpualign("nw", "-", stdin=pack(ONE.read_bytes())).stdout == PAIRS


def test_standard_input_as_one_of_two(tmp_path):
    expected = gpualign("nw", ONE, GOLDEN / "targets.fasta").stdout
    assert gpualign("nw", "-", GOLDEN / "targets.fasta", stdin=ONE.read_bytes()).stdout == expected
    assert gpualign("nw", ONE, "-", stdin=(GOLDEN / "targets.fasta").read_bytes()).stdout == expected


def test_crlf_and_gzip_and_fastq(tmp_path):
    crlf = tmp_path / "crlf.fa"
    crlf.write_bytes(ONE.read_bytes().replace(b"\n", b"\r\n"))
    assert gpualign("nw", crlf).stdout == PAIRS
    misnamed = tmp_path / "x.fasta"  # gzip by content, not by name
    misnamed.write_bytes(gzip.compress(ONE.read_bytes()))
    assert gpualign("nw", misnamed).stdout == PAIRS
    records = [r.split("\n", 1) for r in ONE.read_text().split(">")[1:]]
    fastq = tmp_path / "x.fastq"
    fastq.write_text("".join(f"@{t}\n{s.strip()}\n+\n{'I' * len(s.strip())}\n" for t, s in records))
    assert gpualign("nw", fastq).stdout == PAIRS


ALIGNED = b">a\n--MKVLAARNDW\n>b\nMKMK.LAAR--W\n>c\n--MKVLAAKNDW\n"


def test_aligned_sequences(tmp_path):
    (tmp_path / "aligned.fa").write_bytes(ALIGNED)
    (tmp_path / "plain.fa").write_bytes(ALIGNED.replace(b"-", b"").replace(b".", b""))
    gpualign("index", "plain.fa", "-o", "plain.gpa", cwd=tmp_path)
    note = "aligned.fa: removed gaps, 7 in 3 records\n"
    for command, *others in (["nw"], ["nw", "plain.fa"], ["sw"], ["sw", "plain.fa"], ["sw", "plain.gpa"]):
        done = gpualign(command, "--degap", "aligned.fa", *others, cwd=tmp_path)
        assert done.stdout == gpualign(command, "plain.fa", *others, cwd=tmp_path).stdout
        assert note in done.stderr.decode()
    assert b"gaps" not in gpualign("nw", "--degap", "plain.fa", cwd=tmp_path).stderr
    done = gpualign("index", "--degap", "aligned.fa", "-o", "aligned.gpa", cwd=tmp_path)
    assert note in done.stderr.decode()
    assert (tmp_path / "aligned.gpa").read_bytes() == (tmp_path / "plain.gpa").read_bytes()


def test_stops_at_the_ends_of_proteins_are_told_once(tmp_path):
    """For all files of a run together, and not of an asterisk within a protein."""
    (tmp_path / "a.fa").write_text(">a\nMKVLW\n>b\nMKV\nLW*\n")
    (tmp_path / "b.fa").write_text(">c\nMKVLW*\n>d\nMKVL*W\n>e\nMKVLW*\n")
    (tmp_path / "genes.fa").write_text(">g\nATGAAAGTTCTGTGGTAA\n")
    gpualign("index", "b.fa", "-o", "b.gpa", cwd=tmp_path)
    of_both = "3 of 5 protein records end in *, the sign of a stop codon, record 'b' of a.fa the first"
    of_b = "2 of 3 protein records end in *, the sign of a stop codon, record 'c' of b.fa the first"
    for command, note in [
        (["nw", "a.fa"], "1 of 2 protein records ends in *, the sign of a stop codon, record 'b' of a.fa"),
        (["nw", "a.fa", "b.fa"], of_both),
        (["nw", "a.fa", "--add", "b.fa"], of_both),
        (["nw", "--alphabet", "protein", "b.fa"], of_b),
        (["sw", "a.fa", "b.fa"], of_both),
        (["sw", "a.fa", "b.gpa"], of_both),
        (["sw", "--translate", "query", "genes.fa", "b.fa"], of_b),
        (["sw", "--translate", "query", "genes.fa", "b.gpa"], of_b.replace("b.fa", "b.gpa")),
        (["cluster", "b.fa", "--min-identity", "0.9"], of_b),
    ]:
        said = gpualign(*command, cwd=tmp_path).stderr.decode()
        told = [line for line in said.splitlines() if "stop codon" in line]
        assert told == [f"gpualign {command[0]}: {note}; * is compared like a letter; to remove it: sed '/^>/!s/\\*$//' FILE"], command
    (tmp_path / "none.fa").write_text(">a\nMKV*LW\n>b\nMKVLW\n")
    assert b"stop codon" not in gpualign("nw", "none.fa", cwd=tmp_path).stderr
    assert b"stop codon" not in gpualign("nw", "-q", "a.fa", cwd=tmp_path).stderr


@pytest.mark.slow
def test_head_ends_quietly(small_16s):
    done = shell(f"{GPUALIGN} nw -q {small_16s} | head -n 2")
    assert done.stdout.count(b"\n") == 2
    assert done.stderr == b""
    done = shell(f"{GPUALIGN} nw -q --format matrix {small_16s} | head -c 10")
    assert len(done.stdout) == 10
    assert done.stderr == b""


@pytest.mark.slow
def test_process_substitution_and_pipes(small_16s):
    done = shell(f"{GPUALIGN} nw -q <(cat {ONE}) | sort | {GPUALIGN} nw -q - 2>&1")
    assert b"standard input: neither FASTA" in done.stdout
    assert done.returncode == 2


@pytest.mark.slow
@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="this system has no /dev/full")
def test_a_run_goes_on_where_its_notes_cannot_be_written(small_16s, tmp_path):
    done = shell(f"{GPUALIGN} nw {small_16s} -o {tmp_path / 'x.tsv'} 2> /dev/full")
    assert done.returncode == 0
    assert (tmp_path / "x.tsv").read_bytes() == gpualign("nw", "-q", small_16s).stdout


@pytest.mark.parametrize("words", ["--help", "--version", "--citation", "info", "nw --help", f"nw --dry-run -q {ONE}", f"nw -q {ONE}"])
def test_a_reader_that_has_gone_is_no_error(words):
    """Whatever it is that is written, and before its first byte."""
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run([*_COMMAND, *words.split()], stdout=writing, stderr=subprocess.PIPE, timeout=LIMIT)
    os.close(writing)
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.slow
@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="this system has no /dev/full")
@pytest.mark.parametrize("format", ["tsv", "matrix"])
def test_a_full_disk_behind_stdout_is_an_error(small_16s, format):
    done = shell(f"{GPUALIGN} nw -q --format {format} {small_16s} > /dev/full")
    assert done.returncode == 1
    assert done.stderr == b"gpualign: error: cannot write standard output: No space left on device\n"


@pytest.mark.slow
@pytest.mark.parametrize("name", ["x.tsv", "x.npy", "x.npz", "x.tsv.gz"])
def test_a_full_disk_leaves_nothing(small_16s, tmp_path, name):
    done = shell(f"ulimit -f 4; cd {tmp_path}; {GPUALIGN} nw -q {small_16s} -o {name}")
    assert done.returncode == 1
    assert done.stderr == f"gpualign: error: cannot write {name}: File too large\n".encode()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("name", "reason"),
    [("missing/x.tsv", "there is no folder missing"), ("folder.tsv", "Is a directory"), ("/proc/x.npy", "")],
)
def test_unwritable_outputs(tmp_path, name, reason):
    (tmp_path / "folder.tsv").mkdir()
    done = gpualign("nw", "-q", ONE, "-o", name, cwd=tmp_path, check=False)
    assert done.returncode == 1
    assert done.stderr.decode().startswith(f"gpualign: error: cannot write {name}: {reason}")
    assert done.stderr.count(b"\n") == 1


@pytest.fixture
def long_job(tmp_path, rng):
    path = tmp_path / "long.fa"
    letters = np.array(list("ACGT"))
    path.write_text("".join(f">r{i}\n{''.join(letters[rng.integers(0, 4, 300_000)])}\n" for i in range(6)))
    return path


@pytest.mark.parametrize(("signum", "code", "word"), [(signal.SIGINT, 130, "interrupted"), (signal.SIGTERM, 143, "terminated")])
@pytest.mark.parametrize("name", ["x.tsv", "x.npy"])
def test_signals_end_it_within_a_second_and_leave_nothing(long_job, tmp_path, signum, code, word, name):
    words = [GPUALIGN, "nw", "-q", "--device", "cpu", "--threads", "2", long_job, "-o", name]
    found, errors = interrupt(words, tmp_path, signum)
    assert found == code
    assert errors.strip().endswith(f"gpualign: error: {word}; no output file was written. Run the same command again.")
    assert [p.name for p in tmp_path.iterdir()] == ["long.fa"]


@pytest.fixture
def real_inventory():
    from gpualign.gpu.runtime.inventory import detect_devices

    return detect_devices()


def test_notes_go_to_stderr_and_quiet_drops_them(real_inventory):
    done = gpualign("nw", "--threads", "2", ONE)
    assert done.stdout == PAIRS
    notes = done.stderr.decode().splitlines()
    assert notes[0] == "gpualign nw: dna (by its letters), NUC.4.4, gap open 10, extend 1"
    assert notes[-1].startswith("gpualign nw: 6 sequences, 15 pairs, ")
    assert "GCUPS, cpu (" in notes[-1]
    assert notes[-1].endswith("2 threads)")
    assert gpualign("nw", "-q", ONE).stderr == b""
    # The plan, and why there is no GPU.
    assert len(gpualign("nw", "-v", ONE).stderr.splitlines()) == len(notes) + 1 + (not real_inventory.gpu_expected)


def test_auto_says_why_it_uses_the_cpu_where_a_gpu_would_be_expected(real_inventory):
    if real_inventory.reason is None:
        pytest.skip("this machine has a GPU to use")
    assert gpualign("nw", "-v", ONE).stderr.decode().count("using the CPU:") == 1
    assert gpualign("nw", ONE).stderr.decode().count("using the CPU:") == real_inventory.gpu_expected
    assert "using the CPU" not in gpualign("nw", "-v", "--device", "cpu", ONE).stderr.decode()


def test_all_devices_are_the_cpu_where_there_is_no_gpu(real_inventory):
    if real_inventory.reason is None:
        pytest.skip("this machine has a GPU to use")
    done = gpualign("nw", "-v", "--device", "all", ONE)
    assert done.stdout == PAIRS
    assert done.stderr.decode().count("using the CPU:") == 1
    refused = gpualign("nw", "--device", "cpu,cuda:0", ONE, check=False)
    assert refused.returncode == 1
    assert "gpualign: error: --device cpu,cuda:0: " in refused.stderr.decode()


@pytest.mark.parametrize(("present", "notes"), [(True, 1), (False, 0)])
def test_a_missing_pycuda_is_told_where_there_is_an_nvidia_device(monkeypatch, present, notes):
    from gpualign.cpu.alignment.engine import CpuEngine
    from gpualign.jobs.devices.resources import Resources
    from gpualign.jobs.devices.selection import pick_engine

    told = []
    messages = SimpleNamespace(note=told.append, detail=lambda text: None)
    monkeypatch.setitem(sys.modules, "pycuda", None)
    monkeypatch.setitem(sys.modules, "pycuda.driver", None)
    set_device_files(monkeypatch, present)
    assert isinstance(pick_engine(Resources("auto", 1), messages), CpuEngine)
    assert len(told) == notes


def test_cuda_is_refused_with_the_reason():
    done = gpualign("nw", "--device", "cuda", ONE, check=False)
    assert done.returncode == 1
    assert done.stdout == b""
    assert "gpualign: error: --device cuda: " in done.stderr.decode()


def test_matrix_file(tmp_path):
    from Bio.Align import substitution_matrices

    path = tmp_path / "pam.txt"
    path.write_text(str(substitution_matrices.load("PAM250")))
    by_file = gpualign("nw", "--alphabet", "protein", "--matrix", path, ONE).stdout
    assert (
        by_file == gpualign("nw", "--alphabet", "protein", "--matrix", "pam250", ONE).stdout == (GOLDEN / "pairs_protein.tsv").read_bytes()
    )


def test_one_sequence():
    one = b">only\nACGT\n"
    done = gpualign("nw", "-", stdin=one)
    assert done.stdout == b"query\ttarget\tscore\n"
    assert b"one sequence makes no pairs" in done.stderr
    assert gpualign("nw", "--self", "-", stdin=one).stdout == b"query\ttarget\tscore\nonly\tonly\t20\n"
    assert gpualign("nw", "--format", "matrix", "-", stdin=one).stdout == b"\tonly\nonly\t20\n"


@pytest.mark.slow
def test_dry_run_plans_and_writes_nothing(small_16s, tmp_path):
    done = gpualign("nw", "--dry-run", small_16s, "-o", tmp_path / "x.npy")
    plan = dict(line.split(None, 1) for line in done.stdout.decode().splitlines())
    assert plan["sequences"] == "60"
    assert plan["pairs"] == "1,830"
    assert set(plan) == {"sequences", "pairs", "cells", "scoring", "engine", "kernel", "tiles", "memory", "estimate", "output"}
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_progress_bar_only_on_a_terminal(small_16s):
    assert b"|" not in gpualign("nw", small_16s).stderr
    assert b"Gcells" in on_terminal([GPUALIGN, "nw", small_16s], 100, "stderr", stdout=subprocess.DEVNULL)


@pytest.mark.slow
def test_rows_on_a_terminal_are_alone(small_16s):
    """A bar would stand among them."""
    shown = on_terminal([GPUALIGN, "nw", "--edit", small_16s], 100, "stdout", stderr=subprocess.STDOUT)
    rows = [line for line in shown.splitlines(keepends=True) if not line.startswith(b"gpualign nw: ")]
    assert b"".join(rows).replace(b"\r\n", b"\n") == gpualign("nw", "--edit", small_16s).stdout


def test_more_threads_than_processors_are_not_started():
    done = gpualign("nw", "--threads", "1000000000", ONE)
    assert f"--threads 1000000000: this machine has {os.cpu_count()} processors, so {os.cpu_count()} are used" in done.stderr.decode()
    assert done.stdout == PAIRS


def test_info_and_version():
    from gpualign import __version__

    assert gpualign("--version").stdout.decode() == f"gpualign, version {__version__}\n"
    page = gpualign("info").stdout.decode()
    for word in ("engine cpu", "in use", "engine cuda", "numpy", __version__):
        assert word in page


def test_running_as_a_module(tmp_path):
    import sys

    done = subprocess.run([sys.executable, "-m", "gpualign", "--version"], capture_output=True, cwd=tmp_path)
    assert done.stdout.startswith(b"gpualign, version")


def test_completion_script():
    done = gpualign(env={"_GPUALIGN_COMPLETE": "bash_source"})
    assert b"_gpualign_completion" in done.stdout
    words = gpualign(env={"_GPUALIGN_COMPLETE": "bash_complete", "COMP_WORDS": "gpualign n", "COMP_CWORD": "1"}).stdout
    assert b"nw" in words


def test_help_imports_nothing_heavy():
    import sys

    code = (
        "import sys; sys.argv = ['gpualign', 'nw', '--help']; from gpualign.cli.main import run; run();"
        "print(sorted({'numpy', 'Bio', 'tqdm', 'gpualign.cpu.alignment._kernels'} & set(sys.modules)), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    assert done.stderr.strip() == b"[]"
