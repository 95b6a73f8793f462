"""Splits tiles into batches that fit on the device. Pure."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from gpualign.core.common.dataclass import dataclass
from gpualign.core.planning.tile_plan import Tile


@dataclass(frozen=True)
class Batch:
    """Part of a tile: some of the tile's queries against tile.targets[start:stop].

    Results are returned with the rows in tile order.

    query_rows: record numbers of the queries minus tile.query_start, in order of length
    """

    tile: Tile
    query_rows: npt.NDArray[np.int64]
    start: int
    stop: int

    @property
    def queries(self) -> npt.NDArray[np.int64]:
        """Record numbers of the queries."""
        return self.query_rows + self.tile.query_start

    @property
    def targets(self) -> npt.NDArray[np.int64]:
        """Record numbers of the targets, in tile order."""
        return self.tile.targets[self.start : self.stop]

    @property
    def result_slices(self) -> tuple[slice | npt.NDArray[np.int64], slice]:
        """Rows and columns of the batch's results within the tile's results."""
        first, stop = int(self.query_rows.min()), int(self.query_rows.max()) + 1
        contiguous = stop - first == len(self.query_rows)
        return slice(first, stop) if contiguous else np.sort(self.query_rows), slice(self.start, self.stop)

    @property
    def pair_count(self) -> int:
        return len(self.query_rows) * (self.stop - self.start)

    def halves(self, min_targets: int = 1) -> tuple[Batch, Batch] | None:
        """Return the two halves of the batch, or None for a single pair.

        Targets are halved before queries, down to `min_targets`, and split at multiples of `min_targets`.
        """
        targets, rows = self.stop - self.start, len(self.query_rows)
        if targets > 1 and (targets > min_targets or rows == 1):
            step = min_targets if targets > min_targets else 1
            middle = self.start + (targets + step) // (2 * step) * step
            return replace(self, stop=middle), replace(self, start=middle)
        if rows > 1:
            middle = rows // 2
            return replace(self, query_rows=self.query_rows[:middle]), replace(self, query_rows=self.query_rows[middle:])
        return None


def whole_tile_batch(tile: Tile, query_lengths: npt.NDArray[np.int64]) -> Batch:
    """Return a tile as one batch. Queries of similar length are adjacent, because each lane of a warp may process one query."""
    lengths = query_lengths[tile.query_start : tile.query_stop]
    return Batch(tile, np.argsort(lengths, kind="stable"), 0, len(tile.targets))
