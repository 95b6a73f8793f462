"""Host side of the kernels kept for teaching: one device, one stream, one step at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Any

import numpy as np
import numpy.typing as npt

from gpualign.core.common.errors import RunError, parameter
from gpualign.gpu.kernels.kernel import Kernel
from gpualign.gpu.runtime.device import Device, Memory, OutOfMemory, Stream, wait_for

_BALLAST = 512 << 20  # bytes to clear, which takes some tenths of a millisecond

Log = Callable[[float, int], None]
"""Called with the kernel time in seconds, measured with events, and the number of cells or comparisons computed."""

Array = npt.NDArray[Any]


class Session:
    """Open device. Memory is freed on exit, or earlier with `release`. Methods that allocate raise `RunError` if memory runs out."""

    def __init__(self, device: Device, log: Log | None = None) -> None:
        self._device = device
        self._log = log
        self._memories: dict[int, Memory] = {}

    def __enter__(self) -> Session:
        self._device.open()
        self._stream = self._device.stream()
        if self._log is not None:
            self._ballast = self.allocate(_BALLAST)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.release(*self._memories)
        self._device.close()

    def allocate(self, nbytes: int) -> int:
        """Allocate `nbytes` bytes on the device, and return their address."""
        try:
            memory = self._device.allocate(max(nbytes, 1))
        except OutOfMemory as error:
            raise RunError(
                f"the CUDA device has too little memory ({error}); lower {parameter('memory')}, which makes the work's pieces smaller"
            ) from None
        self._memories[memory.address] = memory
        return memory.address

    def release(self, *addresses: int) -> None:
        for address in addresses:
            self._memories.pop(address).free()

    def upload(self, array: Array) -> int:
        """Copy an array to the device, and return its address."""
        raw = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
        address = self.allocate(raw.nbytes)
        staging = self._device.pinned(max(raw.nbytes, 1))
        staging[: raw.nbytes] = raw
        self._stream.upload(address, staging[: raw.nbytes])
        self.wait()
        return address

    def zeros(self, nbytes: int) -> int:
        """Allocate `nbytes` zeroed bytes, and return their address."""
        address = self.allocate(nbytes)
        self._stream.fill(address, 0, nbytes)
        return address

    def stream(self) -> Stream:
        """Return an additional stream, for work that overlaps with work on the session's own stream."""
        return self._device.stream()

    def load(self, kernel: Kernel) -> None:
        """Compile and load a kernel, so that its first launch does not have to."""
        self._device.function(kernel)

    def launch(self, kernel: Kernel, grid: int, threads: int, filled: np.void, stream: Stream | None = None) -> None:
        """Launch a kernel. filled: struct from gpu/kernels/argument_structs.py; stream: from `stream`; default: the session's own."""
        (stream or self._stream).launch(self._device.function(kernel), grid, threads, filled)

    @contextmanager
    def timed(self, work: int, stream: Stream | None = None) -> Iterator[None]:
        """Report the time of the kernels launched in the context to the log, in seconds. work: number of cells or comparisons."""
        if self._log is None:
            yield
            return
        stream = stream or self._stream
        # Keep the device busy while the host launches, so that the times of short kernels do not include the host's.
        stream.fill(self._ballast, 0, _BALLAST)
        started = stream.record()
        yield
        ended = stream.record()
        wait_for(ended)
        self._log(ended.seconds_since(started), work)

    def download(self, address: int, shape: tuple[int, ...], dtype: npt.DTypeLike) -> Array:
        """Return a host copy of a device array, after all earlier work on the stream."""
        count = int(np.prod(shape))
        staging = self._device.pinned(max(1, count * np.dtype(dtype).itemsize))
        self._stream.download(staging, address)
        self.wait()
        array: Array = staging.view(dtype)[:count].reshape(shape).copy()
        return array

    def wait(self) -> None:
        wait_for(self._stream.record())
