"""Kernels that multiply bit planes on a device, and launch plans. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gpualign.core.common.dataclass import dataclass
from gpualign.core.distance.bands import SampleBand
from gpualign.gpu.kernels.argument_structs import MAX_PLANES_PER_SIDE
from gpualign.gpu.kernels.kernel import Kernel, compute_capability

CHUNK_WORDS = 16
"""Number of 64-bit words per chunk. A kernel processes one chunk of a sample in each step (kChunk in cuda_src/, in bytes)."""

_WAVES_PER_LAUNCH = 4  # blocks per multiprocessor for which sums are split; with fewer, much of the device is idle in the last wave
_MIN_CHUNKS_PER_SPLIT = 32  # with fewer, the start and the end of a block take longer than its sum


@dataclass(frozen=True)
class DistanceKernel:
    """Kernel that multiplies bit planes.

    title: human-readable name
    rows, columns: size of the rectangle of sample pairs that a cluster of blocks computes in one step
    threads: threads per block
    comparisons_per_clock: comparisons per clock per multiprocessor (approximate), including copies and all other overhead
    shared_bytes: shared memory per block
    cluster_blocks: blocks per cluster
    box_samples: samples that the copy engine copies in one step; 0 if threads copy the planes instead
    """

    kernel: Kernel
    title: str
    rows: int
    columns: int
    threads: int
    comparisons_per_clock: float
    shared_bytes: int = 0
    cluster_blocks: int = 1
    box_samples: int = 0


_STAGE_BYTES_PER_SAMPLE = 8 * CHUNK_WORDS
POPC_KERNEL = DistanceKernel(Kernel("distance_popc.cu", "distance_popc"), "popc", 64, 64, 256, 100)
MMA_KERNEL = DistanceKernel(
    Kernel("distance_mma.cu", "distance_mma"), "binary tensor cores (mma)", 128, 128, 256, 400, 3 * 256 * _STAGE_BYTES_PER_SAMPLE
)
WGMMA_KERNEL = DistanceKernel(
    Kernel("distance_wgmma.cu", "distance_wgmma"),
    "binary tensor cores (wgmma)",
    rows=256,
    columns=256,
    threads=288,
    comparisons_per_clock=800,
    shared_bytes=4 * (384 * _STAGE_BYTES_PER_SAMPLE + 16),
    cluster_blocks=2,
    box_samples=64,
)

DIFFER_KERNEL = DistanceKernel(Kernel("distance_differ.cu", "distance_differ"), "logic of three inputs", 64, 64, 256, 120)
"""Kernel for terms with Operation.DIFFER, which runs on every device."""


def usable_kernels(arch: str) -> tuple[DistanceKernel, ...]:
    """Return the kernels that an architecture (compiler name) supports, fastest first. Unknown architectures are assumed to have no tensor
    cores."""
    if arch == "sm_90a":
        return WGMMA_KERNEL, MMA_KERNEL, POPC_KERNEL
    return (MMA_KERNEL, POPC_KERNEL) if (compute_capability(arch) or 0) >= 80 else (POPC_KERNEL,)


@dataclass(frozen=True)
class LaunchPlan:
    """Plan of a kernel launch.

    grid: number of blocks, in whole clusters
    split_count: number of parts into which each sum over all chunks is split; each part is computed by a different block
    """

    grid: int
    split_count: int


def plan_launch(kernel: DistanceKernel, band: SampleBand, chunk_count: int, multiprocessor_count: int) -> LaunchPlan:
    """Return the plan for launching a kernel that computes all pairs of a band, each as a sum over `chunk_count` chunks."""
    rows, columns = band.shape
    tiles = -(-rows // kernel.rows) * -(-columns // kernel.columns)
    max_splits = max(1, chunk_count // _MIN_CHUNKS_PER_SPLIT)
    clusters = _WAVES_PER_LAUNCH * multiprocessor_count // kernel.cluster_blocks
    splits = 1 if tiles >= clusters else min(max_splits, -(-clusters // tiles))
    return LaunchPlan(tiles * splits * kernel.cluster_blocks, splits)


def split_into_launches(left_planes: Sequence[int], right_planes: Sequence[int]) -> Iterator[tuple[Sequence[int], Sequence[int]]]:
    """Yield parts of a term's planes as (left, right), each small enough for one launch."""
    for start in range(0, len(left_planes), MAX_PLANES_PER_SIDE):
        yield left_planes[start : start + MAX_PLANES_PER_SIDE], right_planes[start : start + MAX_PLANES_PER_SIDE]
