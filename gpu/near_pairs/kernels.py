"""Which kernels find near pairs on a device. Pure."""

from __future__ import annotations

from gpualign.core.common.dataclass import dataclass
from gpualign.gpu.distance.kernels import MMA, POPC, DistanceKernel, usable_kernels
from gpualign.gpu.kernels.kernel import Kernel

RECORDS = Kernel("near_records.cu", "near_records")
GATHER = Kernel("near_gather.cu", "near_gather")
THREADS = 256
"""Of a block of either."""

_REGISTER_WORDS = 1, 2, 4, 8
"""That a thread has for its band in registers; with more they lie in memory."""


@dataclass(frozen=True)
class Screen:
    """A kernel that compares all pairs of a rectangle. rows, columns: of a block's tile; threads: of a block;
    shared: bytes of its memory."""

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
"""Compares no sketches."""


def screens(arch: str) -> tuple[Screen, ...]:
    """Those with sketches that an architecture, as nvcc calls it, runs, fastest first. Not wgmma: products are short here, a few thousand
    bits, and its longer way to the epilogue shows (93 beside 117 G pairs a second, benchmarks/LOG.md)."""
    usable = usable_kernels(arch)
    return tuple(screen for kernel, screen in _SCREENS.items() if kernel in usable)


def has_tensor_cores(arch: str) -> bool:
    """Whether sketches cost nearly nothing."""
    return usable_kernels(arch)[0] is not POPC


@dataclass(frozen=True)
class Verifier:
    """A kernel of banded distances. words: of 64 diagonals; scratch_bytes: of global memory for each of its threads."""

    kernel: Kernel
    words: int
    scratch_bytes: int

    threads = 128


def verifier(planes: int, words: int) -> Verifier:
    """For letters of so many bits and a band of so many words at least."""
    in_registers = next((have for have in _REGISTER_WORDS if have >= words), 0)
    kernel = Kernel("near_verify.cu", "near_verify", (("PLANES", str(planes)), ("WORDS", str(in_registers))))
    return Verifier(kernel, in_registers or words, 0 if in_registers else 8 * words * (planes + 3))
