"""Interface of a device, as the engines use it: memory, streams, kernels.

`gpualign.gpu.runtime.pycuda_device` implements it with PyCUDA. The tests implement it on the host, to run the engine and the kernels
without a GPU.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from gpualign.gpu.kernels.kernel import Hardware, Kernel

Bytes = npt.NDArray[np.uint8]


class OutOfMemory(Exception):
    """Raised when the device, or the host's pinned memory, has less memory left than requested."""


class Memory(Protocol):
    """Allocation on the device."""

    @property
    def address(self) -> int: ...

    def free(self) -> None: ...


class Function(Protocol):
    """Loaded kernel."""

    def resident_blocks(self, threads: int) -> int:
        """Return how many blocks of `threads` threads one multiprocessor runs at a time."""


class Event(Protocol):
    """Point in a stream."""

    def done(self) -> bool:
        """Return whether all work before it is finished. Raises `RunError` if that work failed."""

    def seconds_since(self, earlier: Any) -> float: ...


def wait_for(event: Event, seconds: float = 50e-6, stopped: Callable[[], bool] = lambda: False) -> bool:
    """Wait until an event has happened, and return True. Return False early if `stopped` does.

    It sleeps `seconds` at a time. Raises `RunError` if the device failed.
    """
    while not event.done():
        if stopped():
            return False
        time.sleep(seconds)
    return True


class Stream(Protocol):
    """Queue of work that the device does in order while the host continues."""

    def upload(self, address: int, source: Bytes) -> None:
        """Copy pinned memory to the device. It must stay unchanged until the stream has done the copy."""

    def download(self, target: Bytes, address: int) -> None: ...

    def fill(self, address: int, byte: int, nbytes: int) -> None: ...

    def launch(self, function: Any, grid: int, threads: int, arguments: np.void, shared: int = 0) -> None:
        """Launch a kernel in `grid` blocks of `threads` threads. shared: bytes of shared memory in addition to those it declares."""

    def record(self) -> Event: ...


class Device(Protocol):
    """One device, used between `open` and `close` by one thread. Other threads may `join` it and use streams of their own."""

    @property
    def name(self) -> str: ...

    @property
    def hardware(self) -> Hardware: ...

    @property
    def arch(self) -> str:
        """Name of the architecture in compilers, e.g. sm_90a."""

    @property
    def total_memory(self) -> int:
        """Memory of the device, bytes."""

    def open(self) -> None:
        """Make the device current in this thread."""

    def close(self) -> None:
        """Free what is still allocated, and release the device."""

    def join(self) -> None:
        """Make the device, opened by another thread, current in this thread as well."""

    def leave(self) -> None:
        """Undo `join`. Called by each thread that has joined, before the device is closed."""

    def free_memory(self) -> int:
        """Return the free memory of the device, bytes."""

    def allocate(self, nbytes: int) -> Memory:
        """Allocate memory on the device. Raises `OutOfMemory`."""

    def pinned(self, nbytes: int) -> Bytes:
        """Return pinned host memory, whose copies overlap with kernels. Raises `OutOfMemory`."""

    def tensor_map(self, address: int, shape: tuple[int, int], box: tuple[int, int]) -> Bytes:
        """Return the descriptor by which the copy engine (compute capability 9.0) finds boxes of a matrix of bytes.

        See gpu/runtime/tensor_map.py. Raises `RunError`.
        """

    def stream(self) -> Stream: ...

    def function(self, kernel: Kernel) -> Function:
        """Compile and load a kernel. Raises `RunError`."""
