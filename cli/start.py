"""Where the executable begins: signals first, so that one that comes while modules are imported ends the run as any other does."""

from __future__ import annotations

import sys
from typing import NoReturn

from gpualign.cli import signals


def main() -> NoReturn:
    """Entry point of the executable."""
    signals.install()
    from gpualign.cli.main import run

    sys.exit(run())
