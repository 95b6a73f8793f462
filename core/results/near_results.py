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
        queries, runs = self.pairs.queries, self.alignments.runs
        row_bytes = None if runs is None else runs.sizes.astype(np.int64)
        if title_bytes is not None:
            row_bytes = title_bytes if row_bytes is None else row_bytes + title_bytes
        bytes_before = None if row_bytes is None else np.concatenate(([0], np.cumsum(row_bytes)))
        start = 0
        while start < len(queries):
            limit = min(start + max_pairs, len(queries))
            if bytes_before is not None:
                limit = min(limit, int(np.searchsorted(bytes_before, bytes_before[start] + max_cigar_bytes, side="right")) - 1)
            stop = limit
            if limit < len(queries):
                stop = int(np.searchsorted(queries, queries[limit]))  # the first pair of the query that would be cut
                stop = stop if stop > start else int(np.searchsorted(queries, queries[start], side="right"))
            if stop - start == len(queries):
                yield NearPairResults(self.pairs, self.alignments)
                return
            yield NearPairResults(self.pairs.select(slice(start, stop)), self.alignments.select(slice(start, stop)))
            start = stop
