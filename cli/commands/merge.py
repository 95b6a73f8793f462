"""`gpualign merge`: joins the outputs of shards (--shard) into the output of the whole job."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from gpualign.cli.options.completion_types import PathType
from gpualign.cli.options.execution import log_option
from gpualign.cli.options.headings import CommandWithHeadings, Heading

if TYPE_CHECKING:
    from pathlib import Path


@click.command(cls=CommandWithHeadings, short_help="Join part files written with --shard.")
@click.argument("parts", type=PathType(), nargs=-1, required=True)
@Heading.OUTPUT.option(
    "-o", "--output", type=PathType(), required=True, metavar="FILE", help="Output of the whole job; - is standard output."
)
@Heading.MESSAGES.option("-q", "--quiet", is_flag=True, help="No notes, no summary.")
@log_option
def merge(parts: tuple[str, ...], output: str, quiet: bool, log: str | None) -> None:
    """Join the part files written by runs with --shard into the output of the whole job.

    PARTS are all parts of one job, in any order: the same command, options and input, and every share once. The result is the same, byte
    for byte, as that of a single run (but .gz files may be compressed differently by another release). Parts are streamed, so little
    memory is needed.

    \b
    Example:
      for k in 1 2 3 4; do gpualign nw genes.fa -o scores.tsv --shard $k/4; done
      gpualign merge scores.tsv.*-of-4.part -o scores.tsv
    """
    from gpualign.cli.terminal.reporter import ConsoleReporter
    from gpualign.jobs.output.atomic_files import OutputFiles, translate_output_errors
    from gpualign.jobs.output.paths import output_paths
    from gpualign.jobs.output.shard_file import ROWS_CONTENT, PartFileReader
    from gpualign.jobs.output.shard_merge import order_parts, write_merged

    reporter = ConsoleReporter.from_options("merge", quiet, log=log)
    ordered = order_parts([PartFileReader(path) for path in parts])
    description = ordered[0].description
    path = _checked_path(output, description.format)
    one_set = description.content == ROWS_CONTENT or ordered[0].has_member("ids")
    reporter.begin(parts, output_paths(path, description.format, one_set))
    with OutputFiles(reporter.note) as files, translate_output_errors(path):
        write_merged(ordered, path, files)
    count = f"{len(ordered):,} parts" if len(ordered) > 1 else "1 part"
    reporter.note(f"{count}, {description.identity.rows:,} queries of gpualign {description.identity.command}, in {output}")


def _checked_path(output: str, format: str) -> Path | None:
    """Return the path for `output`, None for standard output.

    Raises `InputError` if its suffix promises another format than that of the parts, or is not that of a binary format.
    """
    from gpualign.core.common.errors import InputError
    from gpualign.core.files.decompression import COMPRESSION_SUFFIXES
    from gpualign.core.output.formats.registry import FORMATS
    from gpualign.jobs.output.atomic_files import check_uncompressed, is_file_name, output_path

    chosen = FORMATS[format]
    path = output_path(output)
    if path is None:
        if chosen.needs_file:
            raise InputError(f"these are parts of {format}, which cannot go to standard output; name a file with -o")
        return None
    if not chosen.is_text:
        check_uncompressed(path, format)
    suffixes = [*chosen.suffixes, *(f"{suffix}.gz" for suffix in chosen.suffixes if chosen.is_text)]
    others = [*COMPRESSION_SUFFIXES, *(suffix for other in FORMATS.values() for suffix in other.suffixes)]
    name = output.lower()
    may_be_named_so = name.endswith(tuple(suffixes)) or (chosen.is_text and not name.endswith(tuple(others)))
    if suffixes and path.suffix and not may_be_named_so and is_file_name(path):
        raise InputError(f"-o {output}: these are parts of {format}; end the name in {' or '.join(suffixes)}")
    return path
