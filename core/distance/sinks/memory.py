"""Matrices of distances in memory, for callers that want arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from gpualign.core.distance.calls import Samples
from gpualign.core.distance.sinks.base import BandDistances
from gpualign.core.distance.sinks.matrix import place
from gpualign.core.sinks.matrix_files import Numbers


class MemorySink:
    """Fills `values`, [queries][targets] of `dtype`, and with `compared` an array of compared sites, int32, or None: element [i][j] is of
    query i and target j; of one set both triangles and the diagonal."""

    def __init__(self, dtype: Numbers, compared: bool = False) -> None:
        self._dtype = dtype
        self._compared = compared

    def begin(self, samples: Samples) -> None:
        self._samples = samples
        shape = len(samples.queries), len(samples.targets)
        self.values: npt.NDArray[Any] = np.zeros(shape, dtype=self._dtype)
        self.compared: npt.NDArray[np.int32] | None = np.zeros(shape, dtype=np.int32) if self._compared else None

    def write(self, distances: BandDistances) -> None:
        place(self.values, distances.values, distances.band, self._samples)
        if self.compared is not None and distances.compared is not None:
            place(self.compared, distances.compared, distances.band, self._samples)

    def finish(self) -> None:
        pass
