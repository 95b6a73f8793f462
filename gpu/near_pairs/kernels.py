"""Kernels that find near pairs on a device. Pure."""

from __future__ import annotations

from gpualign.core.common.dataclass import dataclass
from gpualign.gpu.distance.kernels import MMA, POPC, DistanceKernel, usable_kernels
from gpualign.gpu.kernels.kernel import Kernel

RECORDS = Kernel("near_records.cu", "near_records")
GATHER = Kernel("near_gather.cu", "near_gather")
THREADS = 256
"""Threads per block for `RECORDS` and `GATHER`."""

_REGISTER_WORDS = 1, 2, 4, 8
"""Band sizes, in words, that a thread keeps in registers; larger bands are kept in memory."""


@dataclass(frozen=True)
class Screen:
    """Kernel that compares all pairs of a rectangle.

    title: human-readable name
    rows, columns: records in a block's tile
    threads: threads per block
    shared: shared memory per block, bytes
    """

    kernel: Kernel
    title: str
    rows: int
    columns: int
    threads: int
    shared: int = 0


def _screen(products: str, like: DistanceKernel) -> Screen:
    kernel = Kernel("near_screen.cu", "near_screen", (("PRODUCTS", f'"products_{products}.cuh"'),))
    return Screen(kernel, like.title, like.rows, like.columns, like.threads, like.shared)


_SCREENS = {MMA: _screen("mma", MMA), POPC: _screen("popc", POPC)}
LENGTHS = Screen(Kernel("near_screen.cu", "near_screen", (("PRODUCTS", '"products_none.cuh"'),)), "lengths", 64, 64, 256)
"""Screen using only lengths, without sketches."""


def screens(arch: str) -> tuple[Screen, ...]:
    """Return the sketch screens that an architecture (nvcc's name) supports, fastest first.

    wgmma is not included: products are short here, a few thousand bits, so the longer latency before the epilogue matters (93 instead of
    117 G pairs per second, benchmarks/LOG.md).
    """
    usable = usable_kernels(arch)
    return tuple(screen for kernel, screen in _SCREENS.items() if kernel in usable)


def has_tensor_cores(arch: str) -> bool:
    """Return whether an architecture has binary tensor cores, which make sketches almost free."""
    return usable_kernels(arch)[0] is not POPC


@dataclass(frozen=True)
class Verifier:
    """Kernel for banded distances.

    words: 64-diagonal words per band
    scratch_bytes: global memory per thread
    """

    kernel: Kernel
    words: int
    scratch_bytes: int

    threads = 128


def verifier(planes: int, words: int) -> Verifier:
    """Return the kernel for letters of `planes` bits and a band of at least `words` words."""
    in_registers = next((size for size in _REGISTER_WORDS if size >= words), 0)
    kernel = Kernel("near_verify.cu", "near_verify", (("PLANES", str(planes)), ("WORDS", str(in_registers))))
    return Verifier(kernel, in_registers or words, 0 if in_registers else 8 * words * (planes + 3))
