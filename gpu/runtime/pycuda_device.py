"""CUDA device accessed through PyCUDA: an implementation of `gpualign.gpu.runtime.device.Device`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pycuda.driver as cuda

from gpualign.core.common.errors import RunError
from gpualign.gpu.kernels.kernel import Hardware, Kernel
from gpualign.gpu.runtime.device import ByteArray, OutOfMemory
from gpualign.gpu.runtime.kernel_cache import architecture, load_cubin
from gpualign.gpu.runtime.tensor_map import tensor_map

_DEFAULT_SHARED_BYTES = 48 << 10


@contextmanager
def _convert_errors() -> Iterator[None]:
    """Convert an exception that PyCUDA raises within the context: into `OutOfMemory`, or else into `RunError` with its message."""
    try:
        yield
    except cuda.MemoryError as error:
        raise OutOfMemory(str(error)) from error
    except cuda.Error as error:
        raise RunError(f"the CUDA device failed: {error}") from error


class CudaMemory:
    def __init__(self, nbytes: int) -> None:
        with _convert_errors():
            self._allocation = cuda.mem_alloc(nbytes)
        self.address = int(self._allocation)

    def free(self) -> None:
        with _convert_errors():
            self._allocation.free()


class CudaFunction:
    def __init__(self, code: bytes, name: str, device: cuda.Device) -> None:
        # The module must live as long as its function.
        self._module = cuda.module_from_buffer(code)
        self.native = self._module.get_function(name)
        self._device = device
        self._allowed = _DEFAULT_SHARED_BYTES

    def allow_shared_memory(self, shared_bytes: int) -> None:
        """Allow blocks to use `shared_bytes` bytes of shared memory. Amounts above the default limit must be requested from the driver."""
        if shared_bytes > self._allowed:
            self.native.set_attribute(cuda.function_attribute.MAX_DYNAMIC_SHARED_SIZE_BYTES, shared_bytes)
            self._allowed = shared_bytes

    def resident_blocks(self, threads: int) -> int:
        """Return the number of blocks of `threads` threads that one multiprocessor runs concurrently.

        The number is limited by registers, shared memory, and the maximum numbers of threads and blocks.
        """
        get = self._device.get_attribute
        names = cuda.device_attribute
        warps = -(-threads // 32)
        # Registers are allocated to warps in units of 256; each block takes 1 KiB of shared memory in addition to its own.
        registers = warps * (-(-self.native.num_regs * 32 // 256) * 256)
        shared = self.native.shared_size_bytes + 1024
        return int(
            max(
                1,
                min(
                    get(names.MAX_REGISTERS_PER_MULTIPROCESSOR) // registers,
                    get(names.MAX_SHARED_MEMORY_PER_MULTIPROCESSOR) // shared,
                    get(names.MAX_THREADS_PER_MULTIPROCESSOR) // (warps * 32),
                    get(names.MAX_BLOCKS_PER_MULTIPROCESSOR),
                ),
            )
        )


class CudaEvent:
    def __init__(self, stream: cuda.Stream) -> None:
        with _convert_errors():
            self.native = cuda.Event().record(stream)

    def is_done(self) -> bool:
        with _convert_errors():
            return bool(self.native.query())

    def seconds_since(self, earlier: CudaEvent) -> float:
        with _convert_errors():
            return float(self.native.time_since(earlier.native)) / 1e3


class CudaStream:
    def __init__(self) -> None:
        with _convert_errors():
            self._stream = cuda.Stream()

    def upload(self, address: int, source: ByteArray) -> None:
        with _convert_errors():
            cuda.memcpy_htod_async(address, source, self._stream)

    def download(self, target: ByteArray, address: int) -> None:
        with _convert_errors():
            cuda.memcpy_dtoh_async(target, address, self._stream)

    def fill(self, address: int, byte: int, nbytes: int) -> None:
        with _convert_errors():
            cuda.memset_d8_async(address, byte, nbytes, self._stream)

    def launch(self, function: CudaFunction, grid: int, threads: int, arguments: np.void, shared_bytes: int = 0) -> None:
        with _convert_errors():
            function.allow_shared_memory(shared_bytes)
            function.native(arguments, grid=(grid, 1), block=(threads, 1, 1), stream=self._stream, shared=shared_bytes)

    def record_event(self) -> CudaEvent:
        return CudaEvent(self._stream)


class CudaDevice:
    """Device `ordinal` of this machine. Uses the primary context, which is shared with other users of CUDA in the process.

    driver: major CUDA version that the driver supports
    """

    def __init__(self, ordinal: int) -> None:
        cuda.init()
        self.ordinal = ordinal
        self._device = cuda.Device(ordinal)
        self.name = self._device.name()
        self.hardware = Hardware(self._device.get_attribute(cuda.device_attribute.MULTIPROCESSOR_COUNT), self._clock_hz())
        self.arch = architecture(self._device.compute_capability())
        self.driver = int(cuda.get_driver_version()) // 1000
        self.total_memory = int(self._device.total_memory())
        self._context: Any = None
        self._functions: dict[Kernel, CudaFunction] = {}

    def _clock_hz(self) -> float:
        return float(self._device.get_attribute(cuda.device_attribute.CLOCK_RATE)) * 1e3

    def open(self) -> None:
        if self._context is not None:
            raise RunError(f"CUDA device {self.ordinal}: another run uses this object; make one for each engine")
        try:
            context = self._device.retain_primary_context()
            context.push()
        except cuda.Error as error:
            raise RunError(f"CUDA device {self.ordinal} cannot be used: {error}") from error
        self._context = context

    def close(self) -> None:
        self._functions.clear()
        if self._context is not None:
            context, self._context = self._context, None
            with _convert_errors():
                cuda.Context.pop()
                context.detach()

    def activate(self) -> None:
        with _convert_errors():
            self._context.push()

    def deactivate(self) -> None:
        with _convert_errors():
            cuda.Context.pop()

    def wait_until_idle(self) -> None:
        with _convert_errors():
            cuda.Context.synchronize()

    def free_memory(self) -> int:
        with _convert_errors():
            return int(cuda.mem_get_info()[0])

    def allocate(self, nbytes: int) -> CudaMemory:
        return CudaMemory(nbytes)

    def allocate_pinned(self, nbytes: int) -> ByteArray:
        with _convert_errors():
            return np.asarray(cuda.pagelocked_empty(nbytes, np.uint8))

    def tensor_map(self, address: int, shape: tuple[int, int], box: tuple[int, int]) -> ByteArray:
        return tensor_map(address, shape, box)

    def create_stream(self) -> CudaStream:
        return CudaStream()

    def load_function(self, kernel: Kernel) -> CudaFunction:
        if (function := self._functions.get(kernel)) is None:
            try:
                function = CudaFunction(load_cubin(kernel, self.arch, self.driver), kernel.function, self._device)
            except cuda.Error as error:
                raise RunError(f"the CUDA driver refuses {kernel.file} for {self.arch}: {error}") from error
            self._functions[kernel] = function
        return function
