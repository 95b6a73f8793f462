"""What a batch with paths needs beside its scores: memory for what the way back writes, its arguments, and its results."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from gpualign.core._walks import walk_matrices
from gpualign.core.bounds import usable_pairs
from gpualign.core.engine import STATISTICS, Detail, Runs, Statistics, Task, TileAlignments, TileResult, TileScores
from gpualign.core.plan import Tile
from gpualign.gpu.batches import Batch, Layout, aligned
from gpualign.gpu.device import Bytes
from gpualign.gpu.kernels import Variant

_CURSOR_BYTES = 8
_DETAILS = {Detail.SCORE: 0, Detail.STATISTICS: 1, Detail.PATH: 2}


@dataclass(frozen=True)
class PathResults:
    """Of a batch: [rows][targets]."""

    scores: npt.NDArray[np.signedinteger]
    statistics: Statistics | None
    runs: Runs | None


@dataclass(frozen=True)
class PathPlan:
    """Where the results of a batch's pairs stand in one piece of memory: scores, statistics, starts and sizes of runs, and how many
    bytes of runs there are. capacity: bytes of runs that a pair can have."""

    shape: tuple[int, int]
    dtype: np.dtype[np.signedinteger]
    detail: Detail
    capacity: int

    @property
    def pairs(self) -> int:
        return self.shape[0] * self.shape[1]

    @property
    def places(self) -> dict[str, tuple[int, int]]:
        """(first byte, bytes) of each array."""
        sizes = {
            "scores": self.pairs * self.dtype.itemsize,
            "statistics": self.pairs * STATISTICS.itemsize if self.detail is not Detail.SCORE else 0,
            "starts": self.pairs * 8 if self.detail is Detail.PATH else 0,
            "sizes": self.pairs * 4 if self.detail is Detail.PATH else 0,
            "cursor": _CURSOR_BYTES,
        }
        places, at = {}, 0
        for name, size in sizes.items():
            places[name] = at, size
            at += aligned(size)
        return places

    @property
    def result_bytes(self) -> int:
        first, size = self.places["cursor"]
        return first + size

    @property
    def run_bytes(self) -> int:
        """All pairs' runs at most; the device needs as much once more while it makes them."""
        return self.pairs * self.capacity if self.detail is Detail.PATH else 0

    @property
    def device_bytes(self) -> int:
        return aligned(self.result_bytes) + 2 * aligned(self.run_bytes)

    @property
    def native_detail(self) -> int:
        """As cuda_src/path.cuh counts."""
        return _DETAILS[self.detail]

    def used(self, host: Bytes) -> int:
        """Bytes of runs, from the downloaded results."""
        first, size = self.places["cursor"]
        return int(host[first : first + size].view(np.uint64)[0])

    def results(self, host: Bytes, data: Bytes) -> PathResults:
        """Copies of the downloaded results and runs."""

        def array(name: str, dtype: npt.DTypeLike) -> npt.NDArray[np.generic]:
            first, size = self.places[name]
            found: npt.NDArray[np.generic] = host[first : first + size].copy().view(dtype).reshape(self.shape)
            return found

        scores = array("scores", self.dtype)
        statistics = array("statistics", STATISTICS) if self.detail is not Detail.SCORE else None
        runs = Runs(data.copy(), array("starts", np.int64), array("sizes", np.int32)) if self.detail is Detail.PATH else None  # type: ignore[arg-type]
        return PathResults(scores, statistics, runs)  # type: ignore[arg-type]


def trace_on_host(
    task: Task,
    batch: Batch,
    layout: Layout,
    variant: Variant,
    plan: PathPlan,
    host: Bytes,
    matrices: npt.NDArray[np.uint32],
    stride: int,
    pool: ThreadPoolExecutor,
    threads: int,
) -> PathResults:
    """Trace the downloaded matrices of a batch of threads.cu, `stride` words a block, with `threads` threads (Li 2014)."""
    found = plan.results(host, np.zeros(0, dtype=np.uint8))
    statistics = found.statistics
    assert statistics is not None  # scores alone are not traced
    queries, targets = len(batch.queries), len(batch.targets)
    block, query = np.divmod(layout.arrays["items"].astype(np.int64), queries)
    unit, half, thread = (axis.reshape(-1) for axis in np.indices((len(block), variant.pairs, layout.threads)))
    target = (block[unit] * variant.pairs + half) * layout.threads + thread
    kept = target < targets
    unit, half, thread, target = unit[kept], half[kept], thread[kept], target[kept]
    wanted = batch.targets[target] >= layout.arrays["first_targets"][query[unit]]
    unit, half, thread, target = unit[wanted], half[wanted], thread[wanted], target[wanted]
    pairs = np.stack(
        [
            batch.queries[query[unit]],
            batch.targets[target],
            (unit * variant.pairs + half) * stride,
            thread,
            layout.arrays["block_columns"][block[unit]],
        ],
        axis=1,
    ).astype(np.int64)
    place = layout.arrays["rows"][query[unit]], target
    counts = np.ascontiguousarray(statistics[place]).view(np.int32).reshape(len(pairs), -1)
    usable = np.zeros((32, 32), dtype=bool)
    letters = len(task.scoring.substitution)
    usable[:letters, :letters] = usable_pairs(task.scoring)

    def walk(part: slice) -> tuple[Any, Any, Any]:
        walked = walk_matrices(
            task.queries.codes,
            task.queries.offsets,
            task.targets.codes,
            task.targets.offsets,
            matrices,
            pairs[part],
            variant.rows,
            2 if task.scoring.linear else 4,
            layout.threads,
            usable,
            task.end_gaps.free_query,
            task.end_gaps.free_target,
            task.detail is Detail.PATH,
            counts[part],
        )
        return cast("tuple[Any, Any, Any]", walked)  # arrays

    step = max(1, -(-len(pairs) // threads))
    parts = list(pool.map(walk, [slice(k, k + step) for k in range(0, len(pairs), step)]))
    statistics[place] = counts.view(STATISTICS)[:, 0]
    if task.detail is not Detail.PATH:
        return PathResults(found.scores, statistics, None)
    all_starts, all_sizes = np.zeros(plan.shape, dtype=np.int64), np.zeros(plan.shape, dtype=np.int32)
    data = [part[0] for part in parts]
    before = np.concatenate(([0], np.cumsum([len(d) for d in data])))
    if parts:
        all_starts[place] = np.concatenate([part[1] + at for part, at in zip(parts, before[:-1], strict=True)])
        all_sizes[place] = np.concatenate([part[2] for part in parts])
    return PathResults(found.scores, statistics, Runs(np.concatenate([np.zeros(0, dtype=np.uint8), *data]), all_starts, all_sizes))


def merge_paths(tile: Tile, task: Task, parts: list[tuple[Batch, PathResults]]) -> TileResult:
    """The result of a tile from those of its batches."""
    scores = np.zeros(tile.shape, dtype=task.dtype)
    statistics = None if task.detail is Detail.SCORE else np.zeros(tile.shape, dtype=STATISTICS)
    starts, sizes = np.zeros(tile.shape, dtype=np.int64), np.zeros(tile.shape, dtype=np.int32)
    data, length = [], 0
    for batch, found in parts:
        place = np.sort(batch.rows), slice(batch.start, batch.stop)
        scores[place] = found.scores
        if statistics is not None:
            statistics[place] = found.statistics
        if found.runs is not None:
            starts[place] = found.runs.starts + length
            sizes[place] = found.runs.sizes
            data.append(found.runs.data)
            length += len(found.runs.data)
    if statistics is None:
        return TileScores(tile, scores)
    runs = Runs(np.concatenate(data), starts, sizes) if task.detail is Detail.PATH else None
    return TileAlignments(tile, scores, statistics, runs)
