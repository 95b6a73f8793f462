"""Output of a search: the best targets of each query."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import numpy.typing as npt

from gpualign.core.alignment.hit_order import BestTargetCollector
from gpualign.core.alignment.task import Task
from gpualign.core.alignment.tile_results import TileHits
from gpualign.core.common.arrays import Scores
from gpualign.core.common.dataclass import dataclass
from gpualign.core.planning.tile_plan import Tile
from gpualign.gpu.alignment.batch_layout import BatchLayout
from gpualign.gpu.alignment.batches import Batch
from gpualign.gpu.alignment.families.base import DeviceBatch, KernelVariant
from gpualign.gpu.alignment.results.base import BatchOutput, HostResources
from gpualign.gpu.alignment.results.scores import BatchScores
from gpualign.gpu.kernels import argument_structs as structs
from gpualign.gpu.kernels.argument_structs import aligned_bytes, pack_arguments
from gpualign.gpu.kernels.kernel import Kernel
from gpualign.gpu.runtime.stream_buffers import StreamBuffers

SELECT_HITS_KERNEL = Kernel("select.cu", "select_hits")
_SELECT_BLOCK_THREADS = 512

Int32s = npt.NDArray[np.int32]


@dataclass(frozen=True)
class BatchHits(BatchOutput):
    """Best targets of each query of a batch, selected on the device by cuda_src/alignment/select.cu.

    query_count: number of queries
    target_count: number of targets
    hits_per_query: number of targets returned per query
    merge: called with the scores of the hits and with the columns (targets) of the hits, both int32[rows][hits] and unsorted; these arrays
        are in the stream's buffers, which the next batch overwrites
    """

    query_count: int
    target_count: int
    hits_per_query: int
    merge: Callable[[Int32s, Int32s], None]

    @property
    def _score_bytes(self) -> int:
        """Size, in bytes, of the scores of all pairs. These scores stay on the device."""
        return 4 * self.query_count * self.target_count

    @property
    def _columns_offset(self) -> int:
        return 4 * self.query_count * self.hits_per_query

    @property
    def host_bytes(self) -> int:
        return 2 * self._columns_offset

    @property
    def device_bytes(self) -> int:
        return aligned_bytes(self.host_bytes) + aligned_bytes(self._score_bytes)

    def reserve(self, stream: StreamBuffers) -> int:
        stream.load(SELECT_HITS_KERNEL)
        stream.host_buffer("results", self.host_bytes)
        stream.address("results", self.host_bytes)
        return stream.address("scores", self._score_bytes)

    def clear(self, stream: StreamBuffers, kernel_needs_zeros: bool) -> None:
        if kernel_needs_zeros:
            stream.fill(stream.address("scores", self._score_bytes), 0, self._score_bytes)

    def finish(self, stream: StreamBuffers, device_batch: DeviceBatch) -> None:
        results = stream.address("results", self.host_bytes)
        filled = pack_arguments(
            structs.SELECT_HITS_ARGS,
            scores=device_batch.scores_address,
            ranks=device_batch.array_addresses["ranks"],
            hit_scores=results,
            hit_columns=results + self._columns_offset,
            rows=self.query_count,
            target_count=self.target_count,
            hits=self.hits_per_query,
        )
        stream.launch(SELECT_HITS_KERNEL, min(self.query_count, 4 * stream.multiprocessor_count), _SELECT_BLOCK_THREADS, filled)

    def download(self, stream: StreamBuffers) -> None:
        stream.download("results", self.host_bytes)

    def collect(self, stream: StreamBuffers, host: HostResources) -> bool:
        scores, columns = stream.host_buffer("results", self.host_bytes).view(np.int32).reshape(2, self.query_count, self.hits_per_query)
        self.merge(scores, columns)
        return True


class TileHitsOutput:
    """Hits found in a tile. Implements `TileOutput`. The device selects the hits. If scores have 64 bits, the host selects the hits from
    all scores instead."""

    def __init__(self, task: Task, hits_per_query: int, tile: Tile) -> None:
        self._tile = tile
        self._dtype = task.score_dtype
        self._top = hits_per_query
        self._best = BestTargetCollector(
            tile.shape[0], min(hits_per_query, len(tile.targets)), task.score_dtype, task.targets.file_positions
        )

    def result_bytes(self, batch: Batch) -> int:
        rows, columns = len(batch.query_rows), len(batch.targets)
        return 8 * rows * min(self._top, columns) if self._dtype == np.int32 else 8 * rows * columns

    def make_batch_output(self, batch: Batch, variant: KernelVariant, layout: BatchLayout) -> BatchOutput:
        rows, columns = len(batch.query_rows), len(batch.targets)
        if self._dtype != np.int32:
            return BatchScores((rows, columns), self._dtype, partial(self._add_all_scores, batch))
        return BatchHits(rows, columns, min(self._top, columns), partial(self._add_selected, batch))

    def _add_selected(self, batch: Batch, scores: Int32s, columns: Int32s) -> None:
        self._best.add(np.sort(batch.query_rows), scores, batch.targets[columns])

    def _add_all_scores(self, batch: Batch, scores: Scores, host: HostResources) -> None:
        self._best.add(np.sort(batch.query_rows), scores, np.broadcast_to(batch.targets, scores.shape))

    def result(self) -> TileHits:
        return TileHits(self._tile, self._best.scores, self._best.targets)
