"""Makes a rule on counts from a threshold on distances. Pure.

The rule chooses every pair whose distance is at most the threshold, and few others; the metric's formula, which makes the final decision,
is applied to these only. Counts of a metric are compared with the largest value that the distance allows: differing calls (alleles) with a
number of them if the distance is one, or with a share of the compared ones (`Metric.limit`).

    a number   part <= most                       part and most are integers: exact
    a share    part <= f x whole, f a fraction    SCALE x part <= w x whole + SCALE,  w = floor(f x SCALE) + 2

The left side implies the right one: w / SCALE > f + 1 / SCALE, and the rounding error of f, or of the distance from which f was computed,
is below 1e-9 < 1 / SCALE. The last SCALE allows for halves of alleles, which are below 1.

A kinship of at least K is at most the estimate that divides by the mean of the two counts of heterozygotes in place of the smaller one,

    1/2 - squares / 4 min(h, h') <= 1/2 - squares / 2 (h + h') = (both - 2 ibs0) / (h + h')

so that a pair of such a kinship has  SCALE (2 ibs0 - both) + k (h + h') <= SCALE,  k = floor(K x SCALE). If one of the two has no
heterozygotes, there is no kinship: such pairs are counted.

Sums stay within 64 bits: a run has fewer than 2^29 sites (runner.py), so that a raw count is below 2^31, twice the calls of two samples
are below 2^31, in halves of alleles 2^32, and each of these times SCALE is at most 2^60; FAR is above all of them, and twice FAR is below
2^63.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from gpualign.core.distance.call_coverage import Coverage
from gpualign.core.distance.count_recipe import Measure
from gpualign.core.distance.metrics import CountArray, Metric, MissingRule
from gpualign.core.distance.pair_selection import COMPARED, FAR, PairSelectionRule

SCALE = 1 << 28
_MOST = 1 << 31
"""More than any count."""

_MIN_KINSHIP = -1.0
"""Every pair is chosen for thresholds below this one, which have no use, so that sums stay within 64 bits."""


def near_rule(
    metric: Metric,
    missing: MissingRule,
    most: float,
    names: tuple[str, ...],
    constants: Mapping[str, int],
    sites: int,
    called: CountArray,
    coverage: Coverage,
) -> PairSelectionRule:
    """Return the rule for pairs at distance `most` or less.

    names: names of the counts
    constants: added to each count of every pair
    sites, called, coverage: as in `runner.PreparedDistances`
    """
    halves = metric.measure is Measure.ALLELES
    each = 2 if halves else 1  # raw count of a differing call or allele
    of_site = 4 if halves else 1  # raw count of a site at which both alleles, or the calls, differ
    counted = "alleles" if halves else "differences"
    part = {counted: 1} if counted in names else {COMPARED: 1, "matches": -1}
    limit = metric.limit(most)
    scale = 1 if metric.counts else SCALE
    whole = 0 if metric.counts else math.floor(min(limit, 1.0) * SCALE) + 2
    # Bound before the constants, which raw counts leave out, are subtracted; in units of raw counts, times `scale`.
    bound = each * math.floor(min(limit, _MOST)) + each - 1 if metric.counts else SCALE
    weights = {name: scale * weight for name, weight in part.items()}
    known = bound + whole * of_site * sites  # the largest value of the known part of a near pair's differences, times `scale`
    offsets = None
    if missing is MissingRule.AS_DIFFERENCE:
        weights[COMPARED] = weights.get(COMPARED, 0) - 2 * of_site * scale
        offsets = scale * of_site * called.astype(np.int64)
        bound = known
    elif whole:
        weights[COMPARED] = weights.get(COMPARED, 0) - whole * of_site
    cap = (counted, known // scale - constants.get(counted, 0)) if counted in names else None
    return _with_coverage(PairSelectionRule(weights, bound, offsets, cap=cap), constants, coverage)


def kinship_rule(metric: Metric, least: float, constants: Mapping[str, int], coverage: Coverage) -> PairSelectionRule:
    """Return the rule for pairs of a kinship of `least` or more.

    Relationships are not counts: every pair is chosen, and the metric decides.
    constants, coverage: as for `near_rule`
    """
    floors = {name: 1 - constants[name] for name in ("query_het", "target_het")} if metric.measure is Measure.KINSHIP else {}
    if least < _MIN_KINSHIP or not floors:
        return _with_coverage(PairSelectionRule({}, 0, floors=floors), constants, coverage)
    weight = math.floor(least * SCALE)
    weights = {"ibs0": 2 * SCALE, "both_het": -SCALE, "query_het": weight, "target_het": weight}
    return _with_coverage(PairSelectionRule(weights, SCALE, floors=floors), constants, coverage)


def _with_coverage(rule: PairSelectionRule, constants: Mapping[str, int], coverage: Coverage) -> PairSelectionRule:
    """Return the rule for raw counts, which leave out the constants, restricted to pairs with enough compared sites."""
    most = rule.max_sum - sum(weight * constants.get(name, 0) for name, weight in rule.weights.items())
    if coverage.suffices:
        return replace(rule, max_sum=most)
    if not coverage.decides:
        return replace(rule, max_sum=most, min_compared=coverage.min_sites - constants.get(COMPARED, 0))
    called = [coverage.targets] if coverage.upper_triangle else [coverage.queries, coverage.targets]
    far = np.where(np.concatenate(called) < coverage.min_sites, FAR, 0)
    return replace(rule, max_sum=most, offsets=far if rule.offsets is None else np.where(far > 0, far, rule.offsets))
