"""Metrics: formulas that compute distances from counts. Pure.

For a pair of samples, n sites are compared, d of these sites have different calls, and a alleles differ (counted as in
core/distance/count_recipe.py).
docs/metrics.md explains the formulas with examples.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import field
from enum import Enum
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from gpualign.core.common.dataclass import dataclass
from gpualign.core.common.errors import InputError, parameter
from gpualign.core.common.suggestions import did_you_mean
from gpualign.core.distance.calls import CallKind
from gpualign.core.distance.count_recipe import CountRequest, Measure

CountArray: TypeAlias = npt.NDArray[np.signedinteger]
Values: TypeAlias = npt.NDArray[Any]
"""Values for pairs: int32 for metrics that are counts, float64 for the rest, with NaN for undefined distances."""


class MissingRule(Enum):
    """How a missing call is treated.

    PAIRWISE: the site is not compared in pairs with this sample. COMPLETE: the site is not compared in any pair. AS_DIFFERENCE: a missing
    call differs from every call, but not from other missing calls; it shares no allele with a call.
    """

    PAIRWISE = "pairwise"
    COMPLETE = "complete"
    AS_DIFFERENCE = "as-difference"


@dataclass(frozen=True)
class Counts:
    """Counts for a rectangle of pairs, as arrays [queries][targets], or for a list of pairs, as arrays [pairs].

    raw_counts: counts by name, as listed by `count_recipe.count_names`
    site_count: largest number of sites at which a pair can be compared
    called_sites: (sites at which each query has a call, sites at which each target has a call); the two arrays broadcast to the shape of
        the count arrays. None unless missing calls count as differences
    """

    raw_counts: dict[str, CountArray] = field(repr=False)
    site_count: int
    called_sites: tuple[CountArray, CountArray] | None = field(default=None, repr=False)

    @property
    def compared_sites(self) -> CountArray:
        """Number of compared sites."""
        both = self.raw_counts["compared"]
        return both if self.called_sites is None else np.full_like(both, self.site_count)

    def _add_missing_sites(self, count: CountArray, increment: int) -> CountArray:
        """Return the count plus `increment` for every site at which only one sample in a pair has a call, if missing calls count as
        differences; otherwise return the count unchanged."""
        if self.called_sites is None:
            return count
        queries, targets = self.called_sites
        return (count + increment * (queries + targets - 2 * self.raw_counts["compared"].astype(np.int64))).astype(np.int32)

    @property
    def differences(self) -> CountArray:
        """Number of compared sites with different calls."""
        known = (
            self.raw_counts["differences"] if "differences" in self.raw_counts else self.raw_counts["compared"] - self.raw_counts["matches"]
        )
        return self._add_missing_sites(known, 1)

    @property
    def allele_differences(self) -> CountArray:
        """Number of alleles that differ."""
        return self._add_missing_sites(self.raw_counts["alleles"] >> 1, 2)  # counted in halves


def _hamming(counts: Counts) -> Values:
    """Return the number of compared sites with different calls."""
    return counts.differences


def _allele(counts: Counts) -> Values:
    """Return the number of alleles that differ."""
    return counts.allele_differences


def _fraction(counts: Counts) -> Values:
    """Return the fraction of the compared sites with different calls."""
    return _ratio(counts.differences, counts.compared_sites)


def _ibs_distance(counts: Counts) -> Values:
    """Return the fraction of the compared alleles that differ (1 - identity by state)."""
    return _ratio(counts.allele_differences, 2 * counts.compared_sites.astype(np.int64))


def _jc69(counts: Counts) -> Values:
    """Return the distance of Jukes and Cantor, -3/4 log(1 - 4/3 p), where p is the fraction of the compared sites with different calls."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return _replace_undefined(-0.75 * _log(1 - 4 / 3 * _fraction(counts)))


def _tn93(counts: Counts) -> Values:
    """Return the distance of Tamura and Nei."""
    raw, n = counts.raw_counts, counts.raw_counts["compared"].astype(np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        a, c, g = (raw[base] / (2 * n) for base in "acg")
        t = 1 - a - c - g
        r, y = a + g, c + t
        purines, pyrimidines = raw["ag"] / n, raw["ct"] / n
        transversions = (raw["compared"] - raw["matches"] - raw["ag"] - raw["ct"]) / n
        # A kind of substitution whose bases do not occur adds nothing; 0 / 0 would make it undefined.
        of_purines = _tn93_term(2 * a * g / r, purines, transversions / (2 * r))
        of_pyrimidines = _tn93_term(2 * t * c / y, pyrimidines, transversions / (2 * y))
        weight = 2 * (r * y - np.where(r > 0, a * g * y / r, 0) - np.where(y > 0, t * c * r / y, 0))
        between = np.where((weight > 0) | (transversions > 0), -weight * _log(1 - transversions / (2 * r * y)), 0)
        distance = of_purines + of_pyrimidines + between
        return _replace_undefined(np.where(raw["matches"] == raw["compared"], np.where(n > 0, 0.0, np.nan), distance))


def _tn93_term(k: Values, changed: Values, crossed: Values) -> Values:
    """Return -k log(1 - changed / k - crossed), a term in the formula of Tamura and Nei; 0 if k is 0."""
    return np.where(k > 0, -k * _log(1 - np.where(k > 0, changed / k, 0) - crossed), 0.0)


def _king(counts: Counts) -> Values:
    """Return the kinship, 1/2 - sum (x - y)^2 / (4 min(h, h')), where h and h' are the numbers of compared sites at which each sample is
    heterozygous, and (x - y)^2 is 4 at a site with opposite homozygotes, 1 if only one genotype is heterozygous, else 0."""
    hets = counts.raw_counts["query_het"], counts.raw_counts["target_het"]
    squares = counts.raw_counts["ibs0"].astype(np.int64)
    squares *= 4
    for het in hets:
        squares += het
        squares -= counts.raw_counts["both_het"]
    return _replace_undefined(0.5 - _ratio(squares, 4 * np.minimum(*hets).astype(np.int64)))


def _grm(counts: Counts) -> Values:
    """Return the mean of the standardised genotype products at the compared sites."""
    return _ratio(counts.raw_counts["products"], counts.compared_sites)


def _limit_equal_to_distance(max_distance: float) -> float:
    """Return `max_distance` itself, for metrics that are the number or the fraction of differing calls or alleles."""
    return max_distance


def _jc69_limit(max_distance: float) -> float:
    """Return 3/4 (1 - exp(-4/3 d)), the largest fraction p of differing calls at a distance of at most d: the inverse of the formula."""
    return -0.75 * math.expm1(-4 / 3 * max_distance)


def _tn93_limit(max_distance: float) -> float:
    """Return the largest fraction p of differing calls at a distance of at most d. This is d itself, because a distance is never below p.

    Since -log(1 - x) >= x, each of the three terms of the formula is at least its factor times x. Let a, c, g, t be the frequencies of the
    bases, r = a + g, y = c + t, and P, P' and Q the proportions of sites with changed purines, changed pyrimidines and transversions. The
    lower bounds of the three terms add up to

        P + P' + Q (a g / r^2 + c t / y^2 + (r y - a g y / r - c t r / y) / (r y)) = P + P' + Q = p

    If the bases of a term do not occur, there are no such changes, and the term is omitted from the formula and from this sum.
    """
    return max_distance


_MIN_LOG_ARGUMENT = 1e-12


def _log(values: Values) -> Values:
    """Return natural logarithms. Where the argument is negative or zero (up to rounding), the sequences are saturated, and the result is
    NaN."""
    logs: Values = np.log(np.where(values > _MIN_LOG_ARGUMENT, values, np.nan))
    return logs


def _ratio(numerator: CountArray, denominator: CountArray) -> Values:
    """Return the quotients as float64, with NaN for 0 / 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(numerator / denominator, dtype=np.float64)  # 0 / 0 is NaN


def _replace_undefined(values: Values) -> Values:
    """Return the values with -0 replaced by 0, and infinite values replaced by NaN."""
    return np.where(np.isfinite(values), values + 0.0, np.nan)


@dataclass(frozen=True)
class Metric:
    """A distance or similarity metric.

    name: name of the metric in options
    formula: computes values from counts
    measure: what is counted for the formula
    call_kinds: kinds of calls for which the metric is defined
    needs_compared_sites: whether the formula needs the number of compared sites
    is_integer: whether values are whole numbers
    difference_limit: returns an upper bound for the pairs within a given distance: the largest number of differing calls (alleles) if the
        distance counts them, otherwise the largest fraction of the compared calls (alleles) that differ
    refused_missing_rules: rules for missing calls under which the metric is not defined, each with the reason
    value_name: name of the values in columns and arrays
    max_value: maximum possible value
    undefined_reason: human-readable condition under which the formula has no value for a pair with enough compared sites; None: it always
        has one
    """

    name: str
    formula: Callable[[Counts], Values]
    measure: Measure
    call_kinds: frozenset[CallKind]
    needs_compared_sites: bool
    is_integer: bool
    difference_limit: Callable[[float], float] = _limit_equal_to_distance
    refused_missing_rules: Mapping[MissingRule, str] = field(default_factory=dict)
    value_name: str = "distance"
    max_value: float = math.inf
    undefined_reason: str | None = None

    @property
    def is_similarity(self) -> bool:
        """True if this is a similarity (larger for nearer samples) rather than a distance."""
        return self.value_name != "distance"

    @property
    def is_per_site(self) -> bool:
        """True if values are differences or substitutions per compared site."""
        return not self.is_similarity and not self.is_integer

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the values."""
        return np.dtype(np.int32 if self.is_integer else np.float64)

    def count_request(self, missing_rule: MissingRule, counts_compared_sites: bool, selected_pairs_only: bool = False) -> CountRequest:
        """Return a request for the counts that the metric needs.

        missing_rule: how missing calls are treated
        counts_compared_sites: whether the number of compared sites is written too
        selected_pairs_only: whether only pairs within a threshold are written
        """
        return CountRequest(
            self.measure,
            self.needs_compared_sites or counts_compared_sites or missing_rule is MissingRule.AS_DIFFERENCE,
            selected_pairs_only,
        )

    def check_missing_rule(self, missing_rule: MissingRule) -> None:
        """Raise `InputError` if the metric is not defined under this rule."""
        if missing_rule in self.refused_missing_rules:
            option = parameter("missing", missing_rule.value)
            raise InputError(f"{self.name} {self.refused_missing_rules[missing_rule]}; it cannot be combined with {option}")

    def check_call_kind(self, kind: CallKind) -> None:
        """Raise `InputError` if the metric is not defined for this kind of calls."""
        if kind not in self.call_kinds:
            kinds = " or ".join(sorted(kind.value for kind in self.call_kinds))
            raise InputError(f"{parameter('metric', self.name)} is for {kinds}; these are {kind.value}")


_ALL_CALL_KINDS = frozenset(CallKind)
_GENOTYPE_KINDS = frozenset({CallKind.GENOTYPE})
_NUCLEOTIDE_KINDS = frozenset({CallKind.NUCLEOTIDE})
_RULES_REFUSED_FOR_BASES = {MissingRule.AS_DIFFERENCE: "needs the bases of both samples"}
_RULES_REFUSED_FOR_GENOTYPES = {MissingRule.AS_DIFFERENCE: "needs the genotypes of both samples"}
_SATURATED_REASON = "are saturated"
_NO_HETS_REASON = "have a sample that is heterozygous at no compared site"

METRICS = {
    metric.name: metric
    for metric in (
        Metric("hamming", _hamming, Measure.DIFFERENCES, _ALL_CALL_KINDS, needs_compared_sites=False, is_integer=True),
        Metric("fraction", _fraction, Measure.DIFFERENCES, _ALL_CALL_KINDS, needs_compared_sites=True, is_integer=False, max_value=1),
        Metric("ibs", _ibs_distance, Measure.ALLELES, _GENOTYPE_KINDS, needs_compared_sites=True, is_integer=False, max_value=1),
        Metric("allele", _allele, Measure.ALLELES, _GENOTYPE_KINDS, needs_compared_sites=False, is_integer=True),
        Metric("jc69", _jc69, Measure.DIFFERENCES, _NUCLEOTIDE_KINDS, True, False, _jc69_limit, undefined_reason=_SATURATED_REASON),
        Metric(
            "tn93",
            _tn93,
            Measure.SUBSTITUTIONS,
            _NUCLEOTIDE_KINDS,
            True,
            False,
            _tn93_limit,
            _RULES_REFUSED_FOR_BASES,
            undefined_reason=_SATURATED_REASON,
        ),
        Metric(
            "king",
            _king,
            Measure.KINSHIP,
            _GENOTYPE_KINDS,
            False,
            False,
            _limit_equal_to_distance,
            _RULES_REFUSED_FOR_GENOTYPES,
            "kinship",
            0.5,
            _NO_HETS_REASON,
        ),
        Metric(
            "grm",
            _grm,
            Measure.RELATIONSHIP,
            _GENOTYPE_KINDS,
            True,
            False,
            refused_missing_rules=_RULES_REFUSED_FOR_GENOTYPES,
            value_name="relationship",
        ),
    )
}


def metric_named(name: str) -> Metric:
    """Return the metric with this name. Raises `InputError` if there is none."""
    if name not in METRICS:
        raise InputError(f"no metric {name!r}; there are {', '.join(METRICS)}{did_you_mean(name, METRICS)}")
    return METRICS[name]
