"""Where the executable begins: signals first, so that one that comes while modules are imported ends the run as any other does."""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # what `signal` is made of: there without reading a file

# Until `install()` Ctrl-C simply ends the process; Python's own handler would print where in these imports that was.
if _signal.getsignal(_signal.SIGINT) is not _signal.SIG_IGN:
    _signal.signal(_signal.SIGINT, _signal.SIG_DFL)

import gc
import os
import sys
from typing import NoReturn

from gpualign.cli import signals


def main() -> NoReturn:
    """Entry point of the executable."""
    signals.install()
    _start_quickly()
    from gpualign.cli.main import run

    code = run()
    signals.finished()
    # Else Python would look through every function of every library for cycles before it ends: a tenth of a short run.
    gc.freeze()
    sys.exit(code)


def _start_quickly() -> None:
    """Settings of Python and NumPy for a process that ends with its command."""
    # OpenBLAS, which comes with NumPy, starts a thread for each processor, and those spin before they sleep; the few small products that
    # are its work here are done sooner than that.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    # Imports make tens of thousands of objects that stay. Looking for cycles among them after every 700 takes a tenth of the start; what
    # the work itself throws away has no cycles, whatever its size.
    gc.set_threshold(50_000)
