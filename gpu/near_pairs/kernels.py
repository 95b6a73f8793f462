"""Kernels that find near pairs on a device. Pure."""

from __future__ import annotations

from gpualign.core.common.dataclass import dataclass
from gpualign.gpu.distance.kernels import MMA, POPC, DistanceKernel, usable_kernels
from gpualign.gpu.kernels.kernel import Kernel

RECORDS = Kernel("near_records.cu", "near_records")
GATHER = Kernel("near_gather.cu", "near_gather")
THREADS = 256
"""Threads of a block of `RECORDS` or `GATHER`."""

_REGISTER_WORDS = 1, 2, 4, 8
"""Words of its band that a thread has in registers; a band of more words is in memory."""


@dataclass(frozen=True)
class Screen:
    """Kernel that compares all pairs of a rectangle.

    title: human-readable name
    rows, columns: records of a block's tile
    threads: threads of a block
    shared: shared memory of a block, bytes
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
"""Screen by lengths only, without sketches."""


def screens(arch: str) -> tuple[Screen, ...]:
    """Return the screens with sketches that an architecture (named as by nvcc) runs, fastest first.

    wgmma is not among them: products are short here, a few thousand bits, so its longer way to the epilogue matters (93 instead of 117 G
    pairs a second, benchmarks/LOG.md).
    """
    usable = usable_kernels(arch)
    return tuple(screen for kernel, screen in _SCREENS.items() if kernel in usable)


def has_tensor_cores(arch: str) -> bool:
    """Return whether an architecture has binary tensor cores, with which sketches cost nearly nothing."""
    return usable_kernels(arch)[0] is not POPC


@dataclass(frozen=True)
class Verifier:
    """Kernel of banded distances.

    words: words of a band, each of 64 diagonals
    scratch_bytes: global memory of each thread
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
