"""What is said about calls that are missing: samples with few of them, pairs without a distance."""

from __future__ import annotations

import numpy as np

from gpualign.core.distance.runner import DistanceTotals, Prepared

_MOST_NAMED = 5


def few_calls(prepared: Prepared) -> str | None:
    """Names samples with calls at less than half of the sites, those with the fewest first; None where there are none."""
    ids, sites, called = prepared.samples.ids, prepared.input_sites, prepared.called
    few = np.flatnonzero(2 * called < sites)
    if not len(few):
        return None
    worst = few[np.argsort(called[few], kind="stable")][:_MOST_NAMED]
    # The first one tells of how many sites.
    named = [f"{ids[k]} ({called[k]:,}{'' if number else f' of {sites:,}'})" for number, k in enumerate(worst)]
    more = f" and {len(few) - len(worst):,} more" if len(few) > len(worst) else ""
    have = "1 sample has" if len(few) == 1 else f"{len(few):,} samples have"
    return f"{have} calls at less than half of the sites: {', '.join(named)}{more}"


def lacking_pairs(prepared: Prepared, totals: DistanceTotals) -> str | None:
    """Tells how many pairs have too few compared sites; None where there are none."""
    if not totals.lacking:
        return None
    least = prepared.coverage.least
    sites = "no compared site" if least == 1 else f"fewer than {least:,} compared sites"
    return f"{totals.lacking:,} of {totals.pairs:,} pairs have {sites}"
