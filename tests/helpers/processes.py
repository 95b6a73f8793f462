"""Processes that tests start and talk to while they run. Whatever happens in a test, they have ended behind it."""

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
    """For `preexec_fn`: what stops a process or asks it does so, also where the tests run under nohup or in the background of a script."""
    for signum in _OURS:
        signal.signal(signum, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _OURS)


@contextmanager
def started(words, **more):
    """A running process in a group of its own; the group is killed when the block is left. more: as for `subprocess.Popen`."""
    process = subprocess.Popen([str(word) for word in words], start_new_session=True, preexec_fn=default_signals, **more)
    try:
        yield process
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()  # closes its pipes too


def wait_until(condition, process):
    """Returns when condition() holds; fails where the process ends before."""
    end = time.monotonic() + LIMIT
    while not condition():
        assert process.poll() is None, f"ended with {process.returncode} before it came so far"
        assert time.monotonic() < end, "hangs"
        time.sleep(0.02)


def _cpu_seconds(pid):
    """Processor time of a process so far, 0 where the system has no /proc."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except FileNotFoundError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def interrupt(words, folder, signum, **more):
    """Send a signal to a command once it writes (a part file stands in `folder`): (exit code, stderr).

    Checks that it ends within a second of each of its two threads. That is processor time, which other work on the machine does not
    change.
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
    """What a command writes to a terminal of so many columns, which is its "stdout" or "stderr"; checks that it ends well."""
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
