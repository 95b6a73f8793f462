"""`gpualign merge`: joins the outputs of shards (--shard) into the output of the whole job."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from gpualign.cli.options.completion_types import PathType
from gpualign.cli.options.execution import log_option
from gpualign.cli.options.headings import HeadedCommand, Heading

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path
    from typing import BinaryIO

    from gpualign.core.output.matrix_files import ArrayMaker
    from gpualign.core.sequences.ids import Names
    from gpualign.jobs.output.atomic_files import OutputFiles
    from gpualign.jobs.output.shard_merge import PartFileReader

_READ_BYTES = 64 << 20


@click.command(cls=HeadedCommand)
@click.argument("parts", type=PathType(), nargs=-1, required=True)
@Heading.OUTPUT.option(
    "-o", "--output", type=PathType(), required=True, metavar="FILE", help="Output of the whole job; - is standard output."
)
@Heading.MESSAGES.option("-q", "--quiet", is_flag=True, help="No notes, no summary.")
@log_option
def merge(parts: tuple[str, ...], output: str, quiet: bool, log: str | None) -> None:
    """Join the part files written by runs with --shard into the output of the whole job.

    All parts of one job are needed, in any order: the same command, options and input, and every share once. The result is byte for byte
    that of a single run, except that another release may compress gzip differently. Parts are streamed, so little memory is needed.

    \b
    Example:
      for k in 1 2 3 4; do gpualign nw genes.fa -o scores.tsv --shard $k/4; done
      gpualign merge scores.tsv.*-of-4.part -o scores.tsv
    """
    from gpualign.cli.terminal.reporter import ConsoleReporter
    from gpualign.jobs.output.atomic_files import OutputFiles, naming_output
    from gpualign.jobs.output.format_selection import output_paths
    from gpualign.jobs.output.shard_file import MATRIX, ROWS
    from gpualign.jobs.output.shard_merge import PartFileReader, order_parts

    messages = ConsoleReporter.of("merge", quiet, log=log)
    ordered = order_parts([PartFileReader(path) for path in parts])
    description = ordered[0].description
    path = _checked_path(output, description.format)
    one_set = description.content == ROWS or ordered[0].has("ids")
    messages.begin(parts, output_paths(path, description.format, one_set))
    with OutputFiles(messages.note) as files, naming_output(path):
        if description.content == ROWS:
            with files.text(path) as out:
                for part in ordered:
                    for data in part.chunks("rows", skip=0 if part is ordered[0] else part.description.header):
                        out.write(data)
        elif description.content == MATRIX:
            _merge_matrices(ordered, path, files)
        else:
            _merge_sparse(ordered, path, files)
    count = f"{len(ordered):,} parts" if len(ordered) > 1 else "1 part"
    messages.note(f"{count}, {description.identity.rows:,} queries of gpualign {description.identity.command}, in {output}")


def _checked_path(output: str, format: str) -> Path | None:
    """Return the path for `output`, None for standard output. Raises `InputError` if the suffix does not match the format of the parts."""

    from gpualign.core.common.errors import InputError
    from gpualign.core.output.formats.registry import FORMATS
    from gpualign.jobs.output.atomic_files import is_file_name, output_path

    chosen = FORMATS[format]
    path = output_path(output)
    if path is None:
        if chosen.needs_file:
            raise InputError(f"these are parts of {format}, which cannot go to standard output; name a file with -o")
        return None
    suffixes = [*chosen.suffixes, *(f"{suffix}.gz" for suffix in chosen.suffixes if chosen.is_text)]
    if suffixes and path.suffix and not output.lower().endswith(tuple(suffixes)) and is_file_name(path):
        raise InputError(f"-o {output}: these are parts of {format}; end the name in {' or '.join(suffixes)}")
    return path


def _names(part: PartFileReader) -> tuple[Names, Names]:
    """Return the query names and target names; for one set, both are the same object."""
    from gpualign.core.common.errors import InputError
    from gpualign.core.output.matrix_files import id_list_names
    from gpualign.core.sequences.ids import Names

    lists = [Names(part.lines(name)) for name in id_list_names(part.has("ids"))]
    if len(lists[0]) != part.description.identity.rows:
        raise InputError(
            f"{part.path}: damaged: it has {len(lists[0]):,} ids for {part.description.identity.rows:,} queries; write it again"
        )
    return lists[0], lists[-1]


def _merge_sparse(parts: Sequence[PartFileReader], path: Path | None, files: OutputFiles) -> None:
    import numpy as np

    from gpualign.core.output.sparse import SPOOLS
    from gpualign.jobs.output.matrices import opened_sparse

    dtype, (queries, targets) = np.dtype(parts[0].description.dtype), _names(parts[0])
    with opened_sparse(path, files, queries, targets, dtype) as spools:
        for name, spool in zip(SPOOLS, spools, strict=True):
            for part in parts:
                for piece in part.chunks(name):
                    spool.write(piece)
        counts, indices, data = spools
        _check_counts(counts, len(queries), {indices.tell() / 4, data.tell() / dtype.itemsize}, parts[0].path)


def _check_counts(counts: BinaryIO, rows: int, lengths: set[float], name: str) -> None:
    """Raise `InputError` if a row number in `counts` is out of range, or if the total count differs from the array lengths (`lengths`)."""
    import numpy as np

    from gpualign.core.common.errors import InputError

    size, total, valid = counts.tell(), 0, True
    counts.seek(0)
    while valid and size % 16 == 0 and (piece := counts.read(_READ_BYTES)):
        numbers, pairs = np.frombuffer(piece, np.int64).reshape(-1, 2).T
        valid = bool(numbers.min() >= 0 and numbers.max() < rows and pairs.min() >= 0 and pairs.max() <= max(lengths))
        total += int(pairs.sum())
    if size % 16 or not valid or lengths != {total}:
        raise InputError(f"{name}: damaged: this part and the others do not hold the expected number of pairs; write them again")


def _merge_matrices(parts: Sequence[PartFileReader], path: Path | None, files: OutputFiles) -> None:
    from gpualign.jobs.devices.resources import Resources
    from gpualign.jobs.output.distances import compared_path
    from gpualign.jobs.output.matrices import opened_matrices
    from gpualign.jobs.output.specs import MatrixSpec

    description = parts[0].description
    beside = compared_path(path) if description.beside and path is not None else None
    spec = MatrixSpec(description.format, path, beside, description.names, description.titles, description.decimals)
    queries, targets = _names(parts[0])

    with opened_matrices(spec, files, queries, targets, Resources().host_threads) as makes:
        for name, make in zip(description.names, makes, strict=True):
            _join(parts, name, make, (len(queries), len(targets)))


def _join(parts: Sequence[PartFileReader], name: str, make: ArrayMaker, shape: tuple[int, int]) -> None:
    """Join the parts of the matrix with this `shape`, or of the condensed matrix for as many records."""
    from gpualign.core.output.matrix_files import condensed_start
    from gpualign.core.output.mirroring import MatrixFiller
    from gpualign.jobs.devices.resources import Resources

    stored_shape, dtype = parts[0].array_type(f"{name}.npy")
    condensed = len(stored_shape) == 1
    whole = make((condensed_start(shape[0], shape[0]),) if condensed else shape, dtype)
    out = whole.values
    placement = None if condensed else MatrixFiller(whole, parts[0].description.triangle, Resources().host_threads)
    for part in parts:
        start, stop = part.description.span
        first = condensed_start(start, shape[0]) if condensed else start
        column = start if part.description.triangle else 0
        expected = (condensed_start(stop, shape[0]) - first,) if condensed else (stop - start, shape[1] - column)
        for at, values in part.rows(f"{name}.npy", expected, dtype, _READ_BYTES):
            if placement is None:
                whole.reserve(first + at + len(values))
                out[first + at : first + at + len(values)] = values
            else:
                placement.place(values, (first + at, first + at + len(values)), (column, shape[1]))
    if placement is not None:
        placement.finish()
    whole.flush()
