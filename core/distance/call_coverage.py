"""Derives bounds on the sites that two samples have in common from their numbers of calls. Pure.

Of n sites, samples with calls at p and at q of them have at least p + q - n in common, and at most the smaller of p and q.
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


def fewest_sites(least: int | Fraction, sites: int) -> int:
    """Return the sites that a pair must have in common: `least` of them, or that fraction of `sites`, rounded up; at least one."""
    return max(1, least if isinstance(least, int) else math.ceil(least * sites))


@dataclass(frozen=True)
class Coverage:
    """Numbers of calls of all samples, and the sites that a pair must have in common.

    queries, targets: sites at which each of them has a call, int64[queries], int64[targets]
    upper_triangle: the queries are the first of the targets, each paired with later ones
    sites: number of sites
    min_sites: sites that a pair must have in common
    """

    queries: CountArray = field(repr=False)
    targets: CountArray = field(repr=False)
    upper_triangle: bool
    sites: int
    min_sites: int

    @property
    def suffices(self) -> bool:
        """Whether no pair, and no sample with itself, can have fewer than `min_sites` sites in common."""
        return self._always(self.queries, self.targets)

    @property
    def decides(self) -> bool:
        """Whether `lacking` is exact, so that nothing needs to be counted."""
        return self._always(self.queries[self.queries >= self.min_sites], self.targets[self.targets >= self.min_sites])

    def lacking(self, queries: slice, targets: slice) -> npt.NDArray[np.bool_]:
        """Return the pairs of which a sample by itself has fewer than `min_sites` calls: bool[queries][targets]."""
        lacking: npt.NDArray[np.bool_] = (self.queries[queries] < self.min_sites)[:, None] | (self.targets[targets] < self.min_sites)[
            None, :
        ]
        return lacking

    @property
    def lacking_pairs(self) -> int:
        """Number of pairs of which a sample by itself has fewer than `min_sites` calls; in the upper triangle without pairs of a sample and
        itself."""
        queries, targets = (int(np.count_nonzero(called >= self.min_sites)) for called in (self.queries, self.targets))
        return count_pairs(len(self.queries), len(self.targets), self.upper_triangle) - count_pairs(queries, targets, self.upper_triangle)

    def _always(self, queries: CountArray, targets: CountArray) -> bool:
        """Return whether the two with the fewest calls have enough in common. A sample shares all of its sites with itself."""
        if not len(queries) or not len(targets):
            return True
        if self.upper_triangle:
            # No pair has fewer calls than the query with the fewest and the sample with the fewest of all others.
            targets = np.append(np.delete(targets, queries.argmin()), self.sites)
        return int(queries.min()) + int(targets.min()) - self.sites >= self.min_sites
