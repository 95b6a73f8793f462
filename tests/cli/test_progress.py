"""Progress without a terminal: a line a minute, and one whenever SIGUSR1 asks."""

import itertools
import re
import signal
import subprocess
import sys

import numpy as np
import pytest
from command import GPUALIGN, LIMIT, gpualign_here
from processes import default_signals, on_terminal, started, wait_until

from gpualign.cli.terminal import progress as module
from gpualign.cli.terminal.progress import ProgressBar

LINE = re.compile(r"gpualign nw: \d+\.\d% done in \d+:\d\d:\d\d(, \S+ [kMGT]?CUPS, \d+:\d\d:\d\d left)?")

pytestmark = pytest.mark.skipif(not hasattr(signal, "SIGUSR1"), reason="a system without SIGUSR1")


@pytest.fixture
def clock(monkeypatch):
    """Seconds, as the test sets them."""
    now = [1000.0]
    monkeypatch.setattr(module.time, "perf_counter", lambda: now[0])
    return now


@pytest.fixture
def hours(monkeypatch):
    """Every look at the clock is a minute later than the one before."""
    times = itertools.count(1000.0, 61.0)
    monkeypatch.setattr(module.time, "perf_counter", lambda: next(times))


def bar(work, told, unit="cells"):
    return ProgressBar(work, unit, False, told.append, told.append)


def test_a_line_a_minute(clock):
    told = []
    with bar(1000 * 10**9, told) as progress:
        for _ in range(10):  # a tenth each, in 13 seconds
            clock[0] += 13
            progress.advance(10**11)
    assert told == ["50.0% done in 0:01:05, 7.69 GCUPS, 0:01:05 left", "100.0% done in 0:02:10, 7.69 GCUPS, 0:00:00 left"]


@pytest.mark.parametrize(
    ("unit", "rate", "shown"),
    [
        ("pairs", 6_640, "6.64 k pairs/s"),
        ("pairs", 6.64, "6.64 pairs/s"),
        ("pairs", 31_500_000, "31.5 M pairs/s"),
        ("cells", 2_500_000_000_000, "2.5 TCUPS"),
        ("comparisons", 12_300_000_000, "12.3 G/s"),
    ],
)
def test_rates_have_a_fitting_unit(clock, unit, rate, shown):
    with bar(int(400 * rate), [], unit) as progress:
        clock[0] += 100
        progress.advance(int(100 * rate))
        assert progress.format_line() == f"25.0% done in 0:01:40, {shown}, 0:05:00 left"


def test_a_bar_has_a_fitting_unit(clock):
    code = """
from gpualign.cli.terminal.progress import ProgressBar
with ProgressBar(0, "pairs", True, print, print) as bar:
    bar.expect(400_000)
    bar.advance(100_000)
    bar.expect(79_600_000)
    bar.advance(19_900_000)
    bar._bar.refresh()
"""
    drawn = on_terminal([sys.executable, "-c", "import tqdm; tqdm.tqdm.mininterval = 0\n" + code], 80, "stderr")
    assert b"20.0/80.0 Mpairs" in drawn


def test_nothing_within_the_first_minute(clock):
    told = []
    with bar(100, told) as progress:
        clock[0] += 59
        progress.advance(100)
    assert told == []


def test_what_is_expected_later_counts(clock):
    with bar(100, []) as progress:
        clock[0] += 3600
        assert progress.format_line() == "0.0% done in 1:00:00"
        progress.advance(100)
        assert progress.format_line().startswith("100.0% done")
        progress.expect(300)
        assert progress.format_line() == "25.0% done in 1:00:00, 0.0278 CUPS, 3:00:00 left"
    with bar(0, []) as progress:
        clock[0] += 5
        assert progress.format_line() == "at work for 0:00:05"


@pytest.mark.slow
@pytest.mark.parametrize(("options", "wanted"), [([], True), (["-q"], False)])
def test_on_stderr_unless_quiet(hours, small_16s, options, wanted):
    lines = gpualign_here("nw", "--edit", small_16s, "--device", "cpu", *options)[1].splitlines()
    assert any(LINE.fullmatch(line) for line in lines) == wanted
    assert wanted or lines == []


@pytest.mark.slow
@pytest.mark.parametrize("command", [["nw"], ["cluster", "--method", "greedy"]], ids=["nw", "cluster"])
def test_near_pairs_are_told_in_pairs(hours, small_16s, command):
    said = gpualign_here(*command, "--edit", "--max-distance", "20", small_16s, "--device", "cpu")[1]
    assert re.search(r"100\.0% done in \d+:\d\d:\d\d, \S+ [kM]? ?pairs/s, 0:00:00 left", said)
    assert "CUPS" not in said


@pytest.fixture(scope="module")
def long_run(tmp_path_factory):
    """A command that takes minutes."""
    folder = tmp_path_factory.mktemp("progress")
    rng = np.random.default_rng(1)
    rows = np.frombuffer(b"ACGT", np.uint8)[rng.integers(0, 4, (200, 20_000))]
    (folder / "x.fa").write_bytes(b"".join(b">r%d\n%s\n" % (i, row.tobytes()) for i, row in enumerate(rows)))
    return [GPUALIGN, "nw", folder / "x.fa", "--device", "cpu", "-o", "out.tsv"]


@pytest.mark.parametrize("quiet", [[], ["-q"]], ids=["", "quiet"])
def test_a_signal_asks(long_run, tmp_path, quiet):
    """At any moment from the first handler on; an answer comes when the work has begun, with -q too."""
    with (
        open(tmp_path / "said", "w") as said,
        started([*long_run, *quiet], cwd=tmp_path, stderr=said, stdin=subprocess.DEVNULL) as job,
    ):
        wait_until(lambda: any(tmp_path.glob("*.part")), job)

        def answered():
            job.send_signal(signal.SIGUSR1)
            return any(LINE.fullmatch(line) for line in (tmp_path / "said").read_text().splitlines())

        wait_until(answered, job)
        job.send_signal(signal.SIGTERM)
        assert job.wait(LIMIT) == 143
    assert "terminated" in (tmp_path / "said").read_text()


def asked_here(prologue="", ask="", epilogue=""):
    """What a process says that sends itself the signal."""
    code = f"""
import os, signal, sys
{prologue}
from gpualign.core.common import signals
signals.install_handlers()
os.kill(os.getpid(), signal.SIGUSR1)
{ask}
{epilogue}
print("alive")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, preexec_fn=default_signals)
    return done.stdout.split(), done.stderr


def test_it_is_ignored_while_there_is_nothing_to_say():
    with_answer = "signals.set_progress_hook(lambda: print('answer')); os.kill(os.getpid(), signal.SIGUSR1)"
    without = (
        "signals.set_progress_hook(None); os.kill(os.getpid(), signal.SIGUSR1);"
        " signals.ignore_signals(); os.kill(os.getpid(), signal.SIGUSR1)"
    )
    assert asked_here() == (["alive"], "")
    assert asked_here("", with_answer, without) == (["answer", "alive"], "")
    assert asked_here("signal.signal(signal.SIGUSR1, signal.SIG_IGN)", with_answer) == (["alive"], "")


def test_an_answer_takes_the_place_of_what_a_bar_has_drawn():
    code = "import sys; from gpualign.cli.terminal.progress import write_now\n"
    code += "sys.stderr.write('bar'); sys.stderr.flush(); write_now('line')"
    assert on_terminal([sys.executable, "-c", code], 80, "stderr") == b"bar\r\033[Kline\r\n"
