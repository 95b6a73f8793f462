"""Interface of compilers, and the check whether a driver can use a compiler's output. Pure."""

from __future__ import annotations

from typing import Protocol

from gpualign.core.common.dataclass import dataclass
from gpualign.core.common.errors import LINE_BREAK, RunError
from gpualign.gpu.kernels.kernel import Kernel, compute_capability

MIN_CUDA_VERSION = 12
"""Oldest supported major version of CUDA. The kernels need DPX functions and the architecture sm_90a, which older versions lack."""

CPP_STANDARD = "c++17"
_MAX_LOG_CHARS = 1500  # characters of the compiler's messages


@dataclass(frozen=True)
class Source:
    """Source code of a kernel.

    text: contents of the source file
    headers: contents of the headers, keyed by include name
    macros: the kernel's macros, and the macros with which the compiler checks that kernel and host agree
    """

    kernel: Kernel
    text: bytes
    headers: dict[str, bytes]
    macros: tuple[tuple[str, str], ...]


class Compiler(Protocol):
    """Installed compiler."""

    @property
    def title(self) -> str:
        """Name and version of the compiler."""

    @property
    def path(self) -> str:
        """Path of the compiler."""

    @property
    def version(self) -> tuple[int, int] | None:
        """CUDA version of the compiler; None if it does not report one."""

    def supports(self, arch: str) -> bool:
        """Return whether the compiler generates code for an architecture."""

    def compile(self, source: Source, arch: str) -> bytes:
        """Return the machine code (a cubin). Raises `RunError`, with the compiler's messages, if compilation fails."""


def compile_error(compiler: Compiler, source: Source, arch: str, log: str) -> RunError:
    """Return the error that `Compiler.compile` raises if compilation fails. log: the compiler's messages"""
    kernel, lines = source.kernel, log.strip()[-_MAX_LOG_CHARS:].splitlines()
    return RunError(LINE_BREAK.join([f"{compiler.title} could not compile {kernel.function} ({kernel.file}) for {arch}:", *lines]))


def incompatibility(compiler: Compiler, arch: str, driver: int | None) -> str | None:
    """Return the reason why a driver cannot use the compiler's code for an architecture, or None if it can.

    A driver runs machine code from an older CUDA version or a newer minor version, but refuses machine code from a newer major version.

    driver: CUDA major version that the driver supports (None: any)
    """
    if compiler.version is not None:
        major, _ = compiler.version
        if major < MIN_CUDA_VERSION:
            return f"{compiler.title} is too old: CUDA {MIN_CUDA_VERSION} or newer is needed"
        if driver is not None and major > driver:
            return f"{compiler.title} is too new for the driver, which is for CUDA {driver}"
    return None if compiler.supports(arch) else f"{compiler.title} does not know {arch}"


def nvrtc_wheel(arch: str | None, driver: int | None) -> str:
    """Return what pip should install to provide NVRTC.

    arch: architecture that NVRTC must support (None: any)
    driver: CUDA major version that the driver supports (None: the newest)
    """
    volta = arch is not None and (compute_capability(arch) or 75) < 75  # CUDA 12 is the last version that knows it
    if volta or (driver or MIN_CUDA_VERSION + 1) <= MIN_CUDA_VERSION:
        return "nvidia-cuda-nvrtc-cu12"
    return f"nvidia-cuda-nvrtc<{driver + 1}" if driver else "nvidia-cuda-nvrtc"
