"""Builds a database index for searches."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import BinaryIO

from gpualign.core.sequences.alphabet import Alphabet
from gpualign.core.sequences.database_index import IndexBuilder, IndexSummary
from gpualign.jobs.reporter import SILENT_REPORTER, Reporter
from gpualign.jobs.sequence_loading import (
    READ_AS_PROTEIN_NOTE,
    ReadOptions,
    check_line_end,
    describe_empty_records,
    describe_masked_letters,
    describe_removed_gaps,
    describe_unknown_letters,
    report_table_or_list,
)


def build_index(
    opened_database: tuple[BinaryIO, str],
    options: ReadOptions,
    output: Callable[[], AbstractContextManager[BinaryIO]],
    folder: Path,
    scratch: Callable[[], BinaryIO],
    reporter: Reporter = SILENT_REPORTER,
) -> tuple[IndexSummary, Alphabet]:
    """Read a database and write its index. Return (a summary of the index, its alphabet).

    opened_database: a binary stream and its name for messages
    output: opens the index file; called after everything has been read
    scratch: creates an unnamed file in `folder`, large enough for one byte per letter in the database

    Raises an `InputError` that names the file, the record and the reason.
    """
    stream, source = opened_database
    unknown = options.unknown_letters()
    with IndexBuilder(source, folder, scratch, options.allow_duplicates, options.degap, options.mask_lower, unknown) as builder:
        alphabet = builder.read(stream, options.alphabet)
        check_line_end(stream, source, builder.unterminated_id, options, reporter)
        report_table_or_list(source, builder.table, builder.list_length, reporter)
        if unknown is not None and unknown.letter_count:
            reporter.note(describe_unknown_letters(unknown, source))
        with output() as file:
            built = builder.write(file)
    if built.first_dna_record:
        reporter.note(f"{source}: {built.first_dna_record} looks like DNA; {READ_AS_PROTEIN_NOTE}")
    if built.empty_ids:
        reporter.note(f"{source}: left out {describe_empty_records(built.empty_ids)}")
    if built.gaps.letter_count:
        reporter.note(f"{source}: {describe_removed_gaps(built.gaps)}")
    if built.lower_case_counts is not None:
        reporter.note(f"{source}: {describe_masked_letters(built.lower_case_counts)}")
    return built, alphabet
