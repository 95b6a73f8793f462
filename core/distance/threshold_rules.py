"""Converts a distance threshold to a rule on counts. Pure.

The rule selects every pair within the threshold and few additional pairs; the metric's formula makes the final decision, for the selected
pairs only. Counts are compared with the maximum that the distance allows (`Metric.difference_limit`): the differing calls (alleles) with a
maximum number if the distance is a count, otherwise with a maximum fraction of the compared calls (alleles).

    number      differing <= maximum                    both are integers: exact
    fraction    differing <= f x whole, f a fraction    SCALE x differing <= w x whole + SCALE,  w = floor(f x SCALE) + 2

The left side implies the right one: w / SCALE > f + 1 / SCALE, and the rounding error of f, or of the distance from which f was computed,
is below 1e-9 < 1 / SCALE. The last SCALE allows for half alleles, which are below 1.

A kinship is at most the estimate obtained by dividing by the mean of the two heterozygote counts instead of the smaller count,

    1/2 - squares / 4 min(h, h') <= 1/2 - squares / 2 (h + h') = (both - 2 ibs0) / (h + h')

so a pair with a kinship of at least K has  SCALE (2 ibs0 - both) + k (h + h') <= SCALE,  k = floor(K x SCALE). If either sample has no
heterozygotes, the kinship is undefined; such pairs are counted.

Sums stay within 64 bits: a run has fewer than 2^29 sites (preparation.py), so a raw count is below 2^31, twice the calls of two samples are
below 2^31 (below 2^32 in half alleles), and each of these times SCALE is at most 2^60. FAR_OFFSET is above all of these products, and twice
FAR_OFFSET is below 2^63.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from gpualign.core.distance.call_coverage import CallCoverage
from gpualign.core.distance.count_recipe import Measure
from gpualign.core.distance.metrics import CountArray, Metric, MissingRule
from gpualign.core.distance.pair_selection import COMPARED, FAR_OFFSET, PairSelectionRule

FRACTION_SCALE = 1 << 28
"""SCALE above: fractions are multiples of 1 / FRACTION_SCALE."""

_MAX_COUNT = 1 << 31
"""Larger than any count."""

_MIN_KINSHIP = -1.0
"""Smallest kinship threshold for which a rule is made. Below it, every pair is selected, so that sums stay within 64 bits."""


def near_pair_rule(
    metric: Metric,
    missing_rule: MissingRule,
    max_distance: float,
    names: tuple[str, ...],
    constants: Mapping[str, int],
    sites: int,
    calls_per_sample: CountArray,
    coverage: CallCoverage,
) -> PairSelectionRule:
    """Return the rule for pairs at a distance of at most `max_distance`.

    names: count names
    constants: number to add to each count, the same for every pair
    sites: maximum number of compared sites
    calls_per_sample: number of sites at which each sample has a call, int64[samples]
    coverage: tells which pairs may share too few sites
    """
    halves = metric.measure is Measure.ALLELES
    each = 2 if halves else 1  # raw count of a differing call or allele
    of_site = 4 if halves else 1  # raw count of a site at which both alleles, or the calls, differ
    counted = "alleles" if halves else "differences"
    differing = {counted: 1} if counted in names else {COMPARED: 1, "matches": -1}
    limit = metric.difference_limit(max_distance)
    scale = 1 if metric.is_integer else FRACTION_SCALE
    whole = 0 if metric.is_integer else math.floor(min(limit, 1.0) * FRACTION_SCALE) + 2
    # Bound before the constants, which raw counts leave out, are subtracted; in units of raw counts, times `scale`.
    bound = each * math.floor(min(limit, _MAX_COUNT)) + each - 1 if metric.is_integer else FRACTION_SCALE
    weights = {name: scale * weight for name, weight in differing.items()}
    known = bound + whole * of_site * sites  # the largest value of the known part of a near pair's differences, times `scale`
    offsets = None
    if missing_rule is MissingRule.AS_DIFFERENCE:
        weights[COMPARED] = weights.get(COMPARED, 0) - 2 * of_site * scale
        offsets = scale * of_site * calls_per_sample.astype(np.int64)
        bound = known
    elif whole:
        weights[COMPARED] = weights.get(COMPARED, 0) - whole * of_site
    cap = (counted, known // scale - constants.get(counted, 0)) if counted in names else None
    return _adjust_to_coverage(PairSelectionRule(weights, bound, offsets, cap=cap), constants, coverage)


def kinship_rule(metric: Metric, min_kinship: float, constants: Mapping[str, int], coverage: CallCoverage) -> PairSelectionRule:
    """Return the rule for pairs with a kinship of at least `min_kinship`.

    For relationships, which are not counts, the rule selects every pair, and the metric decides.

    constants: number to add to each count, the same for every pair
    coverage: tells which pairs may share too few sites
    """
    floors = {name: 1 - constants[name] for name in ("query_het", "target_het")} if metric.measure is Measure.KINSHIP else {}
    if min_kinship < _MIN_KINSHIP or not floors:
        return _adjust_to_coverage(PairSelectionRule({}, 0, floors=floors), constants, coverage)
    weight = math.floor(min_kinship * FRACTION_SCALE)
    weights = {"ibs0": 2 * FRACTION_SCALE, "both_het": -FRACTION_SCALE, "query_het": weight, "target_het": weight}
    return _adjust_to_coverage(PairSelectionRule(weights, FRACTION_SCALE, floors=floors), constants, coverage)


def _adjust_to_coverage(rule: PairSelectionRule, constants: Mapping[str, int], coverage: CallCoverage) -> PairSelectionRule:
    """Return the rule adapted to raw counts, to which `constants` have not been added. It also excludes pairs with too few compared
    sites."""
    max_sum = rule.max_sum - sum(weight * constants.get(name, 0) for name, weight in rule.weights.items())
    if coverage.is_sufficient:
        return replace(rule, max_sum=max_sum)
    if not coverage.is_decisive:
        return replace(rule, max_sum=max_sum, min_compared=coverage.min_sites - constants.get(COMPARED, 0))
    called = [coverage.target_calls] if coverage.upper_triangle else [coverage.query_calls, coverage.target_calls]
    far = np.where(np.concatenate(called) < coverage.min_sites, FAR_OFFSET, 0)
    return replace(rule, max_sum=max_sum, offsets=far if rule.offsets is None else np.where(far > 0, far, rule.offsets))
