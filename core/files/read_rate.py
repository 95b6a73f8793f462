"""Speed at which a memory-mapped file is read."""

from __future__ import annotations

import time

import numpy as np
import numpy.typing as npt

_PART_COUNT, _PART_BYTES = 16, 4 << 20
_PAGE_BYTES = 4096


def measure_read_rate(mapped: npt.NDArray[np.uint8]) -> float:
    """Measure how fast a mapped file is read, in bytes per second, on parts from all over it: from memory where the system holds the file
    there, and otherwise from the disk.

    mapped: content of the file
    """
    size = min(_PART_BYTES, -(-len(mapped) // _PART_COUNT))
    start = time.perf_counter()
    total = 0
    for first in np.linspace(0, len(mapped) - size, _PART_COUNT).astype(np.int64).tolist():
        mapped[first : first + size : _PAGE_BYTES].max()  # one byte per page: the system reads whole pages
        total += size
    return total / max(time.perf_counter() - start, 1e-9)
