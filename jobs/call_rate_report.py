"""Describes samples with few calls, and pairs that have no distance."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gpualign.core.common.errors import parameter
from gpualign.core.distance.metrics import CountArray
from gpualign.core.distance.preparation import PreparedDistances
from gpualign.core.distance.runner import DistanceTotals

_MAX_SAMPLES_IN_MESSAGE = 5


def describe_few_calls(prepared: PreparedDistances) -> str | None:
    """Return text that names the samples with calls at less than half of the sites, fewest calls first. Returns None if there are no such
    samples."""
    ids, sites, called = prepared.samples.ids, prepared.input_site_count, prepared.calls_per_sample
    few = np.flatnonzero(2 * called < sites)
    if not len(few):
        return None
    have = "1 sample has" if len(few) == 1 else f"{len(few):,} samples have"
    leaves = f"{parameter('min_called', '0.5')} leaves {'it' if len(few) == 1 else 'them'} out"
    return f"{have} calls at less than half of the sites: {list_poorest_samples(ids, called, few, sites)}; {leaves}"


def list_poorest_samples(ids: Sequence[str], call_counts: CountArray, sample_indices: CountArray, site_count: int) -> str:
    """Return text that names the samples with the fewest calls, fewest first, and says how many more samples there are.

    call_counts: number of calls per sample
    sample_indices: indices of the samples to choose from
    site_count: number of sites in the input
    """
    worst = sample_indices[np.argsort(call_counts[sample_indices], kind="stable")][:_MAX_SAMPLES_IN_MESSAGE]
    # Only the first one shows the number of sites.
    named = [f"{ids[k]} ({call_counts[k]:,}{'' if number else f' of {site_count:,}'})" for number, k in enumerate(worst)]
    return ", ".join(named) + (f" and {len(sample_indices) - len(worst):,} more" if len(sample_indices) > len(worst) else "")


def describe_undefined_pairs(prepared: PreparedDistances, totals: DistanceTotals) -> str | None:
    """Return text that says how many pairs have no distance, and why. Returns None if every pair has a distance."""
    min_compared = prepared.coverage.min_sites
    sites = "have no compared site" if min_compared == 1 else f"have fewer than {min_compared:,} compared sites"
    reasons = (totals.too_few_sites_count, sites), (totals.undefined_count, prepared.task.metric.undefined_reason)
    return ", ".join(f"{count:,} of {totals.pair_count:,} pairs {reason}" for count, reason in reasons if count) or None


def describe_left_out_pairs(prepared: PreparedDistances, totals: DistanceTotals) -> str | None:
    """Return text that says how many near pairs were left out because too few sites were compared, which samples are affected, and how to
    keep the pairs. Returns None if no pairs were left out."""
    if prepared.min_sites_filter is None or totals.left_out_per_sample is None or not (count := int(totals.left_out_per_sample.sum())):
        return None
    named = list_poorest_samples(
        prepared.samples.ids, prepared.calls_per_sample, np.flatnonzero(totals.left_out_per_sample), prepared.input_site_count
    )
    pairs, are = ("1 near pair has", "is") if count == 1 else (f"{count:,} near pairs have", "are")
    why = f"for few calls of {named}; {parameter('min_compared', '1')} keeps {'it' if count == 1 else 'them'}"
    return f"{pairs} fewer than {prepared.min_sites_filter.min_sites:,} compared sites and {are} left out, {why}"
