"""What a kernel is, and what plans depend on of a device. Pure."""

from __future__ import annotations

from gpualign.core.common.dataclass import dataclass


@dataclass(frozen=True)
class Kernel:
    """A function of a source file of cuda_src/, and the macros that specialise it."""

    file: str
    function: str
    macros: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Hardware:
    """What plans depend on of a device. clock: in Hz; lanes: threads of a warp."""

    multiprocessors: int
    clock: float
    lanes: int = 32


def capability(arch: str) -> int | None:
    """The compute capability of an architecture as compilers call it: 90 of sm_90a; None for other names."""
    digits = arch.removeprefix("sm_").rstrip("af")
    return int(digits) if digits.isdecimal() else None
