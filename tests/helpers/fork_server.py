"""Runs commands without the time of their imports: a server imports all modules that commands load, and forks a process for each command.

Each command has its own standard streams and folder, and starts like the executable, with the entry point's `main`. Some tests always run
the executable itself: those of its start-up, and those of the commands in the documentation. With GPUALIGN_TEST_EXECUTABLE, all tests do.
"""

import atexit
import gc
import os
import pickle
import socket
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

_FOREIGN = ("tempfile", "hashlib", "json", "concurrent.futures", "scipy.cluster.hierarchy", "matplotlib.figure", "matplotlib.pyplot")
_BACKENDS = "matplotlib.backends.backend_agg", "matplotlib.backends.backend_svg"  # which a figure loads as it is saved
_HEADER = 4
_OWN = {"PYTEST_CURRENT_TEST"}
"""Variables of pytest, which commands do not read."""


def _variables():
    return {name: value for name, value in os.environ.items() if name not in _OWN}


class ForkServer:
    """Runs commands in processes that a server forks. executable: path that the commands get as their own"""

    def __init__(self, executable):
        self._executable = executable
        self._variables = _variables()
        self._lock = threading.Lock()
        self._socket, other = socket.socketpair()
        with other:
            words = [sys.executable, __file__, str(other.fileno())]
            self._process = subprocess.Popen(words, pass_fds=[other.fileno()], stdin=subprocess.DEVNULL)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._socket.close()  # which ends the server
        self._process.wait()

    def run(self, words, stdin, cwd, limit):
        """Run a command and return the finished process, like `subprocess.run`. Returns None, without running it, if environment variables
        have changed since the server was started, or while another command runs."""
        if _variables() != self._variables or not self._lock.acquire(blocking=False):
            return None
        try:
            return self._answer([self._executable, *words], stdin, os.fspath(cwd or os.getcwd()), limit)
        finally:
            self._lock.release()

    def _answer(self, words, stdin, cwd, limit):
        ours, theirs = zip(*(os.pipe() for _ in range(2)), strict=True)
        source, feed = (os.open(os.devnull, os.O_RDONLY), None) if stdin is None else os.pipe()
        os.umask(mask := os.umask(0))
        request = pickle.dumps((words, cwd, mask))
        self._socket.settimeout(limit)
        socket.send_fds(self._socket, [len(request).to_bytes(_HEADER, "little")], [source, *theirs])
        self._socket.sendall(request)
        for number in (source, *theirs):
            os.close(number)
        with ThreadPoolExecutor(3) as pool:
            read = [pool.submit(_contents, number) for number in ours]
            if feed is not None:
                pool.submit(_fill, feed, stdin)
            code = int.from_bytes(_exactly(self._socket, _HEADER), "little", signed=True)
            return subprocess.CompletedProcess(words, code, *(each.result() for each in read))


def _contents(number):
    with open(number, "rb") as file:
        return file.read()


def _fill(number, content):
    try:
        with open(number, "wb") as file:
            file.write(content)
    except BrokenPipeError:
        pass  # as subprocess does: the command has read what it wanted


def _exactly(stream, size):
    content = b""
    while len(content) < size:
        part = stream.recv(size - len(content))
        if not part:
            raise EOFError("the other process has ended")
        content += part
    return content


# ---- in the server


def _preload():
    """Import the modules that commands load."""
    from importlib import import_module
    from importlib.util import find_spec
    from pkgutil import walk_packages

    for name in ("cli.commands", "cli.options", "cli.inputs", "cli.terminal", "core", "cpu", "jobs"):
        package = import_module(f"gpualign.{name}")
        for module in walk_packages(package.__path__, f"{package.__name__}."):
            if "remote" not in module.name and "executors" not in module.name:
                import_module(module.name)
    for name in _FOREIGN + _BACKENDS:
        if find_spec(name.partition(".")[0]):
            import_module(name)


def _run(words, cwd, streams):
    """Run the command in the forked process. Never returns."""
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    for number, (name, mode) in enumerate((("stdin", "r"), ("stdout", "w"), ("stderr", "w"))):
        old = getattr(sys, name)  # where the server's own may be a terminal, or have read ahead
        fresh = open(number, mode, encoding=old.encoding, errors=old.errors, closefd=False)  # noqa: SIM115  # open to the end
        fresh.reconfigure(line_buffering=number == 2)
        setattr(sys, name, fresh)
    os.chdir(cwd)
    sys.argv[:] = words
    from gpualign.cli.entry_point import main

    atexit._clear()  # the server's handlers: the entry point registers its quick exit only if there are none
    main()


def _serve(stream):
    os.environ["OPENBLAS_NUM_THREADS"] = "1"  # as the entry point does before NumPy is loaded; and no thread runs where this forks
    sys.path[0] = str(Path(sys.executable).parent)
    _preload()
    gc.freeze()  # no search for cycles in a forked process reads, and so copies, all that is imported
    while True:
        try:
            head, streams, _, _ = socket.recv_fds(stream, _HEADER, 3)
            if not head:
                return
            words, cwd, mask = pickle.loads(_exactly(stream, int.from_bytes(head, "little")))
        except (EOFError, ConnectionError):
            return
        if (pid := os.fork()) == 0:
            stream.close()
            os.umask(mask)
            _run(words, cwd, streams)
        for number in streams:
            os.close(number)
        stream.sendall(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]).to_bytes(_HEADER, "little", signed=True))


if __name__ == "__main__":
    with socket.socket(fileno=int(sys.argv[1])) as end:
        _serve(end)
