"""Where and in which format a command's results go, decided before any work is done."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy.typing as npt

from gpualign.cli.files import OutputFiles, naming_output
from gpualign.cli.formats import ARRAYS, open_id_lists, pick_format
from gpualign.cli.messages import Messages
from gpualign.cli.options import PAIR_FORMATS
from gpualign.cli.plans import Run, count_sequences, print_plan
from gpualign.cli.sizes import terminal_width
from gpualign.core.engine import Detail, Task
from gpualign.core.errors import InputError
from gpualign.core.fields import DEFAULT_FIELDS, parse_fields
from gpualign.core.formats.base import RowFormat
from gpualign.core.formats.fasta import AlignedFasta
from gpualign.core.formats.m8 import M8
from gpualign.core.formats.paf import Paf
from gpualign.core.formats.sam import Sam
from gpualign.core.formats.tsv import Tsv
from gpualign.core.plan import Plan
from gpualign.core.runner import Totals, run_plan
from gpualign.core.sinks.base import Sink
from gpualign.core.sinks.matrix import Value
from gpualign.core.sinks.pairs import Filter

if TYPE_CHECKING:
    from gpualign.cli.plots import Picture

_MATRICES = ("matrix", "npy", "npz", "phylip")


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


@dataclass(frozen=True)
class OutputSpec:
    """path None is standard output; rows and filter are for formats of pairs, value, condensed and picture for matrices."""

    format: str
    path: Path | None
    rows: RowFormat | None
    filter: Filter
    value: Value
    condensed: bool
    picture: Picture | None = None

    @property
    def is_matrix(self) -> bool:
        return self.format in _MATRICES

    @property
    def detail(self) -> Detail:
        """What of each alignment is written, or decides what is."""
        if self.is_matrix:
            return self.value.detail
        if self.format == "aln":
            return Detail.PATH
        assert self.rows is not None
        return Detail.STATISTICS if self.filter.by_identity and self.rows.detail is Detail.SCORE else self.rows.detail


def check_identity(least: float | None) -> None:
    """Raises `InputError` for a --min-identity that is no fraction."""
    if least is not None and not 0 <= least <= 1:
        raise InputError(f"--min-identity is a fraction from 0 to 1; found {least:g} (97 % is 0.97)")


def _filter(o: OutputOptions, edit: bool) -> Filter:
    if o.min_score is not None and edit:
        raise InputError("--min-score does not go with --edit; for distances there is --max-distance")
    check_identity(o.min_identity)
    if o.max_distance is None:
        return Filter(o.min_score, None, o.min_identity)
    if edit:
        if o.max_distance != int(o.max_distance) or o.max_distance < 0:
            raise InputError(f"--max-distance: edit distances are whole numbers from 0 on; found {o.max_distance:g}")
        return Filter(None, int(o.max_distance), o.min_identity)
    if not 0 <= o.max_distance <= 1:
        raise InputError(
            f"--max-distance is 1 - identity, from 0 to 1, unless --edit counts letters; found {o.max_distance:g} (3 % is 0.03)"
        )
    return Filter(o.min_score, None, o.min_identity, o.max_distance)


def output_spec(o: OutputOptions, edit: bool, one_set: bool, with_self: bool) -> OutputSpec:
    """Check what the user asked for. Raises `InputError` for contradictions and unknown suffixes."""
    format, path = pick_format(o.output, o.format, PAIR_FORMATS)
    if o.fields is not None and format != "tsv":
        raise InputError(f"--fields chooses the columns of tsv; it does not go with {format}")
    filter = _filter(o, edit)
    if format in _MATRICES and filter != Filter():
        raise InputError("--min-score, --min-identity and --max-distance drop rows of a table of pairs; a matrix holds every pair")
    if format not in _MATRICES and o.value is not None:
        raise InputError(f"--value chooses what a matrix holds; it does not go with {format}, for which there is --fields")
    if o.condensed:
        if format not in ARRAYS:
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
    if o.plot is not None and format not in _MATRICES:
        raise InputError(f"--plot draws a matrix, and {format} is a table of pairs; write a matrix: {', '.join(_MATRICES)}")
    picture = None
    if o.plot is not None:
        from gpualign.cli.plots import check_plot

        picture = check_plot(o.plot)
    rows: dict[str, Callable[[], RowFormat]] = {
        "tsv": lambda: Tsv(parse_fields(o.fields or DEFAULT_FIELDS)),
        "m8": M8,
        "paf": Paf,
        "sam": Sam,
        "fasta": AlignedFasta,
    }
    row_format = rows[format]() if format in rows else None
    return OutputSpec(format, path, row_format, filter, Value(value, o.identity_definition), o.condensed, picture)


def write_results(spec: OutputSpec, task: Task, files: OutputFiles, run: Callable[[Sink], Totals], messages: Messages) -> Totals:
    """Call `run` with the sink for `spec`, then finish the output. The caller's `files` makes all of it appear, or nothing."""
    with naming_output(spec.path):
        if not spec.is_matrix:
            return _write_pairs(spec, task, files, run)
        totals, values = _write_matrix(spec, task, files, run)
    if spec.picture is not None:
        from gpualign.cli.heatmaps import of_alignments
        from gpualign.cli.plots import write_plot

        write_plot(spec.picture, of_alignments(values, task, spec.value), files, messages)
    return totals


def write_every_pair(spec: OutputSpec, task: Task, plan: Plan, run: Run, memory: int) -> None:
    """Carry out a plan with `memory` beside the sequences and write all that it computes; a dry run prints the plan instead."""
    if run.dry_run:
        print_plan(plan, task, run.engine, memory)
        return

    def compute(sink: Sink) -> Totals:
        with run.messages.progress(plan.cells, spec.path) as progress:
            return run_plan(plan, task, run.engine, sink, memory, progress)

    with OutputFiles(run.messages.note) as files:
        totals = write_results(spec, task, files, compute, run.messages)
    run.messages.summary(count_sequences(task), totals, run.engine.describe())


def _write_pairs(spec: OutputSpec, task: Task, files: OutputFiles, run: Callable[[Sink], Totals]) -> Totals:
    from gpualign.core.sinks.blocks import BlocksSink
    from gpualign.core.sinks.table import TableSink

    definition = spec.value.identity_definition
    with files.text(spec.path) as writer:
        if spec.rows is None:
            return run(BlocksSink(writer, task, terminal_width(spec.path), spec.filter, definition))
        return run(TableSink(writer, task, spec.rows, spec.filter, definition))


def _write_matrix(spec: OutputSpec, task: Task, files: OutputFiles, run: Callable[[Sink], Totals]) -> tuple[Totals, npt.NDArray[Any]]:
    """(totals, the matrix or condensed matrix that was written)."""
    from gpualign.core.sinks.matrix import CondensedSink, MatrixSink
    from gpualign.core.sinks.matrix_files import write_ids, write_matrix_text, write_npz, write_phylip

    make_sink = CondensedSink if spec.condensed else MatrixSink
    if spec.format not in ARRAYS:
        with files.text(spec.path) as writer:
            sink = MatrixSink(files.scratch(spec.path), task, spec.value)
            totals = run(sink)
            if spec.format == "phylip":
                write_phylip(writer, sink.matrix.values, task.queries)
            else:
                write_matrix_text(writer, sink.matrix.values, task.queries, task.targets)
        return totals, sink.matrix.values
    assert spec.path is not None  # output_spec() refuses binary formats on standard output
    if spec.format == "npz":
        npz = files.open(spec.path)
        packed = make_sink(files.scratch(spec.path), task, spec.value)
        totals = run(packed)
        write_npz(npz, {spec.value.array_name: packed.matrix.file}, task.queries, task.targets)
        return totals, packed.matrix.values
    npy = files.open(spec.path)
    lists = open_id_lists(files, spec.path, task.queries, task.targets)
    array = make_sink(npy, task, spec.value)
    totals = run(array)
    for file, sequences in lists:
        write_ids(file, sequences)
    return totals, array.matrix.values
