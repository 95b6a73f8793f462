"""A stream with the buffers for one batch. A few such streams take turns, so that copies and host work overlap with kernels."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from gpualign.gpu.kernels.argument_structs import QUEUE_BYTES, NamedArrays, aligned_bytes
from gpualign.gpu.kernels.kernel import Kernel
from gpualign.gpu.runtime.device import ByteArray, Device, Event, Memory, OutOfMemory, Stream, wait_for

BufferT = TypeVar("BufferT")

_SMALL_BUFFER_BYTES = 16 << 20
"""Size in bytes up to which a buffer is allocated twice as large as requested."""

_MIN_LIST_BYTES = 1 << 16  # bytes of a pinned buffer for a list

_STOP_BYTE = 0x3F  # value of every byte of the queue's counter: more units than any queue has


class StreamBuffers:
    """Stream with named buffers, which grow as batches require and are kept for the next batch.

    Replacing a buffer, or allocating a pinned one, waits until the device has finished its current work, so small buffers are allocated
    larger than requested. The driver itself would wait, but PyCUDA would keep all threads of Python from running meanwhile. Methods that
    allocate raise `OutOfMemory` if too little memory is left.

    number: index of the stream
    events: events recorded by `mark_event` since the last `begin_batch`
    """

    def __init__(self, device: Device, number: int) -> None:
        self.number = number
        self._device = device
        self._stream = device.create_stream()
        self._memory: dict[str, tuple[Memory, int]] = {}
        self._pinned: dict[str, ByteArray] = {}
        self._staged_bytes = 0
        self.events: list[Event] = []

    @property
    def multiprocessor_count(self) -> int:
        return self._device.hardware.multiprocessor_count

    def resident_blocks(self, kernel: Kernel, threads: int) -> int:
        """Return how many blocks of `threads` threads of a kernel the device runs concurrently."""
        return self._device.load_function(kernel).resident_blocks(threads) * self.multiprocessor_count

    def load(self, kernel: Kernel) -> None:
        """Load a kernel in advance, because the driver cannot load one while another is running."""
        self._device.load_function(kernel)

    def address(self, name: str, nbytes: int, max_bytes: int = _SMALL_BUFFER_BYTES) -> int:
        """Return the address of the named device buffer, after replacing it if it is smaller than `nbytes` bytes.

        A new buffer is twice as large as requested, but no larger than `max_bytes` if that is enough. A buffer that replaces another one is
        at least a quarter larger than requested. If memory is short, a buffer is only as large as requested.
        """
        memory, size = self._memory.get(name, (None, 0))
        if memory is None or size < nbytes:
            roomy = max(nbytes, min(2 * nbytes, max_bytes))
            if memory is not None:
                roomy = max(roomy, nbytes + nbytes // 4)
                del self._memory[name]
                self._device.wait_until_idle()
                memory.free()
            memory, size = self._memory[name] = _allocate_with_fallback(self._device.allocate, nbytes, roomy)
        return memory.address

    def host_buffer(self, name: str, nbytes: int) -> ByteArray:
        """Return the first `nbytes` bytes of the named pinned buffer, after replacing it if it is smaller."""
        if name not in self._pinned or self._pinned[name].nbytes < nbytes:
            self._device.wait_until_idle()
            self._pinned.pop(name, None)
            self._pinned[name], _ = _allocate_with_fallback(
                self._device.allocate_pinned, nbytes, max(nbytes + nbytes // 8, min(2 * nbytes, _SMALL_BUFFER_BYTES // 2))
            )
        return self._pinned[name][:nbytes]

    def set_host_buffer(self, name: str, memory: ByteArray) -> None:
        """Use existing host memory, pinned or not, as the buffer that `host_buffer` returns."""
        self._pinned[name] = memory

    def copy(self, name: str, array: npt.NDArray[np.generic]) -> int:
        """Copy an array to the named device buffer, wait for the copy, and return the address. The array need not be pinned."""
        address = self.address(name, array.nbytes, max_bytes=0)
        source = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
        self.send(source, address)
        self.wait()
        return address

    def stage(self, arrays: NamedArrays) -> dict[str, int]:
        """Copy arrays into one pinned buffer, for `upload_staged`. Return the address that each array will have on the device, by name."""
        self._staged_bytes = sum(aligned_bytes(array.nbytes) for array in arrays.values())
        host, at = self.host_buffer("arrays", self._staged_bytes), self.address("arrays", self._staged_bytes)
        addresses: dict[str, int] = {}
        used = 0
        for name, array in arrays.items():
            addresses[name] = at + used
            host[used : used + array.nbytes] = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
            used += aligned_bytes(array.nbytes)
        return addresses

    def upload_staged(self) -> None:
        """Copy the staged arrays to the device."""
        self.upload("arrays", self._staged_bytes)

    def begin_batch(self) -> None:
        """Forget the events of the previous batch, and mark the start of the next one."""
        self.events = []
        self.mark_event()

    def mark_event(self) -> None:
        """Record an event and append it to `events`."""
        self.events.append(self.record_event())

    def record_event(self) -> Event:
        return self._stream.record_event()

    def wait(self) -> None:
        """Wait until the stream is idle."""
        wait_for(self.record_event())

    def send(self, source: ByteArray, address: int) -> None:
        """Queue a copy of host memory, which must stay unchanged until the copy has finished, to a device address."""
        self._stream.upload(address, source)

    def upload(self, name: str, nbytes: int) -> None:
        """Queue a copy of the first `nbytes` bytes of a pinned buffer to the device buffer of the same name."""
        self.send(self.host_buffer(name, nbytes), self.address(name, nbytes))

    def download(self, name: str, nbytes: int) -> None:
        """Queue a copy of the first `nbytes` bytes of a device buffer to the pinned buffer of the same name."""
        self._stream.download(self.host_buffer(name, nbytes), self.address(name, nbytes))

    def fetch(self, name: str, shape: tuple[int, ...], dtype: npt.DTypeLike) -> npt.NDArray[Any]:
        """Copy a device buffer to the pinned buffer of the same name, and wait for the copy. Return the pinned buffer as an array.

        The copy starts when all earlier work on the stream has finished.
        """
        nbytes = math.prod(shape) * np.dtype(dtype).itemsize
        self.download(name, nbytes)
        self.wait()
        array: npt.NDArray[Any] = self.host_buffer(name, nbytes).view(dtype).reshape(shape)
        return array

    def download_list(self, name: str, nbytes: int) -> None:
        """Queue a copy of a list to the pinned buffer of the same name.

        The pinned buffer grows by doubling, because allocating it is expensive.

        nbytes: size of the part of the list that is in use
        """
        self.host_buffer(name, max(_MIN_LIST_BYTES, 1 << (nbytes - 1).bit_length()))
        self.download(name, nbytes)

    def fill(self, address: int, byte: int, nbytes: int) -> None:
        self._stream.fill(address, byte, nbytes)

    def launch(self, kernel: Kernel, grid: int, threads: int, arguments: np.void, shared_bytes: int = 0) -> None:
        self._stream.launch(self._device.load_function(kernel), grid, threads, arguments, shared_bytes)

    def stop_kernel(self, control_stream: Stream) -> None:
        """Make the running kernel's queue look empty, so that the kernel ends. control_stream: a stream other than the kernel's"""
        if "queue" in self._memory:
            control_stream.fill(self._memory["queue"][0].address, _STOP_BYTE, QUEUE_BYTES)

    def release(self) -> None:
        """Free every buffer; the stream must be idle."""
        for memory, _ in self._memory.values():
            memory.free()
        self._memory.clear()
        self._pinned.clear()


def _allocate_with_fallback(allocate: Callable[[int], BufferT], nbytes: int, preferred_bytes: int) -> tuple[BufferT, int]:
    """Return (buffer, size in bytes): at least `preferred_bytes` bytes, or at least `nbytes` if there is not enough memory."""
    min_size, size = aligned_bytes(max(nbytes, 1)), aligned_bytes(preferred_bytes)
    if size > min_size:
        try:
            return allocate(size), size
        except OutOfMemory:
            pass
    return allocate(min_size), min_size
