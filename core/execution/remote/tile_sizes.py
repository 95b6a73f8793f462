"""Tile sizes for remote workers, large enough that computing dominates transfer. Pure."""

from __future__ import annotations

from dataclasses import replace

from gpualign.core.alignment.task import Task
from gpualign.core.common.dataclass import dataclass
from gpualign.core.planning.memory_budget import Budget
from gpualign.core.planning.tile_plan import TileLimits

TILE_SECONDS = 2.0
"""Time to compute a tile, in seconds: on the order of a hundred times the transfer time."""

_MAX_TILE_RESULT_BYTES = 128 << 20
"""Upper bound, in bytes, on the results of a tile, which are sent in one piece. Paths usually take a fifth of their upper bound."""

_MIN_BANDS_PER_WORKER = 4
"""Minimum number of bands per worker, so that every worker stays busy."""


@dataclass(frozen=True)
class WorkerCapabilities:
    """Report of a worker about a task that it has prepared.

    limits: limits for splitting the task into tiles
    kernel, hardware: human-readable names
    rate: approximate cells per second (pairs per second if the task's cost is counted in pairs)
    """

    limits: TileLimits
    kernel: str
    hardware: str
    rate: float


def remote_tile_limits(
    task: Task, capabilities: WorkerCapabilities, worker_count: int, max_held_results: int, budget: Budget
) -> TileLimits:
    """Return limits for splitting a task into tiles for `worker_count` workers.

    capabilities: what one of the workers reported
    max_held_results: maximum number of tile results held by the coordinator; these may use a third of the budget's memory for results
    """
    tile_bytes = max(1, min(_MAX_TILE_RESULT_BYTES, budget.result_bytes // (3 * max_held_results)))
    cells_per_tile = max(1, int(TILE_SECONDS * capabilities.rate))
    queries, targets = len(task.queries), len(task.targets)
    share = -(-queries // (_MIN_BANDS_PER_WORKER * worker_count))
    limits = replace(
        capabilities.limits,
        result_bytes=budget.result_bytes,
        scratch_bytes=max_held_results * tile_bytes,
        worker_count=worker_count,
        first_band_rows=0,
    )
    if task.edit_bound is not None:
        # Whole bands: a worker may find near pairs by a join on equal parts rather than pair by pair.
        rows = max(1, min(cells_per_tile // targets, share))
        return replace(limits, lane_count=1, tile_cells=queries * targets + 1, band_rows=rows, worker_count=1)
    query_letters, target_letters = int(task.queries.offsets[-1]), int(task.targets.offsets[-1])
    cells_of_query = query_letters / queries * target_letters
    # Bands of short records have as many queries as a tile's time allows.
    rows = max(limits.band_rows, min(share, int(cells_per_tile / cells_of_query)))
    if task.top_count is not None:
        return replace(limits, tile_cells=cells_per_tile, band_rows=max(1, min(rows, tile_bytes // task.query_bytes)))
    letters = query_letters / queries + target_letters / targets
    pairs = tile_bytes / (task.pair_bytes + task.path_bytes_per_letter * letters)
    cells = min(cells_per_tile, int(pairs * cells_of_query / targets))
    return replace(limits, tile_cells=max(1, cells), band_rows=rows)
