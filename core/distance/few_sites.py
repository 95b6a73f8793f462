"""Which near pairs were compared at so few sites that they say little.

Of n sites, samples with calls at p and q have p + q - n in common at least. So if every sample has calls at (n + least) / 2 sites or more,
every pair has (n + least) / 2 + (n + least) / 2 - n = least in common, and nothing is counted or looked at: where half of the sites are
asked for, three quarters of them are enough. A sample with fewer than `least` calls has no pair with as many in common. What remains are
pairs of samples with `least` calls or more for which p + q - n < least; the smaller of p and q is then below (n + least) / 2. So it is
enough to count the sites that samples between `least` and (n + least) / 2 have in common with all others.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import field

import numpy as np
import numpy.typing as npt

from gpualign.core.common.dataclass import dataclass
from gpualign.core.distance.bands import Band, Bands, CountMatrix
from gpualign.core.distance.count_recipe import Operation, PanelRecipe, Term
from gpualign.core.distance.engine import Panel, PreparedCounter
from gpualign.core.distance.metrics import CountArray
from gpualign.core.distance.pair_selection import COMPARED

_SHARE = 8
"""If more than one in so many samples has to be counted with all others, counting along with the distances takes less."""


@dataclass(frozen=True)
class FewSites:
    """Tells which pairs have fewer than `least` sites in common.

    called: sites at which each sample has a call, int64[samples]
    least: sites that a pair should have in common
    rows: the samples whose sites in common with all others are known, ascending, int64[rows]
    common: these numbers, int32[rows][samples]
    """

    called: CountArray = field(repr=False)
    least: int
    rows: CountArray = field(repr=False)
    common: CountMatrix = field(repr=False)

    def of_pairs(self, queries: CountArray, targets: CountArray, compared: CountArray | None = None) -> npt.NDArray[np.bool_]:
        """Whether each pair has too few: bool[pairs]. queries, targets: samples by their numbers; compared: sites that they have in common,
        where these were counted."""
        if compared is not None:
            return compared < self.least
        few: npt.NDArray[np.bool_] = np.minimum(self.called[queries], self.called[targets]) < self.least
        if len(self.rows):
            for some, others in ((queries, targets), (targets, queries)):
                at = np.minimum(np.searchsorted(self.rows, some), len(self.rows) - 1)
                known = np.flatnonzero(self.rows[at] == some)
                few[known] |= self.common[at[known], others[known]] < self.least
        return few

    def poorer(self, queries: CountArray, targets: CountArray) -> CountArray:
        """Of each pair the sample with fewer calls: int64[pairs]."""
        return np.where(self.called[queries] <= self.called[targets], queries, targets)


def uncounted(called: CountArray, least: int) -> FewSites:
    """Of samples whose calls alone tell which pairs have too few."""
    return FewSites(called, least, np.empty(0, dtype=np.int64), np.empty((0, len(called)), dtype=np.int32))


def counted(
    called: CountArray, sites: int, least: int, panels: Sequence[Panel], omitted: int, counter: PreparedCounter, memory: int
) -> FewSites | None:
    """Of any samples; None if counting along with the distances takes less, or more than `memory` bytes would be held.

    sites: that there are; panels: of all sites but `omitted` ones at which every sample has a call; counter: that counts compared sites.
    """
    rows = np.flatnonzero((called >= least) & (2 * called < sites + least))
    if _SHARE * len(rows) > len(called) or 4 * len(rows) * len(called) > memory:
        return None
    some = [one for panel in panels for one in _calls_of(panel)]
    common = np.empty((len(rows), len(called)), dtype=np.int32)
    done = 0
    with closing(counter.count(some, Bands.of(_bands(rows, len(called))), (COMPARED,), lambda _: None)) as bands:
        for band, counts in bands:
            common[done : done + band.shape[0]] = counts[COMPARED]
            done += band.shape[0]
    everywhere = omitted + sum(weight * panel.sites for panel in panels for name, weight in panel.recipe.constants if name == COMPARED)
    common += np.int32(everywhere)
    return FewSites(called, least, rows, common)


def _calls_of(panel: Panel) -> Iterator[Panel]:
    """The plane of calls alone; nothing of a panel without missing calls, or without any call."""
    for term in panel.recipe.terms:
        if term.count == COMPARED:
            (plane,) = term.left
            recipe = PanelRecipe(panel.recipe.planes[plane : plane + 1], (Term(COMPARED, Operation.AND, (0,), (0,)),))
            yield Panel(panel.bits[plane : plane + 1], panel.sites, recipe)


def _bands(rows: CountArray, samples: int) -> Iterator[Band]:
    """Bands of these rows, those that follow each other together, with all samples."""
    for run in np.split(rows, np.flatnonzero(np.diff(rows) > 1) + 1):
        yield Band(int(run[0]), int(run[-1]) + 1, 0, samples, False)
