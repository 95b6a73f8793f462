"""Single-linkage clustering of a stream of near pairs, for more pairs than fit in memory."""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO

import numpy as np

from gpualign.core.clustering.clusters import Clustering, measured, numbered, representatives
from gpualign.core.clustering.edges import Edges, Indices
from gpualign.core.clustering.linkage import single
from gpualign.core.common.arrays import Integers, Reals

_PAIRS = 1 << 20
"""Number of pairs joined, written or read at a time."""

_PAIR = np.dtype([("i", np.int32), ("j", np.int32), ("distance", np.float64)])


class StreamedClusters:
    """Single-linkage clusters of `count` records. Holds a few numbers per record and up to about a million pairs. All pairs go to a scratch
    file; once the representatives are known, the distances to them are read from this file."""

    def __init__(self, count: int, scratch: BinaryIO) -> None:
        self._scratch = scratch
        self._labels = np.arange(count, dtype=np.int64)
        self._near = np.zeros(count, dtype=np.int64)
        self._sums = np.zeros(count, dtype=np.float64)
        self._waiting: list[np.ndarray[tuple[int], np.dtype[np.void]]] = []
        self._held = 0
        self.pairs = 0

    def add(self, i: Integers, j: Integers, distance: Reals) -> None:
        """Add near pairs, each pair once and i < j: int64[pairs], int64[pairs], float64[pairs]."""
        pairs = np.empty(len(i), dtype=_PAIR)
        pairs["i"], pairs["j"], pairs["distance"] = i, j, distance
        self._waiting.append(pairs)
        self._held += len(pairs)
        if self._held >= _PAIRS:
            self._join()

    def finish(self) -> Clustering:
        """Return the same clustering as `linkage.single` and `clusters.of_labels` for all pairs."""
        self._join()
        labels = numbered(self._labels)
        chosen = representatives(labels, self._near, self._sums)
        return measured(labels, chosen, self._written())

    def _written(self) -> Iterator[tuple[Indices, Indices, Reals]]:
        """Yield (i, j, distance) of all pairs, a block at a time."""
        self._scratch.seek(0)
        while block := self._scratch.read(_PAIRS * _PAIR.itemsize):
            pairs = np.frombuffer(block, dtype=_PAIR)
            yield pairs["i"], pairs["j"], pairs["distance"]

    def _join(self) -> None:
        """Join clusters using the pending pairs."""
        if not self._held:
            return
        pairs = np.concatenate(self._waiting)
        self._waiting.clear()
        self._held = 0
        self.pairs += len(pairs)
        self._scratch.write(pairs.tobytes())
        count = len(self._labels)
        ends = np.concatenate((pairs["i"], pairs["j"]))
        self._near += np.bincount(ends, minlength=count)
        self._sums += np.bincount(ends, np.tile(pairs["distance"], 2), minlength=count)
        joined = single(Edges(count, self._labels[pairs["i"]], self._labels[pairs["j"]], pairs["distance"]))
        self._labels = joined[self._labels]
