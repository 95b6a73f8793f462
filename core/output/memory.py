"""An in-memory array for sinks that fill an array."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from gpualign.core.output.matrix_files import NumberType, PieceLocator


class MemoryArray:
    """In-memory array for sinks that fill an array (implements `gpualign.core.output.matrix_files.FilledArray`)."""

    locator: PieceLocator | None = None

    def __init__(self, shape: tuple[int, ...], dtype: NumberType) -> None:
        self.values: npt.NDArray[Any] = np.zeros(shape, dtype=dtype)

    def reserve(self, stop: int) -> None:
        pass

    def flush(self) -> None:
        pass
