"""Processes that tests start and communicate with. They are ended whatever happens in the test."""

import fcntl
import os
import pty
import resource
import signal
import struct
import subprocess
import termios
import time
from contextlib import contextmanager
from pathlib import Path

from command import LIMIT

_OURS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1)


def default_signals():
    """Restore the default signal handlers, for `preexec_fn`: under nohup, or in the background of a script, some signals are ignored."""
    for signum in _OURS:
        signal.signal(signum, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _OURS)


@contextmanager
def started(words, **more):
    """Start a process in a group of its own, which is killed at the end of the block. more: as for `subprocess.Popen`"""
    process = subprocess.Popen([str(word) for word in words], start_new_session=True, preexec_fn=default_signals, **more)
    try:
        yield process
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()  # closes its pipes too


def wait_until(condition, process):
    """Return once condition() is true. Fails if the process ends before."""
    end = time.monotonic() + LIMIT
    while not condition():
        assert process.poll() is None, f"ended with {process.returncode} too early"
        assert time.monotonic() < end, "hangs"
        time.sleep(0.02)


def _cpu_seconds(pid):
    """Processor time of a process so far, in seconds; 0 if the system has no /proc."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except FileNotFoundError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def interrupt(words, folder, signum, **more):
    """Send a signal to a command once it writes (a part file stands in `folder`): (exit code, stderr).

    Checks that both of its threads end within a second of processor time, which other work on the machine does not change.
    """
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with started(words, cwd=folder, stderr=subprocess.PIPE, **more) as job:
        wait_until(lambda: any(folder.glob("*.part")) or any(folder.glob(".*.part")), job)
        at_work = _cpu_seconds(job.pid) + 0.3
        wait_until(lambda: _cpu_seconds(job.pid) == 0 or _cpu_seconds(job.pid) >= at_work, job)
        used = _cpu_seconds(job.pid)
        job.send_signal(signum)
        _, errors = job.communicate(timeout=LIMIT)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    whole = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    assert used == 0 or whole - used < 2
    return job.returncode, errors.decode()


def on_terminal(words, columns, stream, **more):
    """What a command writes to a terminal. Checks that it succeeds.

    columns: width of the terminal
    stream: "stdout" or "stderr", which is connected to the terminal
    """
    master, slave = pty.openpty()
    try:
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        with started(words, **{stream: slave}, **more) as job:
            os.close(slave)
            shown = b""
            while True:
                try:
                    part = os.read(master, 65536)
                except OSError:  # the terminal's end
                    break
                if not part:
                    break
                shown += part
            assert job.wait(LIMIT) == 0
    finally:
        os.close(master)
    return shown
