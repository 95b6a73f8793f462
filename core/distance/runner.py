"""Distance pipeline: source -> panels of bit planes -> counts for a band or its near pairs -> distances -> sink."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from gpualign.core.common.dataclass import dataclass
from gpualign.core.common.errors import InputError
from gpualign.core.common.threads import ThreadPool
from gpualign.core.distance.band_plan import DistancePlan, plan_bands
from gpualign.core.distance.bands import CountedBands, CountMatrix, SampleBand
from gpualign.core.distance.bit_planes import pack_panels
from gpualign.core.distance.call_coverage import Coverage, min_site_count
from gpualign.core.distance.calls import Kind, Samples, count_pairs
from gpualign.core.distance.count_recipe import CountRequest, Need, agreeing_site, count_bytes, restrict_counts
from gpualign.core.distance.engine import DistanceEngine, Panel, PreparedCounter, SelectedPieces
from gpualign.core.distance.few_sites import FewSites, count_few_sites, few_sites_from_calls
from gpualign.core.distance.memory_budget import DistanceBudget
from gpualign.core.distance.metrics import CountArray, Counts, Metric, MissingRule, Values
from gpualign.core.distance.output.base import AnySink, BandDistances, NearDistances
from gpualign.core.distance.pair_selection import PairSelectionRule, SelectedPairs
from gpualign.core.distance.panel_store import PanelStore
from gpualign.core.distance.readers.base import Omitted, Selection, Source
from gpualign.core.distance.threshold_rules import kinship_rule, near_rule
from gpualign.core.execution.pipeline import NO_CHECKPOINTS, CheckpointListener, Totals, run_pipeline
from gpualign.core.files.scratch import MakeScratch
from gpualign.core.output.matrix_files import NumberType
from gpualign.core.planning.rectangle import Rect

if TYPE_CHECKING:
    from fractions import Fraction

    from gpualign.core.execution.pipeline import Progress

_MAX_SITES = (1 << 31) // 4
"""A site adds up to 4 to a 32-bit count (count_recipe.py: two steps of weight 2)."""


@dataclass(frozen=True)
class DistanceTask:
    """A task: the metric, its options and the pair thresholds.

    metric: the distance formula
    missing: how missing calls are treated
    compared: whether the number of compared sites is written too
    min_compared: pairs with fewer compared sites, or with less than this fraction of the sites, have no distance
    max_distance: compute only pairs at this distance or less, each pair within one set once; None: all pairs
    added: whether the queries of two sets are also compared with each other
    min_kinship: compute only pairs with at least this kinship, for a kinship metric; None: no threshold
    min_shared_fraction: leave out, but count, pairs within `max_distance` that were compared at less than this fraction of the sites; None:
        leave out no pairs
    """

    metric: Metric
    missing: MissingRule
    compared: bool
    min_compared: int | Fraction = 1
    max_distance: float | None = None
    added: bool = False
    min_kinship: float | None = None
    min_shared_fraction: Fraction | None = None

    @property
    def near(self) -> bool:
        """True if a threshold selects pairs."""
        return self.max_distance is not None or self.min_kinship is not None

    def within_threshold(self, values: Values) -> npt.NDArray[np.bool_]:
        """Return a mask of the pairs that meet the threshold. Pairs without a value (NaN) do not meet it."""
        within: npt.NDArray[np.bool_] = values <= self.max_distance if self.max_distance is not None else values >= self.min_kinship
        return within

    def samples_of(self, source: Source) -> Samples:
        """Return the samples to compare from a source."""
        return source.samples.with_added() if self.added else source.samples

    @property
    def request(self) -> CountRequest:
        return self.metric.count_request(self.missing, self.compared, self.near)


@dataclass(frozen=True)
class PreparedDistances:
    """A task that is ready to be measured.

    task: the task
    samples: the samples to compare
    panels: bit planes of all sites that an engine examines
    panel_bytes: memory held by the panels, bytes
    counter: the prepared engine
    plan: the bands of pairs
    sites: maximum number of compared sites
    input_sites: number of sites in the input
    omitted: sites that no panel contains
    called: number of input sites with a call, int64[samples]
    coverage: decides which pairs may share too few sites
    dtype: type of the distances; an integer type only if the samples' calls guarantee that every pair has a distance
    few: decides which near pairs are left out for too few compared sites; None: no pair can be left out
    """

    task: DistanceTask
    samples: Samples
    panels: Sequence[Panel]
    panel_bytes: int
    counter: PreparedCounter
    plan: DistancePlan
    sites: int
    input_sites: int
    omitted: Omitted
    called: CountArray
    coverage: Coverage
    dtype: NumberType
    few: FewSites | None = None

    @property
    def panel_sites(self) -> int:
        """Number of sites that an engine examines."""
        return sum(panel.sites for panel in self.panels)

    @cached_property
    def constants(self) -> dict[str, int]:
        """Constants to add to the counts of every pair, keyed by count name.

        The constants come from panels without missing calls and from sites that no panel contains.
        """
        added = dict.fromkeys(self.counter.names, 0)
        for panel in self.panels:
            for name, weight in panel.recipe.constants:
                added[name] += weight * panel.sites
        for code, sites in self.omitted.sites_by_code.items():
            for name, weight in agreeing_site(self.task.metric.measure, code).items():
                if name in added:
                    added[name] += weight * sites
        return added

    @property
    def pairs(self) -> int:
        """Number of pairs whose distance is to be computed."""
        before_end, before_start = (
            count_pairs(row, len(self.samples.targets), self.samples.upper_triangle) for row in (self.plan.end, self.plan.start)
        )
        return before_end - before_start

    def for_queries(self, start: int, stop: int) -> PreparedDistances:
        """Return the same task for only the pairs of queries [start, stop)."""
        return replace(self, plan=self.plan.for_queries(start, stop))

    @property
    def rule(self) -> PairSelectionRule:
        """Rule that chooses the pairs that may meet the task's threshold."""
        task = self.task
        if task.min_kinship is not None:
            return kinship_rule(task.metric, task.min_kinship, self.constants, self.coverage)
        assert task.max_distance is not None
        return near_rule(
            task.metric, task.missing, task.max_distance, self.counter.names, self.constants, self.sites, self.called, self.coverage
        )


@dataclass(frozen=True)
class DistanceTotals(Totals):
    """Run totals for the summary. `work` is pairs times sites.

    sites: number of compared sites
    lacking: pairs with too few compared sites for a distance
    undefined: additional pairs for which the metric's formula has no value. If only near pairs are selected, saturated pairs are excluded,
        because they are far apart
    near: pairs that meet the threshold; None: there is no threshold
    left_out: near pairs left out under `DistanceTask.min_shared_fraction`, each counted for the sample with fewer calls, int64[samples];
        None: not requested
    left_out_earlier: near pairs left out in the earlier runs that this run resumes
    """

    sites: int
    lacking: int
    undefined: int
    near: int | None = None
    left_out: CountArray | None = None
    left_out_earlier: int = 0

    @property
    def speed(self) -> str:
        return f"{self.work:.3g} comparisons in {self.seconds:.2f} s, {self.rate / 1e9:.1f} G/s"

    @property
    def figures(self) -> dict[str, object]:
        near = {} if self.near is None else {"pairs_kept": self.near}
        if self.left_out is not None:
            near["near_pairs_left_out"] = int(self.left_out.sum()) + self.left_out_earlier
        totals = {"sites": self.sites, "pairs": self.pairs, "comparisons": self.work, "seconds": round(self.seconds, 6)}
        without = {"pairs_without_distance": self.lacking + self.undefined, "pairs_with_too_few_sites": self.lacking}
        return {**totals, "comparisons_per_second": round(self.rate), **without, **near}


def prepare(source: Source, task: DistanceTask, engine: DistanceEngine, budget: DistanceBudget, scratch: MakeScratch) -> PreparedDistances:
    """Convert the source's calls to bit planes, and plan the counting.

    Raises `InputError` if the metric is not defined for these calls, `RunError` if not even one row of pairs fits the budget.
    """
    task.metric.check_kind(source.kind)
    if source.sites >= _MAX_SITES:
        raise InputError(f"{source.sites:,} sites; up to {_MAX_SITES - 1:,} are counted in one run")
    store, omitted, sites = PanelStore(budget.planes, scratch), Omitted(), 0
    asked = replace(task.request, numbered=source.kind is Kind.ALLELE)
    samples, called, request = task.samples_of(source), source.called, asked
    # Counting compared sites costs planes and a product of them, so it is done only if the numbers of calls do not decide which pairs have
    # too few. If these are known only after all panels are made, the panels are made ready for it.
    minimums = [minimum for minimum in (task.min_compared, task.min_shared_fraction) if minimum is not None]
    if task.missing is MissingRule.PAIRWISE and (
        called is None or not all(_coverage(samples, task, called, source.sites, minimum).decides for minimum in minimums)
    ):
        request = replace(request, compared=True)
    counter = engine.prepare(request, budget.counts)
    selection = Selection(request.need, task.missing is MissingRule.COMPLETE)
    with closing(ThreadPool(counter.threads)) as workers:
        for codes in source.panels(selection, budget.panel, omitted, workers):
            sites += codes.shape[1]
            for panel in pack_panels(codes, counter, workers):
                store.add(replace(panel, founders=samples.founders))
    # If only differing sites matter, the engine does not look at sites where all calls are equal, but they count as compared.
    counted = source.sites if not selection.complete and selection.need is Need.DIFFERENCES else sites + omitted.sites
    if called is None:
        assert omitted.called is not None  # a source that does not know the calls in advance reports them with its panels
        called = omitted.called
    coverage, panels = _coverage(samples, task, called, counted, task.min_compared), store.panels
    few, decided = None, coverage.decides  # decided: by the numbers of calls, or by a count of a few samples
    min_shared = task.min_shared_fraction
    if min_shared is not None and not (doubts := _coverage(samples, task, called, counted, min_shared)).suffices:
        few = few_sites_from_calls(called, doubts.min_sites)
        if decided and not doubts.decides and not asked.compared:
            counted_few = count_few_sites(called, counted, doubts.min_sites, panels, omitted.sites, counter, budget.panel)
            few, decided = (few, False) if counted_few is None else (counted_few, True)
    if decided and request != asked:
        counter = replace(counter, request=asked)
        panels = [replace(panel, recipe=restrict_counts(panel.recipe, counter.names)) for panel in panels]
    dtype = task.metric.dtype if coverage.suffices else np.dtype(np.float64)
    bands = _plan(samples, counter, dtype)
    return PreparedDistances(
        task, samples, panels, store.nbytes, counter, bands, counted, source.sites, omitted, called, coverage, dtype, few
    )


def _coverage(samples: Samples, task: DistanceTask, called: CountArray, sites: int, min_compared: int | Fraction) -> Coverage:
    """Return the pair coverage.

    sites: number of compared sites; unless the missing rule is pairwise, every pair is compared at all of these sites
    min_compared: minimum number or fraction of compared sites, as in `DistanceTask`
    """
    of_pairs = called if task.missing is MissingRule.PAIRWISE else np.full(samples.total, sites, dtype=np.int64)
    queries, targets = of_pairs[: len(samples.queries)], of_pairs[samples.first_target :]
    return Coverage(queries, targets, samples.upper_triangle, sites, min_site_count(min_compared, sites))


def _plan(samples: Samples, counter: PreparedCounter, dtype: NumberType) -> DistancePlan:
    # In addition to its counts a band holds its distances and the values they are computed from; few, if only near pairs are selected.
    pair_bytes = sum(count_bytes(name) for name in counter.names) + (0 if counter.request.near else 3 * dtype.itemsize)
    return plan_bands(len(samples.queries), len(samples.targets), samples.upper_triangle, counter.band_bytes, pair_bytes)


def measure(
    prepared: PreparedDistances, sink: AnySink, progress: Progress, checkpoints: CheckpointListener = NO_CHECKPOINTS
) -> DistanceTotals:
    """Count every band, pass the distances to the sink, and return the totals.

    checkpoints: told how much of the output is complete; also stores the run's counts
    """
    start, lacking, undefined, chosen_pairs = time.perf_counter(), 0, 0, 0
    left_out = None if prepared.task.min_shared_fraction is None else np.zeros(prepared.samples.total, dtype=np.int64)
    near_by_value, coverage = prepared.task.near, prepared.coverage
    # For near pairs, the number that lack sites may be known for all queries in advance; then none is counted later.
    known = coverage.lacking_pairs if near_by_value and coverage.decides and not coverage.suffices else 0

    def bands() -> Iterator[BandDistances | NearDistances]:
        nonlocal lacking, undefined, chosen_pairs
        with closing(_distances(prepared, prepared.plan.bands(), progress.advance, left_out)) as every:
            for distances in every:
                lacking += distances.lacking
                undefined += distances.undefined
                chosen_pairs += len(distances.values) if near_by_value else 0
                yield distances

    def counts() -> dict[str, int]:
        out = 0 if left_out is None else int(left_out.sum())
        current = {"pairs_with_too_few_sites": lacking, "pairs_without_value": undefined, "pairs_kept": chosen_pairs}
        return current | {"near_pairs_left_out": out}

    before = checkpoints.register_counts(counts)
    run_pipeline(prepared.samples, bands(), sink, lambda distances: distances.rows, checkpoints)
    pairs, sites = prepared.pairs, prepared.sites
    lacking, undefined, chosen_pairs, out = (count + before.get(name, 0) for name, count in counts().items())
    near_pairs = chosen_pairs if near_by_value else None
    seconds = time.perf_counter() - start
    earlier = 0 if left_out is None else out - int(left_out.sum())
    return DistanceTotals(pairs, pairs * sites, seconds, sites, lacking + known, undefined, near_pairs, left_out, earlier)


def _distances(
    prepared: PreparedDistances, bands: Iterable[SampleBand], on_progress: Callable[[int], None], left_out: CountArray | None = None
) -> Generator[BandDistances | NearDistances, None, None]:
    """Yield the distances of each band, or those of its near pairs, in one or more pieces. Closing the generator stops the engine's work at
    once. left_out: as for `_near_distances`"""
    with closing(_counted(prepared, prepared.panels, bands, on_progress)) as results:
        for one in results:
            yield _near_distances(prepared, one, left_out) if isinstance(one, SelectedPairs) else _band_distances(prepared, *one)


def _counted(
    prepared: PreparedDistances, panels: Sequence[Panel], bands: Iterable[SampleBand], on_progress: Callable[[int], None]
) -> CountedBands | SelectedPieces:
    counter = prepared.counter
    return counter.near(panels, bands, prepared.rule, on_progress) if prepared.task.near else counter.run(panels, bands, on_progress)


def _counts(prepared: PreparedDistances, raw: dict[str, CountMatrix], queries: CountArray, targets: CountArray) -> Counts:
    """Return the counts including `PreparedDistances.constants`. Modifies the arrays in `raw` in place.

    queries, targets: panel rows; the two arrays broadcast to the shape of the counts
    """
    for name, added in prepared.constants.items():
        if added:
            raw[name] += added
    called = prepared.called
    of_pairs = (called[queries], called[targets]) if prepared.task.missing is MissingRule.AS_DIFFERENCE else None
    return Counts(dict(raw), prepared.sites, of_pairs)


def _band_distances(prepared: PreparedDistances, band: SampleBand, raw: dict[str, CountMatrix]) -> BandDistances:
    task, coverage = prepared.task, prepared.coverage
    queries, targets = np.arange(band.start, band.stop)[:, None], np.arange(band.first_target, band.target_stop)[None, :]
    counts = _counts(prepared, raw, queries, targets)
    values, without = task.metric.formula(counts).astype(prepared.dtype, copy=False), 0
    first = prepared.samples.first_target
    place = Rect(band.start, band.stop, band.first_target - first, band.target_stop - first)

    def count(pairs: npt.NDArray[np.bool_]) -> int:
        """Count the pairs that belong to the band (only pairs above the diagonal for an upper triangle)."""
        return int(np.count_nonzero(np.triu(pairs, 1 + band.start - band.first_target) if band.upper_triangle else pairs))

    if not coverage.suffices:
        if coverage.decides:
            lacking = coverage.lacking(slice(place.start, place.stop), slice(place.first_target, place.target_stop))
        else:
            lacking = counts.compared < coverage.min_sites
        values[lacking] = np.nan
        without = count(lacking)
    undefined = count(np.isnan(values)) - without if task.metric.undefined is not None else 0
    compared = counts.compared.astype(np.int32, copy=False) if task.compared else None
    return BandDistances(place, values, compared, without, undefined)


def _near_distances(prepared: PreparedDistances, chosen: SelectedPairs, left_out: CountArray | None) -> NearDistances:
    """Return the distances for the chosen pairs that are near according to the metric's formula.

    All chosen pairs have enough compared sites, because the rule chooses only such pairs.
    left_out: as in `DistanceTotals`; incremented for near pairs compared at less than the fraction `min_shared_fraction` of the sites
    """
    task = prepared.task
    counts = _counts(prepared, chosen.counts, chosen.queries, chosen.targets)
    values = task.metric.formula(counts).astype(prepared.dtype, copy=False)
    near = task.within_threshold(values)
    if prepared.few is not None and left_out is not None:
        compared = counts.compared if prepared.counter.request.compared else None
        doubted = np.flatnonzero(near & prepared.few.of_pairs(chosen.queries, chosen.targets, compared))
        np.add.at(left_out, prepared.few.poorer(chosen.queries[doubted], chosen.targets[doubted]), 1)
        near[doubted] = False
    shown = counts.compared.astype(np.int32, copy=False)[near] if task.compared else None
    targets = chosen.targets[near] - prepared.samples.first_target
    return NearDistances(chosen.queries[near], targets, values[near], shown, chosen.rows, chosen.lacking, chosen.undefined)


def estimate_seconds(prepared: PreparedDistances) -> float:
    """Return the estimated time for counting all bands, in seconds, measured on a corner of the first band."""
    panels, plan = prepared.panels[:1], prepared.plan
    first = next(plan.bands())
    corner = SampleBand(
        first.start, min(first.stop, first.start + 256), first.first_target, min(first.target_stop, first.first_target + 512), False
    )
    start = time.perf_counter()
    list(_counted(prepared, panels, [corner], lambda _: None))
    seconds = time.perf_counter() - start
    work = corner.shape[0] * corner.shape[1] * max(1, sum(panel.sites for panel in panels))
    return seconds * plan.pairs * prepared.panel_sites / work


_SAMPLED, _SAMPLED_ROWS, _SAMPLED_TARGETS = 8, 16, 64
"""Number of sampled rectangles, and the rows and targets in each."""


def sample_distances(prepared: PreparedDistances) -> tuple[list[BandDistances | NearDistances], int]:
    """Return the distances for pairs sampled from several rectangles (only near pairs for a near task) and the number of pairs examined."""
    samples, bands = prepared.samples, [next(prepared.plan.bands())]
    first, end, queries = samples.first_target, samples.first_target + len(samples.targets), len(samples.queries)
    if min(queries, len(samples.targets)) > 2 * _SAMPLED_TARGETS:
        bands = []
        for place in range(_SAMPLED):  # rows of the first half in a triangle, so that each has enough later targets
            start = (queries // (2 if samples.upper_triangle else 1) - _SAMPLED_ROWS) * place // _SAMPLED
            low = start + _SAMPLED_ROWS if samples.upper_triangle else first
            target = low + (end - low - _SAMPLED_TARGETS) * (_SAMPLED - place) // _SAMPLED
            bands.append(SampleBand(start, start + _SAMPLED_ROWS, target, target + _SAMPLED_TARGETS, False))
    looked_at = sum(_distinct_pairs(band) for band in bands)
    return list(_distances(prepared, bands, lambda _: None)), looked_at


def _distinct_pairs(band: SampleBand) -> int:
    """Return the number of pairs in a band, excluding pairs of a row with itself."""
    rows, columns = band.shape
    if not band.upper_triangle:
        return rows * columns
    return sum(max(0, band.target_stop - max(band.first_target, row + 1)) for row in range(band.start, band.stop))
