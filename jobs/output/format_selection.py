"""Selects the output format, as requested or according to the file name, and the files that accompany arrays."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from gpualign.core.alignment.identity import DEFAULT_DEFINITION
from gpualign.core.common.errors import InputError, parameter
from gpualign.core.common.suggestions import did_you_mean
from gpualign.core.output.formats.registry import FORMATS, Layout, ResultKind, format_names
from gpualign.jobs.output.atomic_files import check_uncompressed, is_file_name, output_path
from gpualign.jobs.output.run_identity import check_resumable

if TYPE_CHECKING:
    from gpualign.core.alignment.task import Task
    from gpualign.core.output.formats.typed import AnyRowFormat
    from gpualign.core.output.pairs import PairsSink
    from gpualign.core.output.writer import ByteWriter
    from gpualign.core.results.columns import Field
    from gpualign.core.results.filter import Filter
    from gpualign.jobs.options import OutputOptions
    from gpualign.jobs.output.job_part import OutputSession


def pick_format(
    output: str, format: str | None, results: ResultKind, option: str = "-o", unadvised: Container[str] = ()
) -> tuple[str, Path | None]:
    """Return (format, path) for an output of these results; path None: standard output.

    option: name of the option that gave `output`, for messages
    unadvised: formats that the caller refuses, so that messages do not suggest them

    Raises `InputError` if neither the name nor `format` determines the format, or if the format cannot go to standard output.
    """
    path = output_path(output)
    suffixes = {suffix: FORMATS[name] for name in format_names(results) for suffix in FORMATS[name].suffixes}
    if format is not None or path is None:
        chosen = format or "tsv"
    else:
        name = path.name.lower()
        matching = [f.name for suffix, f in suffixes.items() if name.endswith(suffix) or (f.is_text and name.endswith(f"{suffix}.gz"))]
        if not matching and is_file_name(path):
            advised = [suffix for suffix, format in suffixes.items() if format.name not in unadvised]
            advice = f", or give {parameter('format')}" if option == "-o" else ""
            raise InputError(
                f"{option} {output}: the name does not determine the format; end it in {', '.join(advised)} (text also .gz)"
                f"{advice}{did_you_mean(Path(name.removesuffix('.gz')).suffix, advised)}"
            )
        chosen = matching[0] if matching else "tsv"
    if not FORMATS[chosen].is_text:
        check_uncompressed(path, chosen)
    if FORMATS[chosen].needs_file and path is None:
        raise InputError(f"{parameter('format', chosen)} cannot go to standard output; name a file with -o")
    return chosen, path


def pick_output(o: OutputOptions, results: ResultKind) -> tuple[str, Path | None]:
    """Return (format, path), as `pick_format` does. Also raises `InputError` if the other options cannot be combined with the format."""
    format, path = pick_format(o.output, o.format, results)
    if o.fields is not None and not FORMATS[format].has_fields:
        *some, last = (name for name, one in FORMATS.items() if one.has_fields)
        raise InputError(f"{parameter('fields')} chooses the columns of {', '.join(some)} and {last}; it cannot be combined with {format}")
    has_folder = path is None or is_file_name(path) or path.is_dir()  # not a device, beside which a part file would land
    check_resumable(o, path if has_folder or o.shard is None else None, format, results)
    return format, path


def apply_suffix_separator(format: str, path: Path | None) -> str:
    """Return `csv` for a `matrix` whose file name ends in .csv, because `matrix` allows both tabs and commas; otherwise `format`."""
    return "csv" if format == "matrix" and _is_csv(path) else format


def separator_of(format: str, path: Path | None) -> str:
    """Return the column separator of a table, as defined by the format or, for `molten`, `counts` and `microreact`, implied by the file
    name."""
    return "," if format in ("molten", "counts", "microreact") and _is_csv(path) else FORMATS[format].pair_list_separator or "\t"


def _is_csv(path: Path | None) -> bool:
    return path is not None and path.name.lower().endswith((".csv", ".csv.gz"))


def check_condensed(format: str, one_set: bool) -> None:
    """Raise `InputError` for a condensed matrix of two sets, which have no pairs i < j, or in a format that is not an array."""
    if not FORMATS[format].is_array:
        raise InputError(f"{parameter('condensed')} is for .npy and .npz; it cannot be combined with {format}")
    if not one_set:
        raise InputError(
            f"{parameter('condensed')} holds the pairs of one file, each record with each later one; it cannot be combined with two files"
            f" or {parameter('self')}"
        )


def select_row_format(format: str, path: Path | None, fields: list[Field]) -> AnyRowFormat | None:
    """Return the row format, with these columns if the columns can be chosen; None if the format has no rows.

    Raises `InputError` if pyarrow is needed but missing.
    """
    chosen = FORMATS[format]
    if container := container_of(format, path):
        from gpualign.core.output.formats.typed import TypedTable

        return TypedTable(container, fields)
    return chosen.make_row_format(fields) if chosen.make_row_format else None


def container_of(format: str, path: Path | None) -> str | None:
    """Return the kind of file that pyarrow writes for a format: Parquet, or Arrow as a file or, on standard output, as a stream; None if
    pyarrow is not used.

    Raises `InputError` if pyarrow is missing.
    """
    if Layout.COLUMNS not in FORMATS[format].layouts.values():
        return None
    from gpualign.core.output import arrow

    arrow.check_pyarrow(format)
    if format == arrow.PARQUET:
        return arrow.PARQUET
    return arrow.STREAM if path is None else arrow.FILE


def report_unusual_names(format: str, task: Task, note: Callable[[str], None]) -> None:
    """Report ids that the format specification does not allow. Raises `InputError` for ids that no reader accepts."""
    if format != "sam":
        return
    from gpualign.core.output.formats.sam import name_warnings

    for text in name_warnings(task):
        note(text)


@contextmanager
def open_row_sink(
    session: OutputSession,
    task: Task,
    rows: AnyRowFormat | None,
    line_width: Callable[[Path | None], int],
    filter: Filter | None = None,
    identity_definition: int = DEFAULT_DEFINITION,
    threads: int = 1,
) -> Iterator[PairsSink]:
    """Yield a sink that writes pairs to an output.

    rows: row format; None: human-readable blocks
    line_width: returns the width, in characters, of human-readable lines written to a given output
    threads: threads for formatting rows
    """
    from gpualign.core.output.formats.typed import TypedTable

    path = session.job_part.path
    if isinstance(rows, TypedTable):
        with session.files.open_binary(path) as stream:
            yield make_row_sink(stream, task, rows, path, line_width, filter, identity_definition, threads)
        return
    with session.open_text() as text:
        yield make_row_sink(text, task, rows, path, line_width, filter, identity_definition, threads)


def make_row_sink(
    stream: ByteWriter,
    task: Task,
    rows: AnyRowFormat | None,
    path: Path | None,
    line_width: Callable[[Path | None], int],
    filter: Filter | None = None,
    identity_definition: int = DEFAULT_DEFINITION,
    threads: int = 1,
) -> PairsSink:
    """Return a sink that writes pairs to a stream. path: output path; remaining parameters as for `open_row_sink`."""
    from gpualign.core.output.formats.typed import TypedTable

    if isinstance(rows, TypedTable):
        from gpualign.core.output.arrow import ArrowSink

        return ArrowSink(stream, task, rows.container, rows.fields, filter, identity_definition, threads)
    if rows is None:
        from gpualign.core.output.pairwise_text import PairwiseTextSink

        return PairwiseTextSink(stream, task, line_width(path), filter, identity_definition)
    from gpualign.core.output.table import TableSink

    return TableSink(stream, task, rows, filter, identity_definition, threads)
