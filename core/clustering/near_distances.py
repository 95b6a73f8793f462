"""Clusters records by their near pairs while these pairs are being written."""

from __future__ import annotations

import numpy as np

from gpualign.core.clustering.clusters import Clustering
from gpualign.core.clustering.streamed import StreamedClusters
from gpualign.core.common.arrays import Reals
from gpualign.core.distance.calls import Samples
from gpualign.core.distance.output.base import DECIMALS, NearPairDistances
from gpualign.core.distance.output.pairs import PairsSink
from gpualign.core.files.scratch import MakeScratch


class ClusteringSink:
    """Passes near pairs of one set on to a second sink while clustering the records by single linkage.

    sink: the second sink, which receives the pairs
    are_counts: whether distances are counts; if not, they are rounded to as many decimals as pair lists show
    scratch: opens the scratch file for clustering
    """

    def __init__(self, sink: PairsSink, are_counts: bool, scratch: MakeScratch) -> None:
        self._sink = sink
        self._decimals = 0 if are_counts else DECIMALS
        self._scratch = scratch

    def begin(self, samples: Samples) -> None:
        """Begin clustering, and begin the sink that receives the pairs. Call once, before the first pairs."""
        self._clusters = StreamedClusters(len(samples.queries), self._scratch)
        self._sink.begin(samples)

    def write(self, pairs: NearPairDistances) -> None:
        """Pass near pairs on to the sink that receives them, and add them to the clustering."""
        self._sink.write(pairs)
        distances: Reals = pairs.values.astype(np.float64)
        np.round(distances, self._decimals, out=distances)
        self._clusters.add(pairs.queries, pairs.targets, distances)

    def finish(self) -> None:
        """Finish the sink that receives the pairs, and build the clusters. Call after all pairs have been written."""
        self._sink.finish()
        self.clustering: Clustering = self._clusters.finish()
