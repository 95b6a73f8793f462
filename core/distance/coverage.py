"""What the calls of samples tell about the sites that two of them have in common. Pure.

Of n sites, samples with calls at p and at q of them have p + q - n in common at least, and the smaller of p and q at most.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from gpualign.core.distance.metrics import Integers

if TYPE_CHECKING:
    from fractions import Fraction


def fewest_sites(least: int | Fraction, sites: int) -> int:
    """Sites that a pair must have in common: `least` of them, or that fraction of `sites`, rounded up; at least one."""
    return max(1, least if isinstance(least, int) else math.ceil(least * sites))


@dataclass(frozen=True)
class Coverage:
    """queries, targets: sites at which each of them has a call, int64[]; of one set both are the same array. sites: that there are;
    least: that a pair must have in common."""

    queries: Integers = field(repr=False)
    targets: Integers = field(repr=False)
    sites: int
    least: int

    @property
    def suffices(self) -> bool:
        """Whether no pair, and no sample with itself, can have fewer than `least` sites."""
        return self._always(self.queries, self.targets)

    @property
    def decides(self) -> bool:
        """Whether `lacking` is exact, so that nothing needs to be counted."""
        enough = self.queries[self.queries >= self.least]
        return self._always(enough, enough if self._one_set else self.targets[self.targets >= self.least])

    def lacking(self, queries: slice, targets: slice) -> npt.NDArray[np.bool_]:
        """bool[queries][targets]: pairs of which a sample alone has fewer than `least` calls."""
        lacking: npt.NDArray[np.bool_] = (self.queries[queries] < self.least)[:, None] | (self.targets[targets] < self.least)[None, :]
        return lacking

    @property
    def lacking_pairs(self) -> int:
        """Pairs of which a sample alone has fewer than `least` calls; of one set each pair once, none of a sample with itself."""
        queries, enough = len(self.queries), int(np.count_nonzero(self.queries >= self.least))
        if self._one_set:
            return (queries * (queries - 1) - enough * (enough - 1)) // 2
        return queries * len(self.targets) - enough * int(np.count_nonzero(self.targets >= self.least))

    @property
    def _one_set(self) -> bool:
        return self.targets is self.queries

    def _always(self, queries: Integers, targets: Integers) -> bool:
        """Whether the two with the fewest calls have enough in common; of one set, a sample has all of its sites with itself."""
        if not len(queries) or not len(targets):
            return True
        if not self._one_set:
            low, high = int(queries.min()), int(targets.min())
        else:
            low, high = (int(called) for called in np.partition(np.append(queries, self.sites), 1)[:2])
        return low + high - self.sites >= self.least
