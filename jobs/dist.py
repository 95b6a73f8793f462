"""Distances between all pairs of samples: the work of `gpualign dist` after option parsing and before output.

options = DistOptions(metric="ibs")
job = prepare(options, read_source(files_that_are_open, options, scratch_files, reporter), engine, scratch_files.new_scratch, reporter)
distances, totals = job.run(progress)
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import field, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from gpualign.core.common.dataclass import dataclass
from gpualign.core.common.errors import InputError, parameter
from gpualign.core.common.parameter_fractions import check_fraction, percentage_warning
from gpualign.core.common.units import format_bytes, format_count
from gpualign.core.distance import preparation, runner
from gpualign.core.distance.calls import Samples
from gpualign.core.distance.count_recipe import CountRequest, Measure
from gpualign.core.distance.engine import DistanceEngine
from gpualign.core.distance.memory_budget import DistanceBudget
from gpualign.core.distance.metrics import METRICS, MissingRule, metric_named
from gpualign.core.distance.output.names import samples_with_writable_ids
from gpualign.core.distance.preparation import DistanceTask, PreparedDistances
from gpualign.core.distance.readers.base import Source
from gpualign.core.distance.readers.detection import CallFile, read_calls
from gpualign.core.distance.runner import DistanceTotals
from gpualign.core.distance.site_filters import FilterResult, SiteFilters
from gpualign.core.distance.tables.options import CallOptions
from gpualign.core.execution.totals import Progress
from gpualign.core.files.paths import is_sample_set
from gpualign.core.files.scratch import MakeScratch, ScratchFiles
from gpualign.core.output.matrix_files import NumberType
from gpualign.jobs.call_rate_report import describe_few_calls
from gpualign.jobs.devices.memory import default_memory
from gpualign.jobs.devices.resources import AUTO, Resources
from gpualign.jobs.devices.selection import pick_distance_engine
from gpualign.jobs.job import DescriptionRows, WorkPerQuery, describe_bands
from gpualign.jobs.options import OutputOptions
from gpualign.jobs.reporter import Reporter
from gpualign.jobs.sample_selection import SampleCounts, SampleFilters, drop_excluded, report_nonfounders
from gpualign.jobs.site_selection import select_passing_sites

if TYPE_CHECKING:
    from fractions import Fraction

    from gpualign.core.distance.sample_sets.sample_set import SampleSet


@dataclass(frozen=True)
class DistOptions:
    """Options of `dist`; None: not given.

    metric: one of `metrics.METRICS`
    missing: how missing calls are treated
    output_options: where and how results are written
    clusters: file for clusters of the near pairs
    compared: whether the number of compared sites is also written
    min_compared: minimum number (int) or fraction of compared sites that a distance needs; None: 1, except that near pairs compared at less
        than half of the sites are left out
    call_options: how calls are read
    max_distance: maximum distance of the pairs to report
    added: whether, of two sets, the queries are also compared with each other
    min_kinship: minimum kinship of the pairs to report
    kernel: "auto", or a kernel of Payne et al. (2010)
    resources: devices, threads and memory
    site_filters, sample_filters: which sites and samples are used
    """

    metric: str = "hamming"
    missing: MissingRule = MissingRule.PAIRWISE
    output_options: OutputOptions = field(default_factory=OutputOptions)
    clusters: str | None = None
    compared: bool = False
    min_compared: int | Fraction | None = None
    call_options: CallOptions = field(default_factory=CallOptions)
    max_distance: float | None = None
    added: bool = False
    min_kinship: float | None = None
    kernel: str = AUTO
    resources: Resources = field(default_factory=Resources)
    site_filters: SiteFilters = field(default_factory=SiteFilters)
    sample_filters: SampleFilters = field(default_factory=SampleFilters)

    @property
    def must_count_compared_sites(self) -> bool:
        """True if pairs can differ in their number of compared sites, so that the compared sites must be counted."""
        return self.missing is MissingRule.PAIRWISE and self.kernel == AUTO

    def task(self) -> DistanceTask:
        """Return the task for these options. Raises `InputError` for contradictory options."""
        metric = metric_named(self.metric)
        min_shared = (
            _default_compared_fraction()
            if self.min_compared is None and self.max_distance is not None and self.must_count_compared_sites
            else None
        )
        min_compared = 1 if self.min_compared is None else self.min_compared
        task = DistanceTask(metric, self.missing, self.compared, min_compared, self.max_distance, self.added, self.min_kinship, min_shared)
        metric.check_missing_rule(task.missing_rule)
        max_distance, min_kinship = parameter("max_distance"), parameter("min_kinship")
        if metric.is_similarity and self.max_distance is not None:
            raise InputError(
                f"{max_distance} is for distances, and {parameter('metric', metric.name)} is a {metric.value_name}; give {min_kinship}"
            )
        if not metric.is_similarity and self.min_kinship is not None:
            raise InputError(f"{min_kinship} is for {_similarity_names()}, and {metric.name} is a distance; give {max_distance}")
        if self.min_kinship is not None and self.min_kinship > metric.max_value:
            raise InputError(f"{min_kinship}: {metric.name} is {metric.max_value:g} at most; found {self.min_kinship:g}")
        if metric.max_value == 1 and not metric.is_similarity:
            check_fraction("max_distance", self.max_distance, meaning=f"a distance by {parameter('metric', metric.name)},")
        if metric.measure is Measure.RELATIONSHIP:
            r = self.resources
            if r.executor is not None or r.device not in (AUTO, "cpu"):
                elsewhere = "workers of a cluster" if r.executor is not None else parameter("device", r.device)
                raise InputError(f"{parameter('metric', metric.name)} is computed by the CPU of this machine, not by {elsewhere}")
        if self.kernel != AUTO and replace(task.count_request, selected_pairs_only=False) != CountRequest(
            Measure.DIFFERENCES, counts_compared_sites=False
        ):
            raise InputError(
                f"{parameter('kernel', self.kernel)} counts differing calls: {parameter('metric', 'hamming')}, without"
                f" {parameter('compared')} and {parameter('missing', 'as-difference')}"
            )
        return task

    def budget(self, call_bytes: int = 0, mapped_bytes: int = 0) -> DistanceBudget:
        """Return the memory budget of a run.

        call_bytes: size of the calls that are held in memory
        mapped_bytes: size of the bit planes that are copied from a file; the default memory grows by twice this size

        Raises `RunError` if the calls leave too little memory.
        """
        return DistanceBudget.of(self.resources.memory or default_memory(call_bytes + 2 * mapped_bytes), call_bytes)


def _default_compared_fraction() -> Fraction:
    """Return the default minimum fraction of sites at which a near pair must have been compared. Without a minimum, an isolate with few
    calls would differ from no other isolate and join clusters that have nothing in common."""
    from fractions import Fraction  # runs without a threshold do not need it

    return Fraction(1, 2)


def _similarity_names() -> str:
    first, *others = (name for name, metric in METRICS.items() if metric.is_similarity)
    return " or ".join([parameter("metric", first), *others])


@dataclass(frozen=True)
class DistJob:
    """A run that is ready to start. Reading its properties changes nothing.

    prepared: the task and everything needed to run it
    site_counts: site counts before and after selection; None: all sites are used
    sample_counts: sample counts before and after selection; None: all samples are compared
    work_unit: unit of `total_work`
    """

    prepared: PreparedDistances
    site_counts: FilterResult | None = None
    sample_counts: SampleCounts | None = None
    work_unit: ClassVar[str] = "comparisons"

    @property
    def samples(self) -> Samples:
        return self.prepared.samples

    @property
    def dtype(self) -> NumberType:
        """Number type of the distances."""
        return self.prepared.dtype

    @property
    def hardware(self) -> str:
        """Human-readable name of the hardware used."""
        return self.prepared.counter.hardware

    @property
    def kernel(self) -> str:
        """Human-readable name of the counting kernel."""
        return self.prepared.counter.kernel

    @property
    def pair_count(self) -> int:
        """Number of pairs for which a distance is computed."""
        return self.prepared.pair_count

    @property
    def total_work(self) -> int:
        """Number of comparisons, the unit in which `run` reports progress."""
        return self.prepared.plan.pair_count * self.prepared.panel_site_count

    def describe(self) -> DescriptionRows:
        """Return the plan as rows, including a time estimate measured on a sample."""
        prepared, samples = self.prepared, self.samples
        task, plan, counter = prepared.task, prepared.plan, prepared.counter
        return [
            ("samples", f"{len(samples.queries):,}" if samples.is_one_set else f"{len(samples.queries):,} x {len(samples.targets):,}"),
            ("sites", f"{prepared.max_compared_sites:,}, {prepared.panel_site_count:,} of them looked at"),
            ("pairs", f"{samples.pair_count:,}"),
            ("metric", f"{task.metric.name}, missing calls: {task.missing_rule.value}"),
            ("engine", counter.hardware),
            ("kernel", counter.kernel),
            ("bands", _describe_bands(prepared)),
            ("memory", f"bit planes {format_bytes(prepared.panel_bytes)}, counts {format_bytes(plan.max_band_bytes)}"),
            ("estimate", f"{runner.estimate_seconds(prepared):.1f} s, measured on a sample"),
        ]

    def samples_for_format(self, format: str, reporter: Reporter) -> Samples:
        """Return the samples with ids that the format can represent; report if any are changed. Raises `InputError` if two ids would become
        equal."""
        samples, changed = samples_with_writable_ids(format, self.samples)
        if changed:
            name, other = changed[0]
            count = "1 id is changed: " if len(changed) == 1 else f"{len(changed):,} ids are changed, such as "
            reporter.note(f"{format} cannot hold all characters of the ids: {count}{name!r} to {other!r}")
        return samples

    @property
    def row_work(self) -> WorkPerQuery:
        """Approximate work for each query's pairs: float64[queries]."""
        samples = self.samples
        targets = len(samples.targets)
        return targets - np.arange(len(samples.queries), dtype=np.float64) * samples.upper_triangle

    def for_queries(self, start: int, stop: int) -> DistJob:
        """Return a job for only the pairs of queries [start, stop)."""
        return replace(self, prepared=self.prepared.for_queries(start, stop))

    @property
    def selected_counts(self) -> dict[str, object]:
        """Selected sample and site counts, for the summary."""
        samples, sites = self.sample_counts, self.site_counts
        of_samples = {} if samples is None else _named_counts("samples", samples.read_count, samples.removed_by_filter)
        return of_samples | ({} if sites is None else _named_counts("sites", sites.input_site_count, sites.removed_by_filter))

    def counting_neighbours(self) -> DistJob:
        """Return a job that passes numbers of near pairs of each sample to its sink (`NeighbourTally`) instead of the pairs."""
        return replace(self, prepared=replace(self.prepared, counts_neighbours=True))

    def run(self, progress: Progress) -> tuple[Iterator[Any], DistanceTotals]:
        """Return (all distances, in order; the totals), as `compute_distances` does. The iterator raises `RunError` if the hardware
        fails."""
        return runner.compute_distances(self.prepared, progress)


def _describe_bands(prepared: PreparedDistances) -> str:
    """Return the division of the samples and of the sites as text."""
    bands, panels = describe_bands(prepared.plan.band_count, prepared.plan.band_rows, "samples"), len(prepared.panels)
    return f"{bands}, {format_count(panels, 'panel')} of sites"


def _has_few_calls(prepared: PreparedDistances) -> bool:
    """True if any sample has so few calls that a pair may share less than half of the sites (core/distance/few_sites.py)."""
    return bool((4 * prepared.calls_per_sample < 3 * prepared.input_site_count).any())


def _named_counts(prefix: str, read: int, removed: dict[str, int]) -> dict[str, object]:
    return {f"{prefix}_read": read, f"{prefix}_left_out": removed}


def open_if_stored(path: str) -> SampleSet | None:
    """Return the set of samples with this path; None if it is another file. Raises `InputError` for a damaged set."""
    if not is_sample_set(path):
        return None
    from gpualign.core.distance.sample_sets.sample_set import open_sample_set  # other inputs do not need it

    return open_sample_set(path)


def read_source(
    inputs: Iterable[CallFile],
    options: DistOptions,
    files: ScratchFiles,
    reporter: Reporter,
    stored: Sequence[tuple[str, SampleSet | None]] = (),
) -> Source:
    """Read the calls from one input, or from two with the same sites. Raises an `InputError` that names the file, the record and the
    reason.

    inputs: files of the inputs that are not sets of samples
    stored: name of each input, and the set of samples that it is, or None; may be empty if no input is a set
    """
    memory, threads = options.budget().reading_bytes, options.resources.host_threads
    if not any(sample_set for _, sample_set in stored):
        return read_calls(inputs, options.call_options, memory, files, reporter.warn, threads)
    from gpualign.core.distance.sample_sets.reading import read_with_sets

    return read_with_sets(stored, inputs, options.call_options, memory, files, reporter.warn, threads)


def engine_named_by_options(options: DistOptions, reporter: Reporter) -> DistanceEngine | None:
    """Return the engine if the options alone determine it, otherwise None. Missing hardware or software is thus reported before anything is
    read. Raises the same errors as `pick_distance_engine`."""
    if metric_named(options.metric).measure is Measure.RELATIONSHIP:
        from gpualign.cpu.distance.engine import CpuDistanceEngine

        return CpuDistanceEngine(options.resources.threads, spare_cpus=options.resources.spare_threads)
    if options.resources.device == AUTO and options.kernel == AUTO:
        return None
    return pick_distance_engine(options.resources, reporter, options.kernel)


def prepare(options: DistOptions, source: Source, engine: DistanceEngine | None, scratch: MakeScratch, reporter: Reporter) -> DistJob:
    """Choose samples and sites, pack their calls into bit planes and plan the work. The source is no longer needed when this returns.

    engine: result of `engine_named_by_options`; None: an engine is chosen according to the number of comparisons
    scratch: creates temporary files

    Raises `InputError` if options and calls contradict each other or if no sample or site is left, `RunError` if there is not enough
    memory.
    """
    budget = options.budget(source.nbytes, source.mapped_bytes)
    filters, sites, site_counts = options.sample_filters, options.site_filters, None
    removed, read = dict[str, int](), source.samples.row_count
    if filters.exclude:
        source = drop_excluded(source, filters.exclude, reporter)
        removed["exclude"] = read - source.samples.row_count
    if sites.is_set or filters.min_called is not None:
        source, site_counts = select_passing_sites(source, sites, filters, budget.panel_bytes, options.resources.host_threads, reporter)
    if filters.min_called is not None:
        removed["min_called"] = read - removed.get("exclude", 0) - source.samples.row_count
    if sites.maf is None and metric_named(options.metric).measure is Measure.RELATIONSHIP:
        report_nonfounders(source.samples, parameter("metric", options.metric), reporter)
    if engine is None:
        engine = pick_distance_engine(options.resources, reporter, comparisons=float(source.samples.pair_count) * source.site_count)
    prepared = preparation.prepare(source, options.task(), engine, budget, scratch)
    reporter.detail(f"{prepared.counter.kernel}; {_describe_bands(prepared)}")
    metric, max_distance, min_kinship = prepared.task.metric, options.max_distance, options.min_kinship
    # Where no distance exceeds 1, a limit of 1 may be meant: it keeps every pair.
    if max_distance is not None and metric.is_per_site and (max_distance > 1 or (max_distance == 1 and metric.max_value > 1)):
        reporter.warn(f"{options.metric} is a distance per site, and {percentage_warning('max_distance', max_distance)}")
    if min_kinship is not None and min_kinship > 1:
        own = "a sample's relationship with itself is about 1"
        reporter.warn(f"{own}, and {percentage_warning('min_kinship', min_kinship, 'hardly any pair')}")
    if options.max_distance is not None and 0 < options.max_distance < 1 and not prepared.task.metric.is_per_site:
        limit, fraction = parameter("max_distance", f"{options.max_distance:g}"), parameter("metric", "fraction")
        reporter.warn(f"{options.metric} counts differences, so {limit} keeps only pairs without any; for fractions say {fraction}")
    if few := describe_few_calls(prepared):
        reporter.note(few)
    if options.kernel != AUTO and options.max_distance is not None and options.min_compared is None and _has_few_calls(prepared):
        reporter.note(f"{parameter('kernel', options.kernel)} does not count compared sites: near pairs with few of them are not left out")
    return DistJob(prepared, site_counts, SampleCounts(read, removed) if removed else None)
