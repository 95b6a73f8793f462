"""Near pairs with their alignments, in the form that sinks accept."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from gpualign.core.alignment.aligned_pairs import PairAlignments
from gpualign.core.alignment.pair_list import NearPairs
from gpualign.core.common.arrays import Integers
from gpualign.core.common.dataclass import dataclass


@dataclass(frozen=True)
class NearPairResults:
    """Near pairs of consecutive queries, in order, and their alignments.

    completed_query_count: number of a query; once these results have been delivered, all pairs of the queries before it have been
    """

    pairs: NearPairs
    alignments: PairAlignments
    completed_query_count: int = 0

    def split(self, max_pairs: int, max_cigar_bytes: int, title_bytes: Integers | None = None) -> Iterator[NearPairResults]:
        """Split the results into pieces of at most `max_pairs` pairs and `max_cigar_bytes` bytes of CIGAR runs. The pairs of one query stay
        together, even if they exceed these limits.

        title_bytes: bytes of the titles in each pair's row, which count towards `max_cigar_bytes` like the runs; None: rows show no titles
        """
        sizes = np.zeros(len(self.pairs), dtype=np.int64) if self.alignments.runs is None else self.alignments.runs.sizes
        if title_bytes is not None:
            sizes = sizes + title_bytes
        held = np.concatenate(([0], np.cumsum(sizes, dtype=np.int64)))
        if 0 < len(self.pairs) <= max_pairs and held[-1] <= max_cigar_bytes:
            yield NearPairResults(self.pairs, self.alignments)
            return
        ends = np.flatnonzero(np.diff(self.pairs.queries, append=-1)) + 1  # of the pairs of each query
        start = 0
        while start < len(self.pairs):
            limit = min(start + max_pairs, int(np.searchsorted(held, held[start] + max_cigar_bytes, side="right")) - 1)
            reach = int(np.searchsorted(ends, max(limit, start + 1), side="right"))
            stop = int(ends[reach - 1]) if reach and ends[reach - 1] > start else int(ends[reach])
            yield NearPairResults(self.pairs.select(slice(start, stop)), self.alignments.select(np.arange(start, stop)))
            start = stop
