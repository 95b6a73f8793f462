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
        self._starts[place] = runs.starts + self._held
        self._sizes[place] = runs.sizes
        self._data.append(runs.data)
        self._held += len(runs.data)

    def build(self) -> Runs:
        """All of them."""
        data = self._data[0] if len(self._data) == 1 else np.concatenate([np.zeros(0, dtype=np.uint8), *self._data])
        return Runs(data, self._starts, self._sizes)
