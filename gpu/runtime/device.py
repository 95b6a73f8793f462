"""What the engine needs of a device, apart from how it is reached: memory, streams, kernels.

`gpualign.gpu.runtime.pycuda_device` implements it with PyCUDA; the tests implement it on the host, to run the engine and the kernels where
there is no GPU.
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
    """The device, or the host's pinned memory, has less left than was asked for."""


class Memory(Protocol):
    """An allocation on the device."""

    @property
    def address(self) -> int: ...

    def free(self) -> None: ...


class Function(Protocol):
    """A loaded kernel."""

    def resident_blocks(self, threads: int) -> int:
        """Blocks of so many threads that one multiprocessor runs at a time."""


class Event(Protocol):
    """A point in a stream."""

    def done(self) -> bool:
        """Whether everything before it has happened. Raises `RunError` where that failed."""

    def seconds_since(self, earlier: Any) -> float: ...


def wait_for(event: Event, seconds: float = 50e-6, stopped: Callable[[], bool] = lambda: False) -> bool:
    """Sleep, so many seconds at a time, until an event has happened, or `stopped` says that nobody wants it any more; whether it has
    happened. Raises `RunError` where the device failed."""
    while not event.done():
        if stopped():
            return False
        time.sleep(seconds)
    return True


class Stream(Protocol):
    """Work that the device does in order, while the host goes on."""

    def upload(self, address: int, source: Bytes) -> None:
        """From pinned memory, which must stay unchanged until the stream has passed."""

    def download(self, target: Bytes, address: int) -> None: ...

    def fill(self, address: int, byte: int, nbytes: int) -> None: ...

    def launch(self, function: Any, grid: int, threads: int, arguments: np.void, shared: int = 0) -> None:
        """shared: bytes of shared memory beside what the kernel declares."""

    def record(self) -> Event: ...


class Device(Protocol):
    """One device, between `open` and `close` by one thread. Others that `join` it may use streams that nobody else uses."""

    @property
    def name(self) -> str: ...

    @property
    def hardware(self) -> Hardware: ...

    @property
    def arch(self) -> str:
        """The compilers' name of the architecture."""

    @property
    def total_memory(self) -> int:
        """Bytes."""

    def open(self) -> None:
        """Make the device current in this thread."""

    def close(self) -> None:
        """Free what is left, and give the device back."""

    def join(self) -> None:
        """Make the device, which another thread has opened, current in this thread as well."""

    def leave(self) -> None:
        """In a thread that has joined, before the device is closed."""

    def free_memory(self) -> int:
        """Bytes."""

    def allocate(self, nbytes: int) -> Memory:
        """Raises `OutOfMemory`."""

    def pinned(self, nbytes: int) -> Bytes:
        """Host memory whose copies overlap with kernels. Raises `OutOfMemory`."""

    def tensor_map(self, address: int, shape: tuple[int, int], box: tuple[int, int]) -> Bytes:
        """How the copy engine (compute capability 9.0) finds boxes of a matrix of bytes (gpu/runtime/tensor_map.py). Raises `RunError`."""

    def stream(self) -> Stream: ...

    def function(self, kernel: Kernel) -> Function:
        """Compile and load. Raises `RunError`."""
