"""Writes pairs. The format and files are decided before any work is done."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, cast

from gpualign.core.alignment.task import EndGaps
from gpualign.core.common.errors import InputError, parameter
from gpualign.core.output.formats.registry import FORMATS, Layout, ResultKind, format_names
from gpualign.core.output.matrix_value import MatrixValueKind, ValueMatrix
from gpualign.core.output.pairs import PairsSink
from gpualign.core.planning.tile_plan import Pairing
from gpualign.core.results.columns import default_fields, parse_fields, part_score_fields
from gpualign.core.results.filter import Filter
from gpualign.core.sequences.strands_frames import BOTH
from gpualign.jobs.devices.resources import AUTO
from gpualign.jobs.options import check_loci, check_with_self
from gpualign.jobs.output.atomic_files import OutputFiles, translate_output_errors
from gpualign.jobs.output.format_selection import (
    apply_suffix_separator,
    check_condensed,
    open_row_sink,
    pick_output,
    report_unusual_names,
    select_row_format,
    separator_of,
)
from gpualign.jobs.output.job_part import JobPart
from gpualign.jobs.output.result_writing import write_results
from gpualign.jobs.output.run_identity import resume_policy_of_task
from gpualign.jobs.output.run_reporter import RunReporter
from gpualign.jobs.output.specs import MATRIX_LAYOUTS, OutputSpec

if TYPE_CHECKING:
    from gpualign.core.alignment.band_results import BandResults
    from gpualign.core.output.matrix import MatrixSink
    from gpualign.core.planning.tile_plan import Plan
    from gpualign.jobs.job import PairJob
    from gpualign.jobs.nw import NwOptions
    from gpualign.jobs.output.job_part import OutputSession

    AnySink = PairsSink | MatrixSink[Plan, BandResults]


_JOINED_FORMATS = ("tsv", "csv", "parquet", "arrow", "csr", "counts")
"""Formats of pairs of cells."""


def output_spec(options: NwOptions, one_set: bool, has_added: bool = False) -> OutputSpec:
    """Return the specification of the requested output, after checking it and the other options of the run. has_added: whether the targets
    are the queries followed by more records.

    Raises `InputError` for contradictory options and unknown suffixes.
    """
    o, edit = options.output_options, options.scoring.edit
    check_with_self(options.with_self, one_set or has_added)
    if options.with_self and options.thresholds.nearest is not None:
        raise InputError(f"{parameter('nearest')} chooses among other records; it cannot be combined with {parameter('self')}")
    format, path = pick_output(o, ResultKind.PAIRS)
    layout = FORMATS[format].layouts[ResultKind.PAIRS]
    if o.value is not None and format in ("tsv", "csv"):
        if o.fields is not None:
            raise InputError(f"{parameter('fields')} selects columns of a table, {parameter('value')} values of a matrix; give one of them")
        layout = Layout.MATRIX
    is_matrix, is_sparse = layout in MATRIX_LAYOUTS, layout is Layout.SPARSE
    filter = options.make_filter(same_set=one_set or has_added)
    if is_matrix and filter != Filter():
        *others, last = (parameter(name) for name in ("min_score", "min_identity", "min_coverage", "max_distance", "nearest"))
        thresholds = f"{', '.join(others)} and {last}"
        advice = (
            f"; {parameter('value')} selects a matrix, {parameter('fields')} columns of a table"
            if o.value is not None and o.format is None
            else ""
        )
        raise InputError(
            f"{thresholds} drop rows of a table of pairs; a matrix holds every pair, unless it is {parameter('format', 'csr')}{advice}"
        )
    if is_matrix and (options.between or options.within or options.read_options.columns.same):
        raise InputError(
            f"{parameter('between')}, {parameter('within')} and {parameter('same')} select rows of a table of pairs; a matrix holds every"
            f" pair, unless it is {parameter('format', 'csr')}"
        )
    if is_matrix and has_added:
        raise InputError(f"{parameter('add')} writes a list of pairs; a matrix needs one file or two")
    if o.value is not None and not (is_matrix or is_sparse):
        raise InputError(
            f"{parameter('value')} selects the values of a matrix, and {format} is not a matrix; write {parameter('format', 'matrix')},"
            " .npy, .npz, phylip or csr"
        )
    if layout is Layout.COUNTS:
        check_counts_thresholds(filter)
    if o.condensed:
        check_condensed(format, one_set and not options.with_self)
    value = o.value or ("distance" if format == "phylip" or edit else "score")
    if format == "phylip":
        if not one_set:
            raise InputError("phylip needs a square matrix of one file; for two files write a matrix or .npy")
        if value == "identity" or (value == "score" and not edit):
            raise InputError(f"phylip needs distances; found {parameter('value', value)}")
    picture = None
    if o.plot is not None:
        if not is_matrix:
            matrices = ", ".join(
                name for name in format_names(ResultKind.PAIRS) if FORMATS[name].layouts[ResultKind.PAIRS] in MATRIX_LAYOUTS
            )
            kind = "a sparse one" if is_sparse else "a table of records" if layout is Layout.COUNTS else "a table of pairs"
            raise InputError(f"{parameter('plot')} draws a matrix, and {format} is {kind}; write a matrix: {matrices}")
        from gpualign.jobs.plotting.output import check_plot

        picture = check_plot(o.plot)
    t = options.thresholds
    identity, distance = t.min_identity is not None, t.max_distance is not None
    coverage = None if filter.min_coverage is None else filter.coverage_of.field_name
    shown = default_fields(edit, identity, distance, options.strand == BOTH, coverage) if o.fields is None else o.fields
    parts = part_score_fields(options.read_options.columns.chain_names)
    if o.fields is None:
        shown = ",".join([shown, *(field.name for field in parts)])
    if parts:
        _check_joined_output(options, format, value, has_added)
    rows = select_row_format(format, path, parse_fields(shown, edit_distance=edit, parts=parts))
    pairing = Pairing.ABOVE_OR_EQUAL if options.with_self or (is_matrix and not o.condensed) else Pairing.ABOVE
    if t.nearest is not None:
        pairing = Pairing.ALL
    matrix_value = MatrixValueKind(value, options.identity_def, edit)
    return OutputSpec(o, apply_suffix_separator(format, path), path, layout, rows, filter, matrix_value, pairing, picture)


def _check_joined_output(options: NwOptions, format: str, value: str, has_added: bool) -> None:
    """Raise `InputError` for options of `nw` that do not go with pairs of cells that are near at two loci.

    format, value: format of the output, and value in the cells of a matrix
    has_added: as for `output_spec`
    """
    check_loci(options.read_options.columns, options.scoring, options.thresholds, options.strand)
    name = parameter("and", ",".join(options.read_options.columns.and_locus))
    if format not in _JOINED_FORMATS:
        raise InputError(f"{name} writes pairs of cells, which have no alignments; choose {', '.join(_JOINED_FORMATS)}; found {format}")
    for other, conflicts in {
        parameter("value", value): value == "identity",
        parameter("end_gaps", options.end_gaps): options.end_gaps != EndGaps.PENALISED.value,
        parameter("kernel", options.kernel): options.kernel != AUTO,
        parameter("add"): has_added,
        parameter("groups"): options.between or options.within,
        parameter("resume"): options.output_options.resume,
        parameter("shard"): options.output_options.shard is not None,
    }.items():
        if conflicts:
            raise InputError(f"{name} joins the pairs of two runs; it cannot be combined with {other}")


def check_counts_thresholds(filter: Filter) -> None:
    """Raise `InputError` if a filter has no threshold, so that every record would be a neighbour, or if it selects the nearest pairs."""
    counts = parameter("format", "counts")
    if filter.nearest_count is not None:
        raise InputError(f"{counts} counts the pairs within a threshold, and {parameter('nearest')} sets their number; give one of them")
    if replace(filter, one_set=False, groups=None) == Filter():
        *others, last = (parameter(name) for name in ("max_distance", "min_identity", "min_coverage", "min_score"))
        raise InputError(f"{counts} counts the pairs within a threshold, and without one every pair is; give {', '.join(others)} or {last}")


def write_every_pair(spec: OutputSpec, job: PairJob, sequence_count: int, dry_run: bool, reporter: RunReporter, threads: int) -> None:
    """Run a job and write all results; a dry run prints the plan instead.

    sequence_count: number of records, for the summary
    threads: threads for writing a matrix
    """
    task, picture = job.task, spec.plot_file
    if picture is not None:
        from gpualign.jobs.matrix_memory import DRAWING_USE, check_memory

        check_memory(DRAWING_USE, f"{parameter('plot')} {picture.path}", len(task.queries), len(task.targets))
    job_part = JobPart.for_job(job, len(task.queries), spec.options.shard, spec.path, spec.format, ResultKind.PAIRS)
    if dry_run:
        from gpualign.jobs.output.size_estimate import describe_pairs_size

        restricted, (start, stop) = job_part.restrict(job), job_part.span
        reporter.print_plan([*restricted.describe(), ("output", describe_pairs_size(spec, restricted, stop - start, reporter.line_width))])
        return
    report_unusual_names(spec.format, task, reporter.note)
    with OutputFiles(reporter.note) as files:
        with translate_output_errors(job_part.path):
            resume_policy = None
            if not job.is_joined:
                resume_policy = resume_policy_of_task(reporter.invocation, spec.options.resume, task, spec.filter.groups)
            session = job_part.open(files, resume_policy, reporter.note, picture.path if picture else None)
            if session is None:
                reporter.run_summary.write(files, None, {})
                return
            rest = session.restrict(job)
            if spec.is_counts:
                rest = rest.counting_neighbours()
            with _open_sink(spec, job, session, threads, reporter.line_width) as sink:

                def counts() -> Mapping[str, int]:
                    return {} if sink.passed_pairs is None else {"pairs_kept": sink.passed_pairs}

                before = session.checkpoints.register_counts_function(counts)
                with reporter.progress(rest.total_work, job_part.path, job.work_unit) as progress:
                    results, totals = rest.run(progress)
                    totals.seconds = write_results(sink, rest.plan, results, session.checkpoints, reporter.stages.within)
            kept = {name: count + before.get(name, 0) for name, count in counts().items()}
        if picture is not None:
            from gpualign.jobs.plotting.heatmap import heatmap_of_alignments
            from gpualign.jobs.plotting.output import write_plot

            values = cast("MatrixSink[Plan, BandResults]", sink).arrays[0].values
            with translate_output_errors(picture.path):
                write_plot(files.open(picture.path), picture, heatmap_of_alignments(values, task, spec.value), reporter)
        reporter.run_summary.record_resolved(scoring=task.scoring.name)
        earlier = session.earlier_pairs_and_work(job, rest)
        reporter.run_summary.write(
            files, (job.hardware, job.kernel), {"sequences": sequence_count, **kept, **totals.summary_with_earlier(*earlier)}
        )
    by_thresholds = replace(spec.filter, groups=None) != Filter()  # with groups alone every counted pair is kept
    passed_pairs = kept.get("pairs_kept") if by_thresholds else None
    reporter.report_alignments(sequence_count, totals, job.hardware, passed_pairs=passed_pairs, earlier_pairs=earlier[0])


@contextmanager
def _open_sink(
    spec: OutputSpec, job: PairJob, session: OutputSession, threads: int, line_width: Callable[[Path | None], int]
) -> Iterator[AnySink]:
    """Open the output, and yield a sink for the results. The output is finished when the body ends without an error.

    line_width: returns the width, in characters, of human-readable lines written to a given output
    """
    task, files = job.task, session.files
    if spec.is_matrix:
        from gpualign.core.output.matrix import CondensedSink, MatrixSink
        from gpualign.jobs.output.matrices import open_matrices

        with open_matrices(spec.matrices, files, task.queries, task.targets, threads, session.part_file) as makes:
            sink = CondensedSink if spec.options.condensed else MatrixSink
            yield sink(ValueMatrix(task, spec.value), makes, session.row_range, threads)
    elif spec.is_sparse:
        from gpualign.core.output.sparse import CsrSink, stored_dtype
        from gpualign.jobs.output.matrices import open_sparse_spools

        dtype = stored_dtype(spec.value.dtype(task), task)
        with open_sparse_spools(spec.path, files, task.queries, task.targets, dtype, session.part_file) as spools:
            yield CsrSink(spools, task, spec.value, spec.filter)
    elif spec.is_counts:
        from gpualign.core.output.neighbour_counts import NeighbourCountsSink

        one_set, separator = job.plan.pairing is not Pairing.ALL, separator_of(spec.format, spec.path)
        with session.open_text() as text:
            yield NeighbourCountsSink(text, task, one_set, separator, spec.filter, spec.value.identity_definition, job.text_threads)
    else:
        with open_row_sink(
            session, task, spec.row_format, line_width, spec.filter, spec.value.identity_definition, job.text_threads
        ) as rows:
            yield rows
