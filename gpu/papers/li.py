"""Global-alignment engine with the kernels of Li et al. 2013: complete matrices are filled on the device and traced on the host.

The files cuda_src/papers/li*.cu describe each kernel and cite the corresponding section of the paper. The matrices for a batch of pairs
fill the available memory; with `TransferMode.DOUBLE`, one half is computed while the other half is copied and traced (section V.D).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from enum import Enum
from functools import partial
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from gpualign.core.alignment._walks import walk_scores
from gpualign.core.alignment.path_builder import PathBuilder
from gpualign.core.alignment.task import Detail, EndGaps, Mode, Task
from gpualign.core.alignment.tile_results import STATISTICS, Runs, TileAlignments, TileResult, TileScores
from gpualign.core.common.arrays import Integers
from gpualign.core.common.dataclass import dataclass
from gpualign.core.common.errors import InputError, RunError, TooLittleMemory, parameter
from gpualign.core.execution.engine import Capabilities
from gpualign.core.planning.memory_budget import Budget
from gpualign.core.planning.tile_plan import Tile, TileLimits
from gpualign.core.scoring.recurrence_forms import usable_letter_pair_mask
from gpualign.gpu.kernels.argument_structs import LI_ARGS, pack_arguments
from gpualign.gpu.kernels.kernel import Kernel
from gpualign.gpu.papers.base import PreparedPaperTask, SingleDeviceEngine, device_session
from gpualign.gpu.runtime.device import Device
from gpualign.gpu.runtime.kernel_timing import KernelLog, log_kernel_time
from gpualign.gpu.runtime.stream_buffers import StreamBuffers
from gpualign.gpu.runtime.stream_pipeline import StreamPipeline

METHODS = ("rodinia", "tiled-dscan", "dscan", "rscan")


class TransferMode(Enum):
    """How matrices are copied back: through pageable memory, pinned memory, or pinned memory with two batches in flight."""

    PAGEABLE = "pageable"
    PINNED = "pinned"
    DOUBLE = "double"


@dataclass(frozen=True)
class BlockSizes:
    """Sizes of thread blocks, and of the tiles into which a matrix is divided.

    tile_size: rows and columns per tile, and threads per block of the kernel for tiles
    dscan_threads: threads per DScan block
    max_query_length: length, in letters, of the longest query whose diagonals DScan can keep in shared memory
    rscan_threads: threads per RScan block, each with its own matrix
    section_columns: columns per RScan section
    """

    tile_size: int = 32
    dscan_threads: int = 512
    max_query_length: int = 3500
    rscan_threads: int = 32
    section_columns: int = 32


_TABLE_LETTERS = 32
_CELLS_PER_TILE = 2_000_000_000
MAX_MEMORY_FRACTION = 0.75
"""Fraction of device memory to use, as in section VI.B of the paper."""

_INIT_BLOCK_THREADS = 128
INIT_KERNEL = Kernel("li_init.cu", "li_init", (("THREADS", str(_INIT_BLOCK_THREADS)),))
PAIR_RECORD_BYTES = 3 * 8 + 2 * 4
"""Size, in bytes, of the description of a pair: the starts of the two sequences and of the matrix, and both lengths."""


def pick_method(device_name: str) -> str:
    """Return the method that the paper selects (section VI.B): DScan, but TiledDScan on the Tesla C2070 and C2075."""
    return "tiled-dscan" if "C207" in device_name else "dscan"


class LiEngine(SingleDeviceEngine):
    """Implements `gpualign.core.execution.engine.Engine` for global alignments with linear gaps.

    method: one of METHODS
    block_sizes: sizes of blocks and tiles; None: the default sizes
    log: called with the kernel time in seconds and the number of DP cells for each batch; batches then do not overlap
    """

    capabilities = Capabilities(frozenset({Mode.GLOBAL}), supports_paths=True)

    def __init__(
        self,
        device: Device,
        method: str,
        transfer_mode: TransferMode = TransferMode.DOUBLE,
        block_sizes: BlockSizes | None = None,
        log: KernelLog | None = None,
    ) -> None:
        super().__init__(device, log)
        self._method = method
        self._transfer = transfer_mode
        self._sizes = block_sizes or BlockSizes()

    def prepare(self, task: Task, budget: Budget) -> PreparedPaperTask:
        """Prepare a task. The scratch memory in `budget` is for the matrices on the host.

        Raises `InputError` for a task that the kernels cannot compute, `TooLittleMemory` if a matrix does not fit in the scratch memory.
        """
        if task.mode is not Mode.GLOBAL or not task.scoring.has_linear_gaps or task.end_gaps is not EndGaps.PENALISED:
            linear = f"linear gaps ({parameter('gap')} or {parameter('edit')})"
            raise InputError(f"the kernels of Li 2013 compute global alignments with {linear} and no free end gaps")
        if task.score_dtype != np.int32:
            raise InputError("the kernels of Li 2013 have scores of 32 bits; these can exceed them")
        longest = task.queries.max_length
        if self._method == "dscan" and longest > self._sizes.max_query_length:
            raise InputError(
                f"dscan keeps diagonals of up to {self._sizes.max_query_length:,} letters in shared memory, a query has {longest:,}; "
                "use tiled-dscan"
            )
        largest = _largest_matrix_bytes(task)
        left = budget.scratch_bytes // self._max_batches_in_flight
        if largest > left:
            raise TooLittleMemory(f"the memory budget is too small: a matrix takes {largest:,} bytes, {left:,} are left", largest)
        limits = TileLimits(
            budget.result_bytes, budget.scratch_bytes, task.pair_bytes, 1, _CELLS_PER_TILE, bytes_per_letter=task.path_bytes_per_letter
        )
        kernel = f"Li 2013, {self._method}, {self._transfer.value} transfer"
        return PreparedPaperTask(task, limits, kernel, self.describe_hardware(), partial(self._compute_tiles, task, budget.scratch_bytes))

    @property
    def _max_batches_in_flight(self) -> int:
        """Maximum number of batches in flight."""
        return 2 if self._transfer is TransferMode.DOUBLE else 1

    def _compute_tiles(self, task: Task, memory: int, tiles: Iterator[Tile]) -> Iterator[TileResult]:
        with device_session(self._device, self._max_batches_in_flight) as pipeline:
            work = DeviceTask(pipeline, task, self._method, self._sizes, self._log)
            all_matrices = 4 * int((task.queries.lengths + 1).sum()) * int((task.targets.lengths + 1).sum())
            usable = min(memory, self._device.free_memory() * MAX_MEMORY_FRACTION, all_matrices * self._max_batches_in_flight)
            size = int(usable) // self._max_batches_in_flight // 4 * 4
            if size < (largest := _largest_matrix_bytes(task)):
                raise RunError(
                    f"the CUDA device has too little free memory: the matrix of the two longest sequences takes {largest:,} bytes, a batch "
                    f"may take {size:,}"
                )
            smallest = 4 * int(task.queries.lengths.min() + 1) * int(task.targets.lengths.min() + 1)
            self._allocate_buffers(pipeline, size, PAIR_RECORD_BYTES * (size // smallest + 1))
            for tile in tiles:
                yield _TileComputation(work, size // 4, tile).compute()

    def _allocate_buffers(self, pipeline: StreamPipeline, matrix_bytes: int, record_bytes: int) -> None:
        """Allocate the memory of every stream for `matrix_bytes` bytes of matrices and `record_bytes` bytes of pair descriptions.

        The memory is allocated only once, because allocating and freeing wait for all work on the device.
        """
        staged = record_bytes + 5 * 256  # five arrays, aligned
        for stream in pipeline.streams:
            stream.address("matrices", matrix_bytes, max_bytes=0)
            stream.set_host_buffer(
                "matrices",
                np.empty(matrix_bytes, np.uint8) if self._transfer is TransferMode.PAGEABLE else self._device.allocate_pinned(matrix_bytes),
            )
            stream.address("arrays", staged)
            stream.host_buffer("arrays", staged)


class DeviceTask:
    """A task's sequences and scoring on the device, shared by all batches."""

    def __init__(self, pipeline: StreamPipeline, task: Task, method: str, block_sizes: BlockSizes, log: KernelLog | None) -> None:
        self.pipeline = pipeline
        self._log = log
        self.task = task
        self.method = method
        self.sizes = block_sizes
        self.substitution = np.zeros((_TABLE_LETTERS, _TABLE_LETTERS), dtype=np.int32)
        letters = len(task.scoring.substitution)
        self.substitution[:letters, :letters] = task.scoring.substitution
        self.usable = np.zeros((_TABLE_LETTERS, _TABLE_LETTERS), dtype=bool)
        self.usable[:letters, :letters] = usable_letter_pair_mask(task.scoring)
        resident = pipeline.resident
        self.queries = resident.copy("queries", task.queries.codes)
        self.targets = self.queries if task.targets is task.queries else resident.copy("targets", task.targets.codes)
        self.table = resident.copy("table", self.substitution)
        self.kernel = method_kernel(method, block_sizes)
        resident.load(INIT_KERNEL)
        resident.load(self.kernel)

    def start(self, pairs: Integers, matrix_starts: Integers, stream: StreamBuffers) -> None:
        """Queue the kernels that fill the matrices for a batch, and the download of the matrices. pairs, matrix_starts: see `fill`"""
        stream.begin_batch()
        self.fill(pairs, matrix_starts, stream)
        stream.download("matrices", 4 * int(matrix_starts[-1]))
        stream.mark_event()

    def fill(self, pairs: Integers, matrix_starts: Integers, stream: StreamBuffers) -> None:
        """Queue the kernels that fill the matrices for a batch.

        pairs: int64[pairs][2], record numbers of query and target
        matrix_starts: int64[pairs + 1], index of the first element of each matrix, followed by the total number of elements
        """
        task = self.task
        queries, targets = pairs.T
        rows, columns = task.queries.lengths[queries], task.targets.lengths[targets]
        offsets = task.queries.offsets[queries], task.targets.offsets[targets], matrix_starts[:-1]
        arrays = [*offsets, rows.astype(np.int32), columns.astype(np.int32)]
        names = "query_starts", "target_starts", "matrix_starts", "rows", "columns"
        staged = stream.stage(dict(zip(names, arrays, strict=True)))
        matrices = stream.address("matrices", 4 * int(matrix_starts[-1]), max_bytes=0)
        shared = {"queries": self.queries, "targets": self.targets, "table": self.table, "matrices": matrices}
        stream.upload_staged()
        make_arguments = partial(pack_arguments, LI_ARGS, **staged, **shared, gap=task.scoring.gap_open)
        with log_kernel_time(self.pipeline, stream, int((rows * columns).sum()), self._log):
            stream.launch(INIT_KERNEL, len(pairs), _INIT_BLOCK_THREADS, make_arguments(first_pair=0, pairs=len(pairs), diagonal=0))
            self._launch_kernel(stream, make_arguments, rows, columns)

    def _launch_kernel(self, stream: StreamBuffers, make_arguments: Callable[..., np.void], rows: Integers, columns: Integers) -> None:
        """Launch the method's kernel as many times as the method requires.

        make_arguments: returns the kernel's arguments, given the values of the fields first_pair, pairs and diagonal
        rows, columns: lengths of each pair's query and target
        """
        sizes, count = self.sizes, len(rows)
        if self.method in ("dscan", "rscan"):
            matrices, threads = (1, sizes.dscan_threads) if self.method == "dscan" else (sizes.rscan_threads, sizes.rscan_threads)
            arguments = make_arguments(first_pair=0, pairs=count, diagonal=0)
            stream.launch(self.kernel, -(-count // matrices), threads, arguments)
            return
        down, across = -(-rows // sizes.tile_size), -(-columns // sizes.tile_size)
        # Rodinia computes one pair after another, TiledDScan all of them at once.
        groups = [slice(k, k + 1) for k in range(count)] if self.method == "rodinia" else [slice(0, count)]
        for group in groups:
            max_down, max_across = int(down[group].max()), int(across[group].max())
            pairs = len(down[group])
            diagonals = max_down + max_across - 1
            arguments = make_arguments(first_pair=group.start, pairs=pairs, diagonal=0)
            for diagonal in range(diagonals):
                arguments["diagonal"] = diagonal  # only this field is set, because launches are many and short
                tiles = min(diagonal + 1, max_down, max_across, diagonals - diagonal) if pairs == 1 else min(diagonal + 1, max_down)
                stream.launch(self.kernel, tiles * pairs, sizes.tile_size, arguments)


def method_kernel(method: str, block_sizes: BlockSizes) -> Kernel:
    """Return the kernel for a method; Rodinia and TiledDScan share a kernel."""
    if method == "dscan":
        return Kernel(
            "li_dscan.cu", "li_dscan", (("THREADS", str(block_sizes.dscan_threads)), ("LONGEST", str(block_sizes.max_query_length)))
        )
    if method == "rscan":
        return Kernel(
            "li_rscan.cu", "li_rscan", (("SECTION", str(block_sizes.section_columns)), ("THREADS", str(block_sizes.rscan_threads)))
        )
    return Kernel("li_tiles.cu", "li_tiles", (("TILE", str(block_sizes.tile_size)),))


class _TileComputation:
    """Computes the selected pairs of a tile in batches. max_elements: maximum number of matrix elements per batch"""

    def __init__(self, device_task: DeviceTask, max_elements: int, tile: Tile) -> None:
        self._work = device_task
        self._capacity = max_elements
        self._tile = tile
        self._task = device_task.task
        shape = tile.shape
        self._scores = np.zeros(shape, dtype=np.int32)
        self._statistics = np.zeros(shape, dtype=STATISTICS) if self._task.detail is not Detail.SCORE else None
        self._runs = PathBuilder(shape)

    def compute(self) -> TileResult:
        positions = np.argwhere(_selected_mask(self._tile))
        pipeline = self._work.pipeline
        for batch in self._position_batches(positions):
            records = self._pairs_and_starts(batch)
            pipeline.start(partial(self._work.start, *records), partial(self._collect, batch, *records))
        pipeline.drain()
        if self._statistics is None:
            return TileScores(self._tile, self._scores)
        runs = self._runs.build() if self._task.detail is Detail.PATH else None
        return TileAlignments(self._tile, self._scores, self._statistics, runs)

    def _pairs_and_starts(self, positions: npt.NDArray[np.intp]) -> tuple[Integers, Integers]:
        """Return (pairs, matrix_starts), the arguments of `DeviceTask.fill`. positions: (row, column) in the tile"""
        pairs = np.stack([positions[:, 0] + self._tile.query_start, self._tile.targets[positions[:, 1]]], axis=1).astype(np.int64)
        sizes = (self._task.queries.lengths[pairs[:, 0]] + 1) * (self._task.targets.lengths[pairs[:, 1]] + 1)
        starts = np.zeros(len(pairs) + 1, dtype=np.int64)
        np.cumsum(sizes, out=starts[1:])
        return pairs, starts

    def _position_batches(self, positions: npt.NDArray[np.intp]) -> Iterator[npt.NDArray[np.intp]]:
        """Yield the positions in batches whose matrices have at most `max_elements` elements. positions: (row, column) in the tile"""
        _, starts = self._pairs_and_starts(positions)
        first = 0
        while first < len(positions):
            last = int(np.searchsorted(starts, starts[first] + self._capacity, side="right")) - 1
            yield positions[first:last]
            first = last

    def _collect(self, positions: npt.NDArray[np.intp], pairs: Integers, matrix_starts: Integers, stream: StreamBuffers) -> bool:
        """Trace the paths of a finished batch, and store its results. Return True.

        positions: (row, column) of each pair in the tile
        pairs, matrix_starts: see `DeviceTask.fill`
        """
        task, matrices = self._task, stream.host_buffer("matrices", 4 * int(matrix_starts[-1])).view(np.int32)
        scores = matrices[matrix_starts[1:] - 1]
        rows, columns = positions.T
        self._scores[rows, columns] = -scores if task.scoring.edit else scores
        if self._statistics is None:
            return True
        counts = np.zeros((len(positions), len(STATISTICS.names or ())), dtype=np.int32)
        sequences = task.queries.codes, task.queries.offsets, task.targets.codes, task.targets.offsets
        numbered = np.ascontiguousarray(np.column_stack([pairs, matrix_starts[:-1]]))
        walk = cast("Callable[..., Any]", walk_scores)
        with_runs = task.detail is Detail.PATH
        data, run_starts, sizes = walk(
            *sequences, matrices, numbered, self._work.substitution, task.scoring.gap_open, self._work.usable, with_runs, counts
        )
        self._statistics[rows, columns] = counts.view(STATISTICS)[:, 0]
        if with_runs:
            self._runs.add((rows, columns), Runs([data], run_starts, sizes))
        return True


def _largest_matrix_bytes(task: Task) -> int:
    return 4 * (task.queries.max_length + 1) * (task.targets.max_length + 1)


def _selected_mask(tile: Tile) -> npt.NDArray[np.bool_]:
    """Return a mask of the pairs that a tile's pairing selects: bool[queries][targets]."""
    first_targets = tile.pairing.first_targets(np.arange(tile.query_start, tile.query_stop))
    mask: npt.NDArray[np.bool_] = tile.targets >= first_targets[:, None]
    return mask
