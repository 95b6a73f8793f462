"""Reads open files into encoded sequences, and reports anything unusual."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import field, replace
from itertools import pairwise
from typing import TYPE_CHECKING, BinaryIO

import numpy as np

from gpualign.core.common.dataclass import dataclass
from gpualign.core.common.errors import InputError, parameter, quoted
from gpualign.core.common.units import format_count
from gpualign.core.files.decompression import is_regular_file
from gpualign.core.files.paths import STDIN_NAME, open_input
from gpualign.core.scoring.scoring import Scoring, ScoringOptions, is_protein_matrix, make_scoring
from gpualign.core.sequences.alphabet import DNA, PROTEIN, Alphabet, MixedAlphabets
from gpualign.core.sequences.loading import (
    GapCounts,
    LowerCaseCounts,
    RawRecords,
    UnknownLetters,
    count_letters,
    encode_all,
    named_alphabet,
    read_raw_records,
    unique_records_in_files,
)
from gpualign.core.sequences.parser import NoRecordsError
from gpualign.core.sequences.record_tables import TableColumns, TableOrigin, TableRecords, describe_loci
from gpualign.core.sequences.sequence_set import SequenceSet, join_sets
from gpualign.jobs.reporter import SILENT_REPORTER, Reporter

if TYPE_CHECKING:
    from gpualign.core.sequences.index_check import IndexCheck

BY_LETTERS_REASON = "by its letters"
"""`Inputs.alphabet_reason` if no parameter names the alphabet."""

BY_TITLE_REASON = "by the title of the column"
"""`Inputs.alphabet_reason` if the titles of columns name the alphabet."""

_MAX_UNKNOWN_FRACTION = 0.1
"""Maximum fraction of unknown letters to replace; above it, the sequences are taken to be in a different alphabet."""

READ_AS_PROTEIN_NOTE = f"its letters are read as amino acids, as {parameter('alphabet', 'protein')} says"


@dataclass(frozen=True)
class ReadOptions:
    """Options for reading sequences.

    alphabet: "auto", "dna" or "protein"
    allow_duplicates: whether repeated ids are numbered
    degap: whether gaps are removed
    keep_descriptions: whether the text that follows ids is kept
    mask_lower: whether lower-case letters are read as N or X
    unknown: letter that replaces unknown letters, "n" for DNA or "x" for proteins; None: unknown letters are errors
    drop_empty: whether records without letters are left out
    strict: whether a file whose last line has no line end is an error
    columns: columns to read of files that are tables
    rereads_tables: whether the rows of tables will be needed again
    """

    alphabet: str = "auto"
    allow_duplicates: bool = False
    degap: bool = False
    keep_descriptions: bool = False
    mask_lower: bool = False
    unknown: str | None = None
    drop_empty: bool = False
    strict: bool = False
    columns: TableColumns = field(default_factory=TableColumns)
    rereads_tables: bool = False

    def unknown_letters(self) -> UnknownLetters | None:
        """Return the replacement for unknown letters in one file. Raises `InputError` if the replacement belongs to the wrong alphabet."""
        if self.unknown is None:
            return None
        of = DNA if self.unknown == "n" else PROTEIN
        if self.alphabet not in ("auto", of.name):
            unknown, alphabet = parameter("unknown", self.unknown), parameter("alphabet", self.alphabet)
            raise InputError(f"{unknown} is a letter of {of.name}; it cannot be combined with {alphabet}")
        return UnknownLetters(of)


@dataclass(frozen=True)
class Inputs:
    """Sequences in one alphabet. If there is only one set, `targets is queries`.

    alphabet_reason: human-readable reason for the alphabet
    has_added: whether the targets are the queries followed by added records
    is_masked: whether lower-case letters were read as N or X
    tables: tables of the queries, if all their files are tables
    index_check: check of the targets' index, which may still be running; None if all letters may be used
    """

    queries: SequenceSet
    targets: SequenceSet
    alphabet: Alphabet
    alphabet_reason: str
    has_added: bool = False
    is_masked: bool = False
    tables: tuple[TableOrigin, ...] = ()
    index_check: IndexCheck | None = None

    @property
    def one_set(self) -> bool:
        return self.targets is self.queries

    @property
    def record_count(self) -> int:
        """Number of records."""
        return len(self.targets) + (0 if self.one_set or self.has_added else len(self.queries))

    def finish_check(self) -> None:
        """Wait until all letters may be used. Raises `InputError` if the targets' index is damaged."""
        if self.index_check is not None:
            self.index_check.finish()


def read_inputs(
    sets: Iterable[Sequence[str]],
    options: ReadOptions,
    reporter: Reporter = SILENT_REPORTER,
    local: bool = False,
    threads: int = 1,
) -> Inputs:
    """Read one set, or queries and targets, each from one or several files.

    sets: the paths of each set; "-" is standard input
    local: whether the sequences are for a local search; empty records among the targets are then left out instead of being an error,
        because a database often comes from someone else
    threads: maximum number of threads

    Raises `InputError` for invalid files, and if the sequences are not all in one alphabet.
    """
    raw: list[RawRecords] = []
    ends = []
    for paths in sets:
        raw.extend(read_set(paths, options, local and bool(raw), reporter, threads))
        ends.append(len(raw))
    if options.alphabet == PROTEIN.name and (record := count_letters(raw).first_dna_record):
        reporter.note(f"{record} looks like DNA; {READ_AS_PROTEIN_NOTE}")
    tables = [one.table.origin for one in raw[: ends[0]] if one.table is not None]
    masked, by_title = should_mask_lower(raw, options, reporter), named_alphabet(raw) != "auto"
    try:
        chosen, encoded = encode_all(raw, options.alphabet, masked, threads)
    except MixedAlphabets:
        if local and len(ends) > 1:
            _check_same_molecule_type(raw[: ends[0]], raw[ends[0] :])
        raise
    del raw
    joined = [join_sets(encoded[start:end]) for start, end in pairwise([0, *ends])]
    if chosen is PROTEIN:
        report_stop_codons(joined, reporter)
    reason = f"by {parameter('alphabet')}" if options.alphabet != "auto" else BY_TITLE_REASON if by_title else BY_LETTERS_REASON
    return Inputs(joined[0], joined[-1], chosen, reason, is_masked=masked, tables=tuple(tables) if len(tables) == ends[0] else ())


def _check_same_molecule_type(queries: list[RawRecords], targets: list[RawRecords]) -> None:
    """Raise `InputError` if one of the two sets has only nucleotides and the other has only proteins, or masked nucleotides."""
    of_queries, of_targets = count_letters(queries), count_letters(targets)
    for dna, protein, side in ((of_queries, of_targets, "query"), (of_targets, of_queries, "target")):
        if dna.first_protein_record is None and protein.first_dna_record is None:
            protein.alphabet()  # may be DNA in which letters are masked
            raise InputError(
                f"{dna.first_dna_record} looks like DNA, {protein.first_protein_record} like protein:"
                f" search with {parameter('translate', side)}, or if all are"
                f" proteins, add {parameter('alphabet', 'protein')}"
            )


def read_set(paths: Sequence[str], options: ReadOptions, allow_empty: bool, reporter: Reporter, threads: int = 1) -> list[RawRecords]:
    """Read one set from one or several files, one after the other, and report anything unusual.

    allow_empty: whether records without letters, and files of a list that have no others, are left out instead of being an error
    threads: maximum number of threads

    Raises `InputError` for invalid files, and if no records are left.
    """
    raw, refused, allow_empty = list[RawRecords](), None, allow_empty or options.drop_empty
    for path in paths:
        with open_input(path) as (stream, source):
            try:
                raw.append(_read_file(stream, source, options, reporter, allow_empty, threads))
            except NoRecordsError as error:
                if not allow_empty or len(paths) == 1:
                    raise
                refused = refused or error
                reporter.note(f"{source}: left out, because it has no records with letters")
    if refused is not None and not raw:
        raise refused
    return unique_records_in_files(raw, options.allow_duplicates, threads) if len(raw) > 1 else raw


def _read_file(stream: BinaryIO, source: str, options: ReadOptions, reporter: Reporter, allow_empty: bool, threads: int) -> RawRecords:
    unknown, columns = options.unknown_letters(), options.columns
    if options.rereads_tables and (source == STDIN_NAME or not is_regular_file(stream)):
        columns = replace(columns, keep_text=True)
    raw = read_raw_records(
        stream,
        source,
        options.allow_duplicates,
        allow_empty,
        options.degap,
        options.keep_descriptions,
        encode_eagerly=True,
        unknown=unknown,
        threads=threads,
        columns=columns,
    )
    check_line_end(stream, source, raw.unterminated_id, options, reporter)
    report_table_or_list(source, raw.table, len(raw.ids) if raw.is_plain_list else 0, reporter)
    if raw.empty_ids:
        reporter.note(f"{source}: left out {describe_empty_records(raw.empty_ids)}")
    _report_changed_letters(raw, reporter)
    return raw


def report_table_or_list(source: str, table: TableRecords | None, list_length: int, reporter: Reporter) -> None:
    """Report what was read of a table or a plain list.

    table: the rows of the table; None if the file is not one
    list_length: number of sequences in the plain list; 0 if the file is not one
    """
    if table is not None:
        reporter.note(f"{source}: {describe_table(table)}")
    if list_length:
        reporter.note(f"{source}: a list of {list_length:,} sequences, one per line, which are their own ids")


def check_line_end(stream: BinaryIO, source: str, unterminated_id: str | None, options: ReadOptions, reporter: Reporter) -> None:
    """Report if the last line of a pipe or other non-regular file has no line end, as if its writer had been stopped.

    unterminated_id: id of the last record if the last line has no line end, else None

    If the options are strict, raises `InputError` instead, for regular files too.
    """
    if unterminated_id is None or (not options.strict and is_regular_file(stream)):
        return
    problem = f"{source}: the last line has no line end, so record {quoted(unterminated_id)}, the last, may be cut"
    if options.strict:
        raise InputError(f"{problem}; give the whole input, with a line end, or leave {parameter('strict')} out")
    reporter.note(f"{problem}; {parameter('strict')} refuses such input")


def add_targets(inputs: Inputs) -> Inputs:
    """Return inputs in which the queries are compared with each other as well as with the targets."""
    targets = join_sets([inputs.queries, inputs.targets])
    return Inputs(
        targets.select_first(len(inputs.queries)),
        targets,
        inputs.alphabet,
        inputs.alphabet_reason,
        has_added=True,
        is_masked=inputs.is_masked,
    )


def read_queries_for_index(
    queries: Sequence[str], index: str, options: ReadOptions, reporter: Reporter = SILENT_REPORTER, threads: int = 1
) -> Inputs:
    """Read queries from files with these paths, to search a database with the index file `index`, whose letters are still being checked
    (`Inputs.index_check`). threads: maximum number of threads.

    Raises `InputError` for invalid files, and for queries that do not fit the index.
    """
    from gpualign.core.sequences.database_index import open_unchecked_index

    targets, alphabet, check = open_unchecked_index(index, threads)
    if options.alphabet not in ("auto", alphabet.name):
        raise InputError(f"{parameter('alphabet', options.alphabet)}: {index} is an index of {alphabet.name}")
    raw = read_set(queries, options, False, reporter, threads)
    letters = count_letters(raw)
    if alphabet is PROTEIN and letters.first_dna_record and not letters.first_protein_record and options.alphabet == "auto":
        raise InputError(
            f"{letters.first_dna_record} looks like DNA, and {index} is an index of proteins: translate the queries with"
            f" {parameter('translate', 'query')}, or search an index of DNA; if they are proteins, add {parameter('alphabet', 'protein')}"
        )
    masked = should_mask_lower(raw, options, reporter)
    try:
        read = join_sets(encode_all(raw, alphabet.name, masked, threads)[1])
    except InputError as error:
        if alphabet is DNA and letters.first_protein_record:
            hint = f"proteins are searched in an index of proteins, or with {parameter('translate', 'target')}"
            raise InputError(f"{error.message}; {index} is an index of DNA: {hint}") from None
        raise
    if alphabet is PROTEIN:
        if targets.code_counts[PROTEIN.letters.index("*")]:
            check.finish()
        report_stop_codons([read, targets], reporter)
    return Inputs(read, targets, alphabet, "by the index", is_masked=masked, index_check=check)


def scoring_of(inputs: Inputs, options: ScoringOptions, local: bool = False) -> Scoring:
    """Return the scoring for the sequences that were read.

    Raises the same errors as `make_scoring`, and `InputError` for an amino-acid matrix if the sequences were identified as DNA only by
    their letters.
    """
    scoring = make_scoring(inputs.alphabet, options, [inputs.queries, inputs.targets], local)
    if (
        inputs.alphabet_reason == BY_LETTERS_REASON
        and inputs.alphabet is DNA
        and options.matrix is not None
        and is_protein_matrix(options.matrix)
    ):
        raise InputError(
            f"{options.matrix.name} is a matrix for proteins, and {inputs.queries.source} has only letters of DNA: if these are proteins,"
            f" add {parameter('alphabet', 'protein')}; otherwise leave {parameter('matrix')} out, or name a matrix for DNA"
        )
    return scoring


def _report_changed_letters(raw: RawRecords, reporter: Reporter) -> None:
    """Report the gaps that were removed and the unknown letters that were replaced."""
    if raw.gaps.letter_count:
        reporter.note(f"{raw.source}: {describe_removed_gaps(raw.gaps)}")
    if raw.unknown is not None and raw.unknown.letter_count:
        reporter.note(describe_unknown_letters(raw.unknown, raw.source))


def report_stop_codons(proteins: Iterable[SequenceSet], reporter: Reporter) -> None:
    """Report how many records across all these sets end in a stop, in a single message."""
    stop = PROTEIN.letters.index("*")
    count = total = 0
    first = ""
    for some in proteins:
        total += len(some)
        if some.known_code_counts is not None and not some.known_code_counts[stop]:
            continue  # known without reading an index
        ended = np.flatnonzero(some.codes[some.offsets[1:] - 1] == stop)
        if len(ended) and not count:
            record = int(ended[0])
            first = f"record {some.ids[record]!r} of {some.file_of(record)}"
        count += len(ended)
    if count:
        which = f"ends in *, the sign of a stop codon, {first}" if count == 1 else f"end in *, the sign of a stop codon, {first} the first"
        reporter.note(
            f"{count:,} of {total:,} protein records {which}; * is compared like a letter; to remove it: sed '/^>/!s/\\*$//' FILE"
        )


def should_mask_lower(raw: Iterable[RawRecords], options: ReadOptions, reporter: Reporter) -> bool:
    """Return True if lower-case letters are to be masked and there are any; report how many."""
    if not options.mask_lower:
        return False
    lower = LowerCaseCounts()
    for one in raw:
        lower.count_masked(one.ids, one.letters)
    reporter.note(describe_masked_letters(lower))
    return lower.masked_letter_count > 0


def describe_masked_letters(lower: LowerCaseCounts) -> str:
    """Describe the lower-case letters that were masked."""
    text = f"masked {lower.masked_letter_count:,} of {lower.total_letter_count:,} letters, those in lower case"
    if not lower.fully_masked_ids:
        return text
    who = (
        f"record {lower.fully_masked_ids[0]!r} is"
        if len(lower.fully_masked_ids) == 1
        else f"{len(lower.fully_masked_ids):,} records, {lower.fully_masked_ids[0]!r} the first, are"
    )
    return f"{text}; {who} masked throughout"


def describe_removed_gaps(gaps: GapCounts) -> str:
    """Describe the gaps that were removed."""
    return f"removed gaps, {gaps.letter_count:,} in {format_count(gaps.record_count, 'record')}"


def describe_unknown_letters(unknown: UnknownLetters, source: str) -> str:
    """Describe the letters that were replaced. Raises `InputError` if so many are unknown that the sequences must use a different
    alphabet."""
    odd, letters = (count - unknown.masked_letter_count for count in (unknown.letter_count, unknown.total_letter_count))
    if odd > _MAX_UNKNOWN_FRACTION * letters:
        percentage = 100 * odd / letters
        letters_of = "nucleotides" if unknown.alphabet is DNA else "amino acids"
        raise InputError(f"{source}: {percentage:.0f} % of all letters are not {letters_of}, too many to be read as {unknown.replacement}")
    letters_read, records = format_count(unknown.letter_count, "letter"), format_count(unknown.record_count, "record")
    return f"{source}: read {letters_read} in {records} as {unknown.replacement}"


def describe_table(table: TableRecords) -> str:
    """Describe what was read of a table."""
    count, row_count = len(table.ids), table.row_count - table.other_loci.total()
    left_out = row_count - count
    text = f"a table; {format_count(count, 'sequence')} of the column {table.sequence_title}"
    if left_out:
        text = f"{text}; left out {left_out:,} of {row_count:,} rows, which {'has' if left_out == 1 else 'have'} no productive sequence"
    if table.other_loci:
        text = f"{text}; left out the rows of other loci: {describe_loci(table.other_loci)}"
    return text


def describe_empty_records(ids: list[str]) -> str:
    """Describe the records without letters."""
    return f"record {ids[0]!r}, which has no letters" if len(ids) == 1 else f"{len(ids):,} records without letters, {ids[0]!r} the first"
