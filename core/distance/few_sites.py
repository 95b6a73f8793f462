"""Finds near pairs that were compared at too few sites to be meaningful.

Two samples with calls at p and q of n sites share at least p + q - n sites. So if every sample has calls at (n + c) / 2 sites or more,
every pair shares at least (n + c) / 2 + (n + c) / 2 - n = c sites, and nothing needs to be counted: if c is half of the sites, calls at
three quarters of the sites are enough. A sample with fewer than c calls shares c sites with no other sample. In the remaining pairs, both
samples have c calls or more and p + q - n < c, so the smaller of p and q is below (n + c) / 2. It is therefore enough to count the sites
that samples with between c and (n + c) / 2 calls share with every other sample. c is `MinSitesFilter.min_sites`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import field, replace

import numpy as np
import numpy.typing as npt

from gpualign.core.common.dataclass import dataclass
from gpualign.core.distance.bands import CountMatrix, SampleBand, SampleBands
from gpualign.core.distance.count_recipe import Operation, PanelRecipe, Term
from gpualign.core.distance.engine import Panel, PreparedCounter
from gpualign.core.distance.metrics import CountArray
from gpualign.core.distance.pair_selection import COMPARED

_SAMPLES_PER_COUNTED_SAMPLE = 8
"""If shared sites must be counted for more than one in this many samples, it is cheaper to count them for all pairs, along with the
distances."""


@dataclass(frozen=True)
class MinSitesFilter:
    """Decides which pairs share fewer than `min_sites` sites.

    calls_per_sample: number of sites at which each sample has a call, int64[samples]
    min_sites: minimum number of sites that a pair should share
    counted_samples: indices of the samples for which shared sites have been counted, ascending, int64[rows]
    shared_sites: number of sites that these samples share with every sample, int32[rows][samples]
    """

    calls_per_sample: CountArray = field(repr=False)
    min_sites: int
    counted_samples: CountArray = field(repr=False)
    shared_sites: CountMatrix = field(repr=False)

    def below_minimum_mask(
        self, queries: CountArray, targets: CountArray, compared_sites: CountArray | None = None
    ) -> npt.NDArray[np.bool_]:
        """Return a mask of the pairs with too few shared sites: bool[pairs].

        queries, targets: sample indices, int64[pairs]
        compared_sites: number of sites that each pair shares; None: not yet counted
        """
        if compared_sites is not None:
            return compared_sites < self.min_sites
        few: npt.NDArray[np.bool_] = np.minimum(self.calls_per_sample[queries], self.calls_per_sample[targets]) < self.min_sites
        if len(self.counted_samples):
            for some, others in ((queries, targets), (targets, queries)):
                at = np.minimum(np.searchsorted(self.counted_samples, some), len(self.counted_samples) - 1)
                known = np.flatnonzero(self.counted_samples[at] == some)
                few[known] |= self.shared_sites[at[known], others[known]] < self.min_sites
        return few

    def samples_with_fewer_calls(self, queries: CountArray, targets: CountArray) -> CountArray:
        """Return the index of the sample with fewer calls in each pair: int64[pairs]."""
        return np.where(self.calls_per_sample[queries] <= self.calls_per_sample[targets], queries, targets)


def min_sites_filter_from_calls(calls_per_sample: CountArray, min_sites: int) -> MinSitesFilter:
    """Return a `MinSitesFilter` for samples whose numbers of calls suffice to decide which pairs share too few sites."""
    return MinSitesFilter(calls_per_sample, min_sites, np.empty(0, dtype=np.int64), np.empty((0, len(calls_per_sample)), dtype=np.int32))


def make_min_sites_filter(
    calls_per_sample: CountArray,
    sites: int,
    min_sites: int,
    panels: Sequence[Panel],
    omitted_sites: int,
    counter: PreparedCounter,
    memory: int,
) -> MinSitesFilter | None:
    """Count shared sites where necessary, and return a `MinSitesFilter` that can decide for any pair of samples.

    Returns None if it is cheaper to count shared sites with the distances, or if the counts would take more than `memory` bytes.

    calls_per_sample: number of sites at which each sample has a call, int64[samples]
    sites: number of sites
    min_sites: minimum number of sites that a pair should share
    panels: panels of all sites except `omitted_sites` sites, at which every sample has a call
    counter: an engine that counts compared sites
    memory: maximum memory for the counts, in bytes
    """
    rows = np.flatnonzero((calls_per_sample >= min_sites) & (2 * calls_per_sample < sites + min_sites))
    if _SAMPLES_PER_COUNTED_SAMPLE * len(rows) > len(calls_per_sample) or 4 * len(rows) * len(calls_per_sample) > memory:
        return None
    call_panels = [reduced for panel in panels for reduced in _panel_of_calls(panel)]
    shared = np.empty((len(rows), len(calls_per_sample)), dtype=np.int32)
    done = 0
    bands = SampleBands.of(_bands(rows, len(calls_per_sample)))
    with closing(counter.count_function(call_panels, bands, (COMPARED,), lambda _: None)) as counted:
        for band, counts in counted:
            shared[done : done + band.shape[0]] = counts[COMPARED]
            done += band.shape[0]
    everywhere = omitted_sites + sum(
        weight * panel.site_count for panel in panels for name, weight in panel.recipe.constants if name == COMPARED
    )
    shared += np.int32(everywhere)
    return MinSitesFilter(calls_per_sample, min_sites, rows, shared)


def _panel_of_calls(panel: Panel) -> Iterator[Panel]:
    """Yield the panel reduced to one plane, which marks the calls that are present. Yields nothing if no call is missing, or if all are."""
    for term in panel.recipe.terms:
        if term.count_name == COMPARED:
            (plane,) = term.left
            if panel.rows is not None:
                yield replace(panel, recipe=PanelRecipe(panel.recipe.planes, (term,)))
                continue
            recipe = PanelRecipe(panel.recipe.planes[plane : plane + 1], (Term(COMPARED, Operation.AND, (0,), (0,)),))
            yield Panel(panel.bits[plane : plane + 1], panel.site_count, recipe)


def _bands(rows: CountArray, samples: int) -> Iterator[SampleBand]:
    """Yield bands that pair these rows with all samples; consecutive rows share a band."""
    for run in np.split(rows, np.flatnonzero(np.diff(rows) > 1) + 1):
        yield SampleBand(int(run[0]), int(run[-1]) + 1, 0, samples, False)
