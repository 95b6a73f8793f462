"""Encoded sequences in the form that all engines accept."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from gpualign.core.common.arrays import Codes, Integers
from gpualign.core.common.dataclass import dataclass
from gpualign.core.common.errors import InputError, parameter
from gpualign.core.sequences._records import count_codes, find_codes
from gpualign.core.sequences._records import encode as encode_into
from gpualign.core.sequences.alphabet import INVALID_CODE, Alphabet
from gpualign.core.sequences.annotations import AnnotationColumn, join_annotations
from gpualign.core.sequences.ids import file_of
from gpualign.core.sequences.string_column import StringColumn, join_columns

_MARKS = {
    "*": "a stop, which only proteins have; delete it",
    ";": "no letter, but may begin a comment; delete such lines",
    "\x1a": "the mark with which DOS ends a file; delete it",
    "\ufeff": "no letter, but may begin a byte order mark between two files that were joined; delete it",
    "@": "no letter, but may begin a record of FASTQ; write all records as FASTA",
    ">": "no letter, but may begin a title that was joined to the line before, which had no line end; begin a new line with it",
}
"""Characters that some programs write among letters: what they are, and what to do about them."""

_MAX_CHARACTER_BYTES = 4
"""Maximum number of bytes of a character in UTF-8."""

_MAPPED_RECORD_BYTES = 3 * 8


@dataclass(frozen=True)
class SequenceSet:
    """Records of one input, in input order. No record is empty.

    codes: uint8[total letters]; record i is codes[offsets[i]:offsets[i+1]]
    offsets: int64[count + 1]
    known_file_positions: position of each record in its file, int64[count]; None if records are in file order
    known_code_counts: number of occurrences of each code, int64[256], if known
    known_used_codes: codes that occur, ascending, if known
    descriptions: text after the ids in the file; None if not read
    source_files: number of the first record and name of each file, if the set was read from several files; empty for one file
    known_file_ids: ids in the file, if repeated ids were numbered (`ids`); None if they are the same
    annotations: annotations of the records, by name
    known_lengths: length of each record, int64[count], if known
    scattered_codes: for letters in a memory-mapped file, the same letters, mapped for reading single records in any order; None: the
        letters are in memory
    """

    source: str
    ids: Sequence[str]
    codes: npt.NDArray[np.uint8] = field(repr=False)
    offsets: Integers = field(repr=False)
    known_file_positions: Integers | None = field(default=None, repr=False)
    known_code_counts: Integers | None = field(default=None, repr=False)
    known_used_codes: Codes | None = field(default=None, repr=False)
    descriptions: StringColumn | None = field(default=None, repr=False)
    source_files: tuple[tuple[int, str], ...] = field(default=(), repr=False)
    known_file_ids: StringColumn | None = field(default=None, repr=False)
    annotations: Mapping[str, AnnotationColumn] = field(default_factory=dict, repr=False)
    known_lengths: Integers | None = field(default=None, repr=False)
    scattered_codes: Codes | None = field(default=None, repr=False)

    def __len__(self) -> int:
        return len(self.ids)

    def __getstate__(self) -> dict[str, object]:
        """Return what is pickled. A copy in another process has its letters in memory, once."""
        return {name: value for name, value in self.__dict__.items() if name != "scattered"} | {"scattered_codes": None}

    @property
    def files(self) -> tuple[tuple[int, str], ...]:
        """Number of the first record and name of each file."""
        return self.source_files or ((0, self.source),)

    def file_of(self, record: int) -> str:
        """Return the name of the file that holds a record."""
        return file_of(record, self.files)

    @cached_property
    def lengths(self) -> Integers:
        """Length of each record: int64[count]."""
        return np.diff(self.offsets) if self.known_lengths is None else self.known_lengths

    @cached_property
    def max_length(self) -> int:
        """Length of the longest record."""
        return int(self.lengths.max(initial=0))

    @cached_property
    def id_column(self) -> StringColumn:
        return StringColumn.from_strings(self.ids)

    @cached_property
    def used_codes(self) -> Codes:
        """Codes that occur in the sequences, ascending."""
        if self.known_used_codes is not None:
            return self.known_used_codes
        return find_codes(self.codes) if self.known_code_counts is None else np.flatnonzero(self.known_code_counts).astype(np.uint8)

    @cached_property
    def code_counts(self) -> Integers:
        """Number of occurrences of each code: int64[256]."""
        return count_codes(self.codes) if self.known_code_counts is None else self.known_code_counts

    @property
    def file_ids(self) -> StringColumn:
        """Ids in the file, which may be repeated."""
        return self.id_column if self.known_file_ids is None else self.known_file_ids

    @property
    def is_mapped(self) -> bool:
        """True if letters and ids are in a memory-mapped file, whose pages the system can drop and read again."""
        return self.scattered_codes is not None

    @cached_property
    def scattered(self) -> SequenceSet:
        """The same records, for reading the letters of a few of them in any order."""
        return self if self.scattered_codes is None else replace(self, codes=self.scattered_codes)

    @property
    def nbytes(self) -> int:
        """Size of the letters and offsets in bytes."""
        return self.codes.nbytes + self.offsets.nbytes

    @property
    def memory_bytes(self) -> int:
        """Memory that the records take, in bytes. For mapped records, this is the memory for their lengths, and for the offsets of letters
        and ids."""
        return _MAPPED_RECORD_BYTES * len(self) if self.is_mapped else self.nbytes

    @cached_property
    def file_positions(self) -> Integers:
        """Position of each record in its file: int64[count]."""
        return np.arange(len(self), dtype=np.int64) if self.known_file_positions is None else self.known_file_positions

    def gather(self, records: Integers, threads: int = 1) -> StringColumn:
        """Return the codes of the selected records, in the order of `records`. threads: maximum number of threads."""
        return StringColumn(self.codes, self.offsets).select(records, threads)

    def select(self, records: Integers, threads: int = 1) -> SequenceSet:
        """Return a set of the selected records, in the order of `records`. threads: maximum number of threads."""
        letters = self.gather(records, threads)
        described = self.descriptions.select(records) if self.descriptions is not None else None
        annotations = {name: column.select(records) for name, column in self.annotations.items()}
        return SequenceSet(
            self.source, self.id_column.select(records), letters.text, letters.offsets, descriptions=described, annotations=annotations
        )

    def keep(self, records: Integers, threads: int = 1) -> SequenceSet:
        """Return a set of the selected records, in ascending order, in which ties are still broken by the order of the file.

        threads: maximum number of threads
        """
        positions = None if self.known_file_positions is None else self.known_file_positions[records]
        file_ids = None if self.known_file_ids is None else self.known_file_ids.select(records)
        files = tuple((int(np.searchsorted(records, first)), name) for first, name in self.source_files)
        return replace(self.select(records, threads), known_file_positions=positions, source_files=files, known_file_ids=file_ids)

    def select_first(self, count: int) -> SequenceSet:
        """Return a set of the first `count` records, without copying."""
        described = self.descriptions[:count] if self.descriptions is not None else None
        codes, offsets = self.codes[: self.offsets[count]], self.offsets[: count + 1]
        annotations = {name: column.first(count) for name, column in self.annotations.items()}
        return SequenceSet(self.source, self.ids[:count], codes, offsets, descriptions=described, annotations=annotations)

    def first_record_with(self, code: int) -> int:
        """Return the number of the first record that contains a code. At least one record must contain it."""
        position = int(np.argmax(self.codes == code))
        return int(np.searchsorted(self.offsets, position, side="right")) - 1


def join_sets(sets: Sequence[SequenceSet]) -> SequenceSet:
    """Return one set with the records from all sets, in the order of the sets."""
    first, *others = sets
    if not others:
        return first
    codes = join_columns(StringColumn(one.codes, one.offsets) for one in sets)
    ids = join_columns(one.id_column for one in sets)
    file_ids = join_columns(one.file_ids for one in sets) if any(one.known_file_ids is not None for one in sets) else None
    texts = [one.descriptions for one in sets if one.descriptions is not None]
    described = join_columns(texts) if len(texts) == len(sets) else None
    starts = np.cumsum([0, *map(len, sets)]).tolist()
    source_files = tuple((start + at, name) for start, one in zip(starts, sets, strict=False) for at, name in one.files)
    source = f"{first.source} and " + (others[0].source if len(others) == 1 else f"{len(others):,} other files")
    common = [name for name in first.annotations if all(name in one.annotations for one in others)]
    return SequenceSet(
        source,
        ids,
        codes.text,
        codes.offsets,
        descriptions=described,
        source_files=source_files,
        known_file_ids=file_ids,
        annotations={name: join_annotations([one.annotations[name] for one in sets]) for name in common},
    )


def encode_letters(
    source: str,
    letters: StringColumn,
    alphabet: Alphabet,
    record_id: Callable[[int], str],
    mask_lower: bool = False,
    encoded_letters: int = 0,
    threads: int = 1,
) -> npt.NDArray[np.uint8]:
    """Return the codes for the records' letters. The codes overwrite the letters if the letters' memory is writable.

    source: name of the input, for messages
    record_id: returns the id of a record, given its number
    mask_lower: whether to replace lower-case letters by N or X
    encoded_letters: number of leading letters that are already codes
    threads: maximum number of threads

    Raises `InputError` if a letter is not in the alphabet. The message names the record, the position and the letter.
    """
    codes = letters.text if letters.text.flags.writeable else np.empty(len(letters.text), dtype=np.uint8)
    at = encode_into(letters.text[encoded_letters:], alphabet.encoding_of(mask_lower), INVALID_CODE, codes[encoded_letters:], threads)
    if at >= 0:
        raise invalid_letter(source, letters, at + encoded_letters, alphabet, record_id)
    return codes


def invalid_letter(source: str, letters: StringColumn, at: int, alphabet: Alphabet, record_id: Callable[[int], str]) -> InputError:
    """Return the error for a letter that is not in the alphabet. at: index of the letter in the text of all records"""
    record = int(np.searchsorted(letters.offsets, at, side="right")) - 1
    start, stop = letters.offsets[record : record + 2].tolist()
    letter = _first_character(letters.text[at : min(at + _MAX_CHARACTER_BYTES, stop)].tobytes())
    return InputError(
        f"{source}: record {record_id(record)!r}: {letter!r} at position {at - start + 1} is {_describe_letter(letter, alphabet)}"
    )


def _first_character(text: bytes) -> str:
    """Return the first character of text in UTF-8, or the first byte of other text as a character."""
    for stop in range(1, len(text) + 1):
        try:
            return text[:stop].decode()
        except UnicodeDecodeError:
            pass
    return chr(text[0])


def _describe_letter(letter: str, alphabet: Alphabet) -> str:
    """Return what a letter that is not in an alphabet may be, and what to do about it."""
    unknown = parameter("unknown", "n" if alphabet.name == "dna" else "x")
    if letter in "-.":
        gap = (
            f"a gap; sequences to be aligned have none: remove gaps with {parameter('degap')}, or if these are the rows of an alignment,"
            " compare them with gpualign dist"
        )
        return gap if letter == "-" else f"{gap}; or an unknown letter: {unknown} reads it as one"
    if letter in _MARKS:
        return _MARKS[letter]
    if letter.isspace() or not letter.isprintable():
        return "a blank or an invisible character; delete it"
    if alphabet.name == "dna" and letter.isascii() and letter.isalpha():
        return f"not an IUPAC nucleotide letter (if these are proteins: {parameter('alphabet', 'protein')}; {unknown} reads it as N)"
    if letter == "?":
        return f"not a {alphabet.name} letter; {unknown} reads it as {alphabet.letters[alphabet.unknown_code]}"
    return f"not a {alphabet.name} letter"
