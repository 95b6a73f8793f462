"""Selects a compiler: NVRTC if an installed version suits the device and the driver, else nvcc."""

from __future__ import annotations

from collections.abc import Iterator

from gpualign.core.common.errors import RunError
from gpualign.gpu.runtime.compilers.base import Compiler, incompatibility, nvrtc_wheel
from gpualign.gpu.runtime.compilers.nvcc import Nvcc, find_nvcc
from gpualign.gpu.runtime.compilers.nvrtc import find_nvrtc_libraries


def installed_compilers() -> Iterator[Compiler]:
    """Yield the compilers on this machine, preferred first, searching lazily."""
    yield from find_nvrtc_libraries()
    if path := find_nvcc():
        yield Nvcc(path)


class NoCompiler(RunError):
    """Raised if no compiler on this machine is suitable.

    reason: why no compiler is suitable
    remedy: command that installs a suitable compiler
    """

    def __init__(self, reason: str, remedy: str) -> None:
        super().__init__(f"{reason}; {remedy}")
        self.reason, self.remedy = reason, remedy


def choose_compiler(arch: str, driver: int | None = None) -> Compiler:
    """Return the first compiler whose code for an architecture is accepted by the driver.

    driver: CUDA major version that the driver supports (None: any)

    Raises `NoCompiler` if there is no such compiler. The message says which compilers were found, and what to install.
    """
    refused = []
    for compiler in installed_compilers():
        reason = incompatibility(compiler, arch, driver)
        if reason is None:
            return compiler
        refused.append(f"{reason} ({compiler.path})")
    reasons = "; ".join(refused) or "neither NVRTC nor nvcc was found"
    raise NoCompiler(f"no CUDA compiler for {arch}: {reasons}", f"pip install -U '{nvrtc_wheel(arch, driver)}'")
