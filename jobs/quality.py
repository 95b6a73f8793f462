"""What is said about samples with few calls, and about pairs without a distance."""

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


def pairs_without_value(prepared: Prepared, totals: DistanceTotals) -> str | None:
    """Tells how many pairs have no distance, and why; None where there are none."""
    least = prepared.coverage.least
    sites = "have no compared site" if least == 1 else f"have fewer than {least:,} compared sites"
    reasons = (totals.lacking, sites), (totals.undefined, prepared.task.metric.undefined)
    return ", ".join(f"{count:,} of {totals.pairs:,} pairs {reason}" for count, reason in reasons if count) or None
