"""Where the executable begins: signals first, so that one that comes while modules are imported ends the run as any other does."""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # what `signal` is made of: there without reading a file

# Until `install()` Ctrl-C simply ends the process; Python's own handler would print where in these imports that was.
if _signal.getsignal(_signal.SIGINT) is not _signal.SIG_IGN:
    _signal.signal(_signal.SIGINT, _signal.SIG_DFL)

import atexit
import gc
import os
import sys
from typing import NoReturn

from gpualign.core.common import signals

_WITH_AN_END = {"mpi4py", "pycuda"}
"""Libraries whose compiled part, or whose tools, have something to do when Python ends."""


def main() -> NoReturn:
    """Entry point of the executable."""
    _have_standard_streams()
    signals.install()
    codes = _end_quickly()
    _start_quickly()
    from gpualign.cli.main import run

    code = run()
    signals.finished()
    # Else Python would look through every function of every library for cycles before it ends: a tenth of a short run.
    gc.freeze()
    codes.append(code)
    sys.exit(code)


def _have_standard_streams() -> None:
    """In place of those that the caller has closed (`>&-`): their numbers would become those of the next files that are opened, among which
    messages would go. What is read or written is an error, as it ought to be; messages go nowhere."""
    for number, name, access in ((0, "stdin", os.O_WRONLY), (1, "stdout", os.O_RDONLY), (2, "stderr", os.O_WRONLY)):
        if getattr(sys, name) is None and os.open(os.devnull, access) == number:  # the lowest that is free
            setattr(sys, name, open(number, "w" if number else "r", closefd=False))  # noqa: SIM115  # it is there till the end


def _end_quickly() -> list[int]:
    """Takes the exit code, when it is known. When Python ends then, threads have been waited for and all has been called that was to be
    called, the process does: Python would take every module apart before, function by function, 6 ms."""
    codes: list[int] = []

    def end() -> None:
        if not codes or not _WITH_AN_END.isdisjoint(sys.modules):
            return
        try:
            sys.stdout.flush()
            sys.stderr.flush()
        except Exception:  # they cannot be written: Python says so, where nobody has
            if not codes[0]:
                return
        os._exit(codes[0])

    # What was registered first is called last; where others were before, a coverage tool for instance, they have their turn.
    if not atexit._ncallbacks():
        atexit.register(end)
    return codes


def _start_quickly() -> None:
    """Settings of Python and NumPy for a process that ends with its command."""
    # OpenBLAS, which comes with NumPy, starts a thread for each processor, and those spin before they sleep; the few small products that
    # are its work here are done sooner than that.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    # Imports make tens of thousands of objects that stay. Looking for cycles among them after every 700 takes a tenth of the start; what
    # the work itself throws away has no cycles, whatever its size.
    gc.set_threshold(50_000)
