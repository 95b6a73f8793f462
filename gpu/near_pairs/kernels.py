"""Kernels that find near pairs on a device. Pure."""

from __future__ import annotations

from gpualign.core.common.dataclass import dataclass
from gpualign.gpu.distance.kernels import MMA_KERNEL, POPC_KERNEL, WGMMA_KERNEL, DistanceKernel, usable_kernels
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
    rows, columns: number of queries and of targets that a block, or a cluster of blocks, compares; with `box_records`, the minimum number
        of targets
    threads: threads per block
    shared_bytes: shared memory per block
    cluster_blocks: blocks per cluster
    box_records: records whose sketches the copy engine copies in one step. Each block then keeps the sketches of all its queries in shared
        memory while it goes through a segment of the targets. 0: threads copy the sketches
    """

    kernel: Kernel
    title: str
    rows: int
    columns: int
    threads: int
    shared_bytes: int = 0
    cluster_blocks: int = 1
    box_records: int = 0

    def block_shared_bytes(self, sketch_bytes: int) -> int:
        """Return the shared memory per block for sketches of `sketch_bytes` bytes."""
        return self.shared_bytes + (self.rows // self.cluster_blocks * sketch_bytes if self.box_records else 0)


def _make_screening_kernel(products: str, distance_kernel: DistanceKernel) -> ScreeningKernel:
    kernel = Kernel("near_screen.cu", "near_screen", (("PRODUCTS", f'"products_{products}.cuh"'),))
    return ScreeningKernel(
        kernel, distance_kernel.title, distance_kernel.rows, distance_kernel.columns, distance_kernel.threads, distance_kernel.shared_bytes
    )


_STAGE_BYTES = 128 * 128
_WGMMA_SCREEN = ScreeningKernel(
    Kernel("near_screen_wgmma.cu", "near_screen_wgmma"),
    WGMMA_KERNEL.title,
    rows=256,
    columns=128,
    threads=288,
    shared_bytes=6 * (_STAGE_BYTES + 16) + 16,
    cluster_blocks=2,
    box_records=64,
)
_SCREENING_KERNELS = {
    WGMMA_KERNEL: _WGMMA_SCREEN,
    MMA_KERNEL: _make_screening_kernel("mma", MMA_KERNEL),
    POPC_KERNEL: _make_screening_kernel("popc", POPC_KERNEL),
}
LENGTH_SCREENING_KERNEL = ScreeningKernel(
    Kernel("near_screen.cu", "near_screen", (("PRODUCTS", '"products_none.cuh"'),)), "lengths", 64, 64, 256
)
"""Kernel that screens by lengths alone, without sketches."""

_MAX_SHARED_BYTES = 227 << 10  # per block, of compute capability 9.0
_MAX_SEGMENT_COLUMNS = 1 << 13
_WAVES_PER_LAUNCH = 4  # clusters, in multiples of those that fill a device, at least; with fewer, the last wave leaves much of it idle


def screening_kernels(arch: str, sketch_bytes: int) -> tuple[ScreeningKernel, ...]:
    """Return the kernels that can screen by sketches of `sketch_bytes` bytes on an architecture (nvcc's name), fastest first.

    A screen by wgmma that begins anew for each tile is slower than the one by mma; the one that keeps its queries' sketches is two to three
    times as fast (benchmarks/log: N-001, N-037).
    """
    usable = usable_kernels(arch)
    screens = (screen for kernel, screen in _SCREENING_KERNELS.items() if kernel in usable)
    return tuple(screen for screen in screens if screen.block_shared_bytes(sketch_bytes) <= _MAX_SHARED_BYTES)


@dataclass(frozen=True)
class ScreenLaunch:
    """Plan for screening a rectangle.

    grid: number of blocks, in whole clusters
    segment: number of targets that a cluster compares with its queries
    """

    grid: int
    segment: int


def plan_screen(screen: ScreeningKernel, shape: tuple[int, int], multiprocessor_count: int) -> ScreenLaunch:
    """Return the plan for screening a rectangle of `shape` (queries, targets)."""
    rows, columns = -(-shape[0] // screen.rows), -(-shape[1] // screen.columns)
    step = 1
    if screen.box_records:  # long segments read the queries' sketches less often, but there must be enough of them
        wanted = -(-_WAVES_PER_LAUNCH * multiprocessor_count // (screen.cluster_blocks * rows))
        step = max(1, min(_MAX_SEGMENT_COLUMNS // screen.columns, columns // wanted))
    return ScreenLaunch(rows * -(-columns // step) * screen.cluster_blocks, step * screen.columns)


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
