"""Selects the sites for `gpualign dist` according to the options."""

from __future__ import annotations

from gpualign.core.common.parameter_fractions import exact_fraction
from gpualign.core.distance.intervals import GenomicIntervals, read_bed
from gpualign.core.distance.site_filters import SiteFilters
from gpualign.core.files.paths import open_input
from gpualign.jobs.site_selection import is_regions_file, read_regions


def interval_files(regions: str | None, mask: str | None) -> list[str]:
    """Return the BED files among the values of --regions and --mask."""
    return [path for path in (regions if regions is not None and is_regions_file(regions) else None, mask) if path is not None]


def site_filters(regions: str | None, mask: str | None, core: str | None, maf: str | None) -> SiteFilters:
    """Return the filters for --regions, --mask, --core and --maf. Raises an `InputError` that names the option, or the file, line and
    column, if a value or a file is invalid."""
    return SiteFilters(
        None if regions is None else read_regions(regions),
        None if mask is None else _read_mask(mask),
        None if core is None else exact_fraction("core", core),
        None if maf is None else exact_fraction("maf", maf, 0.5),
    )


def _read_mask(path: str) -> GenomicIntervals:
    with open_input(path) as (stream, source):
        return read_bed(stream, source)
