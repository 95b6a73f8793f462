"""Where the executable begins: signals first, so that one that comes while modules are imported ends the run as any other does."""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # what `signal` is made of: there without reading a file

# Until `install()` Ctrl-C simply ends the process; Python's own handler would print where in these imports that was.
if _signal.getsignal(_signal.SIGINT) is not _signal.SIG_IGN:
    _signal.signal(_signal.SIGINT, _signal.SIG_DFL)

import sys
from typing import NoReturn

from gpualign.cli import signals


def main() -> NoReturn:
    """Entry point of the executable."""
    signals.install()
    from gpualign.cli.main import run

    code = run()
    signals.finished()
    sys.exit(code)
