"""Writes the hits of a search. The selection of hits and the format are decided before any work is done."""

from __future__ import annotations

from collections.abc import Collection

from gpualign.core.alignment.task import Detail
from gpualign.core.common.errors import InputError, parameter
from gpualign.core.output.formats.registry import FORMATS, ResultKind, format_names
from gpualign.core.results.columns import hit_fields, parse_fields
from gpualign.jobs.output.atomic_files import OutputFiles, translate_output_errors
from gpualign.jobs.output.format_selection import open_row_sink, pick_output, report_unusual_names, select_row_format
from gpualign.jobs.output.job_part import JobPart
from gpualign.jobs.output.result_writing import write_results
from gpualign.jobs.output.run_identity import resume_policy_of_task
from gpualign.jobs.output.run_reporter import RunReporter
from gpualign.jobs.output.specs import HitSpec
from gpualign.jobs.sw import SearchJob, SwOptions, describe_suppressed


def hit_spec(options: SwOptions, one_set: bool, annotations: Collection[str] = ()) -> HitSpec:
    """Return the specification of the requested output, after checking it and the other options of the run. annotations: names of fields
    from a table.

    Raises `InputError` for contradictory options and unknown suffixes.
    """
    o = options.output_options
    if o.format is not None and o.format not in format_names(ResultKind.HITS):
        raise InputError(f"{parameter('format', o.format)} is a matrix of all pairs; give {parameter('all')} too")
    format, path = pick_output(o, ResultKind.HITS)
    if options.translate is not None and format == "sam":
        raise InputError(f"SAM cannot hold alignments of translations; with {parameter('translate')} write paf or m8")
    options.make_hit_filter(one_set)
    traceback = not options.no_traceback
    shown = hit_fields(traceback, options.translate is not None, options.max_hsps > 1) if o.fields is None else o.fields
    fields = parse_fields(shown, allow_hits_only=True, annotations=annotations)
    rows = select_row_format(format, path, fields)
    traced = rows is None or rows.alignment_detail is not Detail.SCORE
    if traced and not traceback:
        what = ", ".join(f.name for f in fields if f.detail is not Detail.SCORE) if FORMATS[format].has_fields else f"format {format}"
        raise InputError(f"{parameter('no_traceback')} leaves out the alignments, which {what} needs")
    return HitSpec(o, format, path, rows, traced or options.min_identity is not None)


def write_hits(spec: HitSpec, job: SearchJob, dry_run: bool, reporter: RunReporter) -> None:
    """Run a search and write the hits; a dry run prints the plan instead."""
    job_part = JobPart.for_job(job, len(job.task.queries), spec.options.shard, spec.path, spec.format, ResultKind.HITS)
    if dry_run:
        from gpualign.jobs.output.size_estimate import describe_hits_size

        reporter.print_plan(
            [*job_part.restrict(job).describe(), ("output", describe_hits_size(spec, job, job_part.span, reporter.line_width))]
        )
        return
    report_unusual_names(spec.format, job.task, reporter.note)
    with OutputFiles(reporter.note) as files, translate_output_errors(job_part.path):
        session = job_part.open(files, resume_policy_of_task(reporter.invocation, spec.options.resume, job.task), reporter.note)
        if session is None:
            reporter.run_summary.write(files, None, {})
            return
        rest = session.restrict(job)
        with (
            open_row_sink(session, job.task, spec.row_format, reporter.line_width) as report,
            reporter.progress(rest.total_work, job_part.path, job.work_unit) as progress,
        ):
            results, totals = rest.run(progress)
            before = session.checkpoints.register_counts_function(lambda: totals.counts)
            plan, is_checked = rest.search_plan.plan, rest.search_plan.index_check is None
            totals.seconds = write_results(report, plan, results, session.checkpoints, reporter.stages.within, not is_checked)
            totals.add_earlier(before)
            if totals.suppressed.query_count:
                reporter.note(describe_suppressed(totals.suppressed, job.options, len(job.task.queries)))
        reporter.run_summary.record_resolved(scoring=job.task.scoring.name)
        earlier = session.earlier_pairs_and_work(job, rest)
        reporter.run_summary.write(
            files, (job.hardware, job.kernel), {"sequences": job.sequence_count, **totals.summary_with_earlier(*earlier)}
        )
    reporter.report_alignments(job.sequence_count, totals, job.hardware, totals.hit_count, earlier_pairs=earlier[0])
