"""A device made of host memory and host threads: the kernels of cuda_src/ compiled as C++ (tests/cuda_host)."""

import ctypes
import hashlib
import os
import shutil
import subprocess
import tempfile
import threading
import time
from functools import cache
from pathlib import Path

import numpy as np
from places import ROOT

from gpualign.core.common.errors import RunError
from gpualign.gpu.kernels.argument_structs import CONTRACT_MACROS
from gpualign.gpu.kernels.kernel import Hardware
from gpualign.gpu.runtime.device import OutOfMemory

SANITIZE = os.environ.get("GPUALIGN_TEST_SANITIZE", "")
_LAUNCHING = threading.Lock()  # a kernel's library has its shared memory only once
_FEW_THREADS = {"pack.cu": 4, "select.cu": 4, "near_records.cu": 4, "near_gather.cu": 4, "near_verify.cu": 16}
"""Threads per block of kernels that work with any number of threads: few are faster on the host."""
HOST = ROOT / "tests" / "cuda_host"
INCLUDE_FOLDERS = [*sorted(p for p in (ROOT / "cuda_src").iterdir() if p.is_dir()), HOST]
_BUILD = Path(tempfile.gettempdir()) / f"gpualign-cuda-host-{os.getuid()}"


def compiler():
    return shutil.which("g++") or shutil.which("clang++")


def name_of(family):
    """The name of a family of kernels, for the name of a test."""
    return family.__name__.rpartition(".")[2]


@cache
def _gcc_version():
    """GCC's version; "" if `compiler()` is clang, as g++ is on macOS."""
    told = subprocess.run([compiler(), "--version"], capture_output=True, text=True, check=True).stdout
    return told if "Free Software Foundation" in told else ""


def _prepared(flags):
    """Compiler arguments for what all kernels share and what is compiled only once for the same flags: an object with the host threads of a
    grid, and cuda_host.hpp as a precompiled header of GCC. Without them a kernel takes twice as long to compile."""
    sources = sorted(HOST.iterdir())
    times = [(str(source), source.stat().st_mtime_ns) for source in sources]  # GCC compares them
    digest = hashlib.sha256(repr((compiler(), _gcc_version(), flags, times)).encode())
    for source in sources:
        digest.update(source.read_bytes())
    folder = _BUILD / f"{digest.hexdigest()[:24]}.prepared"
    if not folder.exists():
        part = _BUILD / f"{folder.name}.{os.getpid()}.{threading.get_ident()}"
        part.mkdir()
        _compile(*flags, "-c", "-o", part / "grid.o", HOST / "grid.cpp")
        if _gcc_version():
            (part / "first.hpp").write_text(f'#include "{HOST / "cuda_host.hpp"}"\n')
            _compile(*flags, "-x", "c++-header", "-o", part / "first.hpp.gch", part / "first.hpp")
        try:
            part.rename(folder)
        except OSError:  # another worker was quicker
            shutil.rmtree(part)
    return [folder / "grid.o", *([f"-I{folder}", "-include", "first.hpp"] if _gcc_version() else [])]


def _compile(*arguments):
    # A sanitizer's runtime slows the compiler down.
    subprocess.run([compiler(), *map(str, arguments)], env={**os.environ, "LD_PRELOAD": ""}, check=True)


def build(kernel):
    """Return the shared library of a kernel. It is compiled only if there is none of the same sources and flags."""
    sources = sorted([*(ROOT / "cuda_src").glob("*/*.cuh"), *(ROOT / "cuda_src").glob(f"*/{kernel.file}"), *HOST.iterdir()])
    flags = ["-std=c++17", "-O1", "-fPIC", "-pthread", "-Wall", "-Wno-unknown-pragmas"]
    flags += ["-U_FORTIFY_SOURCE"]  # it takes jumps between stacks for errors
    if "mma" in repr(kernel):  # tensor cores
        flags += ["-DHOST_LANES=32"]
    if SANITIZE:
        flags += ["-g1", f"-fsanitize={SANITIZE}", "-fno-sanitize-recover=all"]
    digest = hashlib.sha256(repr((kernel, CONTRACT_MACROS, flags)).encode())
    for source in sources:
        digest.update(source.read_bytes())
    library = _BUILD / f"{digest.hexdigest()[:24]}.so"
    if library.exists():
        return library
    _BUILD.mkdir(exist_ok=True)
    part = _BUILD / f"{library.name}.{os.getpid()}.{threading.get_ident()}"  # workers of two devices may build the same kernel
    macros = [f"-D{name}={value}" for name, value in (*kernel.macros, *CONTRACT_MACROS)]
    includes = [f"-I{folder}" for folder in INCLUDE_FOLDERS]
    names = [f'-DKERNEL_FILE="{kernel.file}"', f"-DKERNEL_NAME={kernel.function}"]
    _compile(*flags, "-shared", *_prepared(flags), *macros, *includes, *names, "-o", part, HOST / "kernel.cpp")
    part.replace(library)
    return library


class HostMemory:
    def __init__(self, device, nbytes):
        if device.used + nbytes > device.limit:
            raise OutOfMemory(f"{nbytes} bytes")
        self._device = device
        self._nbytes = nbytes
        self._array = np.full(nbytes, 0xA5, dtype=np.uint8)  # so that tests fail if a kernel reads memory that was never written
        self.address = self._array.ctypes.data
        device.used += nbytes
        device.peak = max(device.peak, device.used)

    def free(self):
        self._device.used -= self._nbytes
        self._array = None


class HostFunction:
    def __init__(self, kernel):
        self.kernel = kernel
        self.run = ctypes.CDLL(str(build(kernel))).run

    def resident_blocks(self, threads):
        return 2


class HostEvent:
    def __init__(self):
        self._time = time.perf_counter()

    def is_done(self):
        return True

    def seconds_since(self, earlier):
        return self._time - earlier._time


class HostStream:
    """Stream that does everything immediately. The device's `launched` lists the kernels."""

    def __init__(self, device):
        self._device = device

    def upload(self, address, source):
        ctypes.memmove(address, source.ctypes.data, source.nbytes)

    def download(self, target, address):
        ctypes.memmove(target.ctypes.data, address, target.nbytes)

    def fill(self, address, byte, nbytes):
        ctypes.memset(address, byte, nbytes)

    def launch(self, function, grid, threads, arguments, shared_bytes=0):
        self._device.launched.append(function.kernel)
        threads = min(threads, _FEW_THREADS.get(function.kernel.file, threads))
        raw = arguments.tobytes()
        with _LAUNCHING:
            numbers = (ctypes.c_uint(number) for number in (grid, threads, shared_bytes))
            function.run(*numbers, ctypes.c_char_p(raw), ctypes.c_uint(self._device.seed()))

    def record_event(self):
        return HostEvent()


class HostDevice:
    """A device made of host memory and host threads.

    reported: memory that `free_memory` reports if none is used, in bytes
    limit: memory that can be allocated, in bytes; None: as reported
    seed: seed of the order in which blocks take turns; None: the seed of the test run
    arch: architecture whose kernels it runs; the default one has no tensor cores
    """

    name = "host"

    def __init__(self, reported=1 << 28, limit=None, multiprocessors=2, seed=None, arch="host"):
        self.arch = arch
        self.hardware = Hardware(multiprocessors, 1e9, 8)
        self.reported = self.total_memory = reported
        self.limit = reported if limit is None else limit
        self.used = self.peak = 0
        self.opened = False
        self.joined = 0
        self.launched = []
        self._functions = {}
        self._seeds = np.random.default_rng(int(os.environ.get("GPUALIGN_TEST_SEED", 0)) if seed is None else seed)

    def seed(self):
        """Seed of the next launch, for the order in which its blocks take turns."""
        return int(self._seeds.integers(1 << 32))

    def open(self):
        assert not self.opened
        self.opened = True

    def close(self):
        assert self.opened
        assert not self.joined
        self.opened = False

    def activate(self):
        assert self.opened
        self.joined += 1

    def deactivate(self):
        self.joined -= 1

    def wait_until_idle(self):
        """Kernels have finished as soon as they are launched."""

    def free_memory(self):
        return self.reported - self.used

    def allocate(self, nbytes):
        return HostMemory(self, nbytes)

    def allocate_pinned(self, nbytes):
        return np.full(nbytes, 0x5A, dtype=np.uint8)

    def create_stream(self):
        return HostStream(self)

    def tensor_map(self, address, shape, box):
        """A tensor map in the form that tests/cuda_host/cluster.hpp reads."""
        return np.array([address, *shape, *box] + [0] * 11, dtype=np.uint64).view(np.uint8)

    def load_function(self, kernel):
        if kernel not in self._functions:
            self._functions[kernel] = HostFunction(kernel)
        return self._functions[kernel]


class WaitingDevice(HostDevice):
    """Device that calls `begin` with 0 before it opens."""

    def __init__(self, begin):
        super().__init__()
        self._begin = begin

    def open(self):
        self._begin(0)
        super().open()


class FailingDevice(WaitingDevice):
    """Device that fails after `launches` successful launches, and then sets the event `failed`."""

    name = "broken"

    def __init__(self, launches=0, begin=lambda _: None):
        super().__init__(begin)
        self.left = launches
        self.failed = threading.Event()

    def create_stream(self):
        return _FailingStream(self)


class _FailingStream(HostStream):
    def launch(self, *arguments, **more):
        self._device.left -= 1
        if self._device.left < 0:
            self._device.failed.set()
            raise RunError("the CUDA device failed: made up")
        super().launch(*arguments, **more)
