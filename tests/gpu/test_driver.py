"""The PyCUDA driver over a made-up PyCUDA whose device is host memory: what is called, what is freed, what errors become."""

import ctypes
import importlib
import sys
import types

import numpy as np
import pytest
from host_device import HostFunction, compiler
from work import run_scores, sequence_set, two_valued

from gpualign.core.common.errors import RunError
from gpualign.cpu.alignment.engine import CpuEngine
from gpualign.gpu.alignment.engine import CudaEngine
from gpualign.gpu.alignment.families.one_thread_per_pair import PACK_LETTERS_KERNEL
from gpualign.gpu.kernels.kernel import Kernel
from gpualign.gpu.runtime.device import OutOfMemory

pytestmark = pytest.mark.skipif(compiler() is None, reason="no C++ compiler on this machine")


class Error(Exception):
    pass


class MemoryError_(Error):
    pass


class Allocation:
    live = 0

    def __init__(self, nbytes):
        if nbytes > 1 << 30:
            raise MemoryError_("cuMemAlloc failed: out of memory")
        self._array = np.zeros(nbytes, dtype=np.uint8)
        Allocation.live += 1

    def __int__(self):
        return self._array.ctypes.data

    def free(self):
        Allocation.live -= 1


class Event:
    clock = 0

    def record(self, stream):
        Event.clock += 1
        self.time = Event.clock
        return self

    def query(self):
        return True

    def time_since(self, earlier):
        return self.time - earlier.time


STACK = []


class Context:
    retained = 0

    def push(self):
        STACK.append(self)

    @staticmethod
    def pop():
        STACK.pop()

    @staticmethod
    def synchronize():
        assert STACK

    def detach(self):
        Context.retained -= 1


class Function:
    num_regs, shared_size_bytes, allowed = 128, 1000, 48 << 10

    def __init__(self, kernel):
        self._host = HostFunction(kernel)

    def set_attribute(self, attribute, value):
        self.allowed = value

    def __call__(self, arguments, grid, block, stream, shared):
        assert STACK
        assert shared <= self.allowed
        assert block[1:] == (1, 1)
        threads = min(block[0], 4) if self._host.kernel.file == "pack.cu" else block[0]
        numbers = (ctypes.c_uint(number) for number in (grid[0], threads, shared))
        self._host.run(*numbers, ctypes.c_char_p(arguments.tobytes()), ctypes.c_uint(0))


ATTRIBUTES = {
    "MULTIPROCESSOR_COUNT": 2,
    "CLOCK_RATE": 1000,
    "MAX_REGISTERS_PER_MULTIPROCESSOR": 65536,
    "MAX_SHARED_MEMORY_PER_MULTIPROCESSOR": 100_000,
    "MAX_THREADS_PER_MULTIPROCESSOR": 2048,
    "MAX_BLOCKS_PER_MULTIPROCESSOR": 24,
}


class Device:
    def __init__(self, number):
        pass

    def name(self):
        return "made up"

    def compute_capability(self):
        return (9, 0)

    def total_memory(self):
        return 1 << 27

    def get_attribute(self, name):
        return ATTRIBUTES[name]

    def retain_primary_context(self):
        Context.retained += 1
        return Context()


@pytest.fixture
def driver(monkeypatch):
    """gpualign.gpu.runtime.pycuda_device, imported with the made-up PyCUDA."""
    fake = types.ModuleType("pycuda.driver")
    package = types.ModuleType("pycuda")
    package.driver = fake
    fake.init = lambda: None
    fake.get_driver_version = lambda: 13000
    fake.Error, fake.MemoryError = Error, MemoryError_
    fake.Device, fake.Context, fake.Event, fake.Stream = Device, Context, Event, type("Stream", (), {})
    fake.device_attribute = types.SimpleNamespace(**{name: name for name in ATTRIBUTES})
    fake.mem_alloc = Allocation
    fake.function_attribute = types.SimpleNamespace(MAX_DYNAMIC_SHARED_SIZE_BYTES=8)
    fake.mem_get_info = lambda: (1 << 26, 1 << 27)
    fake.pagelocked_empty = np.empty
    fake.memcpy_htod_async = lambda address, source, stream: ctypes.memmove(address, source.ctypes.data, source.nbytes)
    fake.memcpy_dtoh_async = lambda target, address, stream: ctypes.memmove(target.ctypes.data, address, target.nbytes)
    fake.memset_d8_async = lambda address, byte, count, stream: ctypes.memset(address, byte, count)
    fake.module_from_buffer = lambda kernel: types.SimpleNamespace(get_function=lambda name: Function(kernel))
    monkeypatch.setitem(sys.modules, "pycuda", package)
    monkeypatch.setitem(sys.modules, "pycuda.driver", fake)
    monkeypatch.delitem(sys.modules, "gpualign.gpu.runtime.pycuda_device", raising=False)
    module = importlib.import_module("gpualign.gpu.runtime.pycuda_device")
    monkeypatch.setattr(module, "load_cubin", lambda kernel, arch, driver: kernel)
    yield module
    sys.modules.pop("gpualign.gpu.runtime.pycuda_device", None)


def assert_given_back():
    assert (Allocation.live, STACK, Context.retained) == (0, [], 0)


def test_scores_by_way_of_the_driver(driver, rng, monkeypatch):
    # Made-up warps have 8 lanes, as those of the host's kernels.
    device = driver.CudaDevice(0)
    monkeypatch.setattr(device, "hardware", type(device.hardware)(2, 1e6, 8))
    sequences = sequence_set([rng.integers(0, 4, rng.integers(1, 50)) for _ in range(30)])
    scheme = two_valued(4, 5, -4, 10, 1)
    for _ in range(2):
        scores = run_scores(sequences, sequences, scheme, engine=CudaEngine([device]))
        np.testing.assert_array_equal(scores, run_scores(sequences, sequences, scheme, engine=CpuEngine(1)))
        assert_given_back()


def test_a_device_object_serves_one_run_at_a_time(driver):
    device = driver.CudaDevice(0)
    device.open()
    with pytest.raises(RunError, match="another run uses this object"):
        device.open()
    device.close()
    assert_given_back()


def test_failures_become_errors_for_people(driver, monkeypatch):
    device = driver.CudaDevice(0)
    device.open()
    with pytest.raises(OutOfMemory):
        device.allocate(1 << 31)
    monkeypatch.setattr(Event, "query", lambda self: (_ for _ in ()).throw(Error("cuEventQuery failed: made up")))
    with pytest.raises(RunError, match="the CUDA device failed: cuEventQuery failed: made up"):
        device.create_stream().record_event().is_done()
    device.close()


@pytest.mark.parametrize(
    ("registers", "shared", "threads", "blocks"),
    [(128, 1000, 64, 8), (255, 1000, 128, 2), (32, 30_000, 64, 3), (16, 0, 1024, 2), (16, 0, 32, 24), (255, 99_000, 1024, 1)],
)
def test_resident_blocks_are_limited_by_every_resource(driver, registers, shared, threads, blocks):
    function = driver.CudaDevice(0).load_function(PACK_LETTERS_KERNEL)
    function.native.num_regs, function.native.shared_size_bytes = registers, shared
    assert function.resident_blocks(threads) == blocks


def test_more_shared_memory_is_asked_for_once(driver):
    function = driver.CudaFunction(Kernel("pack.cu", "pack_letters"), "pack_letters", Device(0))
    function.allow_shared_memory(1000)
    assert function.native.allowed == 48 << 10
    function.allow_shared_memory(100_000)
    assert function.native.allowed == 100_000
    function.native.allowed = 0
    function.allow_shared_memory(90_000)
    assert function.native.allowed == 0  # what was allowed before is enough
