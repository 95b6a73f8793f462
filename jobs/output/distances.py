"""Writes distances. The format and files are decided before any work is done."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, cast

from gpualign.core.common.errors import InputError, parameter
from gpualign.core.distance.metrics import Metric
from gpualign.core.distance.output.base import DECIMALS
from gpualign.core.distance.output.matrix import DistanceMatrices
from gpualign.core.distance.output.names import CHARACTERS_REPLACED_BY_FORMAT
from gpualign.core.distance.output.pairs import PairsSink
from gpualign.core.distance.runner import DistanceTotals
from gpualign.core.files.paths import STDIO
from gpualign.core.output.formats.registry import FORMATS, Layout, ResultKind, format_names
from gpualign.core.output.matrix import CondensedSink, MatrixSink
from gpualign.jobs.call_rate_report import describe_left_out_pairs, describe_undefined_pairs
from gpualign.jobs.devices.resources import AUTO
from gpualign.jobs.options import check_distance
from gpualign.jobs.output.atomic_files import OutputFiles, translate_output_errors
from gpualign.jobs.output.distance_spec import DistanceSpec, pairs_sink
from gpualign.jobs.output.format_selection import apply_suffix_separator, check_condensed, container_of, pick_output
from gpualign.jobs.output.job_part import JobPart
from gpualign.jobs.output.matrices import open_matrices, open_sparse_spools
from gpualign.jobs.output.result_writing import write_results
from gpualign.jobs.output.run_reporter import RunReporter
from gpualign.jobs.output.specs import MatrixSpec

if TYPE_CHECKING:
    from gpualign.core.distance.calls import Samples
    from gpualign.core.distance.output.base import BandDistances
    from gpualign.jobs.dist import DistJob, DistOptions
    from gpualign.jobs.output.job_part import OutputSession
    from gpualign.jobs.output.run_identity import ResumePolicy


_NUMBER_LAYOUTS = (Layout.SPARSE, Layout.COUNTS)
"""Layouts with one number per pair, or per record, and thus no place for numbers of compared sites."""


def distance_spec(options: DistOptions, one_set: bool) -> DistanceSpec:
    """Return the specification of the requested output. Raises `InputError` for contradictory options and unknown suffixes."""
    o, compared, added = options.output_options, options.compared, options.added
    format, path = pick_output(o, ResultKind.DISTANCES)
    near, related = options.max_distance is not None, options.min_kinship is not None
    threshold = parameter("max_distance") if near else parameter("min_kinship") if related else None
    if threshold is not None and not FORMATS[format].supports_any_pairs:
        raise InputError(f"{threshold} writes a table of pairs, as {_pair_list_formats()}; {format} holds every pair")
    if threshold is None and FORMATS[format].layouts[ResultKind.DISTANCES] is Layout.COUNTS:
        raise InputError(
            f"{parameter('format', format)} counts the pairs within a threshold, and without one every pair is; give"
            f" {parameter('max_distance')} or {parameter('min_kinship')}"
        )
    check_distance(options.max_distance)
    if added and not FORMATS[format].supports_any_pairs:
        raise InputError(
            f"{parameter('add')} makes a table of pairs, as {_pair_list_formats()}; {format} is a matrix, of one file or of two"
        )
    if not one_set and FORMATS[format].square_only_name:
        raise InputError(f"{FORMATS[format].square_only_name} needs one set; for two inputs write tsv, csv, molten, npy or npz")
    if o.condensed:
        check_condensed(format, one_set)
    format = apply_suffix_separator(format, path)
    spec = DistanceSpec(o, format, path, threshold, compared, added, container_of(format, path))
    # A minimum decides which pairs have a distance, so tables with column names show the number of compared sites.
    if options.min_compared is not None and options.kernel == AUTO and spec.is_pair_list and spec.layout not in _NUMBER_LAYOUTS:
        spec = replace(spec, writes_compared=compared or format != "molten")
    if compared and spec.layout in _NUMBER_LAYOUTS:
        of = "record" if spec.is_counts else "pair"
        raise InputError(f"{parameter('compared')}: {format} holds one number per {of}; write parquet, arrow or molten, or a second file")
    if compared and path is None and not spec.is_pair_list and format != "molten":
        raise InputError(
            f"{parameter('compared')} with {format} writes a second matrix beside the first: name a file with -o, or write"
            f" {parameter('format', 'molten')}"
        )
    if options.clusters is not None:
        from gpualign.jobs.output.clusters import companion_cluster_spec

        _check_clusters(spec, options.clusters, one_set)
        spec = replace(spec, clusters=companion_cluster_spec(options.clusters))
    if o.plot:
        from gpualign.jobs.plotting.output import check_plot

        spec = replace(spec, plot_file=check_plot(o.plot, spec.no_matrix_reason))
    return spec


def _check_clusters(spec: DistanceSpec, clusters: str, one_set: bool) -> None:
    """Raise `InputError` if a run does not find all near pairs within one set, as required for clusters."""
    from gpualign.jobs.cluster import check_method

    later = f"make clusters of its list with `gpualign cluster {parameter('edges')}`"
    if spec.threshold_option != parameter("max_distance"):
        raise InputError(f"{parameter('clusters')} needs near pairs; give {parameter('max_distance')}")
    if not one_set:
        raise InputError(f"{parameter('clusters')} needs all pairs of one set, and of two files some are not compared; {later}")
    if spec.options.shard is not None:
        raise InputError(
            f"{parameter('clusters')} needs all near pairs, and {parameter('shard')} finds a part of them; merge the parts, then {later}"
        )
    if spec.options.resume:
        raise InputError(f"{parameter('clusters')} needs all near pairs in one run; leave it out to resume, then {later}")
    if clusters == STDIO:
        raise InputError(f"{parameter('clusters')}: name a file; standard output is for the pairs")
    if spec.path is not None and spec.path.absolute() == Path(clusters).absolute():
        raise InputError(f"-o and {parameter('clusters')} name the same file; each needs its own")
    check_method("single")


def check_value(spec: DistanceSpec, metric: Metric) -> None:
    """Raise `InputError` if the format needs distances and the metric is not a distance."""
    if metric.is_similarity and (square := FORMATS[spec.format].square_only_name):
        raise InputError(
            f"{square} needs distances, and {parameter('metric', metric.name)} is a {metric.value_name}; write tsv, csv, molten, npy or npz"
        )


def _pair_list_formats() -> str:
    """Return the names of the pair-list formats, for messages."""
    formats = (FORMATS[name] for name in format_names(ResultKind.DISTANCES))
    return ", ".join(one.name for one in formats if one.supports_any_pairs and one.layouts[ResultKind.DISTANCES] is not Layout.COUNTS)


def describe_no_distance(spec: DistanceSpec, job: DistJob) -> str:
    """Return a description of how the output represents pairs without a distance, for messages."""
    metric = job.prepared.task.metric
    if spec.threshold_option is not None:
        return "they are not near"
    shown = "null" if spec.layout is Layout.COLUMNS else "?" if spec.format == "mega" else "nan"
    if FORMATS[spec.format].needs_file and job.dtype != metric.dtype:
        shown += f"; the array is {job.dtype}, not {metric.dtype}"
    return f"they have no {metric.value_name} ({shown})"


def report_written_distances(spec: DistanceSpec, job: DistJob, totals: DistanceTotals, earlier_pairs: int, reporter: RunReporter) -> None:
    """Report the pairs without a distance, the pairs left out, and the totals of a run whose output `write_distances` has written."""
    if without := describe_undefined_pairs(job.prepared, totals):
        reporter.note(f"{without}: {describe_no_distance(spec, job)}")
    if left_out := describe_left_out_pairs(job.prepared, totals):
        reporter.note(left_out)
    reporter.report_distances(job.samples.row_count, totals, job.hardware, earlier_pairs)


def write_distances(
    spec: DistanceSpec,
    job: DistJob,
    files: OutputFiles,
    resume_policy: ResumePolicy | None,
    dry_run: bool,
    reporter: RunReporter,
    threads: int,
) -> tuple[DistanceTotals, int] | None:
    """Run a job and write all distances; a dry run prints the plan instead. Return (totals, number of pairs from the earlier runs that this
    run resumes), or None if nothing was computed.

    files: output files of the run, which the caller commits
    resume_policy: how the output can be resumed; None: it cannot be
    threads: threads for writing a matrix or formatting text
    """
    metric, picture = job.prepared.task.metric, spec.plot_file
    samples = job.samples_for_format(spec.format, reporter) if spec.format in CHARACTERS_REPLACED_BY_FORMAT else job.samples
    job_part = JobPart.for_job(job, len(job.samples.queries), spec.options.shard, spec.path, spec.format, ResultKind.DISTANCES)
    if dry_run:
        from gpualign.jobs.output.size_estimate import describe_distances_size

        restricted, (start, stop) = job_part.restrict(job), job_part.span
        reporter.print_plan([*restricted.describe(), ("output", describe_distances_size(spec, restricted, stop - start))])
        return None
    if samples.pair_count == 0:
        reporter.note("one sample makes no pairs")
    session = job_part.open(files, resume_policy, reporter.note, picture.path if picture else None)
    if session is None:
        reporter.run_summary.write(files, None, {})
        return None
    rest = session.restrict(job)
    if spec.is_counts and spec.clusters is None:  # clusters need the pairs themselves
        rest = rest.counting_neighbours()
    earlier = session.earlier_pairs_and_work(job, rest)[0]
    figures = rest.selected_counts
    with ExitStack() as stack:
        write_clusters = None
        if spec.clusters is not None:
            from gpualign.core.clustering.near_distances import ClusteringSink
            from gpualign.jobs.output.clusters import ClusteredRecords, open_cluster_outputs

            write_clusters = stack.enter_context(open_cluster_outputs(spec.clusters, files))
        with translate_output_errors(job_part.path), _open_sink(spec, job, samples, session, threads) as sink:
            clustering = None if write_clusters is None else ClusteringSink(cast("PairsSink", sink), metric.is_integer, files.new_scratch)
            with reporter.progress(rest.total_work, job_part.path, job.work_unit) as progress:
                results, totals = rest.run(progress)
                before = session.checkpoints.register_counts_function(lambda: totals.counts)
                totals.seconds = write_results(clustering or sink, samples, results, session.checkpoints, reporter.stages.within)
        totals.add_earlier(before)
        if write_clusters is not None and clustering is not None:
            write_clusters(ClusteredRecords(samples.queries.ids, clustering.clustering, None, None, False))
            figures |= clustering.clustering.summary
    if picture is not None:
        from gpualign.jobs.plotting.heatmap import heatmap_of_distances
        from gpualign.jobs.plotting.output import write_plot

        values = cast("MatrixSink[Samples, BandDistances]", sink).arrays[0].values
        with translate_output_errors(picture.path):
            write_plot(files.open(picture.path), picture, heatmap_of_distances(values, rest.samples, metric), reporter)
    figures = {**totals.summary_with_earlier(earlier, earlier * totals.site_count), **figures}
    reporter.run_summary.write(files, (rest.hardware, rest.kernel), {"samples": rest.samples.row_count, **figures})
    return totals, earlier


@contextmanager
def _open_sink(
    spec: DistanceSpec, job: DistJob, samples: Samples, session: OutputSession, threads: int
) -> Iterator[PairsSink | MatrixSink[Samples, BandDistances]]:
    """Open the output, and yield a sink for the results. The output is finished when the body ends without an error.

    samples: the job's samples, with ids that the format can represent
    """
    metric, files = job.prepared.task.metric, session.files
    if not spec.is_pair_list:
        count = 1 + spec.writes_compared
        names, titles = (metric.value_name, "compared")[:count], (metric.name, "compared sites")[:count]
        matrices = MatrixSpec(spec.format, spec.path, spec.compared_path, names, titles, 0 if metric.is_integer else DECIMALS)
        with open_matrices(matrices, files, samples.queries, samples.targets, threads, session.part_file) as makes:
            sink = CondensedSink if spec.options.condensed else MatrixSink
            yield sink(DistanceMatrices(job.dtype, spec.writes_compared), makes, session.row_range, threads)
    elif spec.container is not None:
        with files.open_binary(spec.path) as stream:
            yield pairs_sink(spec, metric, stream)
    elif spec.layout is Layout.SPARSE:
        from gpualign.core.distance.output.arrow_sparse import CsrPairsSink

        with open_sparse_spools(spec.path, files, samples.queries, samples.targets, job.dtype, session.part_file) as spools:
            yield CsrPairsSink(spools, job.dtype)
    else:
        with session.open_text() as lines:
            yield pairs_sink(spec, metric, lines, threads)
