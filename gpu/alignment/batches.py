"""Cuts a tile into batches that fit the device. Pure."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from gpualign.core.common.dataclass import dataclass
from gpualign.core.planning.tile_plan import Tile


@dataclass(frozen=True)
class Batch:
    """Part of a tile: `rows` (query numbers less tile.query_start, in order of length) against tile.targets[start:stop].

    Scores come back with the rows in their order in the tile.
    """

    tile: Tile
    rows: npt.NDArray[np.int64]
    start: int
    stop: int

    @property
    def queries(self) -> npt.NDArray[np.int64]:
        """Query records."""
        return self.rows + self.tile.query_start

    @property
    def targets(self) -> npt.NDArray[np.int64]:
        """Target records, in the order of the tile."""
        return self.tile.targets[self.start : self.stop]

    @property
    def place(self) -> tuple[slice | npt.NDArray[np.int64], slice]:
        """Where its results go among those of the tile."""
        first, stop = int(self.rows.min()), int(self.rows.max()) + 1
        together = stop - first == len(self.rows)
        return slice(first, stop) if together else np.sort(self.rows), slice(self.start, self.stop)

    @property
    def pairs(self) -> int:
        return len(self.rows) * (self.stop - self.start)

    def halves(self, fewest_targets: int = 1) -> tuple[Batch, Batch] | None:
        """Two batches that make up this one, or None for a single pair. Targets are halved before queries, down to `fewest_targets`, so
        many of which stay together."""
        targets, rows = self.stop - self.start, len(self.rows)
        if targets > 1 and (targets > fewest_targets or rows == 1):
            step = fewest_targets if targets > fewest_targets else 1
            middle = self.start + (targets + step) // (2 * step) * step
            return replace(self, stop=middle), replace(self, start=middle)
        if rows > 1:
            middle = rows // 2
            return replace(self, rows=self.rows[:middle]), replace(self, rows=self.rows[middle:])
        return None


def whole_tile(tile: Tile, query_lengths: npt.NDArray[np.int64]) -> Batch:
    """A tile as one batch. Queries of similar length are neighbours, because the lanes of a warp may take one each."""
    lengths = query_lengths[tile.query_start : tile.query_stop]
    return Batch(tile, np.argsort(lengths, kind="stable"), 0, len(tile.targets))
