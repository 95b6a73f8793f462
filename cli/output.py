"""Where and in which format a command's results go, decided before any work is done."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy.typing as npt

from gpualign.cli.files import OutputFiles, naming_output
from gpualign.cli.formats import Rows, check_fields, open_id_lists, opened_rows, pick_format, rows_of
from gpualign.cli.keeping import Keeping, can_resume, check_resume, keeping_of_task
from gpualign.cli.messages import Messages, print_plan
from gpualign.core.dataclass import dataclass
from gpualign.core.engine import Detail, Task
from gpualign.core.errors import InputError
from gpualign.core.fields import DEFAULT_FIELDS, parse_fields
from gpualign.core.filter import Filter
from gpualign.core.formats.registry import FORMATS, Labels, Layout, Results, formats_of
from gpualign.core.plan import Plan
from gpualign.core.road import Marks, Sink, Totals
from gpualign.core.sinks.matrix import Value
from gpualign.jobs.pairs import PairsJob

if TYPE_CHECKING:
    from gpualign.cli.plots import Picture
    from gpualign.jobs.near import NearJob

Run = Callable[[Sink[Plan, Any]], Totals]
"""Carries out a job with a sink."""


@dataclass(frozen=True)
class OutputOptions:
    """What a user asked for; None = not given."""

    output: str
    format: str | None = None
    fields: str | None = None
    identity_definition: int = 2
    min_score: int | None = None
    min_identity: float | None = None
    max_distance: float | None = None
    value: str | None = None
    condensed: bool = False
    plot: str | None = None
    min_coverage: float | None = None
    nearest: int | None = None
    resume: bool = False


@dataclass(frozen=True)
class OutputSpec:
    """path None is standard output; rows and filter are for formats of pairs, value, condensed and picture for matrices; of a sparse one
    filter and value."""

    format: str
    path: Path | None
    rows: Rows | None
    filter: Filter
    value: Value
    condensed: bool
    picture: Picture | None = None

    @property
    def is_matrix(self) -> bool:
        return _is_matrix(self.format)

    @property
    def is_sparse(self) -> bool:
        return _is_sparse(self.format)

    @property
    def detail(self) -> Detail:
        """What of each alignment is written, or decides what is."""
        of_rows = Detail.PATH if self.rows is None else self.rows.detail
        written = self.value.detail if self.is_matrix or self.is_sparse else of_rows
        return Detail.STATISTICS if self.filter.by_statistics and written is Detail.SCORE else written


def _is_matrix(format: str) -> bool:
    return FORMATS[format].layouts[Results.PAIRS] in (Layout.MATRIX, Layout.ARRAY)


def _is_sparse(format: str) -> bool:
    return FORMATS[format].layouts[Results.PAIRS] is Layout.SPARSE


def check_fraction(option: str, least: float | None) -> None:
    """Raises `InputError` for a threshold that is no fraction."""
    if least is not None and not 0 <= least <= 1:
        raise InputError(f"{option} is a fraction from 0 to 1; found {least:g} (97 % is 0.97)")


def _filter(o: OutputOptions, edit: bool, same: bool) -> Filter:
    if o.min_score is not None and edit:
        raise InputError("--min-score does not go with --edit; for distances there is --max-distance")
    check_fraction("--min-identity", o.min_identity)
    check_fraction("--min-coverage", o.min_coverage)
    most_edits = most_distance = None
    if o.max_distance is not None and edit:
        if o.max_distance != int(o.max_distance) or o.max_distance < 0:
            raise InputError(f"--max-distance: edit distances are whole numbers from 0 on; found {o.max_distance:g}")
        most_edits = int(o.max_distance)
    elif o.max_distance is not None:
        if not 0 <= o.max_distance <= 1:
            raise InputError(
                f"--max-distance is 1 - identity, from 0 to 1, unless --edit counts letters; found {o.max_distance:g} (3 % is 0.03)"
            )
        most_distance = o.max_distance
    return Filter(o.min_score, most_edits, o.min_identity, most_distance, o.min_coverage, o.nearest, same and o.nearest is not None)


def output_spec(o: OutputOptions, edit: bool, one_set: bool, with_self: bool, added: bool = False) -> OutputSpec:
    """Check what the user asked for. added: the queries are the first of the targets, others follow.

    Raises `InputError` for contradictions and unknown suffixes.
    """
    format, path = pick_format(o.output, o.format, Results.PAIRS)
    check_fields(o.fields, format)
    check_resume(o.resume, path, format, Results.PAIRS)
    filter = _filter(o, edit, one_set or added)
    if _is_matrix(format) and filter != Filter():
        thresholds = "--min-score, --min-identity, --min-coverage, --max-distance and --nearest"
        raise InputError(f"{thresholds} drop rows of a table of pairs; a matrix holds every pair, unless it is csr")
    if _is_matrix(format) and added:
        raise InputError("--add makes a list of pairs; a matrix is of one file or of two")
    if o.value is not None and not (_is_matrix(format) or _is_sparse(format)):
        raise InputError(f"--value chooses what a matrix holds; it does not go with {format}, for which there is --fields")
    if o.condensed:
        if not FORMATS[format].is_array:
            raise InputError(f"--condensed is for .npy and .npz; it does not go with {format}")
        if not one_set or with_self:
            raise InputError(
                "--condensed holds the pairs of one file, each record with each later one; it goes with neither two files nor --self"
            )
    value = o.value or ("distance" if format == "phylip" and not edit else "score")
    if format == "phylip":
        if not one_set:
            raise InputError("phylip is a square matrix of one file; for two files write a matrix or .npy")
        if value == "identity" or (value == "score" and not edit):
            raise InputError(f"phylip holds distances; --value {value} is none")
    if o.plot is not None and not _is_matrix(format):
        matrices = ", ".join(name for name in formats_of(Results.PAIRS) if _is_matrix(name))
        kind = "a sparse one" if _is_sparse(format) else "a table of pairs"
        raise InputError(f"--plot draws a matrix, and {format} is {kind}; write a matrix: {matrices}")
    picture = None
    if o.plot is not None:
        from gpualign.cli.plots import check_plot

        picture = check_plot(o.plot)
    rows = rows_of(format, path, parse_fields(o.fields or DEFAULT_FIELDS))
    return OutputSpec(format, path, rows, filter, Value(value, o.identity_definition), o.condensed, picture)


def write_every_pair(
    spec: OutputSpec,
    job: PairsJob | NearJob,
    sequences: int,
    dry_run: bool,
    messages: Messages,
    threads: int,
    resume: bool = False,
) -> None:
    """Carry out a job, which is of so many records, and write all that it computes; a dry run prints the plan instead. threads: that write
    a matrix. resume: go on with what an earlier run has left."""
    if dry_run:
        print_plan(job.describe())
        return
    with OutputFiles(messages.note) as files:
        with naming_output(spec.path):
            marks = files.resumable(spec.path, _keeping(spec, job, resume))
            rest = job.part(done, len(job.task.queries)) if (done := files.rows_done) else job
            totals, values = _write(spec, rest, files, marks, messages, threads)
        if spec.picture is not None and values is not None:
            from gpualign.cli.heatmaps import of_alignments
            from gpualign.cli.plots import write_plot

            write_plot(spec.picture, of_alignments(values, job.task, spec.value), files, messages)
    if isinstance(job, PairsJob):
        messages.summary(sequences, totals, job.hardware)
    else:
        from gpualign.jobs.near import NearTotals

        assert isinstance(totals, NearTotals)
        messages.near_summary(sequences, totals, job.hardware)


def _keeping(spec: OutputSpec, job: PairsJob | NearJob, resume: bool) -> Keeping | None:
    if not can_resume(spec.format, Results.PAIRS):
        return None
    return keeping_of_task(resume, job.task)


def _write(
    spec: OutputSpec, job: PairsJob | NearJob, files: OutputFiles, marks: Marks, messages: Messages, threads: int
) -> tuple[Totals, npt.NDArray[Any] | None]:
    """(totals, the matrix or condensed matrix that was written; None for rows). `files` makes all of the output appear, or nothing."""

    def run(sink: Sink[Plan, Any]) -> Totals:
        unit = ("cells", "GCUPS") if isinstance(job, PairsJob) else ("pairs", "G pairs/s")
        with messages.progress(job.work, spec.path, *unit) as progress:
            return job.run(sink, progress, marks)

    if spec.is_matrix:
        return _write_matrix(spec, job.task, files, run, threads)
    if spec.is_sparse:
        return _write_sparse(spec, job.task, files, run), None
    definition = spec.value.identity_definition
    with opened_rows(files, spec.path, job.task, spec.rows, spec.filter, definition, job.text_threads) as sink:
        return run(sink), None


def _write_sparse(spec: OutputSpec, task: Task, files: OutputFiles, run: Run) -> Totals:
    from gpualign.core.sinks.csr import SPOOLS, CsrSink

    assert spec.path is not None  # output_spec() refuses it on standard output
    counts, indices, data = (files.spool(name, spec.path) for name in SPOOLS)
    return run(CsrSink(files.open(spec.path), (counts, indices, data), task, spec.value, spec.filter))


def _write_matrix(spec: OutputSpec, task: Task, files: OutputFiles, run: Run, threads: int) -> tuple[Totals, npt.NDArray[Any]]:
    """(totals, the matrix or condensed matrix that was written)."""
    from gpualign.core.sinks.matrix import CondensedSink, MatrixSink
    from gpualign.core.sinks.matrix_files import DECIMALS, ArrayMaker, write_ids, write_npz

    name = spec.value.array_name

    def fill(make: ArrayMaker) -> tuple[Totals, npt.NDArray[Any]]:
        sink = CondensedSink(make, task, spec.value) if spec.condensed else MatrixSink(make, task, spec.value, threads)
        totals = run(sink)
        return totals, sink.matrix.values

    if write_text := FORMATS[spec.format].matrix:
        with files.text(spec.path) as writer:
            totals, values = fill(files.array(name, None, spec.path)[0])
            write_text(writer, values, Labels(task.queries, task.targets, spec.value.name, DECIMALS))
        return totals, values
    assert spec.path is not None  # output_spec() refuses binary formats on standard output
    if spec.format == "npz":
        npz, (make, npy) = files.open(spec.path), files.array(name, None, spec.path)
        totals, values = fill(make)
        write_npz(npz, {name: npy}, task.queries, task.targets)
        return totals, values
    make, _ = files.array("", spec.path, None)
    lists = open_id_lists(files, spec.path, task.queries, task.targets)
    totals, values = fill(make)
    for file, sequences in lists:
        write_ids(file, sequences)
    return totals, values
