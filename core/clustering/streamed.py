"""Single-linkage clustering of a stream of near pairs, for more pairs than fit in memory."""

from __future__ import annotations

import numpy as np

from gpualign.core.clustering.clusters import Clustering, clustering_with_distances, renumber_labels, representatives
from gpualign.core.clustering.edges import Chunk, Edges, concatenate_chunks
from gpualign.core.clustering.linkage import single_linkage
from gpualign.core.clustering.stored_edges import EdgeWriter
from gpualign.core.common.arrays import Integers, Reals
from gpualign.core.files.scratch import MakeScratch

_PAIRS_PER_BLOCK = 1 << 20
"""Number of pairs that are added to the clusters together."""


class StreamedClusters:
    """Single-linkage clusters of `record_count` records. Memory holds a few numbers per record and up to about a million pairs. All pairs
    are written to a scratch file, from which the distances to the representatives are read at the end.

    scratch: creates the file
    """

    def __init__(self, record_count: int, scratch: MakeScratch) -> None:
        self._writer = EdgeWriter(scratch)
        self._labels = np.arange(record_count, dtype=np.int64)
        self._near_counts = np.zeros(record_count, dtype=np.int64)
        self._distance_sums = np.zeros(record_count, dtype=np.float64)
        self._pending: list[Chunk] = []
        self._pending_count = 0

    def add(self, i: Integers, j: Integers, distance: Reals) -> None:
        """Add near pairs. Each pair must be added only once, with i < j. i, j: int64[pairs]; distance: float64[pairs]."""
        self._writer.write(i, j, distance)
        self._pending.append((i, j, distance))
        self._pending_count += len(i)
        if self._pending_count >= _PAIRS_PER_BLOCK:
            self._join_pending()

    def finish(self) -> Clustering:
        """Return the clustering of all pairs: the same as `linkage.single_linkage` followed by `clusters.clustering_from_labels`."""
        self._join_pending()
        labels = renumber_labels(self._labels)
        chosen = representatives(labels, self._near_counts, self._distance_sums)
        return clustering_with_distances(labels, chosen, self._writer.finish(len(labels), _PAIRS_PER_BLOCK).chunks())

    def _join_pending(self) -> None:
        """Join the clusters that the pending pairs connect."""
        if not self._pending_count:
            return
        i, j, distance = concatenate_chunks(self._pending)
        self._pending.clear()
        self._pending_count = 0
        count = len(self._labels)
        ends = np.concatenate((i, j))
        self._near_counts += np.bincount(ends, minlength=count)
        self._distance_sums += np.bincount(ends, np.tile(distance, 2), minlength=count)
        joined = single_linkage(Edges(count, self._labels[i], self._labels[j], distance))
        self._labels = joined[self._labels]
