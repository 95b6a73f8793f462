"""Computes distances: converts the counts for a band, or for its near pairs, to distances."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import closing
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from gpualign.core.common.dataclass import dataclass
from gpualign.core.common.units import format_count
from gpualign.core.distance.bands import CountedBands, CountMatrix, SampleBand, SampleBands
from gpualign.core.distance.engine import Panel, SelectedPairsStream
from gpualign.core.distance.metrics import CountArray, Counts, MissingRule
from gpualign.core.distance.output.base import BandDistances, NearPairDistances, NeighbourTally
from gpualign.core.distance.pair_selection import SelectedPairs
from gpualign.core.distance.preparation import PreparedDistances
from gpualign.core.execution.totals import Totals
from gpualign.core.planning.rectangle import Rect

if TYPE_CHECKING:
    from gpualign.core.execution.totals import Progress


@dataclass
class DistanceTotals(Totals):
    """Run totals for the summary. `work` is pairs times sites.

    site_count: number of compared sites
    too_few_sites_count: number of pairs with too few compared sites for a distance
    undefined_count: number of additional pairs for which the metric's formula has no value. If only near pairs are selected, saturated
        pairs are not counted, because they are far apart
    near_count: number of pairs that meet the threshold; None: there is no threshold
    left_out_per_sample: number of near pairs left out under `DistanceTask.min_shared_fraction`, each counted for the sample with fewer
        calls, int64[samples]; None: not requested
    left_out_earlier_count: number of near pairs left out in the earlier runs that this run resumes
    """

    site_count: int
    too_few_sites_count: int = 0
    undefined_count: int = 0
    near_count: int | None = None
    left_out_per_sample: CountArray | None = None
    left_out_earlier_count: int = 0

    @property
    def counts(self) -> dict[str, int]:
        """Counts that checkpoints record."""
        left_out = 0 if self.left_out_per_sample is None else int(self.left_out_per_sample.sum())
        counts = {"pairs_with_too_few_sites": self.too_few_sites_count, "pairs_without_value": self.undefined_count}
        return counts | {"pairs_kept": self.near_count or 0, "near_pairs_left_out": left_out}

    def add_earlier(self, counts: Mapping[str, int]) -> None:
        """Add the `counts` of the earlier runs that this run resumes; {}: this run resumes none."""
        self.too_few_sites_count += counts.get("pairs_with_too_few_sites", 0)
        self.undefined_count += counts.get("pairs_without_value", 0)
        if self.near_count is not None:
            self.near_count += counts.get("pairs_kept", 0)
        self.left_out_earlier_count = counts.get("near_pairs_left_out", 0)

    @property
    def speed_text(self) -> str:
        return f"{format_count(self.work, 'comparison', '.3g')} in {self.seconds:.2f} s, {self.rate / 1e9:.1f} G/s"

    @property
    def summary_values(self) -> dict[str, object]:
        near = {} if self.near_count is None else {"pairs_kept": self.near_count}
        if self.left_out_per_sample is not None:
            near["near_pairs_left_out"] = int(self.left_out_per_sample.sum()) + self.left_out_earlier_count
        totals = {"sites": self.site_count, "pairs": self.pair_count, "comparisons": self.work, "seconds": round(self.seconds, 6)}
        without = {
            "pairs_without_distance": self.too_few_sites_count + self.undefined_count,
            "pairs_with_too_few_sites": self.too_few_sites_count,
        }
        return {**totals, "comparisons_per_second": round(self.rate), **without, **near}


def compute_distances(prepared: PreparedDistances, progress: Progress) -> tuple[Generator[Any, None, None], DistanceTotals]:
    """Return (the distances, in order, which are computed as they are requested: `NearPairDistances` if the task has a threshold, otherwise
    `BandDistances`; the totals of what has been yielded so far). Closing the generator stops the engine's work at once."""
    task, coverage, sites = prepared.task, prepared.coverage, prepared.max_compared_sites
    left_out = None if task.min_shared_fraction is None else np.zeros(prepared.samples.row_count, dtype=np.int64)
    near_count = 0 if task.selects_near_pairs else None
    totals = DistanceTotals(prepared.pair_count, prepared.pair_count * sites, sites, near_count=near_count, left_out_per_sample=left_out)

    def results() -> Generator[BandDistances | NearPairDistances | NeighbourTally, None, None]:
        compute = _count_neighbours if prepared.counts_neighbours else _compute_distances
        with closing(compute(prepared, prepared.plan.bands(), progress.advance, left_out)) as every:
            for distances in every:
                totals.too_few_sites_count += distances.too_few_sites_count
                totals.undefined_count += distances.undefined_count
                if totals.near_count is not None:
                    totals.near_count += 0 if isinstance(distances, BandDistances) else distances.near_count
                yield distances
        # Near pairs: if numbers of calls decide which pairs are compared at too few sites, the engine has not counted these pairs.
        if task.selects_near_pairs and coverage.is_decisive and not coverage.is_sufficient:
            totals.too_few_sites_count += coverage.too_few_calls_count

    return results(), totals


def _compute_distances(
    prepared: PreparedDistances,
    bands: SampleBands,
    on_progress: Callable[[int], None],
    left_out_per_sample: CountArray | None = None,
) -> Generator[BandDistances | NearPairDistances, None, None]:
    """Yield the distances for the pairs or the near pairs of each band, in one or more pieces. Closing the generator stops the engine's
    work at once.

    left_out_per_sample: numbers of near pairs that are left out, as described in `DistanceTotals`; updated in place
    """
    with closing(_run_counter(prepared, prepared.panels, bands, on_progress)) as results:
        for one in results:
            if isinstance(one, SelectedPairs):
                near, left_out = _near_distances(prepared, one)
                _count_left_out(left_out, left_out_per_sample)
                yield near
            else:
                yield _band_distances(prepared, *one)


def _count_neighbours(
    prepared: PreparedDistances, bands: SampleBands, on_progress: Callable[[int], None], left_out_per_sample: CountArray | None
) -> Generator[NeighbourTally, None, None]:
    """Yield the numbers of near pairs of the samples in each piece of the pairs. Closing the generator stops the engine's work at once.

    left_out_per_sample: numbers of near pairs that are left out, as described in `DistanceTotals`; updated in place
    """

    def tally(selected: SelectedPairs) -> tuple[NeighbourTally, CountArray]:
        near, left_out = _near_distances(prepared, selected)
        return NeighbourTally.of(near), left_out

    counter = prepared.counter
    where = prepared.panels, bands, counter.count_names, prepared.selection_rule
    with closing(counter.reduce_pairs(*where, tally, on_progress)) as tallies:
        for one, left_out in tallies:
            _count_left_out(left_out, left_out_per_sample)
            yield one


def _count_left_out(samples: CountArray, left_out_per_sample: CountArray | None) -> None:
    """Add 1 to the count of each sample for every time that it is listed."""
    if left_out_per_sample is not None:
        np.add.at(left_out_per_sample, samples, 1)


def _run_counter(
    prepared: PreparedDistances, panels: Sequence[Panel], bands: SampleBands, on_progress: Callable[[int], None]
) -> CountedBands | SelectedPairsStream:
    """Return the counts for each band, or the selected pairs if the task has a threshold."""
    counter = prepared.counter
    return (
        counter.select_pairs(panels, bands, counter.count_names, prepared.selection_rule, on_progress)
        if prepared.task.selects_near_pairs
        else counter.count_function(panels, bands, counter.count_names, on_progress)
    )


def _add_constants(prepared: PreparedDistances, raw_counts: dict[str, CountMatrix], queries: CountArray, targets: CountArray) -> Counts:
    """Return the counts with `PreparedDistances.count_constants` added. Modifies the arrays in `raw_counts` in place.

    queries, targets: panel rows; the two arrays broadcast to the shape of the counts
    """
    for name, added in prepared.count_constants.items():
        if added:
            raw_counts[name] += added
    called = prepared.calls_per_sample
    of_pairs = (called[queries], called[targets]) if prepared.task.missing_rule is MissingRule.AS_DIFFERENCE else None
    return Counts(dict(raw_counts), prepared.max_compared_sites, of_pairs)


def _band_distances(prepared: PreparedDistances, band: SampleBand, raw_counts: dict[str, CountMatrix]) -> BandDistances:
    """Return the distances for all pairs in a band."""
    task, coverage = prepared.task, prepared.coverage
    queries, targets = np.arange(band.start, band.stop)[:, None], np.arange(band.first_target, band.target_stop)[None, :]
    counts = _add_constants(prepared, raw_counts, queries, targets)
    values, without = task.metric.formula(counts).astype(prepared.dtype, copy=False), 0
    first = prepared.samples.first_target
    place = Rect(band.start, band.stop, band.first_target - first, band.target_stop - first)

    def count(pairs: npt.NDArray[np.bool_]) -> int:
        """Return the number of pairs that a mask selects and that belong to the band (in an upper triangle, only pairs above the
        diagonal)."""
        return int(np.count_nonzero(np.triu(pairs, 1 + band.start - band.first_target) if band.upper_triangle else pairs))

    if not coverage.is_sufficient:
        if coverage.is_decisive:
            lacking = coverage.too_few_calls_mask(slice(place.start, place.stop), slice(place.first_target, place.target_stop))
        else:
            lacking = counts.compared_sites < coverage.min_sites
        values[lacking] = np.nan
        without = count(lacking)
    undefined = count(np.isnan(values)) - without if task.metric.undefined_reason is not None else 0
    compared = counts.compared_sites.astype(np.int32, copy=False) if task.writes_compared_sites else None
    return BandDistances(place, values, compared, without, undefined)


def _near_distances(prepared: PreparedDistances, selected: SelectedPairs) -> tuple[NearPairDistances, CountArray]:
    """Return (distances for the selected pairs that are near according to the metric's formula, samples of left-out pairs).

    All selected pairs have enough compared sites, because the rule selects only such pairs. Near pairs compared at less than the fraction
    `min_shared_fraction` of the sites are left out; for each of them, the sample with fewer calls is returned.
    """
    task = prepared.task
    counts = _add_constants(prepared, selected.counts, selected.queries, selected.targets)
    values = task.metric.formula(counts).astype(prepared.dtype, copy=False)
    near = task.within_threshold(values)
    left_out = np.zeros(0, dtype=np.int64)
    if prepared.min_sites_filter is not None:
        compared = counts.compared_sites if prepared.counter.request.counts_compared_sites else None
        doubted = np.flatnonzero(near & prepared.min_sites_filter.below_minimum_mask(selected.queries, selected.targets, compared))
        left_out = prepared.min_sites_filter.samples_with_fewer_calls(selected.queries[doubted], selected.targets[doubted])
        near[doubted] = False
    shown = counts.compared_sites.astype(np.int32, copy=False)[near] if task.writes_compared_sites else None
    targets = selected.targets[near] - prepared.samples.first_target
    others = selected.complete_rows, selected.too_few_sites_count, selected.undefined_count
    return NearPairDistances(selected.queries[near], targets, values[near], shown, *others), left_out


_CORNER_ROWS, _CORNER_TARGETS, _MAX_CORNER_SCALE, _CORNER_COMPARISONS = 256, 512, 8, 2_000_000_000
"""Minimum numbers of rows and targets in a measured corner, the maximum factor by which both are raised, and the number of comparisons that
this is to reach, so that the time for starting threads does not matter."""


def estimate_seconds(prepared: PreparedDistances) -> float:
    """Return the estimated time for counting all bands, in seconds, measured on a corner of the pairs."""
    panels, plan = prepared.panels[:1], prepared.plan
    first = next(iter(plan.bands()))
    sites = max(1, sum(panel.site_count for panel in panels))
    scale = max(1, min(_MAX_CORNER_SCALE, math.isqrt(_CORNER_COMPARISONS // (_CORNER_ROWS * _CORNER_TARGETS * sites))))
    stop, target_stop = first.start + scale * _CORNER_ROWS, first.first_target + scale * _CORNER_TARGETS
    corner = SampleBand(first.start, min(plan.query_stop, stop), first.first_target, min(first.target_stop, target_stop), False)
    start = time.perf_counter()
    list(_run_counter(prepared, panels, SampleBands.of([corner]), lambda _: None))
    seconds = time.perf_counter() - start
    work = corner.shape[0] * corner.shape[1] * sites
    return seconds * plan.pair_count * prepared.panel_site_count / work


_SAMPLED, _SAMPLED_ROWS, _SAMPLED_TARGETS = 8, 16, 64
"""Number of sampled rectangles of pairs, and the numbers of rows and targets in each."""


def sample_distances(prepared: PreparedDistances) -> tuple[list[BandDistances | NearPairDistances], int]:
    """Return (distances for pairs sampled from several rectangles; number of pairs examined). If the task has a threshold, there are only
    distances of near pairs."""
    samples, bands = prepared.samples, [next(iter(prepared.plan.bands()))]
    first, end, queries = samples.first_target, samples.first_target + len(samples.targets), len(samples.queries)
    if min(queries, len(samples.targets)) > 2 * _SAMPLED_TARGETS:
        bands = []
        for place in range(_SAMPLED):  # rows of the first half in a triangle, so that each has enough later targets
            start = (queries // (2 if samples.upper_triangle else 1) - _SAMPLED_ROWS) * place // _SAMPLED
            low = start + _SAMPLED_ROWS if samples.upper_triangle else first
            target = low + (end - low - _SAMPLED_TARGETS) * (_SAMPLED - place) // _SAMPLED
            bands.append(SampleBand(start, start + _SAMPLED_ROWS, target, target + _SAMPLED_TARGETS, False))
    examined = sum(_count_distinct_pairs(band) for band in bands)
    return list(_compute_distances(prepared, SampleBands.of(bands), lambda _: None)), examined


def _count_distinct_pairs(band: SampleBand) -> int:
    """Return the number of pairs in a band, excluding pairs of a row with itself."""
    rows, columns = band.shape
    if not band.upper_triangle:
        return rows * columns
    return sum(max(0, band.target_stop - max(band.first_target, row + 1)) for row in range(band.start, band.stop))
