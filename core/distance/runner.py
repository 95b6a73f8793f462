"""The road of distances: source -> panels of bit planes -> counts of a band -> distances -> sink."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

import numpy as np

from gpualign.core.distance.calls import MISSING, Codes, Samples
from gpualign.core.distance.engine import Band, CountMatrix, DistanceEngine, Panel
from gpualign.core.distance.metrics import Counts, Integers, Metric, MissingRule
from gpualign.core.distance.pack import pack_panel, used_codes
from gpualign.core.distance.plan import DistancePlan, plan_bands
from gpualign.core.distance.recipe import Measure, Wanted, count_names
from gpualign.core.distance.sinks.base import BandDistances, DistanceSink
from gpualign.core.distance.sources.base import Need, Omitted, Scratch, Selection, Source
from gpualign.core.distance.store import PanelStore
from gpualign.core.distance.workers import Workers
from gpualign.core.errors import InputError, RunError

if TYPE_CHECKING:
    from gpualign.core.engine import Progress

_MOST_SITES = (1 << 31) // 4
"""A site adds up to 4 to a count of 32 bits (recipe.py: two steps of weight 2)."""

_SECOND_ALLELE = 2
"""Codes above this are of genotypes with a third allele."""


@dataclass(frozen=True)
class DistanceTask:
    """What is to be computed. compared: the number of compared sites is written too."""

    metric: Metric
    missing: MissingRule
    compared: bool

    @property
    def wanted(self) -> Wanted:
        return self.metric.wanted(self.missing, self.compared)

    @property
    def selection(self) -> Selection:
        otherwise = Need.COMPARED if self.wanted.compared else Need.DIFFERENCES
        need = Need.CALLS if self.metric.measure is Measure.SUBSTITUTIONS else otherwise
        return Selection(need, self.missing is MissingRule.COMPLETE)


@dataclass(frozen=True)
class Prepared:
    """Panels of a task, ready to be counted, and the memory that they hold.

    sites: that are compared at most; omitted: those that no panel has; called: sites with a call, int64[samples].
    """

    task: DistanceTask
    samples: Samples
    panels: Sequence[Panel]
    held: int
    sites: int
    omitted: Omitted
    called: Integers | None

    @property
    def panel_sites(self) -> int:
        """Sites that an engine looks at."""
        return sum(panel.sites for panel in self.panels)


@dataclass(frozen=True)
class DistanceTotals:
    """What a run did, for its summary. comparisons: pairs times sites."""

    pairs: int
    sites: int
    seconds: float

    @property
    def comparisons(self) -> int:
        return self.pairs * self.sites


def memory_left(source: Source, budget: int) -> int:
    """Memory beside what the source holds. Raises `RunError` if that is too little."""
    left = budget - source.nbytes
    if left < budget // 4:
        raise RunError(f"the memory budget is too small: the calls alone take {source.nbytes:,} bytes of {budget:,}; raise --memory")
    return left


def prepare(source: Source, task: DistanceTask, engine: DistanceEngine, memory: int, scratch: Scratch) -> Prepared:
    """Turn the source's calls into bit planes, of which half of `memory` may be held. Raises `InputError` for a metric they are not for."""
    metric = task.metric
    if source.kind not in metric.kinds:
        kinds = " or ".join(sorted(kind.value for kind in metric.kinds))
        raise InputError(f"--metric {metric.name} is for {kinds}; these are {source.kind.value}")
    if source.sites >= _MOST_SITES:
        raise InputError(f"{source.sites:,} sites; up to {_MOST_SITES - 1:,} are counted in one run")
    store, omitted, sites = PanelStore(memory // 2, scratch), Omitted(), 0
    called = np.zeros(source.samples.total, dtype=np.int64) if task.missing is MissingRule.AS_DIFFERENCE else None
    with Workers(engine.threads) as workers:
        for codes in source.panels(task.selection, memory // 8, omitted, workers):
            sites += codes.shape[1]
            if called is not None:
                called += np.count_nonzero(codes != MISSING, axis=1)
            used = used_codes(codes, workers)
            parts = [(codes, used)]
            if metric.measure is Measure.ALLELES and max(used - {MISSING}, default=0) > _SECOND_ALLELE:
                parts = [(part, used_codes(part, workers)) for part in _by_alleles(codes)]
            for part, of_part in parts:
                store.add(pack_panel(part, of_part, task.wanted, engine, workers))
    # Where only differing sites matter, those at which all calls are equal are not looked at, but they are compared all the same.
    counted = source.sites if not task.selection.complete and task.selection.need is Need.DIFFERENCES else sites + omitted.sites
    if called is not None:
        called += omitted.sites
    return Prepared(task, source.samples, store.panels, store.nbytes, counted, omitted, called)


def _by_alleles(codes: Codes) -> Iterator[Codes]:
    """Sites with two alleles apart from those with more, whose counts take more planes."""
    more = np.any((codes > _SECOND_ALLELE) & (codes != MISSING), axis=0)
    for some in (~more, more):
        if some.all():
            yield codes
        elif some.any():
            yield np.ascontiguousarray(codes[:, some])


def plan(prepared: Prepared, engine: DistanceEngine, memory: int) -> DistancePlan:
    """Bands for `memory` bytes beside the panels."""
    samples, task = prepared.samples, prepared.task
    names = count_names(task.wanted, engine.products_only)
    # Beside its counts a band has its distances, and what they are computed from.
    pair_bytes = 4 * len(names) + 3 * task.metric.dtype.itemsize
    return plan_bands(len(samples.queries), len(samples.targets), samples.one_set, engine.band_bytes(memory), pair_bytes)


def measure(prepared: Prepared, bands: DistancePlan, engine: DistanceEngine, sink: DistanceSink, progress: Progress) -> DistanceTotals:
    """Count every band and hand its distances to the sink."""
    start = time.perf_counter()
    names = count_names(prepared.task.wanted, engine.products_only)
    sink.begin(prepared.samples)
    # closing(): an error in the sink must stop the engine's work at once.
    with closing(cast("_Closable", engine.run(prepared.panels, bands.bands(), names, progress.advance))) as counted:
        for band, counts in counted:
            _add_constants(counts, prepared)
            sink.accept(_distances(prepared, band, counts))
    sink.finish()
    return DistanceTotals(prepared.samples.pairs, prepared.sites, time.perf_counter() - start)


class _Closable(Iterator[tuple[Band, dict[str, CountMatrix]]]):
    def close(self) -> None: ...


def _add_constants(counts: dict[str, CountMatrix], prepared: Prepared) -> None:
    """What sites add to every pair alike: those of panels without missing calls, and those that no panel has."""
    for panel in prepared.panels:
        for name, weight in panel.recipe.constants:
            counts[name] += weight * panel.sites
    for code, sites in prepared.omitted.sites_by_code.items():
        for name in ("compared", "matches"):
            if name in counts:
                counts[name] += sites
        if prepared.task.metric.measure is Measure.SUBSTITUTIONS and code < len(_BASES):
            counts[_BASES[code]] += 2 * sites


_BASES = "acg"
"""Counts of the bases of both samples; those of T are the rest."""


def _distances(prepared: Prepared, band: Band, raw: dict[str, CountMatrix]) -> BandDistances:
    called = prepared.called
    of_pairs = None if called is None else (called[band.start : band.stop], called[band.first_target : band.target_stop])
    counts = Counts(dict(raw), prepared.sites, of_pairs)
    values = prepared.task.metric.formula(counts).astype(prepared.task.metric.dtype, copy=False)
    return BandDistances(band, values, counts.compared.astype(np.int32, copy=False) if prepared.task.compared else None)


def estimate_seconds(prepared: Prepared, bands: DistancePlan, engine: DistanceEngine) -> float:
    """Time for counting all bands, measured on a corner of the first one."""
    names = count_names(prepared.task.wanted, engine.products_only)
    panels = prepared.panels[:1]
    first = next(bands.bands())
    corner = Band(
        first.start, min(first.stop, first.start + 256), first.first_target, min(first.target_stop, first.first_target + 512), False
    )
    start = time.perf_counter()
    list(engine.run(panels, [corner], names, lambda _: None))
    seconds = time.perf_counter() - start
    work = corner.shape[0] * corner.shape[1] * max(1, sum(panel.sites for panel in panels))
    return seconds * bands.pairs * prepared.panel_sites / work
