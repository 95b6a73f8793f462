"""Signals at any moment: a message, the exit code, nothing half-written."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from command import GPUALIGN, LIMIT
from processes import default_signals, started

from gpualign.core.common import signals

CODES = {signal.SIGINT: (130, "interrupted"), signal.SIGTERM: (143, "terminated"), signal.SIGHUP: (143, "hung up")}


def wait_for_handlers(job):
    """Until the interpreter has come to the program's first lines; from then on it is the program's own doing how it ends."""
    last = signal.SIGTERM - 1  # the interpreter has one for SIGINT itself
    while job.poll() is None:
        status = Path(f"/proc/{job.pid}/status").read_text()
        if "SigCgt:" in status and int(status.split("SigCgt:")[1].split()[0], 16) >> last & 1:
            return
        time.sleep(0.001)


@pytest.fixture(scope="module")
def inputs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("signals")
    rng = np.random.default_rng(1)
    letters = np.array(list("ACGT"))
    rows = ["".join(letters[rng.integers(0, 4, 20_000)]) for _ in range(8)]
    (folder / "x.fa").write_text("".join(f">r{i}\n{row}\n" for i, row in enumerate(rows)))
    return folder


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="no /proc to see handlers in")
@pytest.mark.parametrize("signum", CODES, ids=lambda s: s.name)
@pytest.mark.parametrize(
    "words", [["nw", "x.fa", "-o", "out.tsv"], ["dist", "x.fa", "-o", "out.npy"], ["index", "x.fa", "-o", "out.gpa"]], ids=lambda w: w[0]
)
@pytest.mark.parametrize("moment", [0, 0.03, 0.1, 0.3])
def test_at_any_moment(inputs, tmp_path, signum, words, moment):
    """Imports are interrupted too: what comes in the midst of them is no traceback."""
    (tmp_path / "x.fa").symlink_to(inputs / "x.fa")
    with started([GPUALIGN, *words], stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, cwd=tmp_path) as job:
        wait_for_handlers(job)
        time.sleep(moment)
        job.send_signal(signum)
        errors = job.communicate(timeout=LIMIT)[1].decode()
    code, word = CODES[signum]
    files = sorted(path.name for path in tmp_path.iterdir() if path.name != "x.fa")
    assert job.returncode in (0, code)
    assert "Traceback" not in errors
    if job.returncode == code:
        assert f"gpualign: error: {word}; " in errors
    assert (files == []) == (job.returncode == code)
    assert not [name for name in files if name.endswith(".part")]


def test_ignored_signals_stay_ignored(inputs, tmp_path):
    """As nohup and shells without job control start their children."""
    words = ["bash", "-c", f"trap '' HUP INT; exec {GPUALIGN} nw {inputs / 'x.fa'} -o {tmp_path / 'out.tsv'}"]
    with started(words, stderr=subprocess.PIPE) as job:
        wait_for_handlers(job)
        job.send_signal(signal.SIGHUP)
        job.send_signal(signal.SIGINT)
        job.communicate(timeout=LIMIT)
    assert job.returncode == 0
    assert (tmp_path / "out.tsv").stat().st_size


def run_python(code, folder=None):
    words = [sys.executable, "-c", code]
    return subprocess.run(words, capture_output=True, text=True, timeout=LIMIT, cwd=folder, preexec_fn=default_signals)


def test_whatever_a_signal_becomes_on_its_way_it_ends_the_run():
    """A library may turn an exception that comes in its midst into another one."""
    code = """
import os, signal, sys
from gpualign.cli import main
from gpualign.core.common import signals
signals.install_handlers()
def command(**_):
    with signals.cleanup_on_signal(lambda: None):
        try:
            os.kill(os.getpid(), signal.SIGTERM)
        except BaseException:
            raise ValueError("cannot be read ()") from None
main.cli.main = command
sys.exit(main.run())
"""
    done = run_python(code)
    assert done.returncode == 143
    assert done.stderr.strip() == "gpualign: error: terminated; no output file was written. Run the same command again."


INTERRUPTED = """
import contextlib, os, signal, sys, tempfile
from pathlib import Path
from gpualign.cli import main
from gpualign.core.common import signals
from gpualign.core.files import scratch
from gpualign.jobs.output import atomic_files as files, commit, stale_files

WATCHED = {one.__file__ for one in (signals, files, scratch, stale_files, commit, contextlib, tempfile)}
NO_SIGNAL = 99

def work():
    with files.OutputFiles(print) as outputs:
        for name in ("a.tsv", "b.tsv"):
            outputs.open(Path(name)).write(b"x")
        outputs.new_scratch(Path("a.tsv"))

def command(**_):
    sys.settrace(step)
    try:
        work()
    finally:
        sys.settrace(None)

def step(frame, event, _):
    global left
    if frame.f_code.co_filename in WATCHED:
        left -= 1
        if not left:
            os.kill(os.getpid(), signal.SIGINT)
    return step

signals.install_handlers()
main.cli.main = command
steps, code = 0, None
while code != NO_SIGNAL:
    steps += 1
    if not (child := os.fork()):
        left = steps
        code = main.run()
        os._exit(NO_SIGNAL if left > 0 else code)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    found = sorted(os.listdir("."))
    if found != ([] if code == 130 else ["a.tsv", "b.tsv"]) or code not in (0, 130, NO_SIGNAL):
        print("step", steps, "exit code", code, "leaves", found)
    for name in found:
        os.remove(name)
"""


@pytest.mark.parametrize("unnamed", [True, False], ids=["unnamed", "unlinked"])
def test_no_step_is_one_in_which_a_signal_leaves_something(tmp_path, unnamed):
    """Python hands a signal over between any two steps of a program: also right behind the making of a file, and at the entry of what is to
    put it away. unnamed: whether the system makes files without a name; elsewhere they lose theirs."""
    done = run_python(f"import tempfile; tempfile._O_TMPFILE_WORKS &= {unnamed}\n{INTERRUPTED}", tmp_path)
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr.count("interrupted") > 100


def test_a_second_signal_does_not_disturb_the_cleaning_up():
    code = """
import os, signal
from gpualign.core.common import signals
signals.install_handlers()
try:
    with signals.cleanup_on_signal(lambda: None):
        os.kill(os.getpid(), signal.SIGINT)
except signals.Stopped:
    os.kill(os.getpid(), signal.SIGINT)
    os.kill(os.getpid(), signal.SIGTERM)
    print("cleaned", signals.exit_message_and_code()[1])
"""
    assert run_python(code).stdout == "cleaned 130\n"


@pytest.mark.parametrize("moments", [(0.5, 1.5), (0.5, 0.7, 1.5)], ids=["second", "third"])
def test_who_is_tired_of_waiting_ends_the_putting_away(moments):
    """One that hangs: a disk that is no longer there. What comes in the first seconds is not heard; a key is soon pressed twice."""
    code = f"""
import os, signal, sys, threading, time
from gpualign.cli import main
from gpualign.core.common import signals
signals.install_handlers()
signals.GRACE_SECONDS = 0.8
def hang():
    sys.stdout.write("hangs\\n")
    sys.stdout.flush()
    time.sleep(60)
def command(**_):
    for moment in {moments}:
        threading.Timer(moment, os.kill, (os.getpid(), signal.SIGINT)).start()
    with signals.cleanup_on_signal(hang), signals.cleanup_on_signal(hang):
        try:
            time.sleep(60)
        finally:
            hang()
main.cli.main = command
os._exit(main.run())
"""
    done = run_python(code)
    assert (done.returncode, done.stdout) == (130, "hangs\n")
    assert done.stderr.strip() == "gpualign: error: interrupted; no output file was written. Run the same command again."


def test_a_key_that_was_pressed_twice_leaves_nothing(tmp_path):
    """The second signal is not heard, so what the first has stopped is put away."""
    code = """
import os, signal, sys
from pathlib import Path
from gpualign.cli import main
from gpualign.core.common import signals
from gpualign.jobs.output import atomic_files as files
signals.install_handlers()
delete_uncommitted, calls = files.OutputFiles._delete_uncommitted, []
def first_step(self):
    calls.append(None)
    if len(calls) == 1:
        os.kill(os.getpid(), signal.SIGINT)
    delete_uncommitted(self)
files.OutputFiles._delete_uncommitted = first_step
def command(**_):
    try:
        with files.OutputFiles(print) as outputs:
            outputs.open(Path("x.tsv"))
            raise ValueError
    finally:
        os.kill(os.getpid(), signal.SIGTERM)
main.cli.main = command
sys.exit(main.run())
"""
    done = run_python(code, tmp_path)
    assert (done.returncode, list(tmp_path.iterdir())) == (130, [])
    assert done.stderr.startswith("gpualign: error: interrupted; ")


def test_one_who_hangs_behind_the_others_is_ended_too():
    """The first time nothing of it was done."""
    code = """
import os, signal, sys, threading, time
from gpualign.cli import main
from gpualign.core.common import signals
signals.install_handlers()
signals.GRACE_SECONDS = 0.3
def hang():
    threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGTERM)).start()
    time.sleep(60)
def command(**_):
    with signals.cleanup_on_signal(hang), signals.cleanup_on_signal(hang):
        os.kill(os.getpid(), signal.SIGINT)
main.cli.main = command
os._exit(main.run())
"""
    done = run_python(code)
    assert done.returncode == 143
    assert done.stderr.startswith("gpualign: error: terminated; ")


def test_files_take_their_names_all_or_none():
    code = """
import os, signal
from gpualign.core.common import signals
signals.install_handlers()
with signals.signals_blocked():
    os.kill(os.getpid(), signal.SIGTERM)
    print("renamed", flush=True)
print("done", flush=True)
"""
    done = run_python(code)
    assert (done.returncode, done.stdout, done.stderr) == (0, "renamed\ndone\n", "")


@pytest.mark.parametrize(("block", "code"), [("signals_deferred", 130), ("signals_blocked", 0)])
def test_steps_that_belong_together_are_all_done(block, code):
    """The system gives a signal to any thread that takes it, whatever the mask of the first one is."""
    script = (
        "import os, signal, sys, threading, time\n"
        "from gpualign.core.common import signals\n"
        "signals.install_handlers()\n"
        "threading.Thread(target=time.sleep, args=(60,), daemon=True).start()\n"
        f"with signals.{block}():\n"
        "    os.kill(os.getpid(), signal.SIGINT)\n"
        "    time.sleep(0.1)\n"
        "    print('done', flush=True)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, timeout=LIMIT, preexec_fn=default_signals)
    assert (done.stdout, done.returncode) == (b"done\n", code)


def test_nothing_ends_this_process():
    """Handlers are installed by the executable, not by an import."""
    assert signals.exit_message_and_code() is None
    assert os.getpid()
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


def test_a_signal_while_python_ends_comes_too_late():
    """Python gives handled signals back their default then."""
    code = """
import atexit, os, signal, sys
from gpualign.cli import entry_point as start
atexit.register(lambda: os.kill(os.getpid(), signal.SIGINT))
sys.argv = ["gpualign", "--version"]
start.main()
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, preexec_fn=default_signals)
    assert (done.returncode, done.stderr) == (0, "")
