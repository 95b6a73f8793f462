"""Selects which sites of an input to use, and reports why the rest were left out."""

from __future__ import annotations

import os
from contextlib import closing

from gpualign.core.common.errors import InputError, parameter
from gpualign.core.common.threads import ThreadPool
from gpualign.core.distance.intervals import GenomicIntervals, parse_regions, read_bed
from gpualign.core.distance.readers.base import Source
from gpualign.core.distance.site_filters import FilterResult, SiteFilters, filter_sites
from gpualign.core.files.paths import open_file
from gpualign.jobs.reporter import Reporter
from gpualign.jobs.sample_selection import SampleFilters, drop_with_few_calls, report_nonfounders

_MAX_NAMES_IN_MESSAGE = 5


def is_regions_file(regions: str) -> bool:
    """True if `regions` is the name of a file that holds the regions."""
    return os.path.exists(regions) and not os.path.isdir(regions)


def read_regions(regions: str) -> GenomicIntervals:
    """Return regions from a list or from a BED file with this name. Raises the same errors as `parse_regions` and `read_bed`."""
    return read_intervals(regions) if is_regions_file(regions) else parse_regions(regions)


def read_intervals(path: str) -> GenomicIntervals:
    """Return the intervals in a BED file. Raises the same errors as `read_bed`."""
    with open_file(path) as stream:
        return read_bed(stream, path)


def select_passing_sites(
    source: Source, filters: SiteFilters, samples: SampleFilters, panel_bytes: int, threads: int, reporter: Reporter
) -> tuple[Source, FilterResult | None]:
    """Return the source with only the sites that pass the filters, and how many sites each filter removed (None if there are no filters).
    Samples with too few calls at the sites that pass regions and mask are left out too, if a minimum is given.

    Raises the same errors as `filter_sites` and `drop_with_few_calls`, and `InputError` if no site is left.
    """
    min_called = samples.min_called
    with closing(ThreadPool(threads)) as workers:
        source, left = filter_sites(source, SiteFilters(filters.regions, filters.mask), panel_bytes, workers)
        if min_called is not None and left.remaining_site_count:
            source = drop_with_few_calls(source, min_called, panel_bytes, workers, reporter)
        if filters.maf is not None:
            report_nonfounders(source.samples, parameter("maf"), reporter)
        source, of_shares = filter_sites(source, SiteFilters(core=filters.core, maf=filters.maf), panel_bytes, workers)
    left = FilterResult(left.input_site_count, left.removed_by_filter | of_shares.removed_by_filter, left.absent_chromosomes)
    if not filters.is_set:
        return source, None
    for intervals, names in left.absent_chromosomes.items():
        shown = ", ".join(names[:_MAX_NAMES_IN_MESSAGE]) + (
            f" and {len(names) - _MAX_NAMES_IN_MESSAGE:,} more" if len(names) > _MAX_NAMES_IN_MESSAGE else ""
        )
        count = f"{len(names):,} of its chromosomes have" if len(names) > 1 else "one of its chromosomes has"
        reporter.note(f"{intervals}: {count} no site in the input: {shown}")
    if not left.remaining_site_count:
        raise InputError(f"no site is left; {describe_site_counts(filters, left)}")
    reporter.note(describe_site_counts(filters, left))
    return source, left


def describe_site_counts(filters: SiteFilters, counts: FilterResult) -> str:
    """Return site counts as human-readable text: read, removed by each filter, and used."""
    why = {"regions": "outside regions", "mask": "masked"}
    if filters.core is not None:
        why["core"] = f"called in fewer than {float(100 * filters.core):g} % of samples"
    if filters.maf is not None:
        why["maf"] = f"minor allele rarer than {float(filters.maf):g}"
    taken = [f"{why[name]}: {count:,}" for name, count in counts.removed_by_filter.items()]
    return "; ".join([f"sites: {counts.input_site_count:,}", *taken, f"used: {counts.remaining_site_count:,}"])
