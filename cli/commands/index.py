"""`gpualign index`: writes a database in a form that searches can use immediately."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, BinaryIO

import click

from gpualign.cli.options.completion_types import PathType
from gpualign.cli.options.execution import log_option
from gpualign.cli.options.headings import CommandWithHeadings, Heading
from gpualign.cli.options.input import input_options, mask_lower_option, strict_option


@click.command(cls=CommandWithHeadings)
@click.argument("db", type=PathType())
@input_options
@mask_lower_option
@strict_option
@Heading.OUTPUT.option(
    "-o", "--output", type=PathType(), required=True, metavar="FILE", help="Index file to write, usually called NAME.gpa."
)
@Heading.MESSAGES.option("-q", "--quiet", is_flag=True, help="No notes, no summary.")
@log_option
def index(db: str, output: str, quiet: bool, log: str | None, **params: Any) -> None:
    """Index a database of sequences for `gpualign sw`, which accepts the index as DB.

    DB is FASTA or FASTQ, plain or compressed; - is standard input. A search with an index need not read and sort the database again.
    Memory does not grow with the letters of the database; temporary files beside FILE need disk space for twice the letters.

    \b
    Example:
      gpualign index swissprot.fasta.gz -o swissprot.gpa
      gpualign sw query.fa swissprot.gpa
    """
    from gpualign.cli.options.params import build_options
    from gpualign.cli.terminal.reporter import ConsoleReporter
    from gpualign.core.common.errors import InputError
    from gpualign.core.common.units import format_bytes
    from gpualign.core.files.paths import open_input
    from gpualign.jobs.index import build_index
    from gpualign.jobs.output.atomic_files import OutputFiles, is_file_name, output_path, translate_output_errors
    from gpualign.jobs.sequence_loading import ReadOptions

    messages = ConsoleReporter.from_options("index", quiet, log=log)
    path = output_path(output)
    if path is None or not is_file_name(path):
        raise InputError(f"-o {output}: an index must be a regular file, which can be mapped into memory; name one")
    messages.begin([db], [path])
    with translate_output_errors(path):
        if not path.parent.is_dir():
            raise FileNotFoundError(2, "no such folder")

    with OutputFiles(messages.note) as files:

        @contextmanager
        def result() -> Iterator[BinaryIO]:
            with translate_output_errors(path):
                yield files.open(path)

        options = build_options(ReadOptions, params)
        with open_input(db) as opened:
            built, chosen = build_index(opened, options, result, path.parent, partial(files.new_scratch, path), messages)
    messages.note(
        f"{built.record_count:,} {chosen.name} records, {built.letter_count:,} letters, {format_bytes(path.stat().st_size)} in {output}"
    )
