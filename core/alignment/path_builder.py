"""Assembles the paths of many pairs from parts."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any

import numpy as np
import numpy.typing as npt

from gpualign.core.alignment.tile_results import Runs
from gpualign.core.common.scatter import Lines, put

_LARGE = 1 << 20
"""Minimum size, in bytes, of pieces that are not copied."""


class RunsBuilder:
    """Assembles the runs for an array of pairs from parts, which may arrive in any order. shape: shape of the array."""

    def __init__(self, shape: tuple[int, ...]) -> None:
        self._starts = np.zeros(shape, dtype=np.int64)
        self._sizes = np.zeros(shape, dtype=np.int32)
        self._pieces: list[npt.NDArray[np.uint8]] = []
        self._held = 0

    def add(self, place: Any, runs: Runs) -> None:  # any index of an array
        """Add the runs for the pairs at `place`, an index into the array."""
        self._starts[place] = runs.starts + self._held if self._held else runs.starts
        self._sizes[place] = runs.sizes
        self._take(runs.pieces)

    def put(self, rows: Lines, columns: Lines, runs: Runs, threads: int) -> None:
        """Add the runs for the pairs of these rows and columns of a matrix, using `threads` threads."""
        put(self._starts, rows, columns, runs.starts + self._held if self._held else runs.starts, threads)
        put(self._sizes, rows, columns, runs.sizes, threads)
        self._take(runs.pieces)

    def _take(self, pieces: Sequence[npt.NDArray[np.uint8]]) -> None:
        for piece in pieces:
            self._pieces.append(piece)
            self._held += len(piece)

    def build(self) -> Runs:
        """Return all runs. To limit the number of pieces, small pieces are concatenated; large pieces are not copied."""
        pieces: list[npt.NDArray[np.uint8]] = []
        for large, some in groupby(self._pieces, lambda piece: len(piece) >= _LARGE):
            group = list(some)
            pieces += group if large else [np.concatenate(group)]
        return Runs(pieces or [np.zeros(0, dtype=np.uint8)], self._starts, self._sizes)
