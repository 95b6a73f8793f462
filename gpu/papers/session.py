"""One device, one stream, one step after the other: the host's side of kernels that are kept for what they teach."""

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

_BALLAST = 512 << 20  # bytes to clear: some tenths of a millisecond

Log = Callable[[float, int], None]
"""Told of the seconds of kernels, by events, and of the cells or comparisons that they computed."""

Array = npt.NDArray[Any]


class Session:
    """A device that is open. What is allocated is freed on leaving, or earlier by `release`. Raises `RunError` where memory runs out."""

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
        """The address of so many bytes on the device."""
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
        """The address of a copy on the device."""
        raw = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
        address = self.allocate(raw.nbytes)
        staging = self._device.pinned(max(raw.nbytes, 1))
        staging[: raw.nbytes] = raw
        self._stream.upload(address, staging[: raw.nbytes])
        self.wait()
        return address

    def zeros(self, nbytes: int) -> int:
        """The address of so many bytes that are 0."""
        address = self.allocate(nbytes)
        self._stream.fill(address, 0, nbytes)
        return address

    def stream(self) -> Stream:
        """Another stream, for work that overlaps with this one's."""
        return self._device.stream()

    def load(self, kernel: Kernel) -> None:
        """Compile and load, so that the first launch does not have to."""
        self._device.function(kernel)

    def launch(self, kernel: Kernel, grid: int, threads: int, filled: np.void, stream: Stream | None = None) -> None:
        """filled: a struct of gpu/kernels/argument_structs.py; stream: of `stream`, else the session's own."""
        (stream or self._stream).launch(self._device.function(kernel), grid, threads, filled)

    @contextmanager
    def timed(self, work: int, stream: Stream | None = None) -> Iterator[None]:
        """Tell the log of the seconds of what is launched inside; work: its cells or comparisons."""
        if self._log is None:
            yield
            return
        stream = stream or self._stream
        # The device is kept busy while the host launches, so that short kernels do not count the host's time.
        stream.fill(self._ballast, 0, _BALLAST)
        begun = stream.record()
        yield
        ended = stream.record()
        wait_for(ended)
        self._log(ended.seconds_since(begun), work)

    def download(self, address: int, shape: tuple[int, ...], dtype: npt.DTypeLike) -> Array:
        """A copy of an array on the device, when everything before has been computed."""
        count = int(np.prod(shape))
        staging = self._device.pinned(max(1, count * np.dtype(dtype).itemsize))
        self._stream.download(staging, address)
        self.wait()
        found: Array = staging.view(dtype)[:count].reshape(shape).copy()
        return found

    def wait(self) -> None:
        wait_for(self._stream.record())
