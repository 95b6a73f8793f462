"""Runs one case in a folder of its own, bounded in time."""

import contextlib
import os
import re
import resource
import signal
import subprocess
import tempfile
import time
from pathlib import Path

from command import _COMMAND

from fuzz.signals import STOPPING
from fuzz.verdict import Outcome

WALL, CPU = 600, 60
"""Seconds that a run may take: on the clock, where only a hang comes to it however loaded the machine, and of processor time."""
_ADDRESSES = 8 << 30  # of no use as a measure, but a thousand threads shall not take the machine with them


_running: set[int] = set()


@contextlib.contextmanager
def heard_signals():
    """While runs are started, stopping signals are heard here: what a process ignores, those that it starts ignore too.

    Runs that go on at its end are killed.
    """

    def stop(signum, frame):
        raise KeyboardInterrupt

    before = {s: signal.signal(s, stop) for s in STOPPING}
    try:
        yield
    finally:
        for pid in list(_running):  # where the runner itself was stopped
            with contextlib.suppress(ProcessLookupError):
                os.killpg(pid, signal.SIGKILL)
        for signum, handler in before.items():
            signal.signal(signum, handler)


def run(case):
    """The `Outcome` of a case."""
    with tempfile.TemporaryDirectory(prefix="gpualign-fuzz-") as folder:
        work = Path(folder) / "work"
        work.mkdir()
        for name, data in {**case.files, **case.left}.items():
            (work / name).write_bytes(data)
        stdin = Path(folder) / "stdin"
        stdin.write_bytes(case.stdin or b"")
        with open(stdin, "rb") as given, open(Path(folder) / "stdout", "w+b") as out, open(Path(folder) / "stderr", "w+b") as errors:
            start = time.monotonic()
            environment = {**os.environ, "TMPDIR": str(work)}
            job = subprocess.Popen(
                [*_COMMAND, *case.words], cwd=work, stdin=given, stdout=out, stderr=errors, env=environment, start_new_session=True
            )
            _running.add(job.pid)
            try:
                status, peak, hung = _wait(job, case, work, start)
            finally:
                _running.discard(job.pid)
            job.returncode = os.waitstatus_to_exitcode(status)
            seconds = time.monotonic() - start
            for file in (out, errors):
                file.seek(0)
            after = {str(p.relative_to(work)): p.read_bytes() for p in work.rglob("*") if p.is_file()}
            return Outcome(job.returncode, out.read(), errors.read(), after, peak, hung, seconds)


def _peak(pid):
    """Most memory of a process so far, in bytes; 0 where the system does not tell. (What wait4 tells counts this process too, as it was
    when it forked.)"""
    try:
        found = re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())
    except OSError:
        return 0
    return int(found[1]) * 1024 if found else 0


def _wait(job, case, work, start):
    """(status, peak, hung) of a process, whatever becomes of it: it has ended behind this. peak: bytes of memory."""
    due = start + case.stop[1] if case.stop and not case.at_work else None
    waiting = case.at_work
    hung, peak = False, 0
    try:
        if hasattr(resource, "prlimit"):
            with contextlib.suppress(ProcessLookupError):
                resource.prlimit(job.pid, resource.RLIMIT_CPU, (CPU, CPU + 5))
                resource.prlimit(job.pid, resource.RLIMIT_AS, (_ADDRESSES, _ADDRESSES))
        while True:
            now = time.monotonic()
            if waiting and any(name.endswith(".part") for name in os.listdir(work)):
                waiting, due = False, now + case.stop[1]
            if due is not None and now >= due:
                os.kill(job.pid, case.stop[0])
                due = None
            peak = _peak(job.pid) or peak
            pid, status, _ = os.wait4(job.pid, os.WNOHANG)
            if pid:
                return status, peak, hung or os.waitstatus_to_exitcode(status) == -signal.SIGXCPU
            if now - start > WALL and not hung:
                os.killpg(job.pid, signal.SIGKILL)
                hung = True
            time.sleep(0.01 if due is None else min(0.01, max(0.0, due - now)))
    except BaseException:
        os.killpg(job.pid, signal.SIGKILL)
        os.wait4(job.pid, 0)
        raise
