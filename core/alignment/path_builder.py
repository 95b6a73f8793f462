"""Assembles the paths of many pairs from parts."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any

import numpy as np
import numpy.typing as npt

from gpualign.core.alignment.tile_results import Runs
from gpualign.core.common.scatter import AxisIndices, put

_MIN_LARGE_PIECE_BYTES = 1 << 20
"""Minimum size, in bytes, of the pieces that are not copied when pieces of paths are concatenated."""


class PathBuilder:
    """Assembles the paths of an array of pairs from parts, which may arrive in any order.

    shape: shape of the array
    """

    def __init__(self, shape: tuple[int, ...]) -> None:
        self._starts = np.zeros(shape, dtype=np.int64)
        self._sizes = np.zeros(shape, dtype=np.int32)
        self._pieces: list[npt.NDArray[np.uint8]] = []
        self._held_bytes = 0

    def add(self, indices: Any, runs: Runs) -> None:  # any index of an array
        """Add the paths of some pairs of the array.

        indices: any NumPy index that selects these pairs from the array
        runs: paths, in the shape of the selection
        """
        self._starts[indices] = runs.starts + self._held_bytes if self._held_bytes else runs.starts
        self._sizes[indices] = runs.sizes
        self._append_pieces(runs.pieces)

    def put(self, rows: AxisIndices, columns: AxisIndices, runs: Runs, threads: int) -> None:
        """Add `runs`, the paths of the pairs in these rows and columns of the array, which must be two-dimensional."""
        put(self._starts, rows, columns, runs.starts + self._held_bytes if self._held_bytes else runs.starts, threads)
        put(self._sizes, rows, columns, runs.sizes, threads)
        self._append_pieces(runs.pieces)

    def _append_pieces(self, pieces: Sequence[npt.NDArray[np.uint8]]) -> None:
        for piece in pieces:
            self._pieces.append(piece)
            self._held_bytes += len(piece)

    def build(self) -> Runs:
        """Return the paths of all pairs. Small pieces are concatenated, so that there are not too many pieces; large ones are not
        copied."""
        pieces: list[npt.NDArray[np.uint8]] = []
        for large, some in groupby(self._pieces, lambda piece: len(piece) >= _MIN_LARGE_PIECE_BYTES):
            group = list(some)
            pieces += group if large else [np.concatenate(group)]
        return Runs(pieces or [np.zeros(0, dtype=np.uint8)], self._starts, self._sizes)
