"""Reads FASTA, FASTQ, tables of records and plain lists of sequences from a binary stream, plain or compressed, and encodes the letters.
The format is detected from the content, never from the file name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from functools import cached_property, partial
from itertools import pairwise
from typing import BinaryIO

import numpy as np

from gpualign.core.common.arrays import Booleans, Integers
from gpualign.core.common.dataclass import dataclass
from gpualign.core.common.errors import InputError, parameter
from gpualign.core.sequences._records import find_codes, repeated
from gpualign.core.sequences.alphabet import (
    ALPHABETS,
    DNA,
    INVALID_CODE,
    PROTEIN,
    Alphabet,
    AlphabetCensus,
    LetterKinds,
    count_masked_letters,
)
from gpualign.core.sequences.annotations import AnnotationColumn
from gpualign.core.sequences.ids import file_of, number_repeated_ids, refuse_repeated_id
from gpualign.core.sequences.parser import EagerEncoding, NoRecordsError, Records, read_records
from gpualign.core.sequences.record_tables import DEFAULT_COLUMNS, TableColumns, TableRecords
from gpualign.core.sequences.sequence_set import SequenceSet, encode_letters, invalid_letter
from gpualign.core.sequences.string_column import StringColumn, join_columns

_IS_GAP = np.zeros(256, dtype=bool)
_IS_GAP[list(b"-.")] = True


@dataclass
class GapCounts:
    """Counts of removed gap characters (`-` and `.`).

    letter_count: number of gap characters
    record_count: number of records that had gaps
    """

    letter_count: int = 0
    record_count: int = 0

    def remove(self, letters: StringColumn) -> StringColumn:
        """Return the records' letters without gaps, and add the removed gaps to the counts."""
        gaps = _IS_GAP[letters.text]
        before = np.concatenate(([0], np.cumsum(gaps)))[letters.offsets]
        self.letter_count += int(before[-1])
        self.record_count += int(np.count_nonzero(np.diff(before)))
        return StringColumn(letters.text[~gaps], letters.offsets - before)


@dataclass
class UnknownLetters:
    """Counts of letters outside the alphabet (including `.` and `?`), which are read as N (DNA) or X (proteins).

    letter_count: number of unknown letters
    masked_letter_count: number of letters X in DNA, with which programs mask repeats and vectors
    total_letter_count: total number of letters
    record_count: number of records that had unknown letters
    """

    alphabet: Alphabet
    letter_count: int = 0
    masked_letter_count: int = 0
    total_letter_count: int = 0
    record_count: int = 0

    def replace(self, letters: StringColumn) -> StringColumn:
        """Return the records' letters with unknown letters replaced by N or X, and add the unknown letters to the counts."""
        unknown: Booleans = self._unknown_mask[letters.text]
        before = np.concatenate(([0], np.cumsum(unknown)))[letters.offsets]
        self.letter_count += int(before[-1])
        self.total_letter_count += int(letters.offsets[-1])
        if before[-1] and self.alphabet is DNA:
            self.masked_letter_count += count_masked_letters(letters)
        self.record_count += int(np.count_nonzero(np.diff(before)))
        return StringColumn(np.where(unknown, np.uint8(ord(self.replacement)), letters.text), letters.offsets) if before[-1] else letters

    @property
    def replacement(self) -> str:
        """Replacement for unknown letters: N or X."""
        return self.alphabet.letters[self.alphabet.unknown_code]

    @cached_property
    def _unknown_mask(self) -> Booleans:
        known = self.alphabet.encoding != INVALID_CODE
        return np.array([byte < 128 and (chr(byte).isalpha() or chr(byte) in ".?") and not known[byte] for byte in range(256)])


@dataclass(frozen=True)
class RawRecords:
    """Records as read from a file.

    letters: ASCII, in the file's original case, except for letters that are already encoded
    empty_ids: ids of omitted records
    gaps: counts of removed gaps
    unknown: counts of replaced letters
    descriptions: text after the ids, with tabs replaced by blanks; None if not requested
    is_plain_list: whether the file is a list with one sequence per line, in which each sequence is its own id
    letter_kinds: kinds of letters, if counted
    eager_encoding: tells which letters are already encoded, if encoding was requested
    unterminated_id: id of the last record if the file does not end with a newline, else None
    file_ids: ids in the file, if repeated ids were numbered, else None
    table: the records as rows of a table, if the file is one
    """

    source: str
    ids: StringColumn
    letters: StringColumn
    empty_ids: list[str]
    gaps: GapCounts = field(default_factory=GapCounts)
    unknown: UnknownLetters | None = None
    descriptions: StringColumn | None = None
    is_plain_list: bool = False
    letter_kinds: LetterKinds | None = None
    eager_encoding: EagerEncoding | None = None
    unterminated_id: str | None = None
    file_ids: StringColumn | None = None
    table: TableRecords | None = None


def clean_records(
    records: Records,
    records_before: int,
    source: str,
    empty_ids: list[str] | None,
    gaps: GapCounts | None,
    unknown: UnknownLetters | None = None,
) -> tuple[Records, Integers]:
    """Return (records that have letters, the numbers of these records in the file, counted from 1).

    records_before: number of preceding records in the file
    source: name of the file, for messages
    empty_ids: receives the ids of records without letters, which are omitted; if None, such records are rejected
    gaps: removes and counts gaps; if None, gaps are kept
    unknown: replaces and counts unknown letters; if None, they are kept

    Raises `InputError` for records without an id, and for rejected records without letters.
    """
    ids, letters = records.ids, records.letters
    if gaps is not None:
        letters = gaps.remove(letters)
    if unknown is not None:
        letters = unknown.replace(letters)
    nameless, hollow = (np.flatnonzero(column.offsets[1:] == column.offsets[:-1]) for column in (ids, letters))
    if len(nameless) and (empty_ids is not None or not len(hollow) or nameless[0] <= hollow[0]):
        raise InputError(f"{source}: record {records_before + nameless[0] + 1} has no id after its '>' or '@'")
    kinds = records.letter_kinds if letters is records.letters else None
    if not len(hollow):
        numbers = np.arange(records_before + 1, records_before + len(ids) + 1, dtype=np.int64)
        return Records(ids, letters, records.descriptions, letter_kinds=kinds, eager_encoding=records.eager_encoding), numbers
    if empty_ids is None:
        record = f"record {ids[int(hollow[0])]!r} (number {records_before + hollow[0] + 1})"
        raise InputError(f"{source}: {record} has no letters; {parameter('drop_empty')} leaves such records out")
    empty_ids.extend(ids.select(hollow))
    kept = np.flatnonzero(letters.lengths)
    described = records.descriptions.select(kept) if records.descriptions is not None else None
    letters = StringColumn(letters.text, np.append(0, letters.offsets[kept + 1]))
    return Records(
        ids.select(kept), letters, described, letter_kinds=kinds and kinds.select(kept), eager_encoding=records.eager_encoding
    ), kept + records_before + 1


def unique_id_column(ids: StringColumn, numbers: Integers, source: str, allow_duplicates: bool, threads: int = 1) -> StringColumn:
    """Return the ids, with repeated ids numbered.

    numbers: the records' numbers in their file, for the message
    allow_duplicates: whether to number repeated ids instead of rejecting them
    threads: maximum number of threads

    Raises `InputError` for repeated ids unless `allow_duplicates` is set.
    """
    again = repeated(ids.text, ids.offsets, threads)
    if not len(again):
        return ids
    if not allow_duplicates:
        record, first = again[0].tolist()
        raise InputError(
            f"{source}: records {numbers[first]} and {numbers[record]} have the same id {ids[record]!r}; "
            f"make ids unique, or number repeated ones with {parameter('allow_duplicates')}"
        )
    names = list(ids)
    number_repeated_ids(names, again[:, 0].tolist())
    return StringColumn.from_strings(names)


def unique_records_in_files(files: Sequence[RawRecords], allow_duplicates: bool, threads: int = 1) -> list[RawRecords]:
    """Return the records from several files that form one set, with repeated ids numbered across all files.

    allow_duplicates: whether to number repeated ids instead of rejecting them
    threads: maximum number of threads

    Raises `InputError` for a repeated id, naming both files that contain it, unless `allow_duplicates` is set.
    """
    ids = join_columns(raw.ids for raw in files)
    again = repeated(ids.text, ids.offsets, threads)
    if not len(again):
        return list(files)
    starts = np.cumsum([0, *(len(raw.ids) for raw in files)]).tolist()
    if not allow_duplicates:
        record, first = again[0].tolist()
        known = [(start, raw.source) for start, raw in zip(starts, files, strict=False)]
        refuse_repeated_id(ids[record], file_of(first, known), file_of(record, known))
    names = list(ids)
    number_repeated_ids(names, again[:, 0].tolist())
    numbered = StringColumn.from_strings(names)
    return [
        replace(raw, ids=numbered[start:stop].without_margins(), file_ids=raw.file_ids or raw.ids)
        for raw, (start, stop) in zip(files, pairwise(starts), strict=True)
    ]


def read_raw_records(
    stream: BinaryIO,
    source: str,
    allow_duplicates: bool = False,
    allow_empty: bool = False,
    degap: bool = False,
    with_descriptions: bool = False,
    encode_eagerly: bool = False,
    unknown: UnknownLetters | None = None,
    threads: int = 1,
    columns: TableColumns = DEFAULT_COLUMNS,
) -> RawRecords:
    """Read all records in a file.

    allow_duplicates: whether to number repeated ids instead of rejecting them
    allow_empty: whether to omit records without letters instead of rejecting them
    degap: whether to remove gaps before any other processing of the letters
    with_descriptions: whether to keep the descriptions
    encode_eagerly: whether letters may be encoded while the file is being read, for callers that need only codes
    unknown: replaces and counts letters outside the alphabet, including `.` and `?`; if None, nothing is replaced
    threads: maximum number of threads
    columns: columns to read if the file is a table

    Raises `NoRecordsError` if no records are left, and `InputError` for records without an id or letters, and for repeated ids, unless the
    options above allow them, and for a file that is not a table if only records of some loci are to be read.
    """
    gaps, empty = GapCounts(), list[str]()
    # If letters are removed or replaced, their kinds must be counted afterwards.
    unchanged = not degap and unknown is None
    (everything,) = read_records(
        stream,
        source,
        with_descriptions=with_descriptions,
        encode_eagerly=encode_eagerly and unchanged,
        threads=threads,
        columns=columns,
    )
    if columns.locus and everything.table is None:
        raise InputError(f"{parameter('locus')} chooses rows of a table of receptors, and {source} is not such a table")
    records, numbers = clean_records(everything, 0, source, empty if allow_empty else None, gaps if degap else None, unknown)
    if not len(records):
        raise NoRecordsError(f"{source}: no records" + (" with letters" if empty else ""))
    ids = unique_id_column(records.ids, numbers, source, allow_duplicates, threads)
    return RawRecords(
        source,
        ids,
        records.letters,
        empty,
        gaps,
        unknown,
        records.descriptions,
        everything.is_plain_list,
        records.letter_kinds,
        records.eager_encoding,
        everything.ids[len(everything) - 1] if everything.is_unterminated else None,
        None if ids is records.ids else records.ids,
        everything.table,
    )


def count_letters(inputs: Sequence[RawRecords], name_files: bool = True) -> AlphabetCensus:
    """Count the letters of the records read, to determine their alphabet.

    name_files: whether the labels of records also name their file
    """
    census = AlphabetCensus()
    for raw in inputs:
        assert raw.eager_encoding is None or raw.letter_kinds is not None  # codes cannot be counted as letters
        census.count_records(
            raw.ids, raw.letters, partial("{}record {!r}".format, f"{raw.source}: " if name_files else ""), raw.letter_kinds
        )
    return census


@dataclass
class LowerCaseCounts:
    """Counts of masked lower-case letters.

    masked_letter_count: number of masked letters
    total_letter_count: total number of letters
    fully_masked_ids: ids of records whose letters are all masked
    """

    masked_letter_count: int = 0
    total_letter_count: int = 0
    fully_masked_ids: list[str] = field(default_factory=list)

    def count_masked(self, ids: StringColumn, letters: StringColumn) -> None:
        """Add the letters of some records to the counts. No record may be empty."""
        start = int(letters.offsets[0])
        text = letters.text[start : int(letters.offsets[-1])]
        masked = np.add.reduceat((text >= ord("a")) & (text <= ord("z")), letters.offsets[:-1] - start, dtype=np.int64)
        self.masked_letter_count += int(masked.sum())
        self.total_letter_count += len(text)
        self.fully_masked_ids.extend(ids.select(np.flatnonzero(masked == letters.lengths)))


def encode(
    source: str,
    ids: Sequence[str],
    letters: StringColumn,
    alphabet: Alphabet,
    descriptions: StringColumn | None = None,
    mask_lower: bool = False,
    encoded: EagerEncoding | None = None,
    file_ids: StringColumn | None = None,
    threads: int = 1,
    annotations: Mapping[str, AnnotationColumn] | None = None,
) -> SequenceSet:
    """Encode records. The codes overwrite the letters if the letters' memory is writable.

    mask_lower: whether to replace lower-case letters by N or X
    encoded: tells which letters have already been replaced by codes; the letters must then be in writable memory
    file_ids: ids in the file, if repeated ids were numbered
    threads: maximum number of threads
    annotations: annotations of the records, by name

    Raises the same errors as `encode_letters`.
    """
    whole = letters.without_margins()
    done = 0 if encoded is None else encoded.confirm_alphabet(alphabet, whole.text, threads)
    codes = encode_letters(source, whole, alphabet, ids.__getitem__, mask_lower, done, threads)
    return SequenceSet(
        source,
        ids,
        codes,
        whole.offsets,
        known_used_codes=find_codes(codes, threads),
        descriptions=descriptions,
        known_file_ids=file_ids,
        annotations=annotations or {},
    )


def encode_all(
    inputs: Sequence[RawRecords], alphabet: str, mask_lower: bool = False, threads: int = 1
) -> tuple[Alphabet, list[SequenceSet]]:
    """Encode the inputs of a run using one alphabet, and return the alphabet and the encoded sets.

    alphabet: "dna", "protein" or "auto" (named by the columns of tables, or else determined from the letters of all inputs)
    mask_lower: whether to replace lower-case letters by N or X
    threads: maximum number of threads

    The letters of the inputs are lost, because the codes overwrite them.
    """
    if alphabet == "auto":
        alphabet = named_alphabet(inputs)
    chosen = _alphabet_of(inputs) if alphabet == "auto" else ALPHABETS[alphabet]
    return chosen, [
        encode(
            raw.source,
            raw.ids,
            raw.letters,
            chosen,
            raw.descriptions,
            mask_lower,
            raw.eager_encoding,
            raw.file_ids,
            threads,
            raw.table.annotations if raw.table else None,
        )
        for raw in inputs
    ]


def _alphabet_of(inputs: Sequence[RawRecords]) -> Alphabet:
    """Return the alphabet of all inputs by their letters. Raises `InputError` if they contradict each other or the titles of columns."""
    _check_columns(inputs)
    try:
        return count_letters(inputs, len(inputs) > 1).alphabet()
    except InputError:
        for raw in inputs:  # the letters of a title within a sequence may be why the alphabet is unclear
            if len(places := np.flatnonzero(raw.letters.text == ord(">"))):
                raise invalid_letter(raw.source, raw.letters, int(places[0]), DNA, raw.ids.__getitem__) from None
        raise


def _check_columns(inputs: Sequence[RawRecords]) -> None:
    """Raise `InputError` if one table has amino acids, by the title of its column, and another nucleotides. Those of receptors are too
    short to be told apart from amino acids by letters alone."""
    tables = [(raw, raw.table) for raw in inputs if raw.table is not None]
    of_proteins = next((f"{table.sequence_title} of {raw.source}" for raw, table in tables if table.alphabet == PROTEIN.name), None)
    for raw, table in tables if of_proteins else ():
        letters = count_letters([raw])
        if table.alphabet == "auto" and letters.first_protein_record is None and letters.alphabet() is DNA:
            raise InputError(
                f"{raw.source}: the column {table.sequence_title} holds nucleotides, and {of_proteins} amino acids;"
                f" compare columns of one kind, or if all are amino acids, add {parameter('alphabet', PROTEIN.name)}"
            )


def named_alphabet(inputs: Sequence[RawRecords]) -> str:
    """Return the alphabet that the columns of the inputs name, if all are tables and name the same one; otherwise "auto"."""
    names = {raw.table.alphabet if raw.table else "auto" for raw in inputs}
    return names.pop() if len(names) == 1 else "auto"
