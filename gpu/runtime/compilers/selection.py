"""Which compiler is taken: NVRTC where there is one for the device and its driver, or else nvcc."""

from __future__ import annotations

from collections.abc import Iterator

from gpualign.core.common.errors import RunError
from gpualign.gpu.runtime.compilers.base import Compiler, unfit, wheel
from gpualign.gpu.runtime.compilers.nvcc import Nvcc, find_nvcc
from gpualign.gpu.runtime.compilers.nvrtc import find_nvrtc


def found_compilers() -> Iterator[Compiler]:
    """Those of this machine, the preferred first, looked for as they are asked for."""
    yield from find_nvrtc()
    if path := find_nvcc():
        yield Nvcc(path)


class NoCompiler(RunError):
    """None of this machine will do. reason; remedy: the command that installs one."""

    def __init__(self, reason: str, remedy: str) -> None:
        super().__init__(f"{reason}; {remedy}")
        self.reason, self.remedy = reason, remedy


def choose_compiler(arch: str, driver: int | None = None) -> Compiler:
    """The first whose code of an architecture a driver of CUDA major version `driver` loads (None: any).

    Raises `NoCompiler`, with what was found and what to install, where there is none.
    """
    refused = []
    for compiler in found_compilers():
        reason = unfit(compiler, arch, driver)
        if reason is None:
            return compiler
        refused.append(f"{reason} ({compiler.path})")
    found = "; ".join(refused) or "neither NVRTC nor nvcc was found"
    raise NoCompiler(f"no CUDA compiler for {arch}: {found}", f"pip install -U '{wheel(arch, driver)}'")
