"""Output of scores, statistics and paths that the device traces."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from gpualign.core.alignment.path_builder import PathBuilder
from gpualign.core.alignment.task import Detail, Task
from gpualign.core.alignment.tile_results import STATISTICS, Runs, Statistics, TileAlignments, TileScores
from gpualign.core.common.arrays import Scores
from gpualign.core.common.dataclass import dataclass
from gpualign.core.planning.tile_plan import Tile
from gpualign.gpu.alignment.batch_layout import BatchLayout
from gpualign.gpu.alignment.batches import Batch
from gpualign.gpu.alignment.families.base import DeviceBatch, KernelVariant
from gpualign.gpu.alignment.results.base import BatchOutput, HostResources
from gpualign.gpu.kernels import argument_structs as structs
from gpualign.gpu.kernels.argument_structs import aligned_bytes, pack_arguments
from gpualign.gpu.kernels.kernel import Kernel
from gpualign.gpu.runtime.device import ByteArray
from gpualign.gpu.runtime.host_buffers import ResultBufferPool
from gpualign.gpu.runtime.stream_buffers import StreamBuffers

_CURSOR_BYTES = 8
RUN_ALIGNMENT_BYTES = 16
"""Size, in bytes, of the pieces in which kernels copy runs. Each pair's runs start with a new piece, so up to 15 bytes after them are
unused."""

DETAIL_CODES = {Detail.SCORE: 0, Detail.STATISTICS: 1, Detail.PATH: 2}
"""Details, numbered as in cuda_src/alignment/path.cuh."""


@dataclass(frozen=True)
class PathResults:
    """Results of a batch, in arrays [rows][targets]. Everything except the run data is in the stream's buffers.

    statistics: None if only scores are requested
    runs: None unless paths are requested
    """

    scores: Scores
    statistics: Statistics | None
    runs: Runs | None


@dataclass(frozen=True)
class TraceLaunch:
    """Launches a traceback kernel. Implements `Traceback`.

    path_arguments: `PATH_ARGS` struct, the part of the kernel's arguments that concerns paths
    grid: maximum number of blocks
    threads: threads per block
    """

    stream: StreamBuffers
    kernel: Kernel
    path_arguments: np.void
    grid: int
    threads: int

    def trace(self, struct: np.dtype[np.void], forward_arguments: np.void, unit_count: int, **more: int) -> None:
        if unit_count:
            filled = pack_arguments(struct, forward=forward_arguments, path=self.path_arguments, **more)
            self.stream.launch(self.kernel, min(self.grid, unit_count), self.threads, filled)


@dataclass(frozen=True)
class BatchPaths(BatchOutput):
    """Paths of a batch, traced by the device.

    The results are stored contiguously, in this order: scores, statistics, starts and sizes of the pairs' runs, and the total size of all
    runs (the cursor).

    max_cigar_bytes: maximum size of one pair's runs
    merge: called with the batch and its results
    pool: host memory for runs
    """

    task: Task
    batch: Batch
    layout: BatchLayout
    variant: KernelVariant
    max_cigar_bytes: int
    merge: Callable[[Batch, PathResults, HostResources], None]
    pool: ResultBufferPool

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.batch.query_rows), len(self.batch.targets)

    @property
    def result_ranges(self) -> dict[str, tuple[int, int]]:
        """Position of each array in the results, as returned by `pair_result_ranges`."""
        return pair_result_ranges(self.task, self.batch.pair_count)

    @property
    def _result_bytes(self) -> int:
        return total_result_bytes(self.result_ranges)

    @property
    def _max_batch_run_bytes(self) -> int:
        """Maximum size of the runs of all pairs, in bytes. The device needs as much again while building the runs."""
        return self.batch.pair_count * self.max_cigar_bytes if self.task.detail is Detail.PATH else 0

    @property
    def host_bytes(self) -> int:
        return self._result_bytes

    @property
    def device_bytes(self) -> int:
        return aligned_bytes(self._result_bytes) + 2 * aligned_bytes(self._max_batch_run_bytes)

    def reserve(self, stream: StreamBuffers) -> int:
        stream.host_buffer("results", self._result_bytes)
        return stream.address("results", self._result_bytes)

    def clear(self, stream: StreamBuffers, kernel_needs_zeros: bool) -> None:
        """Set all results to 0, regardless of `kernel_needs_zeros`.

        Kernels add to the cursor (the total size of all runs), and they write nothing for pairs that are not selected.
        """
        stream.fill(stream.address("results", self._result_bytes), 0, self._result_bytes)

    def direction_bytes(self, traced_threads: int) -> int:
        """Return the device memory, in bytes, for the traceback directions of `traced_threads` threads."""
        return traced_threads * self.variant.checkpoint_interval * self.variant.direction_words * 4

    def traceback(self, stream: StreamBuffers, variant: KernelVariant, device_batch: DeviceBatch) -> TraceLaunch:
        kernel, threads = variant.trace_kernel, variant.trace_threads(self.layout)
        assert kernel is not None  # variants of a recipe with paths have one
        grid = max(1, min(stream.resident_blocks(kernel, threads), self.layout.total_strips * variant.pairs_per_thread))
        path = pack_arguments(
            structs.PATH_ARGS,
            **device_batch.addresses("target_codes", "target_offsets", "targets", "target_numbers", "first_targets", "usable"),
            **{name: device_batch.scores_address + self.result_ranges[name][0] for name in ("statistics", "starts", "sizes", "cursor")},
            scratch=stream.address("scratch", self._max_batch_run_bytes),
            runs=stream.address("runs", self._max_batch_run_bytes),
            directions=stream.address("directions", self.direction_bytes(grid * threads)),
            capacity=self.max_cigar_bytes,
            matrix_stride=self.layout.matrix_stride,
            detail=DETAIL_CODES[self.task.detail],
        )
        return TraceLaunch(stream, kernel, path, grid, threads)

    def download(self, stream: StreamBuffers) -> None:
        stream.download("results", self._result_bytes)

    def collect(self, stream: StreamBuffers, host: HostResources) -> bool:
        """Merge the finished batch. The runs are downloaded only now, because their size was unknown before."""
        results = stream.host_buffer("results", self._result_bytes)
        used = int(self.result_array(results, "cursor", np.uint64)[0])
        data = np.zeros(0, dtype=np.uint8)
        if used:
            runs = stream.host_buffer("runs", used)
            stream.download("runs", used)
            if not host.wait_for_event(stream.record_event()):
                return False
            data = self.pool.take_bytes(used)
            host.copy(data, runs)
        self.merge(self.batch, self.path_results(results, data), host)
        return True

    def result_array(self, buffer: ByteArray, name: str, dtype: npt.DTypeLike) -> npt.NDArray[np.generic]:
        """Return one of the arrays in the downloaded results, by name. buffer: all results"""
        first, size = self.result_ranges[name]
        view: npt.NDArray[np.generic] = buffer[first : first + size].view(dtype)
        return view

    def path_results(self, buffer: ByteArray, run_data: ByteArray) -> PathResults:
        """Return the downloaded results. buffer: all results; run_data: the runs of all pairs, which are downloaded separately"""

        def array(name: str, dtype: npt.DTypeLike) -> npt.NDArray[np.generic]:
            return self.result_array(buffer, name, dtype).reshape(self.shape)

        detail = self.task.detail
        scores = array("scores", self.task.score_dtype)
        statistics = array("statistics", STATISTICS) if detail is not Detail.SCORE else None
        runs = Runs([run_data], array("starts", np.int64), array("sizes", np.int32)) if detail is Detail.PATH else None  # type: ignore[arg-type]
        return PathResults(scores, statistics, runs)  # type: ignore[arg-type]


BatchPathsFactory = Callable[
    [Task, Batch, BatchLayout, KernelVariant, int, Callable[[Batch, PathResults, HostResources], None], ResultBufferPool], BatchPaths
]


class TilePathsOutput:
    """Scores, statistics and paths of a tile. Implements `TileOutput`.

    make_batch: `BatchPaths` or a subclass
    pool: host memory for runs
    """

    def __init__(self, task: Task, make_batch: BatchPathsFactory, pool: ResultBufferPool, tile: Tile) -> None:
        self._task = task
        self._make = make_batch
        self._pool = pool
        self._tile = tile
        self._scores = np.zeros(tile.shape, dtype=task.score_dtype)
        self._statistics = None if task.detail is Detail.SCORE else np.zeros(tile.shape, dtype=STATISTICS)
        self._runs = PathBuilder(tile.shape)

    def result_bytes(self, batch: Batch) -> int:
        return total_result_bytes(pair_result_ranges(self._task, batch.pair_count))

    def make_batch_output(self, batch: Batch, variant: KernelVariant, layout: BatchLayout) -> BatchPaths:
        lengths = self._task.queries.lengths[batch.queries].max() + self._task.targets.lengths[batch.targets].max()
        capacity = -(-int(lengths) // RUN_ALIGNMENT_BYTES) * RUN_ALIGNMENT_BYTES
        return self._make(self._task, batch, layout, variant, capacity, self._add, self._pool)

    def _add(self, batch: Batch, results: PathResults, host: HostResources) -> None:
        host.copy_results(self._scores, batch, results.scores)
        if self._statistics is not None and results.statistics is not None:
            host.copy_results(_statistics_fields(self._statistics), batch, _statistics_fields(results.statistics))
        if results.runs is not None:
            self._runs.add(batch.result_slices, results.runs)

    def result(self) -> TileScores | TileAlignments:
        if self._statistics is None:
            return TileScores(self._tile, self._scores)
        runs = self._runs.build() if self._task.detail is Detail.PATH else None
        return TileAlignments(self._tile, self._scores, self._statistics, runs)


def pair_result_ranges(task: Task, pair_count: int) -> dict[str, tuple[int, int]]:
    """Return the position of each array in the results for `pair_count` pairs, by name: (first byte, size in bytes). The last array is the
    cursor, the total size of all runs."""
    detail = task.detail
    sizes = {
        "scores": pair_count * task.score_dtype.itemsize,
        "statistics": pair_count * STATISTICS.itemsize if detail is not Detail.SCORE else 0,
        "starts": pair_count * 8 if detail is Detail.PATH else 0,
        "sizes": pair_count * 4 if detail is Detail.PATH else 0,
        "cursor": _CURSOR_BYTES,
    }
    places, at = {}, 0
    for name, size in sizes.items():
        places[name] = at, size
        at += aligned_bytes(size)
    return places


def total_result_bytes(ranges: dict[str, tuple[int, int]]) -> int:
    """Return the total size of the results, in bytes. ranges: as returned by `pair_result_ranges`"""
    first, size = ranges["cursor"]  # the last array
    return first + size


def _statistics_fields(statistics: Statistics) -> npt.NDArray[np.int32]:
    """Return the statistics as integers, [rows][targets][fields], which NumPy copies several times faster than structured elements."""
    return statistics[..., None].view(np.int32)
