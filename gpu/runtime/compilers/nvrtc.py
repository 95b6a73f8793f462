"""NVRTC, NVIDIA's compiler library, which needs neither the CUDA toolkit nor a C++ compiler.

The library is called through ctypes, because its ten functions are the same in every version. NVIDIA's own `cuda-bindings` are 31 MB,
support only one major CUDA version each, and take longer to import than a small kernel takes to compile (0.17 s and 0.05 s, 2026-11).
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Iterable, Iterator
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path

from gpualign.core.common.errors import RunError
from gpualign.gpu.kernels.kernel import compute_capability
from gpualign.gpu.runtime.compilers.base import CPP_STANDARD, Source, compile_error

_CUDA_MAJOR_VERSIONS = (13, 12)


def find_nvrtc_libraries() -> Iterator[Nvrtc]:
    """Yield the installed NVRTC libraries, one for each version. A library is searched for only when it is requested.

    Libraries from pip packages come first (newest first), then the libraries that the system's loader finds (newest first), then the
    library that cuda-pathfinder finds in a toolkit or in conda.
    """
    seen = set[tuple[int, int]]()
    for path in _library_candidates():
        try:
            nvrtc = Nvrtc(path)
        except (OSError, RunError, AttributeError):  # missing, or another library
            continue
        if nvrtc.version not in seen:
            seen.add(nvrtc.version)
            yield nvrtc


def _library_candidates() -> Iterator[str]:
    """Yield paths and names of libraries that may be installed.

    If several major versions are installed, a driver may be able to load code only from the older one. cuda-pathfinder comes last, because
    it returns only one version.
    """
    spec = find_spec("nvidia")
    folders = list(spec.submodule_search_locations or ()) if spec else []
    packaged = [path for folder in folders for path in Path(folder).glob("*/lib/libnvrtc.so.*")]
    yield from map(str, sorted(packaged, key=_major_version, reverse=True))
    yield from (f"libnvrtc.so.{major}" for major in _CUDA_MAJOR_VERSIONS)
    try:
        from cuda.pathfinder import load_nvidia_dynamic_lib
    except ImportError:
        return
    try:
        yield str(load_nvidia_dynamic_lib("nvrtc").abs_path)
    except RuntimeError:  # there is none, or it cannot be loaded
        return


def _major_version(path: Path) -> int:
    """Return the major version in a file name: 13 for libnvrtc.so.13; 0 if there is none."""
    match = re.search(r"\.so\.(\d+)", path.name)
    return int(match[1]) if match else 0


class Nvrtc:
    """The NVRTC library loaded from `path`, a path or file name. Raises `OSError` if the library cannot be loaded."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._library = ctypes.CDLL(path)
        major, minor = ctypes.c_int(), ctypes.c_int()
        self._call_checked("nvrtcVersion", ctypes.byref(major), ctypes.byref(minor))
        self.version = major.value, minor.value
        self.title = f"NVRTC {major.value}.{minor.value}"
        # NVRTC loads a second library by name, and the packages of CUDA 13.0 do not tell the loader where to find it.
        builtins = Path(path).with_name(f"libnvrtc-builtins.so.{major.value}.{minor.value}")
        if builtins.is_file():
            ctypes.CDLL(str(builtins))

    def supports(self, arch: str) -> bool:
        return compute_capability(arch) in self._supported_capabilities

    @cached_property
    def _supported_capabilities(self) -> frozenset[int]:
        count = ctypes.c_int()
        self._call_checked("nvrtcGetNumSupportedArchs", ctypes.byref(count))
        numbers = (ctypes.c_int * count.value)()
        self._call_checked("nvrtcGetSupportedArchs", numbers)
        return frozenset(numbers)

    def compile(self, source: Source, arch: str, extra_options: Iterable[str] = ()) -> bytes:
        """Return the machine code. The source is compiled in memory, and other Python threads continue to run.

        extra_options: further options of the library
        """
        program = ctypes.c_void_p()
        headers = _c_string_array(source.headers.values()), _c_string_array(name.encode() for name in source.headers)
        name = source.kernel.file.encode()
        self._call_checked("nvrtcCreateProgram", ctypes.byref(program), source.text, name, len(source.headers), *headers)
        try:
            options = [f"--gpu-architecture={arch}", f"--std={CPP_STANDARD}", *(f"-D{macro}={value}" for macro, value in source.macros)]
            options += extra_options
            if self._library.nvrtcCompileProgram(program, len(options), _c_string_array(option.encode() for option in options)):
                log = self._get_output("ProgramLog", program).rstrip(b"\0").decode(errors="replace")
                raise compile_error(self, source, arch, log)
            return self._get_output("CUBIN", program)
        finally:
            self._library.nvrtcDestroyProgram(ctypes.byref(program))

    def _get_output(self, property_name: str, program: ctypes.c_void_p) -> bytes:
        """Return a property of a program: "CUBIN" or "ProgramLog". The library has separate functions for the size and the value."""
        size = ctypes.c_size_t()
        self._call_checked(f"nvrtcGet{property_name}Size", program, ctypes.byref(size))
        text = ctypes.create_string_buffer(size.value)
        self._call_checked(f"nvrtcGet{property_name}", program, text)
        return text.raw

    def _call_checked(self, function: str, *arguments: object) -> None:
        if status := getattr(self._library, function)(*arguments):
            self._library.nvrtcGetErrorString.restype = ctypes.c_char_p
            raise RunError(f"NVRTC ({self.path}) failed: {function}: {self._library.nvrtcGetErrorString(status).decode()}")


def _c_string_array(strings: Iterable[bytes]) -> ctypes.Array[ctypes.c_char_p]:
    """Return the byte strings as a C array of strings."""
    every = list(strings)
    return (ctypes.c_char_p * len(every))(*every)
