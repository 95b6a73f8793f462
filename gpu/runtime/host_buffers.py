"""Pool of host memory for results. Memory is reused, because allocating new pages takes longer than copying results into them."""

from __future__ import annotations

import threading
import weakref

import numpy as np
import numpy.typing as npt

from gpualign.core.common.arrays import Scores


class ResultBufferPool:
    """Pool of buffers. A buffer returns to the pool when no references to its array or to views of the array are left."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._free: list[npt.NDArray[np.uint8]] = []

    def take(self, shape: tuple[int, int], dtype: np.dtype[np.signedinteger]) -> Scores:
        """Return an array of this shape and type with undefined contents."""
        return self.take_bytes(shape[0] * shape[1] * dtype.itemsize).view(dtype).reshape(shape)

    def take_bytes(self, nbytes: int) -> npt.NDArray[np.uint8]:
        """Return an array of `nbytes` bytes with undefined contents."""
        with self._lock:
            fitting = [b for b in self._free if b.nbytes >= nbytes]
            buffer = min(fitting, key=lambda b: b.nbytes) if fitting else None
            if buffer is not None:
                self._free = [b for b in self._free if b is not buffer]
            else:
                self._free.clear()  # all of them are too small
        if buffer is None:
            buffer = np.empty(nbytes, dtype=np.uint8)
        # The base of this array is not itself an array, so every view keeps this array alive, and not the buffer.
        taken = np.frombuffer(buffer.data[:nbytes], dtype=np.uint8)
        weakref.finalize(taken, self._return_buffer, buffer)
        return taken

    def _return_buffer(self, buffer: npt.NDArray[np.uint8]) -> None:
        with self._lock:
            self._free.append(buffer)
