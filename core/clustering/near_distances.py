"""Clusters of near pairs, beside the list of these pairs."""

from __future__ import annotations

import numpy as np

from gpualign.core.clustering.clusters import Clustering
from gpualign.core.clustering.streamed import StreamedClusters
from gpualign.core.common.arrays import Reals
from gpualign.core.distance.calls import Samples
from gpualign.core.distance.output.base import DECIMALS, AnySink, NearDistances
from gpualign.core.files.scratch import Scratch


class ClusteringSink:
    """Hands near pairs of one set on to another sink, and makes single-linkage clusters of them.

    whole: whether distances are counts; others are taken with the decimals of lists.
    """

    def __init__(self, sink: AnySink, whole: bool, scratch: Scratch) -> None:
        self._sink = sink
        self._decimals = 0 if whole else DECIMALS
        self._scratch = scratch

    def begin(self, samples: Samples) -> None:
        """Called once, before the first pairs."""
        self._clusters = StreamedClusters(len(samples.queries), self._scratch())
        self._sink.begin(samples)

    def write(self, found: NearDistances) -> None:
        """Take some pairs."""
        self._sink.write(found)
        distances: Reals = found.values.astype(np.float64)
        np.round(distances, self._decimals, out=distances)
        self._clusters.add(found.queries, found.targets, distances)

    def finish(self) -> None:
        """All pairs have been written."""
        self._sink.finish()
        self.clustering: Clustering = self._clusters.finish()
