"""Device interface used by the engines: memory, streams, kernels.

`gpualign.gpu.runtime.pycuda_device` implements the interface with PyCUDA. The tests implement it on the host, to run the engine and the
kernels without a GPU.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from gpualign.core.common.errors import RunError
from gpualign.gpu.kernels.kernel import Hardware, Kernel

ByteArray = npt.NDArray[np.uint8]


class OutOfMemory(Exception):
    """Raised when less device memory or pinned host memory is left than requested."""


def check_process(process_id: int) -> None:
    """Raise `RunError` in any process but the one with this id, in which the engine was made, because CUDA cannot be used after a fork."""
    if os.getpid() != process_id:
        raise RunError("CUDA cannot be used in a process that was forked after CUDA had started; make the engine in the child")


class Memory(Protocol):
    """Allocation on the device."""

    @property
    def address(self) -> int: ...

    def free(self) -> None: ...


class Function(Protocol):
    """Loaded kernel."""

    def resident_blocks(self, threads: int) -> int:
        """Return how many blocks of `threads` threads one multiprocessor runs concurrently."""


class Event(Protocol):
    """Marker in the sequence of a stream's work."""

    def is_done(self) -> bool:
        """Return whether all work before the event has finished. Raises `RunError` if that work failed."""

    def seconds_since(self, earlier: Any) -> float: ...


def wait_for(event: Event, poll_seconds: float = 50e-6, is_stopped: Callable[[], bool] = lambda: False) -> bool:
    """Wait until an event has happened, and return True. Return False early if `is_stopped` returns True.

    Sleeps `poll_seconds` between polls. Raises `RunError` if the device failed.
    """
    while not event.is_done():
        if is_stopped():
            return False
        time.sleep(poll_seconds)
    return True


class Stream(Protocol):
    """Queue of work that the device executes in order while the host continues."""

    def upload(self, address: int, source: ByteArray) -> None:
        """Queue a copy of host memory, pinned or not, to the device. The memory must stay unchanged until the copy has finished."""

    def download(self, target: ByteArray, address: int) -> None: ...

    def fill(self, address: int, byte: int, nbytes: int) -> None: ...

    def launch(self, function: Any, grid: int, threads: int, arguments: np.void, shared_bytes: int = 0) -> None:
        """Launch a kernel with `grid` blocks of `threads` threads. shared_bytes: dynamic shared memory per block."""

    def record_event(self) -> Event: ...


class Device(Protocol):
    """One device, used by one thread between `open` and `close`. Other threads may `activate` the device and use their own streams."""

    @property
    def name(self) -> str: ...

    @property
    def hardware(self) -> Hardware: ...

    @property
    def arch(self) -> str:
        """Compiler name of the architecture, e.g. sm_90a."""

    @property
    def total_memory(self) -> int:
        """Total device memory, in bytes."""

    def open(self) -> None:
        """Make the device current in this thread."""

    def close(self) -> None:
        """Free all remaining allocations, and release the device."""

    def activate(self) -> None:
        """Make the device, opened by another thread, current in this thread as well."""

    def deactivate(self) -> None:
        """Undo `activate`. Called by each thread that has called `activate`, before the device is closed."""

    def wait_until_idle(self) -> None:
        """Wait until the device has finished all work queued so far, while other threads of Python run. Raises `RunError` if the device
        failed."""

    def free_memory(self) -> int:
        """Return the free device memory, in bytes."""

    def allocate(self, nbytes: int) -> Memory:
        """Allocate memory on the device. Raises `OutOfMemory` if too little is left."""

    def allocate_pinned(self, nbytes: int) -> ByteArray:
        """Return pinned (page-locked) host memory, uint8[nbytes], which the device can copy while kernels run.

        Raises `OutOfMemory` if too little is left.
        """

    def tensor_map(self, address: int, shape: tuple[int, int], box: tuple[int, int]) -> ByteArray:
        """Return the descriptor with which the copy engine (compute capability 9.0) locates boxes of a byte matrix.

        address: device address of the matrix
        shape, box: (rows, bytes per row) of the matrix and of a box

        gpu/runtime/tensor_map.py describes the format. Raises `RunError` if the driver refuses to create the descriptor.
        """

    def create_stream(self) -> Stream: ...

    def load_function(self, kernel: Kernel) -> Function:
        """Compile and load a kernel. Raises `RunError` if either fails."""
