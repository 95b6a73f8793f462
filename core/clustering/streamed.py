"""Single-linkage clustering of a stream of near pairs, for more pairs than fit in memory."""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO

import numpy as np

from gpualign.core.clustering.clusters import Clustering, clustering_with_distances, renumber_labels, representatives
from gpualign.core.clustering.edges import Edges, Indices
from gpualign.core.clustering.linkage import single_linkage
from gpualign.core.common.arrays import Integers, Reals

_PAIRS_PER_BLOCK = 1 << 20
"""Number of pairs that are added to the clusters, written or read together."""

_PAIR_DTYPE = np.dtype([("i", np.int32), ("j", np.int32), ("distance", np.float64)])


class StreamedClusters:
    """Single-linkage clusters of `record_count` records. Memory holds a few numbers per record and up to about a million pairs. All pairs
    are written to a scratch file, from which the distances to the representatives are read at the end."""

    def __init__(self, record_count: int, scratch: BinaryIO) -> None:
        self._scratch = scratch
        self._labels = np.arange(record_count, dtype=np.int64)
        self._near_counts = np.zeros(record_count, dtype=np.int64)
        self._distance_sums = np.zeros(record_count, dtype=np.float64)
        self._pending: list[np.ndarray[tuple[int], np.dtype[np.void]]] = []
        self._pending_count = 0
        self.pairs = 0

    def add(self, i: Integers, j: Integers, distance: Reals) -> None:
        """Add near pairs. Each pair must be added only once, with i < j. i, j: int64[pairs]; distance: float64[pairs]."""
        pairs = np.empty(len(i), dtype=_PAIR_DTYPE)
        pairs["i"], pairs["j"], pairs["distance"] = i, j, distance
        self._pending.append(pairs)
        self._pending_count += len(pairs)
        if self._pending_count >= _PAIRS_PER_BLOCK:
            self._join_pending()

    def finish(self) -> Clustering:
        """Return the clustering of all pairs: the same as `linkage.single_linkage` followed by `clusters.clustering_from_labels`."""
        self._join_pending()
        labels = renumber_labels(self._labels)
        chosen = representatives(labels, self._near_counts, self._distance_sums)
        return clustering_with_distances(labels, chosen, self._stored_pairs())

    def _stored_pairs(self) -> Iterator[tuple[Indices, Indices, Reals]]:
        """Yield (i, j, distance) of all pairs, in blocks."""
        self._scratch.seek(0)
        while block := self._scratch.read(_PAIRS_PER_BLOCK * _PAIR_DTYPE.itemsize):
            pairs = np.frombuffer(block, dtype=_PAIR_DTYPE)
            yield pairs["i"], pairs["j"], pairs["distance"]

    def _join_pending(self) -> None:
        """Join the clusters that the pending pairs connect."""
        if not self._pending_count:
            return
        pairs = np.concatenate(self._pending)
        self._pending.clear()
        self._pending_count = 0
        self.pairs += len(pairs)
        self._scratch.write(pairs.tobytes())
        count = len(self._labels)
        ends = np.concatenate((pairs["i"], pairs["j"]))
        self._near_counts += np.bincount(ends, minlength=count)
        self._distance_sums += np.bincount(ends, np.tile(pairs["distance"], 2), minlength=count)
        joined = single_linkage(Edges(count, self._labels[pairs["i"]], self._labels[pairs["j"]], pairs["distance"]))
        self._labels = joined[self._labels]
