"""Named kernels, and the device properties that plans depend on. Pure."""

from __future__ import annotations

from gpualign.core.common.dataclass import dataclass


@dataclass(frozen=True)
class Kernel:
    """Function in a source file of cuda_src/, with the macros that specialise it."""

    file: str
    function: str
    macros: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Hardware:
    """Device properties that plans depend on.

    clock_hz: clock frequency of a multiprocessor
    warp_lanes: threads per warp
    """

    multiprocessor_count: int
    clock_hz: float
    warp_lanes: int = 32


def compute_capability(arch: str) -> int | None:
    """Return the compute capability for an architecture's compiler name: 90 for sm_90a; None for unrecognised names."""
    digits = arch.removeprefix("sm_").rstrip("af")
    return int(digits) if digits.isdecimal() else None
