"""Clusters near pairs while they are written."""

from __future__ import annotations

import numpy as np

from gpualign.core.clustering.clusters import Clustering
from gpualign.core.clustering.streamed import StreamedClusters
from gpualign.core.common.arrays import Reals
from gpualign.core.distance.calls import Samples
from gpualign.core.distance.output.base import DECIMALS, AnySink, NearDistances
from gpualign.core.files.scratch import Scratch


class ClusteringSink:
    """Passes near pairs of one set on to another sink, and makes single-linkage clusters of them.

    sink: the other sink
    whole: whether distances are counts; other distances are rounded to the decimals of lists
    scratch: opens the scratch file of the clusters
    """

    def __init__(self, sink: AnySink, whole: bool, scratch: Scratch) -> None:
        self._sink = sink
        self._decimals = 0 if whole else DECIMALS
        self._scratch = scratch

    def begin(self, samples: Samples) -> None:
        """Begin; called once, before the first pairs."""
        self._clusters = StreamedClusters(len(samples.queries), self._scratch())
        self._sink.begin(samples)

    def write(self, found: NearDistances) -> None:
        """Add some pairs."""
        self._sink.write(found)
        distances: Reals = found.values.astype(np.float64)
        np.round(distances, self._decimals, out=distances)
        self._clusters.add(found.queries, found.targets, distances)

    def finish(self) -> None:
        """Finish the other sink, and make the clusters; all pairs have been written."""
        self._sink.finish()
        self.clustering: Clustering = self._clusters.finish()
