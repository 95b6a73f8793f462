"""`--log`: what stands on stderr, with times, in a file."""

import itertools
import os
import re
import signal
import subprocess
import sys
import time
from datetime import datetime

import pytest
from command import GPUALIGN, LIMIT, gpualign, gpualign_here
from processes import started, wait_until

from gpualign.cli.terminal import log_file
from gpualign.core.common.errors import InputError, RunError

NEAR = b">a\nACGTACGTAC\n>b\nACGTACGTAA\n>c\nTTTTACGTAA\n"


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A folder that has a file of sequences."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "x.fa").write_bytes(NEAR)
    yield tmp_path
    log_file.start_log(None)


def lines(path):
    """What was said; checks that each line begins with a time that has a zone."""
    said = []
    for line in path.read_text().splitlines():
        time, text = line.split(" ", 1)
        assert datetime.fromisoformat(time).utcoffset() is not None
        said.append(text)
    return said


def test_the_same_as_on_stderr(here):
    plain = gpualign("nw", "x.fa", "-v", "-o", "a.tsv", "--device", "cpu").stderr.decode().splitlines()
    done = gpualign("nw", "x.fa", "-v", "-o", "b.tsv", "--device", "cpu", "--log", "run.log").stderr.decode().splitlines()
    first, *said = lines(here / "run.log")
    assert re.fullmatch(r"gpualign \S+: gpualign nw x.fa -v -o b.tsv --device cpu --log run.log", first)
    assert said == done
    assert [re.sub(r"\d\S* (s|GCUPS)", "#", line) for line in done] == [re.sub(r"\d\S* (s|GCUPS)", "#", line) for line in plain]
    assert (here / "a.tsv").read_bytes() == (here / "b.tsv").read_bytes()


@pytest.mark.parametrize(
    "words",
    [
        ["nw", "x.fa"],
        ["sw", "x.fa", "--evalue", "none"],
        ["sw", "x.fa", "--all"],
        ["dist", "x.fa"],
        ["cluster", "x.fa", "--edit", "--max-distance", "2", "--method", "greedy"],
        ["index", "x.fa", "-o", "x.gpa"],
    ],
    ids=lambda words: words[0],
)
def test_with_q_too(here, words):
    errors = gpualign_here(*words, "-q", "--log", "run.log")[1]
    assert errors == ""
    said = lines(here / "run.log")
    assert len(said) > 1
    assert all(line.startswith(f"gpualign {words[0]}: ") for line in said[1:])


def test_merge(here):
    for k in "12":
        gpualign_here("nw", "x.fa", "-o", "x.tsv", "--shard", f"{k}/2", "--log", f"{k}.log")  # no part of what the job is
    gpualign_here("merge", "x.tsv.1-of-2.part", "x.tsv.2-of-2.part", "-o", "x.tsv", "-q", "--log", "merge.log")
    assert lines(here / "merge.log")[-1] == "gpualign merge: 2 parts, 3 queries of gpualign nw, in x.tsv"
    with pytest.raises(InputError, match=r"x.tsv.1-of-2.part is also an input"):
        gpualign_here("merge", "x.tsv.1-of-2.part", "x.tsv.2-of-2.part", "-o", "y.tsv", "--log", "x.tsv.1-of-2.part")


def test_progress_is_in_it(here, monkeypatch):
    times = itertools.count(1000.0, 61.0)
    monkeypatch.setattr(time, "perf_counter", lambda: next(times))  # a minute later at each look
    assert gpualign_here("nw", "x.fa", "-q", "--log", "run.log")[1] == ""
    assert any("% done in" in line for line in lines(here / "run.log"))


def test_it_begins_anew_and_goes_on_with_resume(here):
    (here / "run.log").write_text("of a run before\n")
    gpualign_here("nw", "x.fa", "-o", "x.tsv", "--log", "run.log")
    count = len(lines(here / "run.log"))
    gpualign_here("nw", "x.fa", "-o", "x.tsv", "--log", "run.log", "--resume")
    assert len(lines(here / "run.log")) > 2 * count - 1


@pytest.mark.parametrize("name", ["x.fa", "link.fa", "out.tsv", "./out.tsv", "out.png", "-"])
def test_files_of_the_run_are_refused(here, name):
    (here / "link.fa").symlink_to("x.fa")
    words = ["nw", "x.fa", "-o", "out.npy", "--plot", "out.png"] if name == "out.png" else ["nw", "x.fa", "-o", "out.tsv"]
    with pytest.raises(InputError):
        gpualign_here(*words, "--log", name)
    assert (here / "x.fa").read_bytes() == NEAR
    assert sorted(path.name for path in here.iterdir()) == ["link.fa", "x.fa"]


def test_standard_output_is_refused_where_it_is_a_file(here):
    with open(here / "out.tsv", "wb") as out:
        done = subprocess.run([GPUALIGN, "nw", "x.fa", "--log", "out.tsv"], stdout=out, stderr=subprocess.PIPE)
    assert done.returncode == 2
    assert done.stderr == b"gpualign: error: standard output and out.tsv are the same file, named for two outputs; each needs its own\n"


def test_devices_are_files_to_many(here):
    gpualign_here("nw", "x.fa", "-o", "/dev/null", "--log", "/dev/null")


def test_errors_are_in_it(here):
    (here / "bad.fa").write_bytes(b">a\nAC!GT\n")
    done = gpualign("nw", "bad.fa", "--log", "run.log", check=False)
    assert done.returncode == 2
    assert lines(here / "run.log")[1:] == done.stderr.decode().splitlines()
    with pytest.raises(RunError, match=r"cannot write no/run.log: there is no folder no"):
        gpualign_here("nw", "x.fa", "--log", "no/run.log")


@pytest.mark.parametrize("moment", ["reading", "writing"])
def test_signals_are_in_it(here, moment):
    os.mkfifo(here / "pipe.fa")
    words = ["nw", "pipe.fa" if moment == "reading" else "x.fa", "-o", "out.tsv", "--log", "run.log"]
    if moment == "writing":
        os.mkfifo(here / "out.fifo")
        words[3] = "out.fifo"  # nobody reads it
    with started([GPUALIGN, *words], stderr=subprocess.PIPE, stdin=subprocess.DEVNULL) as job:
        wait_until(lambda: (here / "run.log").exists() and (moment == "reading" or len(lines(here / "run.log")) > 1), job)
        job.send_signal(signal.SIGTERM)
        errors = job.communicate(timeout=LIMIT)[1].decode().splitlines()
    assert job.returncode == 143
    assert lines(here / "run.log")[-1] == errors[-1]
    assert errors[-1].startswith("gpualign: error: terminated; ")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no device that is full")
def test_a_full_disk_ends_the_log_alone(here):
    errors = gpualign_here("nw", "x.fa", "--log", "/dev/full")[1].splitlines()
    assert errors[0] == "gpualign: /dev/full ends here: No space left on device"
    assert "ends here" not in " ".join(errors[1:])
    assert "3 sequences" in errors[-1]


def test_a_bug_is_in_it_whole(here):
    code = "import sys\nfrom gpualign.cli import main\nfrom gpualign.cli.commands import nw\n"
    code += "sys.argv = ['gpualign', 'nw', 'x.fa', '--log', 'run.log']\n"
    code += "from gpualign.jobs import sequence_loading as inputs\ndef read_inputs(*_, **__): raise ZeroDivisionError('a bug')\n"
    code += "inputs.read_inputs = read_inputs\nsys.exit(main.run())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 1
    assert lines(here / "run.log")[1:] == done.stderr.splitlines()
    assert "ZeroDivisionError: a bug" in done.stderr


@pytest.mark.parametrize("option", ["--log", "--summary"])
@pytest.mark.parametrize("name", ["x.tsv.journal", "x.tsv.part", "x.tsv.near.part", "./x.tsv.part"])
def test_names_of_what_an_interrupted_run_leaves_are_refused(here, option, name):
    with pytest.raises(InputError, match=f"{option} .*: this name is reserved for resume files; choose another"):
        gpualign_here("nw", "x.fa", "-o", "x.tsv", option, name)
    assert [path.name for path in here.iterdir()] == ["x.fa"]


@pytest.mark.parametrize("words", [["nw"], ["sw"], ["sw", "--all"], ["dist"]], ids=" ".join)
def test_the_part_of_a_share_is_an_output(here, words):
    (here / "x.tsv.1-of-2.part").write_bytes(NEAR)
    share = ["-o", "x.tsv", "--shard", "1/2"]
    with pytest.raises(InputError, match=r"the output x\.tsv\.1-of-2\.part is also an input"):
        gpualign_here(*words, "x.tsv.1-of-2.part", *share)
    with pytest.raises(InputError, match=r"--log x\.tsv\.1-of-2\.part: a name|named for two outputs"):
        gpualign_here(*words, "x.fa", *share, "--log", "x.tsv.1-of-2.part")
    assert (here / "x.tsv.1-of-2.part").read_bytes() == NEAR


def test_a_pipe_that_nobody_reads_is_refused(here):
    os.mkfifo("log")
    done = gpualign("nw", "x.fa", "-o", "x.tsv", "--log", "log", check=False)
    assert done.returncode == 1
    assert b"cannot write log: " in done.stderr
    assert not (here / "x.tsv").exists()
