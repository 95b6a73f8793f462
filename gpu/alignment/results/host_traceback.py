"""Output for paths that the host traces from complete direction matrices while the device computes the next batch (Li et al. 2013)."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import numpy.typing as npt

from gpualign.core.alignment._walks import walk_matrices
from gpualign.core.alignment.path_builder import PathBuilder
from gpualign.core.alignment.task import Detail
from gpualign.core.alignment.tile_results import STATISTICS, Runs
from gpualign.core.scoring.recurrence_forms import usable_letter_pair_mask
from gpualign.gpu.alignment.results.base import HostResources
from gpualign.gpu.alignment.results.paths import BatchPaths, PathResults
from gpualign.gpu.runtime.stream_buffers import StreamBuffers

_TABLE_LETTERS = 32


class BatchHostPaths(BatchPaths):
    """Paths of a batch, traced by the host. Supports statistics and paths, but not score-only tasks."""

    @property
    def host_bytes(self) -> int:
        return super().host_bytes + self.layout.matrix_bytes

    @property
    def device_bytes(self) -> int:
        return super().device_bytes + self.layout.matrix_bytes

    def reserve(self, stream: StreamBuffers) -> int:
        stream.host_buffer("directions", self.layout.matrix_bytes)
        return super().reserve(stream)

    def direction_bytes(self, traced_threads: int) -> int:
        """Return the size of all direction matrices, in bytes. The size does not depend on `traced_threads`."""
        return self.layout.matrix_bytes

    def download(self, stream: StreamBuffers) -> None:
        super().download(stream)
        if self.layout.matrix_bytes:
            stream.download("directions", self.layout.matrix_bytes)

    def collect(self, stream: StreamBuffers, host: HostResources) -> bool:
        results = self.path_results(stream.host_buffer("results", self._result_bytes), np.zeros(0, dtype=np.uint8))
        self.merge(
            self.batch, self._trace_paths(results, stream.host_buffer("directions", self.layout.matrix_bytes).view(np.uint32), host), host
        )
        return True

    def _trace_paths(self, results: PathResults, matrices: npt.NDArray[np.uint32], host: HostResources) -> PathResults:
        task, statistics = self.task, results.statistics
        assert statistics is not None
        pairs, (rows, columns) = self.variant.matrix_locations(self.batch, self.layout)
        counts = np.ascontiguousarray(statistics[rows, columns]).view(np.int32).reshape(len(pairs), len(STATISTICS.names or ()))
        letters = len(task.scoring.substitution)
        usable = np.zeros((_TABLE_LETTERS, _TABLE_LETTERS), dtype=bool)
        usable[:letters, :letters] = usable_letter_pair_mask(task.scoring)

        def walk(some: slice) -> tuple[Any, Any, Any]:
            walked = walk_matrices(
                task.queries.codes,
                task.queries.offsets,
                task.targets.codes,
                task.targets.offsets,
                matrices,
                pairs[some],
                self.variant.strip_rows,
                2 if task.scoring.has_linear_gaps else 4,
                self.layout.threads,
                usable,
                task.end_gaps.query_gaps_are_free,
                task.end_gaps.target_gaps_are_free,
                task.detail is Detail.PATH,
                counts[some],
            )
            return cast("tuple[Any, Any, Any]", walked)  # arrays

        step = max(1, -(-len(pairs) // host.thread_count))
        slices = [slice(k, k + step) for k in range(0, len(pairs), step)]
        runs = PathBuilder(self.shape)
        for some, walked in zip(slices, host.pool.map(walk, slices), strict=True):
            if task.detail is Detail.PATH:
                runs.add((rows[some], columns[some]), Runs([walked[0]], *walked[1:]))
        statistics[rows, columns] = counts.view(STATISTICS)[:, 0]
        return PathResults(results.scores, statistics, runs.build() if task.detail is Detail.PATH else None)
