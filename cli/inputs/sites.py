"""Which sites `gpualign dist` is to use, as its options say."""

from __future__ import annotations

import re
from fractions import Fraction

from gpualign.cli.outputs.files import open_input
from gpualign.core.distance.intervals import Intervals, read_bed
from gpualign.core.distance.site_filters import SiteFilters
from gpualign.core.errors import InputError
from gpualign.jobs.sites import names_file, read_regions

_HALF = Fraction(1, 2)


def interval_files(regions: str | None, mask: str | None) -> list[str]:
    """The BED files that are named."""
    return [path for path in (regions if regions is not None and names_file(regions) else None, mask) if path is not None]


def site_filters(regions: str | None, mask: str | None, core: str | None, maf: str | None) -> SiteFilters:
    """What --regions, --mask, --core and --maf ask for. Raises `InputError` naming the option, or file, line and column."""
    shares = _share("--core", core, Fraction(1)), _share("--maf", maf, _HALF)
    return SiteFilters(None if regions is None else read_regions(regions), None if mask is None else _mask(mask), *shares)


def _mask(path: str) -> Intervals:
    with open_input(path) as (stream, source):
        return read_bed(stream, source)


def _share(option: str, text: str | None, most: Fraction) -> Fraction | None:
    """Exactly as it is written: 0.1 is a tenth."""
    if text is None:
        return None
    if re.fullmatch(r"[0-9]+\.?[0-9]*|\.[0-9]+", text) and len(text) <= 20 and Fraction(text) <= most:
        return Fraction(text)
    share = re.fullmatch(r"([0-9]{1,2}|100) ?%?", text)
    hint = f"; {share[1]} % is {int(share[1]) / 100:g}" if share and int(share[1]) <= 100 * most else ""
    raise InputError(f"{option} is a share from 0 to {float(most):g}, such as {'0.95' if most == 1 else '0.05'}; found {text!r}{hint}")
