"""Host memory for results, lent out and taken back: fresh pages would cost more than the copy into them."""

from __future__ import annotations

import threading
import weakref
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

Scores: TypeAlias = npt.NDArray[np.signedinteger]


class ResultPool:
    """A buffer comes back when nobody refers to its array, or to a part of it, any more."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._free: list[npt.NDArray[np.uint8]] = []

    def take(self, shape: tuple[int, int], dtype: np.dtype[np.signedinteger]) -> Scores:
        """An array of this shape, its contents undefined."""
        return self.take_bytes(shape[0] * shape[1] * dtype.itemsize).view(dtype).reshape(shape)

    def take_bytes(self, nbytes: int) -> npt.NDArray[np.uint8]:
        """So many bytes likewise."""
        with self._lock:
            fitting = [b for b in self._free if b.nbytes >= nbytes]
            buffer = min(fitting, key=lambda b: b.nbytes) if fitting else None
            if buffer is not None:
                self._free = [b for b in self._free if b is not buffer]
            else:
                self._free.clear()  # too small, all of them
        if buffer is None:
            buffer = np.empty(nbytes, dtype=np.uint8)
        # The base of this array is no array, so that every view of it keeps it, and not the buffer, alive.
        taken = np.frombuffer(buffer.data[:nbytes], dtype=np.uint8)
        weakref.finalize(taken, self._give_back, buffer)
        return taken

    def _give_back(self, buffer: npt.NDArray[np.uint8]) -> None:
        with self._lock:
            self._free.append(buffer)
