"""What a compiler is given, what it gives, and which versions of CUDA one is good for. Pure."""

from __future__ import annotations

from typing import Protocol

from gpualign.core.common.dataclass import dataclass
from gpualign.core.common.errors import RunError
from gpualign.gpu.kernels.kernel import Kernel, capability

LEAST_CUDA = 12
"""Its DPX functions, and the architecture sm_90a."""

STANDARD = "c++17"
_MOST_LOG = 1500


@dataclass(frozen=True)
class Source:
    """A kernel with its text, the headers by the names that they are included by, and its macros with those that bind it to the host."""

    kernel: Kernel
    text: bytes
    headers: dict[str, bytes]
    macros: tuple[tuple[str, str], ...]


class Compiler(Protocol):
    """A compiler that is there."""

    @property
    def title(self) -> str:
        """Its name and version."""

    @property
    def path(self) -> str:
        """Where it is."""

    @property
    def version(self) -> tuple[int, int] | None:
        """Of CUDA; None if it does not say."""

    def knows(self, arch: str) -> bool:
        """Whether it makes code of an architecture."""

    def compile(self, source: Source, arch: str) -> bytes:
        """The machine code (a cubin). Raises `RunError` with what the compiler says."""


def failure(compiler: Compiler, source: Source, arch: str, log: str) -> RunError:
    """What `Compiler.compile` raises."""
    kernel = source.kernel
    return RunError(f"{compiler.title} could not compile {kernel.function} ({kernel.file}) for {arch}:\n{log.strip()[-_MOST_LOG:]}")


def unfit(compiler: Compiler, arch: str, driver: int | None) -> str | None:
    """Why a driver of CUDA major version `driver` (None: any) has no use for what the compiler makes for an architecture, or None.

    Machine code of an older CUDA than the driver's runs, and so does that of a newer minor version; a newer major version is refused.
    """
    if compiler.version is not None:
        major, _ = compiler.version
        if major < LEAST_CUDA:
            return f"{compiler.title} is too old: CUDA {LEAST_CUDA} or newer is needed"
        if driver is not None and major > driver:
            return f"{compiler.title} is too new for the driver, which is for CUDA {driver}"
    return None if compiler.knows(arch) else f"{compiler.title} does not know {arch}"


def wheel(arch: str | None, driver: int | None) -> str:
    """What pip calls the NVRTC for an architecture (None: today's) and a driver of CUDA major version `driver` (None: today's)."""
    volta = arch is not None and (capability(arch) or 75) < 75  # the last that knows it is CUDA 12
    if volta or (driver or LEAST_CUDA + 1) <= LEAST_CUDA:
        return "nvidia-cuda-nvrtc-cu12"
    return f"nvidia-cuda-nvrtc<{driver + 1}" if driver else "nvidia-cuda-nvrtc"
