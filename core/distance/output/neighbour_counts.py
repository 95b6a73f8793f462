"""Writes the number of near pairs of each sample."""

from __future__ import annotations

from gpualign.core.distance.calls import Samples
from gpualign.core.distance.output.base import BandDistances, NearPairDistances, NeighbourTally
from gpualign.core.distance.output.pairs import PairsSink
from gpualign.core.output.neighbour_counts import NeighbourCounts, write_neighbour_counts
from gpualign.core.output.writer import ByteWriter, keep_freed_memory


class NeighbourCountsSink(PairsSink):
    """Counts near pairs, and writes the counts when all pairs are known.

    stream: destination of the text
    separator: column separator
    threads: threads for formatting text
    """

    def __init__(self, stream: ByteWriter, separator: str, threads: int = 1) -> None:
        self._stream = stream
        self._separator = separator
        self._threads = threads

    def begin(self, samples: Samples) -> None:
        super().begin(samples)
        keep_freed_memory()
        self._neighbours = NeighbourCounts(len(samples.queries), samples.upper_triangle)

    def write(self, distances: BandDistances | NearPairDistances | NeighbourTally) -> None:
        if isinstance(distances, NeighbourTally):
            self._neighbours.add_counts(distances.first_query, distances.query_counts)
            if self.samples.upper_triangle:
                self._neighbours.add_counts(distances.first_target, distances.target_counts)
        else:
            super().write(distances)

    def write_pairs(self, pairs: NearPairDistances) -> None:
        self._neighbours.add_pairs(pairs.queries, pairs.targets)

    def finish(self) -> None:
        write_neighbour_counts(self._stream, self.samples.queries, self._neighbours.counts, self._separator, self._threads)
