"""Sinks that keep results in memory, or nothing."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from gpualign.core.sinks.matrix_files import Numbers, Places


class MemoryArray:
    """An array for sinks that fill one (`gpualign.core.sinks.matrix_files.ArrayMaker`)."""

    places: Places | None = None

    def __init__(self, shape: tuple[int, ...], dtype: Numbers) -> None:
        self.values: npt.NDArray[Any] = np.zeros(shape, dtype=dtype)

    def reserve(self, stop: int) -> None:
        pass

    def flush(self) -> None:
        pass


class Discard:
    """A sink, and a progress, that take everything and keep nothing: for timing."""

    def begin(self, plan: object) -> None:
        pass

    def write(self, band: object) -> None:
        pass

    def finish(self) -> None:
        pass

    def advance(self, work: int) -> None:
        pass
