"""Derives bounds on the number of sites that two samples share from their numbers of calls. Pure.

If two samples have calls at p and q of n sites, they share at least p + q - n sites and at most min(p, q).
"""

from __future__ import annotations

import math
from dataclasses import field
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from gpualign.core.common.dataclass import dataclass
from gpualign.core.distance.calls import count_pairs
from gpualign.core.distance.metrics import CountArray

if TYPE_CHECKING:
    from fractions import Fraction


def min_site_count(minimum: int | Fraction, site_count: int) -> int:
    """Return the number of sites that a pair must share, at least 1. A `minimum` that is a fraction means this fraction of `site_count`,
    rounded up."""
    return max(1, minimum if isinstance(minimum, int) else math.ceil(minimum * site_count))


@dataclass(frozen=True)
class CallCoverage:
    """Number of calls in each sample, and the number of sites that a pair must share.

    query_calls: number of sites at which each query has a call, int64[queries]
    target_calls: number of sites at which each target has a call, int64[targets]
    upper_triangle: whether the queries come first among the targets, so that each is paired only with later targets
    site_count: number of sites
    min_sites: minimum number of sites that a pair must share
    """

    query_calls: CountArray = field(repr=False)
    target_calls: CountArray = field(repr=False)
    upper_triangle: bool
    site_count: int
    min_sites: int

    @property
    def is_sufficient(self) -> bool:
        """True if every pair, including a sample with itself, is certain to share at least `min_sites` sites."""
        return self._is_sufficient_for(self.query_calls, self.target_calls)

    @property
    def is_decisive(self) -> bool:
        """True if `too_few_calls_mask` selects exactly the pairs that share too few sites, so that shared sites need not be counted."""
        return self._is_sufficient_for(
            self.query_calls[self.query_calls >= self.min_sites], self.target_calls[self.target_calls >= self.min_sites]
        )

    def too_few_calls_mask(self, queries: slice, targets: slice) -> npt.NDArray[np.bool_]:
        """Return a mask of the pairs in which either sample has fewer than `min_sites` calls: bool[queries][targets]."""
        lacking: npt.NDArray[np.bool_] = (self.query_calls[queries] < self.min_sites)[:, None] | (
            self.target_calls[targets] < self.min_sites
        )[None, :]
        return lacking

    @property
    def too_few_calls_count(self) -> int:
        """Number of pairs in which either sample has fewer than `min_sites` calls. For an upper triangle, pairs of a sample with itself are
        excluded."""
        queries, targets = (int(np.count_nonzero(called >= self.min_sites)) for called in (self.query_calls, self.target_calls))
        return count_pairs(len(self.query_calls), len(self.target_calls), self.upper_triangle) - count_pairs(
            queries, targets, self.upper_triangle
        )

    def _is_sufficient_for(self, queries: CountArray, targets: CountArray) -> bool:
        """Return whether every query is certain to share at least `min_sites` sites with each of its targets. It is enough to check the
        pair with the fewest calls. A sample shares with itself all sites at which it has a call.

        queries, targets: number of sites at which each sample has a call
        """
        if not len(queries) or not len(targets):
            return True
        if self.upper_triangle:
            # No pair has fewer calls than the query with the fewest and the sample with the fewest of all others.
            targets = np.append(np.delete(targets, queries.argmin()), self.site_count)
        return int(queries.min()) + int(targets.min()) - self.site_count >= self.min_sites
