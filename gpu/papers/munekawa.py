"""Local-score engine with the kernels of Munekawa et al. 2008, which align one query at a time, with one block per target.

The file cuda_src/papers/munekawa.cu describes each kernel and cites the corresponding section of the paper.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np
import numpy.typing as npt

from gpualign.core.alignment.hit_order import best_targets
from gpualign.core.alignment.task import Mode, Task
from gpualign.core.alignment.tile_results import TileHits, TileResult, TileScores
from gpualign.core.common.dataclass import dataclass
from gpualign.core.common.errors import InputError
from gpualign.core.execution.engine import Capabilities
from gpualign.core.planning.memory_budget import Budget
from gpualign.core.planning.tile_plan import Tile, TileLimits
from gpualign.core.sequences.sequence_set import SequenceSet
from gpualign.gpu.kernels.argument_structs import MUNEKAWA_ARGS, NamedArrays, pack_arguments
from gpualign.gpu.kernels.kernel import Kernel
from gpualign.gpu.papers.base import PreparedPaperTask, SingleDeviceEngine, device_session
from gpualign.gpu.runtime.device import Device
from gpualign.gpu.runtime.kernel_timing import KernelLog, log_kernel_time
from gpualign.gpu.runtime.stream_pipeline import StreamPipeline

METHODS = ("munekawa-scalar", "munekawa-vector")
MAX_STRIP_ROWS = {"munekawa-scalar": 1024, "munekawa-vector": 2048}
"""Maximum number of query letters per strip, as in the paper. Each thread processes one letter, or four with the vector kernel."""

_ROWS_PER_THREAD = {"munekawa-scalar": 1, "munekawa-vector": 4}
_TABLE_LETTERS, _PADDING_CODE = 32, 31
_PADDING_SCORE = -(1 << 20)
_CELLS_PER_TILE = 20_000_000_000
_WARP_THREADS = 32


@dataclass(frozen=True)
class TargetLayout:
    """Targets that are stored consecutively, each padded to a multiple of 4 letters.

    letters: codes of all targets, with padding
    offsets: index of each target's first letter
    lengths: length of each target, without padding
    """

    letters: npt.NDArray[np.uint8]
    offsets: npt.NDArray[np.int64]
    lengths: npt.NDArray[np.int32]


def lay_out_targets(sequences: SequenceSet, record_numbers: npt.NDArray[np.int64]) -> TargetLayout:
    """Return the records with these numbers in the layout that the kernels read."""
    lengths = sequences.lengths[record_numbers]
    offsets = np.zeros(len(record_numbers) + 1, dtype=np.int64)
    np.cumsum(-(-lengths // 4) * 4, out=offsets[1:])
    letters = np.full(offsets[-1], _PADDING_CODE, dtype=np.uint8)
    for start, length, number in zip(offsets.tolist(), lengths.tolist(), record_numbers.tolist(), strict=False):
        first = sequences.offsets[number]
        letters[start : start + length] = sequences.codes[first : first + length]
    return TargetLayout(letters, offsets[:-1], lengths.astype(np.int32))


class MunekawaEngine(SingleDeviceEngine):
    """Implements `gpualign.core.execution.engine.Engine` for local scores.

    method: one of METHODS
    strip_rows: maximum number of query letters per strip; None: as in the paper
    log: called with the kernel time in seconds and the number of DP cells for each query
    """

    capabilities = Capabilities(frozenset({Mode.LOCAL}), supports_paths=False)

    def __init__(self, device: Device, method: str, strip_rows: int | None = None, log: KernelLog | None = None) -> None:
        super().__init__(device, log)
        self._method = method
        self._rows = strip_rows or MAX_STRIP_ROWS[method]

    def prepare(self, task: Task, budget: Budget) -> PreparedPaperTask:
        """Prepare a task. The scratch memory of `budget` is for targets that are being copied.

        Raises `InputError` for a task that the kernels cannot compute.
        """
        if task.score_dtype != np.int32:
            raise InputError("the kernels of Munekawa 2008 have scores of 32 bits; these can exceed them")
        if refusal := self.capabilities.unsupported_reason(task):
            raise InputError(f"the kernels of Munekawa 2008 cannot do this: {refusal}")
        limits = TileLimits(budget.result_bytes, budget.scratch_bytes, task.pair_bytes, 1, _CELLS_PER_TILE, query_bytes=task.query_bytes)
        kernel = f"Munekawa 2008, {self._method.removeprefix('munekawa-')}"
        return PreparedPaperTask(task, limits, kernel, self.describe_hardware(), partial(self._compute_tiles, task))

    def _compute_tiles(self, task: Task, tiles: Iterator[Tile]) -> Iterator[TileResult]:
        letters = len(task.scoring.substitution)
        table = np.full((_TABLE_LETTERS, _TABLE_LETTERS), _PADDING_SCORE, dtype=np.int32)
        table[:letters, :letters] = task.scoring.substitution
        with device_session(self._device) as pipeline:
            table_address = pipeline.resident.copy("table", table)
            for tile in tiles:
                scores = self._compute_scores(pipeline, task, tile, table_address)
                if task.top_count is None:
                    yield TileScores(tile, scores)
                else:
                    yield TileHits(tile, *best_targets(scores, tile.targets, task.targets.file_positions, task.top_count))

    def _compute_scores(self, pipeline: StreamPipeline, task: Task, tile: Tile, table_address: int) -> npt.NDArray[np.int32]:
        """Return the scores of all pairs in a tile, int32[queries][targets]."""
        buffers = pipeline.resident
        targets = lay_out_targets(task.targets, tile.targets)
        count, total = len(targets.offsets), len(targets.letters)
        arrays: NamedArrays = {"targets": targets.letters, "offsets": targets.offsets, "lengths": targets.lengths}
        queries = task.queries
        first = queries.offsets[tile.query_start]
        letters = buffers.copy("queries", queries.codes[first : queries.offsets[tile.query_stop]])
        scores = buffers.address("scores", 4 * tile.shape[0] * count)
        buffers.fill(scores, 0, 4 * tile.shape[0] * count)
        make_arguments = partial(
            pack_arguments,
            MUNEKAWA_ARGS,
            **{name: buffers.copy(name, array) for name, array in arrays.items()},
            table=table_address,
            below=buffers.address("below", 8 * total),
            below_stride=total,
            open=task.scoring.gap_open,
            extend=task.scoring.gap_extend,
        )
        for row, query in enumerate(range(tile.query_start, tile.query_stop)):
            length = int(queries.lengths[query])
            threads = self._block_threads(length)
            arguments = make_arguments(query=letters + int(queries.offsets[query] - first), scores=scores + 4 * row * count, rows=length)
            kernel = Kernel("munekawa.cu", self._method.replace("-", "_"), (("THREADS", str(threads)),))
            buffers.load(kernel)
            with log_kernel_time(pipeline, buffers, length * int(targets.lengths.sum()), self._log):
                buffers.launch(kernel, count, threads, arguments)
        result: npt.NDArray[np.int32] = buffers.fetch("scores", (tile.shape[0], count), np.int32).copy()
        return result

    def _block_threads(self, query_length: int) -> int:
        """Return the number of threads per block: enough for the rows of the query or of a strip, in whole warps.

        There are only a few sizes, because each size needs a separately compiled kernel.
        """
        each = _ROWS_PER_THREAD[self._method]
        max_threads = self._rows // each
        threads = min(_WARP_THREADS, max_threads)
        while threads < max_threads and threads * each < query_length:
            threads = min(max_threads, threads * 2)
        return threads
