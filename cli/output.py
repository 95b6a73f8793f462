"""Where and in which format a command's results go, decided before any work is done."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from gpualign.cli.files import STDIO, OutputFiles, naming_output
from gpualign.core.engine import Task
from gpualign.core.errors import InputError
from gpualign.core.fields import DEFAULT_FIELDS, Field, parse_fields
from gpualign.core.runner import Totals
from gpualign.core.sinks.base import Sink

FORMATS = ("tsv", "matrix", "npy", "npz")
_SUFFIXES = {".tsv": "tsv", ".tsv.gz": "tsv", ".npy": "npy", ".npz": "npz"}


@dataclass(frozen=True)
class OutputSpec:
    """format: one of `FORMATS`; path None is standard output; fields and thresholds are for "tsv"."""

    format: str
    path: Path | None
    fields: list[Field]
    keep_from: int | None
    keep_to: int | None

    @property
    def is_matrix(self) -> bool:
        return self.format != "tsv"


def output_spec(output: str, format: str | None, fields: str | None, keep_from: int | None, keep_to: int | None) -> OutputSpec:
    """Check what the user asked for. Raises `InputError` for contradictions and unknown suffixes."""
    path = None if output == STDIO else Path(output)
    if format is None and path is not None:
        matching = [f for suffix, f in _SUFFIXES.items() if path.name.lower().endswith(suffix)]
        regular = not path.exists() or path.is_file()
        if not matching and regular:
            raise InputError(f"-o {output}: the name does not tell the format; end it in {', '.join(_SUFFIXES)}, or give --format")
        format = matching[0] if matching else "tsv"
    spec = OutputSpec(format or "tsv", path, parse_fields(fields or DEFAULT_FIELDS), keep_from, keep_to)
    if spec.format in ("npy", "npz") and path is None:
        raise InputError(f"--format {spec.format} cannot go to standard output; name a file with -o")
    if spec.is_matrix:
        if fields is not None:
            raise InputError("--fields chooses columns of the table of pairs; it does not go with a matrix")
        if keep_from is not None or keep_to is not None:
            raise InputError("--min-score and --max-distance drop rows of the table of pairs; a matrix holds every pair")
    return spec


def write_results(spec: OutputSpec, task: Task, files: OutputFiles, run: Callable[[Sink], Totals]) -> Totals:
    """Call `run` with the sink for `spec`, then finish the output. The caller's `files` makes all of it appear, or nothing."""
    with naming_output(spec.path):
        return _write(spec, task, files, run)


def _write(spec: OutputSpec, task: Task, files: OutputFiles, run: Callable[[Sink], Totals]) -> Totals:
    from gpualign.core.sinks.matrix import MatrixSink, id_lists, write_ids, write_matrix_text, write_npz
    from gpualign.core.sinks.table import TableSink

    if spec.format == "tsv":
        with files.text(spec.path) as writer:
            return run(TableSink(writer, task, spec.fields, spec.keep_from, spec.keep_to))
    if spec.format == "matrix":
        with files.text(spec.path) as writer:
            sink = MatrixSink(files.scratch(spec.path), task)
            totals = run(sink)
            write_matrix_text(writer, sink.matrix.scores, task)
        return totals
    assert spec.path is not None  # output_spec() refuses binary formats on standard output
    if spec.format == "npz":
        npz = files.open(spec.path)
        sink = MatrixSink(files.scratch(spec.path), task)
        totals = run(sink)
        write_npz(npz, sink.matrix.file, task)
        return totals
    npy = files.open(spec.path)
    lists = [(files.open(spec.path.with_name(f"{spec.path.stem}.{name}.txt")), ids) for name, ids in id_lists(task).items()]
    totals = run(MatrixSink(npy, task))
    for file, sequences in lists:
        write_ids(file, sequences)
    return totals
