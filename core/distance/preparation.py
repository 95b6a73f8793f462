"""Prepares the calculation of distances: packs a source's calls into panels of bit planes, prepares an engine, and plans the bands of
pairs."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, BinaryIO

import numpy as np
import numpy.typing as npt

from gpualign.core.common.dataclass import dataclass
from gpualign.core.common.errors import InputError
from gpualign.core.common.threads import ThreadPool
from gpualign.core.distance.band_plan import DistancePlan, plan_bands
from gpualign.core.distance.bit_planes import pack_panels
from gpualign.core.distance.call_coverage import CallCoverage, min_site_count
from gpualign.core.distance.call_parts import CallParts
from gpualign.core.distance.calls import CallKind, Samples, count_pairs
from gpualign.core.distance.count_recipe import CountRequest, NeededSites, count_bytes, counts_of_agreeing_site, restrict_counts
from gpualign.core.distance.engine import DistanceEngine, Panel, PreparedCounter
from gpualign.core.distance.few_sites import MinSitesFilter, make_min_sites_filter, min_sites_filter_from_calls
from gpualign.core.distance.memory_budget import DistanceBudget
from gpualign.core.distance.metrics import CountArray, Metric, MissingRule, Values
from gpualign.core.distance.pair_selection import PairSelectionRule
from gpualign.core.distance.readers.base import OmittedSites, SiteSelection, Source
from gpualign.core.distance.threshold_rules import kinship_rule, near_pair_rule
from gpualign.core.files.scratch import MakeScratch
from gpualign.core.output.matrix_files import NumberType

if TYPE_CHECKING:
    from fractions import Fraction


_MAX_SITES = (1 << 31) // 4
"""A run must have fewer sites than this, because each site adds up to 4 to a 32-bit count (two terms of weight 2 in count_recipe.py)."""


@dataclass(frozen=True)
class DistanceTask:
    """A task: the metric, its options and the pair thresholds.

    metric: the distance formula
    missing_rule: how missing calls are treated
    writes_compared_sites: whether the number of compared sites is written too
    min_compared: minimum number of compared sites, or minimum fraction of the sites; pairs compared at fewer sites have no distance
    max_distance: compute only pairs at this distance or less, and each pair within one set only once; None: compute all pairs
    compares_queries: whether the queries of two sets are also compared with each other
    min_kinship: compute only pairs with at least this kinship, for a kinship metric; None: no threshold
    min_shared_fraction: leave out, but count, pairs within `max_distance` that were compared at less than this fraction of the sites; None:
        leave out no pairs
    """

    metric: Metric
    missing_rule: MissingRule
    writes_compared_sites: bool
    min_compared: int | Fraction = 1
    max_distance: float | None = None
    compares_queries: bool = False
    min_kinship: float | None = None
    min_shared_fraction: Fraction | None = None

    @property
    def selects_near_pairs(self) -> bool:
        """True if a threshold selects pairs."""
        return self.max_distance is not None or self.min_kinship is not None

    def within_threshold(self, values: Values) -> npt.NDArray[np.bool_]:
        """Return a mask of the pairs that meet the threshold. Pairs without a value (NaN) do not meet it."""
        within: npt.NDArray[np.bool_] = values <= self.max_distance if self.max_distance is not None else values >= self.min_kinship
        return within

    def samples_of(self, source: Source) -> Samples:
        """Return the samples of a source. If the task compares the queries with each other, the queries are also targets."""
        return source.samples.with_queries_as_targets() if self.compares_queries else source.samples

    @property
    def count_request(self) -> CountRequest:
        """Request for the counts that the task needs."""
        return self.metric.count_request(self.missing_rule, self.writes_compared_sites, self.selects_near_pairs)


@dataclass(frozen=True)
class PreparedDistances:
    """A distance task with everything that is needed to run it.

    task: the task
    samples: the samples to compare
    panels: bit planes of all sites that an engine examines
    panel_bytes: memory held by the panels, in bytes
    counter: the prepared engine
    plan: the bands of pairs
    max_compared_sites: largest number of sites at which a pair can be compared
    input_site_count: number of sites in the input
    omitted_sites: sites that no panel contains
    calls_per_sample: number of input sites with a call, int64[samples]
    coverage: decides which pairs may share too few sites
    dtype: type of the distances; an integer type only if the samples' calls guarantee that every pair has a distance
    min_sites_filter: decides which near pairs are left out for too few compared sites; None: no pair can be left out
    counts_neighbours: whether only the number of near pairs of each sample is needed, so that pairs may come in any order
    """

    task: DistanceTask
    samples: Samples
    panels: Sequence[Panel]
    panel_bytes: int
    counter: PreparedCounter
    plan: DistancePlan
    max_compared_sites: int
    input_site_count: int
    omitted_sites: OmittedSites
    calls_per_sample: CountArray
    coverage: CallCoverage
    dtype: NumberType
    min_sites_filter: MinSitesFilter | None = None
    counts_neighbours: bool = False

    @property
    def panel_site_count(self) -> int:
        """Number of sites that an engine examines."""
        return sum(panel.site_count for panel in self.panels)

    @cached_property
    def count_constants(self) -> dict[str, int]:
        """Constants to add to the counts of every pair, keyed by count name.

        The constants come from panels without missing calls and from sites that no panel contains.
        """
        added = dict.fromkeys(self.counter.count_names, 0)
        for panel in self.panels:
            for name, weight in panel.recipe.constants:
                added[name] += weight * panel.site_count
        for code, sites in self.omitted_sites.sites_by_code.items():
            for name, weight in counts_of_agreeing_site(self.task.metric.measure, code).items():
                if name in added:
                    added[name] += weight * sites
        return added

    @property
    def pair_count(self) -> int:
        """Number of pairs whose distance is to be computed."""
        before_end, before_start = (
            count_pairs(row, len(self.samples.targets), self.samples.upper_triangle) for row in (self.plan.query_stop, self.plan.start)
        )
        return before_end - before_start

    def for_queries(self, start: int, stop: int) -> PreparedDistances:
        """Return the same task for only the pairs of queries [start, stop)."""
        return replace(self, plan=self.plan.for_queries(start, stop))

    @property
    def selection_rule(self) -> PairSelectionRule:
        """Rule that selects the pairs that may meet the threshold of the task."""
        task = self.task
        if task.min_kinship is not None:
            return kinship_rule(task.metric, task.min_kinship, self.count_constants, self.coverage)
        assert task.max_distance is not None
        return near_pair_rule(
            task.metric,
            task.missing_rule,
            task.max_distance,
            self.counter.count_names,
            self.count_constants,
            self.max_compared_sites,
            self.calls_per_sample,
            self.coverage,
        )


class _PanelStore:
    """Stores panels between packing and counting: up to `limit` bytes in memory, the rest in a scratch file."""

    def __init__(self, limit: int, scratch: MakeScratch) -> None:
        self._limit = limit
        self._scratch = scratch
        self._file: BinaryIO | None = None
        self.panels: list[Panel] = []
        self.nbytes = 0
        """Memory held by the panels, in bytes."""

    def add(self, panel: Panel) -> None:
        """Store a panel in memory, or in the scratch file if it does not fit in memory."""
        if self.nbytes + panel.bits.nbytes > self._limit and panel.bits.nbytes:
            if self._file is None:
                self._file = self._scratch()
            start = self._file.seek(0, 2)
            self._file.write(panel.bits.data)
            self._file.flush()
            panel = replace(panel, bits=np.memmap(self._file, dtype=np.uint64, mode="r", offset=start, shape=panel.bits.shape))
        else:
            self.nbytes += panel.bits.nbytes
        self.panels.append(panel)


def prepare(source: Source, task: DistanceTask, engine: DistanceEngine, budget: DistanceBudget, scratch: MakeScratch) -> PreparedDistances:
    """Convert the source's calls to bit planes, and plan the counting.

    Raises `InputError` if the metric is not defined for these calls, or `RunError` if not even one row of pairs fits in the budget.
    """
    task.metric.check_call_kind(source.kind)
    if source.site_count >= _MAX_SITES:
        raise InputError(f"{source.site_count:,} sites; up to {_MAX_SITES - 1:,} are counted in one run")
    store, omitted, site_count = _PanelStore(budget.plane_bytes, scratch), OmittedSites(), 0
    request = task_request = replace(task.count_request, multiallelic=source.kind is CallKind.ALLELE)
    samples, called = task.samples_of(source), source.calls_per_sample
    # Counting compared sites costs planes and a product of them, so it is done only if the numbers of calls do not decide which pairs have
    # too few. If the numbers of calls are known only after all panels have been made, the panels are prepared for counting.
    minimums = [minimum for minimum in (task.min_compared, task.min_shared_fraction) if minimum is not None]
    if task.missing_rule is MissingRule.PAIRWISE and (
        called is None or not all(_make_coverage(samples, task, called, source.site_count, minimum).is_decisive for minimum in minimums)
    ):
        request = replace(request, counts_compared_sites=True)
    counter = engine.prepare(request, budget.count_bytes)
    selection = SiteSelection(request.needed_sites, task.missing_rule is MissingRule.COMPLETE)
    with closing(ThreadPool(counter.threads)) as workers:
        for calls in source.panels(selection, budget.panel_bytes, omitted, workers):
            site_count += calls.site_count if isinstance(calls, CallParts) else calls.shape[1]
            for panel in pack_panels(calls, counter, workers):
                store.add(replace(panel, founders=samples.founders))
    # If only differing sites matter, the engine does not look at sites where all calls are equal, but they count as compared.
    max_compared_sites = (
        source.site_count
        if not selection.complete_only and selection.needed_sites is NeededSites.DIFFERENCES
        else site_count + omitted.site_count
    )
    if called is None:
        assert omitted.calls_per_sample is not None  # a source that does not know the calls in advance reports them with its panels
        called = omitted.calls_per_sample
    coverage, panels = _make_coverage(samples, task, called, max_compared_sites, task.min_compared), store.panels
    is_decided = coverage.is_decisive  # whether pairs with too few sites are known without counting the compared sites of all pairs
    min_sites_filter, min_shared = None, task.min_shared_fraction
    if min_shared is not None and not (shared := _make_coverage(samples, task, called, max_compared_sites, min_shared)).is_sufficient:
        min_sites_filter = min_sites_filter_from_calls(called, shared.min_sites)
        if is_decided and not shared.is_decisive and not task_request.counts_compared_sites:
            counted_filter = make_min_sites_filter(
                called, max_compared_sites, shared.min_sites, panels, omitted.site_count, counter, budget.panel_bytes
            )
            is_decided = counted_filter is not None
            min_sites_filter = counted_filter or min_sites_filter
    if is_decided and request != task_request:
        counter = replace(counter, request=task_request)
        panels = [replace(panel, recipe=restrict_counts(panel.recipe, counter.count_names)) for panel in panels]
    dtype = task.metric.dtype if coverage.is_sufficient else np.dtype(np.float64)
    return PreparedDistances(
        task,
        samples,
        panels,
        store.nbytes,
        counter,
        _make_plan(samples, counter, dtype),
        max_compared_sites,
        source.site_count,
        omitted,
        called,
        coverage,
        dtype,
        min_sites_filter,
    )


def _make_coverage(
    samples: Samples, task: DistanceTask, calls_per_sample: CountArray, sites: int, min_compared: int | Fraction
) -> CallCoverage:
    """Return the `CallCoverage`, which tells which pairs may share too few sites.

    calls_per_sample: number of sites at which each sample has a call, int64[samples]
    sites: number of compared sites; unless the missing rule is pairwise, every pair is compared at all of these sites
    min_compared: number of sites, or fraction of the sites, at which a pair must be compared
    """
    comparable = calls_per_sample if task.missing_rule is MissingRule.PAIRWISE else np.full(samples.row_count, sites, dtype=np.int64)
    queries, targets = comparable[: len(samples.queries)], comparable[samples.first_target :]
    return CallCoverage(queries, targets, samples.upper_triangle, sites, min_site_count(min_compared, sites))


def _make_plan(samples: Samples, counter: PreparedCounter, dtype: NumberType) -> DistancePlan:
    """Return a plan of bands that fit the memory of the engine."""
    # In addition to its counts, a band holds its distances and the values that they are computed from, unless only near pairs are selected.
    pair_bytes = sum(count_bytes(name) for name in counter.count_names) + (0 if counter.request.selected_pairs_only else 3 * dtype.itemsize)
    return plan_bands(len(samples.queries), len(samples.targets), samples.upper_triangle, counter.band_bytes, pair_bytes)
