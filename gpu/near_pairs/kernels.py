"""Kernels that find near pairs on a device. Pure."""

from __future__ import annotations

from gpualign.core.common.dataclass import dataclass
from gpualign.gpu.distance.kernels import MMA_KERNEL, POPC_KERNEL, DistanceKernel, usable_kernels
from gpualign.gpu.kernels.kernel import Kernel

RECORDS_KERNEL = Kernel("near_records.cu", "near_records")
GATHER_KERNEL = Kernel("near_gather.cu", "near_gather")
BLOCK_THREADS = 256
"""Threads per block for `RECORDS_KERNEL` and `GATHER_KERNEL`."""

_REGISTER_BAND_WORDS = 1, 2, 4, 8
_WIDE_REGISTER_BAND_WORDS = 12, 16  # only with free ends, whose bands are wide
"""Sizes of the diagonal bands that a thread keeps in registers, in words of 64 diagonals. Larger diagonal bands are kept in memory."""


@dataclass(frozen=True)
class ScreeningKernel:
    """Kernel that compares all pairs of a rectangle by length and sketch.

    title: human-readable name
    rows, columns: number of queries and of targets that a block compares
    threads: threads per block
    shared_bytes: shared memory per block
    """

    kernel: Kernel
    title: str
    rows: int
    columns: int
    threads: int
    shared_bytes: int = 0


def _make_screening_kernel(products: str, distance_kernel: DistanceKernel) -> ScreeningKernel:
    kernel = Kernel("near_screen.cu", "near_screen", (("PRODUCTS", f'"products_{products}.cuh"'),))
    return ScreeningKernel(
        kernel, distance_kernel.title, distance_kernel.rows, distance_kernel.columns, distance_kernel.threads, distance_kernel.shared_bytes
    )


_SCREENING_KERNELS = {MMA_KERNEL: _make_screening_kernel("mma", MMA_KERNEL), POPC_KERNEL: _make_screening_kernel("popc", POPC_KERNEL)}
LENGTH_SCREENING_KERNEL = ScreeningKernel(
    Kernel("near_screen.cu", "near_screen", (("PRODUCTS", '"products_none.cuh"'),)), "lengths", 64, 64, 256
)
"""Kernel that screens by lengths alone, without sketches."""


def screening_kernels(arch: str) -> tuple[ScreeningKernel, ...]:
    """Return the kernels for screening by sketches that an architecture (nvcc's name) supports, fastest first.

    No kernel uses wgmma, because it is slower: 93 instead of 117 billion pairs per second (benchmarks/log: N-001). The products are short
    here (a few thousand bits), and the results of wgmma are available later.
    """
    usable = usable_kernels(arch)
    return tuple(screen for kernel, screen in _SCREENING_KERNELS.items() if kernel in usable)


def has_tensor_cores(arch: str) -> bool:
    """Return whether an architecture has binary tensor cores, with which comparing sketches takes hardly any time."""
    return usable_kernels(arch)[0] is not POPC_KERNEL


@dataclass(frozen=True)
class VerificationKernel:
    """Kernel that computes the edit distances of candidates. Only a diagonal band of each pair's matrix is computed.

    band_words: words of 64 diagonals per diagonal band
    scratch_bytes: global memory per thread; 0 if diagonal bands are kept in registers
    threads: threads per block
    """

    kernel: Kernel
    band_words: int
    scratch_bytes: int

    threads = 128


def verification_kernel(bits_per_letter: int, band_words: int, free_ends: bool) -> VerificationKernel:
    """Return the kernel for letters of `bits_per_letter` bits and diagonal bands of at least `band_words` words of 64 diagonals.

    free_ends: whether unpaired letters at the ends of the sequences cost nothing, as they must if there is a minimum coverage
    """
    sizes = _REGISTER_BAND_WORDS + _WIDE_REGISTER_BAND_WORDS * free_ends
    in_registers = next((size for size in sizes if size >= band_words), 0)
    macros = (("PLANES", str(bits_per_letter)), ("WORDS", str(in_registers)), ("FREE_ENDS", str(int(free_ends))))
    kernel = Kernel("near_verify.cu", "near_verify", macros)
    scratch_bytes = 8 * band_words * (bits_per_letter + (2 if free_ends else 3))
    return VerificationKernel(kernel, in_registers or band_words, 0 if in_registers else scratch_bytes)
