"""`gpualign index`: writes a database of sequences, or a set of samples, in a form that other commands can use immediately."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, BinaryIO

import click

from gpualign.cli.options.completion_types import PathType
from gpualign.cli.options.distance import table_options
from gpualign.cli.options.execution import log_option
from gpualign.cli.options.headings import CommandWithHeadings, Heading
from gpualign.cli.options.input import input_options, mask_lower_option, strict_option

if TYPE_CHECKING:
    from pathlib import Path

    from gpualign.cli.terminal.reporter import ConsoleReporter
    from gpualign.core.distance.readers.detection import CallFile
    from gpualign.core.distance.sample_sets.sample_set import SampleSet
    from gpualign.core.distance.tables.options import CallOptions
    from gpualign.jobs.output.atomic_files import OutputFiles
    from gpualign.jobs.sample_sets import SetSummary


@click.command(cls=CommandWithHeadings, short_help="Prepare a database for sw, or a set of samples for dist.")
@click.argument("db", type=PathType(), metavar="DB|SAMPLES|SET")
@input_options
@mask_lower_option
@strict_option
@Heading.INPUT.option("--all-letters", is_flag=True, help="Alignments: keep every letter as a call, gaps included.  [as for dist]")
@table_options
@Heading.OUTPUT.option(
    "-o", "--output", type=PathType(), metavar="FILE", help="Write an index to NAME.gpa, or a set of samples to NAME.gps."
)
@Heading.OUTPUT.option("--append", type=PathType(), metavar="SET", help="Add the samples to this set (NAME.gps).")
@Heading.OUTPUT.option(
    "--withdraw",
    type=PathType(),
    metavar="ID|FILE",
    multiple=True,
    help="Take this sample, or the samples listed in a file (one id per line), out of the set NAME.gps; may be repeated.",
)
@Heading.MESSAGES.option("-q", "--quiet", is_flag=True, help="No notes, no summary.")
@log_option
def index(
    db: str,
    output: str | None,
    append: str | None,
    withdraw: tuple[str, ...],
    missing_code: str | None,
    columns: str | None,
    ignore_columns: str | None,
    type_: str,
    quiet: bool,
    log: str | None,
    **params: Any,
) -> None:
    """Index a database of sequences for `gpualign sw`, or keep a set of samples for `gpualign dist`.

    \b
    gpualign index DB -o NAME.gpa               makes an index of a database
    gpualign index SAMPLES -o NAME.gps          makes a set of samples
    gpualign index SAMPLES --append NAME.gps    adds samples to a set
    gpualign index NAME.gps --withdraw ID       takes samples out of a set

    An index (.gpa) saves `gpualign sw` from reading and sorting the database in every search. DB is one file: FASTA, FASTQ or
    a plain list of peptides (one per line). It may be compressed; - is standard input. Memory use does not depend on the size of the
    database; temporary files beside the index need about twice its letters on disk.

    A set of samples (.gps) can be given to `gpualign dist` wherever it reads samples. SAMPLES is an alignment (@LIST: several), a table of
    genotypes or alleles, VCF, BCF or a PLINK fileset. Appended samples must have the same sites as the set. A set is never left
    half-written, even if gpualign is killed.

    The input options --alphabet, --degap, --unknown, --mask-lower and --strict are for databases, --allow-duplicates is for both, and the
    others are for samples.

    \b
    Examples:
      gpualign index swissprot.fasta.gz -o swissprot.gpa
      gpualign sw query.fa swissprot.gpa
      gpualign index core.aln -o sites.gps
      gpualign index new.aln --append sites.gps
      gpualign dist week.aln --add sites.gps --max-distance 12 > near.tsv
      gpualign index sites.gps --withdraw failed.txt
    """
    from gpualign.cli.inputs.call_columns import column_choice, missing_codes
    from gpualign.cli.options.params import build_options
    from gpualign.cli.terminal.reporter import ConsoleReporter
    from gpualign.core.common.errors import InputError
    from gpualign.core.distance.tables.options import CallOptions, TableType
    from gpualign.jobs.output.atomic_files import check_uncompressed, is_file_name, output_path

    reporter = ConsoleReporter.from_options("index", quiet, log=log)
    given = sum((output is not None, append is not None, bool(withdraw)))
    if given != 1:
        raise InputError(
            f"give {'one' if given == 0 else 'only one'} of -o FILE (an index or a set of samples), --append SET and --withdraw ID. For"
            " example: gpualign index swissprot.fasta.gz -o swissprot.gpa"
        )
    calls = build_options(
        CallOptions,
        params,
        type=TableType(type_),
        missing_codes=missing_codes(missing_code),
        gaps_missing=not params["all_letters"],
        **column_choice(columns, ignore_columns),
    )
    if output is None:
        _change_set(db, append, withdraw, calls, params, reporter)
        return
    path = output_path(output)
    if path is None or not is_file_name(path):
        raise InputError(f"-o {output}: an index must be a regular file, which can be mapped into memory; name one")
    check_uncompressed(path, "an index")
    if path.suffix.lower() == ".gps":
        _write_set(db, path, calls, params, reporter)
    else:
        _write_index(db, path, calls, params, reporter)


def _write_index(db: str, path: Path, calls: CallOptions, params: dict[str, Any], reporter: ConsoleReporter) -> None:
    """Write an index of sequences."""
    from gpualign.cli.inputs.file_lists import LIST_PREFIX
    from gpualign.cli.options.params import build_options
    from gpualign.core.common.errors import InputError
    from gpualign.core.common.units import format_bytes
    from gpualign.core.distance.tables.options import CallOptions
    from gpualign.core.files.paths import open_input
    from gpualign.core.output.formats.registry import FORMATS
    from gpualign.jobs.index import build_index
    from gpualign.jobs.output.atomic_files import OutputFiles
    from gpualign.jobs.sequence_loading import ReadOptions

    _refuse_options(calls, CallOptions(gaps_missing=calls.gaps_missing), "sets of samples (-o NAME.gps)")
    if db.startswith(LIST_PREFIX):
        raise InputError(f"{db}: an index of sequences is made from one file; to join several: cat FILES | gpualign index - -o {path.name}")
    reporter.begin([db], [path])
    if path.suffix.lower() in (suffix for format in FORMATS.values() for suffix in format.suffixes):
        raise InputError(f"-o {path}: an index is not {path.suffix}; end the name in .gpa, or for a set of samples in .gps")
    with OutputFiles(reporter.note) as files:
        options = build_options(ReadOptions, params)
        with open_input(db) as opened:
            make = partial(_opened_output, files, path)
            built, chosen = build_index(opened, options, make, path.parent, partial(files.new_scratch, path), reporter)
    reporter.note(
        f"{built.record_count:,} {chosen.name} records, {built.letter_count:,} letters, {format_bytes(path.stat().st_size)} in {path}"
    )


def _write_set(db: str, path: Path, calls: CallOptions, params: dict[str, Any], reporter: ConsoleReporter) -> None:
    """Write a new set of samples."""
    from gpualign.jobs.output.atomic_files import OutputFiles
    from gpualign.jobs.sample_sets import make_sample_set

    _refuse_sequence_options(params)
    with _opened_samples(db, [path], reporter) as (stored, opened), OutputFiles(reporter.note) as files:
        summary = make_sample_set(db, stored, opened, calls, partial(_opened_output, files, path), files, reporter)
    _report_set(summary, "kept", str(path), reporter)


def _change_set(
    db: str, append: str | None, withdraw: tuple[str, ...], calls: CallOptions, params: dict[str, Any], reporter: ConsoleReporter
) -> None:
    """Add samples to a set, or withdraw samples from it."""
    from gpualign.cli.inputs.id_lists import id_files, listed_ids
    from gpualign.core.files.paths import open_file
    from gpualign.core.files.scratch import ScratchFiles
    from gpualign.jobs.sample_sets import append_samples, withdraw_samples

    _refuse_sequence_options(params)
    if append is None:
        open_file(db).close()
        reporter.begin([db, *id_files(withdraw)], [])
        _report_set(withdraw_samples(db, listed_ids(withdraw, "--withdraw")), "withdrawn", db, reporter)
        return
    open_file(append).close()
    with _opened_samples(db, [], reporter) as (stored, opened), ScratchFiles() as files:
        _report_set(append_samples(append, db, stored, opened, calls, files, reporter), "added", append, reporter)


@contextmanager
def _opened_samples(
    db: str, outputs: list[Path | None], reporter: ConsoleReporter
) -> Iterator[tuple[SampleSet | None, Iterator[CallFile]]]:
    """Begin the run, and yield (the set of samples that DB is, or None; the files of calls that it is otherwise)."""
    from gpualign.cli.inputs.file_lists import input_files
    from gpualign.cli.inputs.genotype_files import open_call_files, paths_of_input, stored_sets

    named = input_files(db)
    reporter.begin([file for one in named.all_paths for file in paths_of_input(one)], outputs)
    (stored,) = stored_sets([named])
    with ExitStack() as inputs:
        yield stored, open_call_files([named] if stored is None else [], inputs)


def _refuse_sequence_options(params: dict[str, Any]) -> None:
    from gpualign.cli.options.params import build_options
    from gpualign.jobs.sequence_loading import ReadOptions

    _refuse_options(build_options(ReadOptions, params | {"allow_duplicates": False}), ReadOptions(), "indexes of sequences (-o NAME.gpa)")


def _refuse_options(options: object, default: object, what: str) -> None:
    """Raise `InputError` for the first option that differs from its default. what: what such options are for."""
    from gpualign.core.common.errors import InputError, parameter

    for name, value in vars(default).items():
        if name != "allow_duplicates" and vars(options)[name] != value:
            raise InputError(f"{parameter(name)} is for {what}")


def _report_set(summary: SetSummary, done: str, path: str, reporter: ConsoleReporter) -> None:
    import os

    from gpualign.core.common.units import format_bytes, format_count

    reporter.note(
        f"{format_count(summary.changed_count, 'sample')} {done}; {format_count(summary.sample_count, 'sample')},"
        f" {format_count(summary.site_count, 'site')}, {format_bytes(os.path.getsize(path))} in {path}"
    )


@contextmanager
def _opened_output(files: OutputFiles, path: Path) -> Iterator[BinaryIO]:
    from gpualign.jobs.output.atomic_files import translate_output_errors

    with translate_output_errors(path):
        yield files.open(path)
