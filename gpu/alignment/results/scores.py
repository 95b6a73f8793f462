"""Output of the scores of all pairs."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import numpy.typing as npt

from gpualign.core.alignment.task import Task
from gpualign.core.alignment.tile_results import TileScores
from gpualign.core.common.arrays import Scores
from gpualign.core.common.dataclass import dataclass
from gpualign.core.planning.tile_plan import Tile
from gpualign.gpu.alignment.batch_layout import BatchLayout
from gpualign.gpu.alignment.batches import Batch
from gpualign.gpu.alignment.families.base import KernelVariant
from gpualign.gpu.alignment.recipe import Recipe
from gpualign.gpu.alignment.results.base import BatchOutput, HostResources
from gpualign.gpu.kernels.argument_structs import aligned_bytes
from gpualign.gpu.runtime.host_buffers import ResultBufferPool
from gpualign.gpu.runtime.stream_buffers import StreamBuffers


@dataclass(frozen=True)
class BatchScores(BatchOutput):
    """Scores of a batch.

    shape: (rows, targets)
    dtype: type of the scores that kernels write
    merge: called with the scores, [rows][targets], in the stream's buffers, which the next batch overwrites
    """

    shape: tuple[int, int]
    dtype: np.dtype[np.integer]
    merge: Callable[[npt.NDArray[np.integer], HostResources], None]

    @property
    def host_bytes(self) -> int:
        return self.shape[0] * self.shape[1] * self.dtype.itemsize

    @property
    def device_bytes(self) -> int:
        return aligned_bytes(self.host_bytes)

    def reserve(self, stream: StreamBuffers) -> int:
        stream.host_buffer("results", self.host_bytes)
        return stream.address("results", self.host_bytes)

    def clear(self, stream: StreamBuffers, kernel_needs_zeros: bool) -> None:
        if kernel_needs_zeros:
            stream.fill(stream.address("results", self.host_bytes), 0, self.host_bytes)

    def download(self, stream: StreamBuffers) -> None:
        stream.download("results", self.host_bytes)

    def collect(self, stream: StreamBuffers, host: HostResources) -> bool:
        self.merge(stream.host_buffer("results", self.host_bytes).view(self.dtype).reshape(self.shape), host)
        return True


class TileScoresOutput:
    """Scores of a tile. Implements `TileOutput`.

    pool: host memory for the results, which are converted to the task's score type
    """

    def __init__(self, task: Task, recipe: Recipe, pool: ResultBufferPool, tile: Tile) -> None:
        self._tile = tile
        self._dtype = task.score_dtype
        self._result_dtype = recipe.result_dtype
        self._pool = pool
        self._scores: Scores | None = None  # until there are some, to save memory

    def result_bytes(self, batch: Batch) -> int:
        return batch.pair_count * self._result_dtype.itemsize

    def make_batch_output(self, batch: Batch, variant: KernelVariant, layout: BatchLayout) -> BatchScores:
        return BatchScores((len(batch.query_rows), len(batch.targets)), self._result_dtype, partial(self._add, batch))

    def _add(self, batch: Batch, scores: npt.NDArray[np.integer], host: HostResources) -> None:
        if self._scores is None:
            self._scores = self._pool.take(self._tile.shape, self._dtype)
        host.copy_results(self._scores, batch, scores)

    def result(self) -> TileScores:
        assert self._scores is not None
        return TileScores(self._tile, self._scores)
