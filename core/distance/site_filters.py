"""Selects input sites according to their position, number of samples with a call, and allele frequency."""

from __future__ import annotations

import math
from dataclasses import field
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from gpualign.core.common.dataclass import dataclass
from gpualign.core.common.errors import InputError, parameter
from gpualign.core.common.threads import ThreadPool
from gpualign.core.distance.calls import CallKind
from gpualign.core.distance.intervals import GenomicIntervals
from gpualign.core.distance.readers.base import Source
from gpualign.core.distance.readers.site_counts import SiteCounts

if TYPE_CHECKING:
    from fractions import Fraction


@dataclass(frozen=True)
class SiteFilters:
    """Filters that a site must pass, applied in this order. None: no filter.

    regions: intervals in which the site must lie
    mask: intervals in which the site must not lie
    core: minimum fraction of samples with a call, among all samples in one or both inputs
    maf: minimum frequency of the second most common allele among the alleles of these calls, in founders only
    """

    regions: GenomicIntervals | None = None
    mask: GenomicIntervals | None = None
    core: Fraction | None = None
    maf: Fraction | None = None

    @property
    def is_set(self) -> bool:
        """True if there is any filter."""
        return any(one is not None for one in (self.regions, self.mask, self.core, self.maf))


@dataclass(frozen=True)
class FilterResult:
    """Number of sites that each filter removed, and chromosomes on which the input has no site.

    input_site_count: number of sites in the input
    removed_by_filter: number of sites removed by each filter in use, keyed by filter name, in filter order
    absent_chromosomes: chromosomes that occur in intervals, but on which the input has no site, keyed by the source of the intervals
    """

    input_site_count: int
    removed_by_filter: dict[str, int] = field(default_factory=dict)
    absent_chromosomes: dict[str, list[str]] = field(default_factory=dict)

    @property
    def remaining_site_count(self) -> int:
        """Number of remaining sites."""
        return self.input_site_count - sum(self.removed_by_filter.values())


def filter_sites(source: Source, filters: SiteFilters, panel_bytes: int, workers: ThreadPool) -> tuple[Source, FilterResult]:
    """Return the source restricted to the sites that pass the filters (possibly none), and the `FilterResult`.

    Raises `InputError` for intervals if sites have no positions, and for intervals that cannot belong to this input.

    panel_bytes: memory for the calls that are examined in one step, in bytes
    """
    input_site_count, removed, absent = source.site_count, dict[str, int](), dict[str, list[str]]()
    interval_filters = [(name, some) for name, some in (("regions", filters.regions), ("mask", filters.mask)) if some is not None]
    if interval_filters:
        positions = source.site_positions()
        if positions is None:
            raise InputError(
                f"{parameter(interval_filters[0][0])} needs the positions of sites, but sites of tables and arrays have none: leave out"
                " columns, or give an alignment, VCF, BCF or a PLINK fileset"
            )
        passing = np.ones(input_site_count, dtype=bool)
        for name, intervals in interval_filters:
            covered = positions.covered_mask(intervals)
            if names := positions.absent_chromosomes(intervals):
                absent[intervals.source] = names
            passes = ~covered if name == "mask" else covered
            removed[name] = int(np.count_nonzero(passing & ~passes))
            passing &= passes
        source = source.select_sites(passing)
    count_filters = [(name, minimum) for name, minimum in (("core", filters.core), ("maf", filters.maf)) if minimum is not None]
    if filters.maf is not None and source.kind in (CallKind.ALLELE, CallKind.DOSAGE):
        maf, core = parameter("maf"), parameter("core")
        raise InputError(
            f"{maf} is for genotypes 0, 1, 2 and for letters; these are {source.kind.value}. {core} chooses sites by their calls"
        )
    removed |= {name: 0 for name, _ in count_filters}
    if count_filters and source.site_count:
        counts = source.count_per_site(filters.maf is not None, panel_bytes, workers)
        passing = np.ones(source.site_count, dtype=bool)
        for name, minimum in count_filters:
            passes = (
                counts.call_counts >= _min_count(minimum, source.samples.row_count)
                if name == "core"
                else _sites_with_min_maf(counts, minimum)
            )
            removed[name] = int(np.count_nonzero(passing & ~passes))
            passing &= passes
        source = source.select_sites(passing)
    return source, FilterResult(input_site_count, removed, absent)


def _min_count(fraction: Fraction, total: int) -> int:
    """Return this fraction of `total`, rounded up. The result is at least 1 unless the fraction is 0."""
    return max(math.ceil(fraction * total), 1 if fraction else 0)


def _sites_with_min_maf(counts: SiteCounts, min_frequency: Fraction) -> npt.NDArray[np.bool_]:
    """Return a mask of the sites whose second most common allele has at least this frequency: bool[sites]."""
    assert counts.minor_allele_counts is not None
    totals, places = np.unique(counts.allele_counts, return_inverse=True)
    minimums = np.array([_min_count(min_frequency, total) for total in totals.tolist()], dtype=np.int64)
    frequent: npt.NDArray[np.bool_] = counts.minor_allele_counts >= minimums[places]
    return frequent
