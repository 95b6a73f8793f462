"""Finds columns of numbers that are unlike the rest of an allele table, and may not be loci."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from gpualign.core.common.errors import parameter
from gpualign.core.distance.tables.alleles import FIRST_HASH_NUMBER, NO_ALLELE

EXAMINED_ROWS = 256
"""Number of samples that suffice to decide whether a locus is unlike the rest."""

_MIN_ROWS = 4
_MIN_EQUAL_STEPS = 5
"""Minimum number of equal steps from row to row; fewer occur by chance among small numbers."""
_YEAR_RANGE = 1900, 2100
_LARGE_ALLELE = 1000
"""Numbers from this one up are large. If more than a few other loci have large numbers, numbers that look like years
are not reported."""
_LOCI_PER_OUTLIER = 20
"""At most one column in this many may be unlike the rest."""
_MIN_DISTINCT_NUMBERS = 8
_DISTINCT_NUMBERS_FACTOR = 3
_LARGE_NUMBER_FACTOR = 50
"""A number is far larger than at other loci if it exceeds this multiple of the upper quartile of the columns' largest numbers."""
_MAX_LOCI_IN_MESSAGE = 5


def describe_outliers(numbers: npt.NDArray[np.uint32], titles: Sequence[str], transpose: bool = False) -> str | None:
    """Return a note on the loci that are unlike the rest; None if there are none.

    A locus is reported if its numbers change by the same step from row to row, if the numbers are years and few other loci have numbers
    this large, if the numbers are far larger than at other loci, or if nearly every sample has a different number and there are at least
    three times as many distinct numbers as at a typical locus.

    numbers: allele numbers of some samples, [samples][loci]
    titles: locus names
    transpose: whether the rows of the table are loci
    """
    samples, loci = numbers.shape
    if samples < 2 or loci < 2:
        return None
    known = numbers != NO_ALLELE
    values = np.where(known, numbers, 0).astype(np.int64)
    called = known.sum(axis=0)
    largest = values.max(axis=0)
    smallest = np.where(known, values, np.iinfo(np.int64).max).min(axis=0)
    ordered = np.sort(np.where(known, values, -1), axis=0)
    distinct = ((np.diff(ordered, axis=0) > 0) & (ordered[1:] >= 0)).sum(axis=0) + (ordered[0] >= 0)
    usual = float(np.median(distinct))

    usual_largest = float(np.quantile(largest, 0.75))
    far = (largest >= _LARGE_ALLELE) & (largest < FIRST_HASH_NUMBER) & (largest > _LARGE_NUMBER_FACTOR * usual_largest)
    reasons = {k: f"numbers up to {largest[k]:,}, other columns up to about {usual_largest:.0f}" for k in np.flatnonzero(far).tolist()}
    if samples < _MIN_ROWS:
        return _describe_loci(reasons, titles, loci, transpose)
    steps = np.diff(values, axis=0)
    counting = (called == samples) & (len(steps) >= _MIN_EQUAL_STEPS) & (steps == steps[:1]).all(axis=0) & (steps[0] != 0)
    years = (called > 0) & (smallest >= _YEAR_RANGE[0]) & (largest <= _YEAR_RANGE[1]) & (distinct > 1)
    others_large = np.count_nonzero(largest >= _LARGE_ALLELE) - np.count_nonzero(years)
    varied = (distinct >= _MIN_DISTINCT_NUMBERS) & (10 * distinct >= 9 * called) & (distinct >= _DISTINCT_NUMBERS_FACTOR * max(usual, 1.0))
    for k in np.flatnonzero(varied).tolist():
        reasons[k] = f"{distinct[k]:,} different values in {samples:,} rows, other columns have about {usual:.0f}"
    if others_large * _LOCI_PER_OUTLIER <= loci:
        reasons |= dict.fromkeys(np.flatnonzero(years).tolist(), "values are years")
    reasons |= {k: f"values change by {steps[0, k]:+} from row to row" for k in np.flatnonzero(counting).tolist()}
    return _describe_loci(reasons, titles, loci, transpose)


def _describe_loci(reasons: dict[int, str], titles: Sequence[str], loci: int, transpose: bool) -> str | None:
    """Return a note on the loci, with the reason for each; None if there are none, or too many to be outliers."""
    if not reasons or len(reasons) > max(1, loci // _LOCI_PER_OUTLIER, 3) or 2 * len(reasons) > loci:
        return None
    shown = [f"{titles[k]!r} ({reason})" for k, reason in sorted(reasons.items())[:_MAX_LOCI_IN_MESSAGE]]
    what, it = ("row" if transpose else "column"), ("it" if len(shown) == 1 else "them")
    advice = f"delete {it} from the table to leave {it} out" if transpose else f"{parameter('ignore_columns')} leaves {it} out"
    if len(shown) == 1:
        return f"{what} {shown[0]} does not look like a locus but is counted as one; {advice}"
    more = f" and {len(reasons) - _MAX_LOCI_IN_MESSAGE:,} more" if len(reasons) > _MAX_LOCI_IN_MESSAGE else ""
    return f"{what}s {', '.join(shown)}{more} do not look like loci but are counted; {advice}"
