"""Writes the hits of a search. The selection of hits and the format are decided before any work is done."""

from __future__ import annotations

from gpualign.core.alignment.task import Detail
from gpualign.core.common.dataclass import dataclass
from gpualign.core.common.errors import InputError, parameter
from gpualign.core.common.parameter_fractions import check_fraction
from gpualign.core.output.formats.registry import FORMATS, Results, formats_of
from gpualign.core.results.columns import hit_fields, parse_fields
from gpualign.jobs.output.atomic_files import OutputFiles, naming_output
from gpualign.jobs.output.format_selection import check_fields, opened_rows, pick_format, report_unusual_names, rows_of
from gpualign.jobs.output.query_range import QueryRange
from gpualign.jobs.output.run_identity import check_resume, resume_policy_of_task
from gpualign.jobs.output.run_reporter import RunReporter
from gpualign.jobs.output.shards import Shard, check_shard
from gpualign.jobs.output.specs import HitSpec
from gpualign.jobs.sw import SearchJob


@dataclass(frozen=True)
class HitOptions:
    """Options of a hit output, as given by the user; None: not given."""

    output: str
    format: str | None = None
    fields: str | None = None
    identity_definition: int = 2
    max_hits: int | None = None
    min_score: int | None = None
    max_evalue: float | None = None
    min_identity: float | None = None
    evalue: str | None = None
    no_traceback: bool = False
    mask: str | None = None
    resume: bool = False
    shard: Shard | None = None
    translate: str | None = None


def hit_spec(o: HitOptions) -> HitSpec:
    """Return the requested output. Raises `InputError` for contradictory options and unknown suffixes."""
    if o.format is not None and o.format not in formats_of(Results.HITS):
        raise InputError(f"{parameter('format', o.format)} is a matrix of all pairs; give {parameter('all')} too")
    format, path = pick_format(o.output, o.format, Results.HITS)
    if o.translate is not None and format == "sam":
        raise InputError(
            f"SAM cannot hold alignments of translations; with {parameter('translate')} write paf, which counts as miniprot does, or m8"
        )
    check_fields(o.fields, format)
    check_resume(o.resume, path, format, Results.HITS)
    check_shard(o.shard, path, format, Results.HITS)
    check_fraction("min_identity", o.min_identity)
    if o.max_evalue is not None and (o.evalue == "none" or not o.max_evalue >= 0):
        raise InputError(
            f"{parameter('max_evalue')} needs E-values"
            if o.evalue == "none"
            else f"{parameter('max_evalue')}: expected 0 or more; found {o.max_evalue:g}"
        )
    fields = parse_fields(hit_fields(not o.no_traceback, o.translate is not None) if o.fields is None else o.fields, allow_hits_only=True)
    rows = rows_of(format, path, fields)
    if o.no_traceback:
        if o.min_identity is not None:
            raise InputError(f"{parameter('min_identity')} needs alignments; it cannot be combined with {parameter('no_traceback')}")
        if rows is None or rows.detail is not Detail.SCORE:
            what = ", ".join(f.name for f in fields if f.detail is not Detail.SCORE) if FORMATS[format].has_fields else f"format {format}"
            raise InputError(f"{parameter('no_traceback')} leaves out the alignments, which {what} needs")
    traced = rows is None or rows.detail is not Detail.SCORE or o.min_identity is not None
    return HitSpec(path, rows, traced, format, o.resume, o.shard)


def write_hits(spec: HitSpec, job: SearchJob, dry_run: bool, messages: RunReporter) -> None:
    """Run a search and write the hits; a dry run prints the plan instead."""
    query_range = QueryRange.of(job, len(job.task.queries), spec.shard, spec.path, spec.format, Results.HITS)
    if dry_run:
        from gpualign.jobs.output.size_estimate import expected_hits

        messages.plan([*query_range.restrict(job).describe(), ("output", expected_hits(spec, job, query_range.span, messages.line_width))])
        return
    report_unusual_names(spec.format, job.task, messages.note)
    with OutputFiles(messages.note) as files, naming_output(query_range.path):
        session = query_range.open(files, resume_policy_of_task(messages.invocation, spec.resume, job.task), messages.note)
        if session is None:
            messages.run_summary.write(files, None, {})
            return
        rest = session.remaining(job)
        with (
            opened_rows(session, job.task, spec.rows, messages.line_width) as (report, checkpoints),
            messages.progress(rest.work, query_range.path, job.unit) as progress,
        ):
            totals = rest.run(messages.stages.timed(report), progress, checkpoints)
        messages.run_summary.resolve(scoring=job.task.scoring.name)
        earlier = session.done_before(job, rest)
        messages.run_summary.write(files, (job.hardware, job.kernel), {"sequences": job.sequences, **totals.with_earlier(*earlier)})
    messages.summary(job.sequences, totals, job.hardware, totals.hits, earlier=earlier[0])
