"""Near pairs with what is known of each, as they go to sinks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from gpualign.core.near.align import Aligned
from gpualign.core.near.pairs import NearPairs


@dataclass(frozen=True)
class NearResults:
    """Pairs of some consecutive queries, in order, and their alignments."""

    pairs: NearPairs
    aligned: Aligned

    def parts(self, pairs: int, run_bytes: int) -> Iterator[NearResults]:
        """The same in parts of up to so many pairs and, from two pairs on, so many bytes of runs."""
        start = 0
        ends = None if self.aligned.runs is None else np.cumsum(self.aligned.runs.sizes, dtype=np.int64)
        while start < len(self.pairs):
            stop = min(len(self.pairs), start + pairs)
            if ends is not None:
                held = int(ends[start - 1]) if start else 0
                stop = min(stop, max(start + 1, int(np.searchsorted(ends, held + run_bytes, side="right"))))
            which = np.arange(start, stop)
            yield NearResults(self.pairs.part(which), self.aligned.part(which))
            start = stop
