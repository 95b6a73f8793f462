"""How to cut a task into tiles that are worth a journey. Pure."""

from __future__ import annotations

from dataclasses import replace

from gpualign.core.alignment.task import Task
from gpualign.core.common.dataclass import dataclass
from gpualign.core.planning.memory_budget import Budget
from gpualign.core.planning.tile_plan import Limits

TILE_SECONDS = 2.0
"""Of a worker: some hundred times what a tile's journey takes."""

_TILE_BYTES = 128 << 20
"""Of results that come back in one piece, at most; paths are a fifth of what they might be."""

_BANDS_A_WORKER = 4
"""At least, so that all have something to do."""


@dataclass(frozen=True)
class WorkerCapabilities:
    """What a worker tells of a task that it has prepared. limits, kernel, hardware: as of `Prepared`; rate: cells a second, about (where
    pairs are what costs, these)."""

    limits: Limits
    kernel: str
    hardware: str
    rate: float


def shipped_limits(task: Task, facts: WorkerCapabilities, workers: int, ahead: int, budget: Budget) -> Limits:
    """Limits for so many workers of this kind. ahead: results that the coordinator holds at most, each of a tile; they fit a third of the
    budget's results, beside the bands that are being filled."""
    tile_bytes = max(1, min(_TILE_BYTES, budget.results // (3 * ahead)))
    seconds_of_work = max(1, int(TILE_SECONDS * facts.rate))
    queries, targets = len(task.queries), len(task.targets)
    share = -(-queries // (_BANDS_A_WORKER * workers))
    found = replace(facts.limits, result_bytes=budget.results, scratch_bytes=ahead * tile_bytes, sharing=workers, first_rows=0)
    if task.within is not None:
        # Whole bands: a worker may look for near pairs by what is equal rather than pair by pair.
        rows = max(1, min(seconds_of_work // targets, share))
        return replace(found, lanes=1, tile_cells=queries * targets + 1, band_rows=rows, sharing=1)
    query_letters, target_letters = int(task.queries.offsets[-1]), int(task.targets.offsets[-1])
    cells_of_query = query_letters / queries * target_letters
    # Of short records, as many queries as are worth it.
    rows = max(found.band_rows, min(share, int(seconds_of_work / cells_of_query)))
    if task.top is not None:
        return replace(found, tile_cells=seconds_of_work, band_rows=max(1, min(rows, tile_bytes // task.query_bytes)))
    letters = query_letters / queries + target_letters / targets
    pairs = tile_bytes / (task.item_bytes + task.letter_bytes * letters)
    cells = min(seconds_of_work, int(pairs * cells_of_query / targets))
    return replace(found, tile_cells=max(1, cells), band_rows=rows)
