"""Room for libraries under a limit of the address space (`ulimit -v`)."""

from __future__ import annotations

import sys

from gpualign.core.common.errors import RunError
from gpualign.core.common.memory import address_space_is_unlimited
from gpualign.core.common.units import format_bytes

_LIBRARY_BYTES = {"scipy": 128 << 20, "matplotlib": 192 << 20, "pyarrow": 512 << 20}
"""Address space that a library needs for itself, its first objects and its threads; matplotlib with scipy. With less, the OpenBLAS of scipy
may wait for memory forever or end the process, and so may pyarrow."""


def check_room_for_library(name: str) -> None:
    """Raise `RunError` if a limit of the address space leaves too little room to import a library."""
    if name in sys.modules or address_space_is_unlimited():
        return
    import numpy as np

    needed = _LIBRARY_BYTES[name]
    try:
        np.empty(needed, dtype=np.uint8)
    except MemoryError:
        raise RunError(f"{name} needs {format_bytes(needed)}, more than the limit of memory (ulimit -v) leaves; raise the limit") from None
