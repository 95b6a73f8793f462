"""Entry point of the executable. Installs signal handlers first, so that a signal during imports is handled as it is later."""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # built in, so `signal` need not be read from a file

# Until `install()` Ctrl-C simply ends the process; Python's own handler would print a traceback of these imports.
if _signal.getsignal(_signal.SIGINT) is not _signal.SIG_IGN:
    _signal.signal(_signal.SIGINT, _signal.SIG_DFL)

import atexit
import gc
import os
import sys
from typing import NoReturn

from gpualign.core.common import signals

_MODULES_WITH_EXIT_HOOKS = {"mpi4py", "pycuda"}
"""Libraries that need the usual exit of Python, because their compiled code or tools still run during it."""


def main() -> NoReturn:
    """Run the command line, and exit with its exit code."""
    _replace_closed_streams()
    signals.install_handlers()
    codes = _register_quick_exit()
    _set_up_for_one_command()
    from gpualign.cli.main import run

    code = run()
    signals.ignore_signals()
    # Otherwise Python would search all functions of all libraries for cycles before it exits: a tenth of a short run.
    gc.freeze()
    codes.append(code)
    sys.exit(code)


def _replace_closed_streams() -> None:
    """Replace standard streams closed by the caller (`>&-`). Otherwise, the next files opened would get the descriptors of the standard
    streams, and messages would be written into these files. Reading or writing a replaced stream is an error; messages are lost."""
    for number, name, access in ((0, "stdin", os.O_WRONLY), (1, "stdout", os.O_RDONLY), (2, "stderr", os.O_WRONLY)):
        if getattr(sys, name) is None and os.open(os.devnull, access) == number:  # `open` takes the lowest free number
            setattr(sys, name, open(number, "w" if number else "r", closefd=False))  # noqa: SIM115  # stays open until the process ends


def _register_quick_exit() -> list[int]:
    """Return an empty list, to which the caller appends the exit code just before it exits. The process then ends once Python has joined
    all threads and called all exit handlers, without the usual teardown of every module, which takes 6 ms."""
    codes: list[int] = []

    def end() -> None:
        if not codes or not _MODULES_WITH_EXIT_HOOKS.isdisjoint(sys.modules):
            return
        try:
            sys.stdout.flush()
            sys.stderr.flush()
        except Exception:  # they cannot be written: let Python report that, unless an error was reported already
            if not codes[0]:
                return
        os._exit(codes[0])

    # The handler registered first is called last. If there are others, of a coverage tool for instance, let them run.
    if not atexit._ncallbacks():
        atexit.register(end)
    return codes


def _set_up_for_one_command() -> None:
    """Set up Python and NumPy for a process that runs a single command."""
    # OpenBLAS, which comes with NumPy, starts a thread per processor, and these spin before they sleep. Its few small products take less
    # time than that.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    # Imports create tens of thousands of permanent objects. Searching them for cycles after every 700 takes a tenth of the start-up time;
    # objects that the work itself discards have no cycles, whatever their size.
    gc.set_threshold(50_000)
