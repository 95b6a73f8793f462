"""Coverage: the fraction of a sequence's letters that an alignment pairs with letters of the other sequence, equal or not. Pure."""

from __future__ import annotations

from enum import Enum

import numpy as np

from gpualign.core.common.arrays import Integers


class CoveredSequence(Enum):
    """Sequence of a pair whose coverage is tested. An alignment pairs as many letters of the query as of the target, so the smaller of
    their two coverages is that of the longer sequence.

    BOTH: both sequences, and therefore the longer one
    QUERY: the query
    TARGET: the target
    SHORTER: the shorter sequence
    """

    BOTH = "both"
    QUERY = "query"
    TARGET = "target"
    SHORTER = "shorter"

    @property
    def field_name(self) -> str:
        """Name of the column that shows the coverage."""
        return "coverage" if self is CoveredSequence.BOTH else f"coverage_{self.value}"

    def letter_counts(self, query_lengths: Integers, target_lengths: Integers) -> Integers:
        """Return the number of letters of which the coverage is a fraction; the arrays are broadcast."""
        if self is CoveredSequence.QUERY:
            return query_lengths
        if self is CoveredSequence.TARGET:
            return target_lengths
        counts: Integers = (np.minimum if self is CoveredSequence.SHORTER else np.maximum)(query_lengths, target_lengths)
        return counts
