"""Paths of many pairs in one piece of memory, put together from parts."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from gpualign.core.engine import Runs


class RunsBuilder:
    """Runs of an array of pairs of this shape, from parts that come in any order."""

    def __init__(self, shape: tuple[int, ...]) -> None:
        self._starts = np.zeros(shape, dtype=np.int64)
        self._sizes = np.zeros(shape, dtype=np.int32)
        self._data: list[npt.NDArray[np.uint8]] = []
        self._held = 0

    def add(self, place: Any, runs: Runs) -> None:  # whatever indexes an array
        """Those of the pairs at `place`, an index of the array."""
        self._starts[place] = runs.starts + self._held if self._held else runs.starts
        self._sizes[place] = runs.sizes
        self._take(runs.data)

    def add_columns(self, first_row: int, columns: npt.NDArray[np.int64], runs: Runs) -> None:
        """Those of a tile: of [first_row + r][columns[c]] for all r and c, where the array is [rows][columns]."""
        from gpualign.core.places import put

        put(self._starts, first_row, columns, runs.starts + self._held if self._held else runs.starts)
        put(self._sizes, first_row, columns, runs.sizes)
        self._take(runs.data)

    def _take(self, data: npt.NDArray[np.uint8]) -> None:
        self._data.append(data)
        self._held += len(data)

    def build(self) -> Runs:
        """All of them."""
        data = self._data[0] if len(self._data) == 1 else np.concatenate([np.zeros(0, dtype=np.uint8), *self._data])
        return Runs(data, self._starts, self._sizes)
