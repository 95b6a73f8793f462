"""Files that calls in Python write: by the means of the command line, and without its signals."""

import errno
import fcntl
import logging
import os
import stat
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from command import LIMIT, gpualign_here
from processes import started

import gpualign

GENES = ["ACGTACGTAC", "ACGTACGAAC", "TTGTACGTAC"]
CALLS = np.array([[0, 1, 2], [1, 1, 2]], dtype=np.int8)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("x.fa").write_text("".join(f">{number}\n{letters}\n" for number, letters in enumerate(GENES)))
    return tmp_path


WRITERS = {
    "nw": lambda out, **more: gpualign.nw(GENES, out=out, **more),
    "dist": lambda out, **more: gpualign.dist(CALLS, out=out, **more),
    "index": lambda out: gpualign.Index.build("x.fa", out),
}
writers = pytest.mark.parametrize("write", WRITERS.values(), ids=WRITERS)


def names():
    return sorted(path.name for path in Path().iterdir())


def test_bytes_are_those_of_the_command(folder):
    gpualign.nw("x.fa", out="nw.npy")
    gpualign.dist("x.fa", out="dist.npy")
    gpualign.Index.build("x.fa", "x.gpa")
    found = {name: Path(name).read_bytes() for name in ("nw.npy", "dist.npy", "x.gpa")}
    for name, command in (("nw.npy", "nw"), ("dist.npy", "dist"), ("x.gpa", "index")):
        gpualign_here(command, "x.fa", "-o", name)
        assert Path(name).read_bytes() == found[name]


SIGNALS = """
import signal, sys
def state():
    return [signal.getsignal(number) for number in signal.valid_signals()], signal.pthread_sigmask(signal.SIG_BLOCK, [])
before = state()
import gpualign, threading
write = lambda: (gpualign.nw(["ACGT", "AGT"], out="x.npy"), gpualign.Index.build("x.fa", "x.gpa"))
write()
other = threading.Thread(target=write)
other.start()
other.join()
assert "gpualign.core.common.signals" in sys.modules
assert state() == before
signal.raise_signal(signal.SIGINT)
"""


def test_signals_stay_those_of_the_caller(folder):
    with started([sys.executable, "-c", SIGNALS], stderr=subprocess.PIPE, cwd=folder) as job:
        errors = job.communicate(timeout=LIMIT)[1].decode()
    assert errors.endswith("\nKeyboardInterrupt\n"), errors
    assert names() == ["x.fa", "x.gpa", "x.npy"]


@writers
def test_what_a_killed_call_has_left_is_removed(folder, write, caplog):
    left, at_work = (Path(f".out.{number}.part") for number in ("01234567", "89abcdef"))
    for path in (left, at_work):
        path.write_bytes(b"some")
    with at_work.open() as stream, caplog.at_level(logging.INFO, "gpualign"):
        fcntl.flock(stream, fcntl.LOCK_EX)
        write("out")
    assert names() == [at_work.name, "out", "x.fa"]
    assert [text for text in caplog.messages if "a killed run" in text] == [f"removed {left} (4 B), left by a killed run"]


@pytest.mark.parametrize("error", [KeyboardInterrupt, OSError(errno.ENOSPC, "full"), BrokenPipeError(errno.EPIPE, "broken")], ids=repr)
@pytest.mark.parametrize("name", ["nw", "dist"])
def test_after_an_error_the_file_is_as_it_was(folder, name, error):
    def fail(*_):
        raise error

    Path("out").write_text("before")
    with pytest.raises(KeyboardInterrupt if error is KeyboardInterrupt else gpualign.RunError) as raised:
        WRITERS[name]("out", progress=fail)
    assert isinstance(raised.value, KeyboardInterrupt) or str(raised.value) == f"cannot write out: {error.strerror}"
    assert names() == ["out", "x.fa"]
    assert Path("out").read_text() == "before"


@writers
def test_only_files_are_written(folder, write):
    os.mkfifo("pipe")
    Path("inner").mkdir()
    for name in ("pipe", os.devnull, "/dev/stdout"):
        with pytest.raises(gpualign.InputError, match=f"out {name!r}: expected the path of a file"):
            write(name)
    with pytest.raises(gpualign.RunError, match="cannot write inner: Is a directory"):
        write("inner")
    reasons = "(none/out: there is no folder none|to .*/none, where the index is made: No such file or directory)"
    with pytest.raises(gpualign.RunError, match=f"cannot write {reasons}"):
        write("none/out")
    assert names() == ["inner", "pipe", "x.fa"]
    assert stat.S_ISFIFO(os.stat("pipe").st_mode)


@writers
def test_a_dash_is_a_name_like_any_other(folder, write, capfd):
    write("-")
    assert names() == ["-", "x.fa"]
    assert capfd.readouterr().out == ""
