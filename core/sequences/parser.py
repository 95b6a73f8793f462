"""Parses FASTA and FASTQ text into columns of ids and letters, and detects tables and plain lists, which other modules parse. A compiled
scanner parses ordinary records; unusual records are passed one by one to Biopython, and read exactly as Biopython reads them."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import BinaryIO, cast

import numpy as np
import numpy.typing as npt

from gpualign.core.common.dataclass import dataclass
from gpualign.core.common.errors import InputError, parameter
from gpualign.core.files.decompression import PlainText, PrefixedStream, estimated_text_bytes, open_decompressed, plain_text
from gpualign.core.files.foreign_formats import refuse_foreign_format
from gpualign.core.files.watched_stream import WatchedStream
from gpualign.core.sequences._records import RecordScanner, encode
from gpualign.core.sequences.alphabet import INVALID_CODE, LETTER_KIND_DEFINITIONS, PROTEIN, Alphabet, LetterKinds
from gpualign.core.sequences.plain_lists import parse_list, refuse_other_lines
from gpualign.core.sequences.record_tables import DEFAULT_COLUMNS, TableColumns, TableRecords, is_receptor_table, read_table_records
from gpualign.core.sequences.string_column import StringColumn

CHUNK_BYTES = 1 << 20
"""Size of the buffer in bytes. It grows if a record is longer. The buffer is reused, because allocating memory takes longer than filling
it."""
PIECE_BYTES = 1 << 18
"""Size in bytes of the pieces of a file that several threads read. The text of a piece and its letters fit the cache of a core."""
MIN_THREAD_BYTES = 4 << 20
"""Minimum number of bytes of a file for each of several threads that read it. Scanning these takes 3 ms, and starting a thread 0.05 ms."""
_MAX_THREADS = 32
"""Maximum number of threads that read a file. Each holds a few pieces and their records, and more would wait for each other."""
_DELETE_CHARACTER = 0x7F
_COMMENTS = re.compile(rb"(?:[ \t]*#[^\r\n]*[\r\n]+|[ \t]*[\r\n]+)+(?=>)")
"""Pattern of comment lines and blank lines before the first record, as in a3m files."""
_RECORDS_PER_YIELD = 1 << 12
"""Number of records that Biopython reads between two yields to the caller."""


class NoRecordsError(InputError):
    """Error of a file that has no records, or none with letters."""


@dataclass
class EagerEncoding:
    """State of early encoding, which encodes letters right after they are read, while they are in the processor's caches.

    The alphabet of a set of records is certain only after the last record. Therefore, only letters that can be recovered from their codes
    are encoded early: capitals that have their own code, from the first letter up to the first letter that is not such a capital.

    alphabet: alphabet of the codes; None until a letter has been encoded
    encoded_letter_count: number of leading letters, of all records together, that are already codes
    """

    alphabet: Alphabet | None = None
    encoded_letter_count: int = 0
    _has_ended: bool = False

    def extend(self, scanner: RecordScanner, kinds: LetterKinds) -> None:
        """Encode more of the letters that the scanner holds, if they can be recovered from their codes.

        kinds: kinds of the letters in all the scanner's records
        """
        if self._has_ended or (alphabet := self.alphabet or kinds.likely_alphabet) is None:
            return
        if alphabet is PROTEIN and kinds.may_be_masked_dna(scanner.letters):
            return
        self.alphabet = alphabet
        self.encoded_letter_count = scanner.encode(alphabet.upper_case_encoding, INVALID_CODE)
        self._has_ended = self.encoded_letter_count < scanner.letters

    @property
    def encoding(self) -> npt.NDArray[np.uint8] | None:
        """Code of each byte, uint8[256], with which the next letters may be encoded early; None if they must not be."""
        return None if self._has_ended or self.alphabet is None else self.alphabet.upper_case_encoding

    def end(self) -> None:
        """Encode no more letters early."""
        self._has_ended = True

    def confirm_alphabet(self, alphabet: Alphabet, letters: npt.NDArray[np.uint8], threads: int = 1) -> int:
        """Accept `alphabet` as the alphabet of all records. If letters were encoded early with another alphabet, decode them.

        letters: all letters, uint8[letters]; the first of them may already be codes
        threads: maximum number of threads

        Returns the number of leading letters that are codes in `alphabet`.
        """
        if self.alphabet not in (alphabet, None):
            codes = letters[: self.encoded_letter_count]
            encode(codes, self.alphabet.decoding, INVALID_CODE, codes, threads)
            self.alphabet, self.encoded_letter_count = None, 0
        return self.encoded_letter_count


@dataclass(frozen=True)
class Records:
    """Records as read, in file order.

    ids: first word of each title; empty if a title has no words
    letters: letters in the file's original case, without white space
    descriptions: text after the ids, with tabs replaced by blanks; None if not requested
    is_plain_list: whether the file is a list with one sequence per line, in which each sequence is its own id
    letter_kinds: kinds of letters, if counted
    eager_encoding: tells which letters are already codes, if encoding was requested
    is_unterminated: whether these are the last records (possibly none) of a file that does not end with a newline
    table: the records as rows of a table, if the file is one
    """

    ids: StringColumn
    letters: StringColumn
    descriptions: StringColumn | None = None
    is_plain_list: bool = False
    letter_kinds: LetterKinds | None = None
    eager_encoding: EagerEncoding | None = None
    is_unterminated: bool = False
    table: TableRecords | None = None

    def __len__(self) -> int:
        return len(self.ids)


def read_records(
    stream: BinaryIO,
    source: str,
    min_letters: int | None = None,
    with_descriptions: bool = False,
    encode_eagerly: bool = False,
    threads: int = 1,
    columns: TableColumns = DEFAULT_COLUMNS,
) -> Iterator[Records]:
    """Yield the records in a file, part by part.

    min_letters: minimum number of letters per part, except in the last part; if None, all records are in one part
    with_descriptions: whether to read descriptions
    encode_eagerly: whether letters may be encoded while the file is being read; has an effect only if all records are in one part
    threads: number of threads that may read an uncompressed regular file, if all records are in one part
    columns: columns to read if the file is a table

    A list with one sequence per line, or a table, is always a single part. Raises `InputError` if the file is neither such a list, nor a
    table of receptors or one whose columns are given, nor complete FASTA or FASTQ.
    """
    file, size = stream, estimated_text_bytes(stream)
    location = plain_text(stream) if threads > 1 and min_letters is None else None
    first, stream = open_decompressed(stream, source)
    if b"\0" in first:
        _refuse_other_kind(first, source)
        raise InputError(f"{source}: a binary file; expected FASTA or FASTQ text")
    if columns.are_given or is_receptor_table(first):
        table = read_table_records(stream, source, columns, threads)
        described = StringColumn(table.ids.text[:0], np.zeros_like(table.ids.offsets)) if with_descriptions else None
        yield Records(table.ids, table.letters, described, is_unterminated=table.is_unterminated, table=table)
        return
    skipped = 0
    if (comments := _COMMENTS.match(first)) is not None:
        skipped = len(stream.read(comments.end()))
        first = first[skipped:]
    body = first.lstrip()
    if not body:
        raise NoRecordsError(f"{source}: empty file; expected FASTA or FASTQ records")
    if body[:1] not in (b">", b"@"):
        if parse_list(first) is not None and (listed := parse_list(text := stream.read())) is not None:
            refuse_other_lines(listed, source)
            yield _records_of_list(listed, is_unterminated=text[-1:] not in (b"\r", b"\n"))
            return
        _refuse_other_kind(first, source)
        start = body.splitlines()[0][:40].decode("utf-8", "backslashreplace")
        named = f"; nw and cluster read tables of sequences with {parameter('sequence_column')}; gpualign dist reads tables of SNPs"
        other = named if any(delimiter in start for delimiter in "\t,;") else ""
        raise InputError(
            f"{source}: neither FASTA (a line starting with '>') nor FASTQ ('@'), nor a list of short sequences (two or more lines of 1 to"
            f" 50 capital letters each); the file starts with {start!r}{other}"
        )
    _refuse_other_records(body, source)
    blank = first[: len(first) - len(body)]
    if blank and blank[-1:] not in (b"\n", b"\r"):
        raise InputError(f"{source}: white space before the first {body[:1].decode()!r}, which must start its line")
    skipped += len(stream.read(len(blank)))
    fastq = body.startswith(b"@")
    scanner = RecordScanner(fastq, size if min_letters is None else 0, with_descriptions)
    kinds, encoded = LetterKinds(), EagerEncoding() if encode_eagerly and min_letters is None else None
    watched = WatchedStream(stream)
    parallel = None
    if location is not None:
        watched.position = location.start + skipped
        parallel = _ParallelScan(file, location, watched, threads, scanner, kinds, encoded)
    for _ in _scan(watched, scanner, source, fastq, parallel):
        kinds.add(scanner.count_kinds(*LETTER_KIND_DEFINITIONS))  # while they are in the caches and the next block is decompressed
        if encoded is not None:
            encoded.extend(scanner, kinds)
        if min_letters is not None and scanner.letters >= min_letters:
            yield _take_records(scanner, kinds, with_descriptions)
            kinds = LetterKinds()
    kinds.add(scanner.count_kinds(*LETTER_KIND_DEFINITIONS))
    yield replace(_take_records(scanner, kinds, with_descriptions, encoded), is_unterminated=not watched.at_line_end)


def _refuse_other_records(body: bytes, source: str) -> None:
    """Raise `InputError` for a format whose records begin as in FASTA. body: first bytes of the file, from the first record on"""
    refuse_foreign_format(body, source)
    if body.startswith(b">Cluster "):  # perhaps of CD-HIT
        _refuse_other_kind(body, source)


def _refuse_other_kind(first: bytes, source: str) -> None:
    """Raise `InputError` if a file is of a known kind that holds no sequences, or aligned ones. first: first bytes of the file"""
    from gpualign.core.files.kinds import CONVERSIONS, FileKind, kind_of  # compiles patterns, which takes longer than reading a small file

    kind = kind_of(first)
    if kind in (None, FileKind.FASTA, FileKind.FASTQ):
        return
    calls = (FileKind.VCF, FileKind.BCF, FileKind.PLINK, FileKind.SAMPLE_SET, FileKind.CLUSTAL, FileKind.PHYLIP)
    advice = {
        **CONVERSIONS,
        **dict.fromkeys(calls, "gpualign dist reads it"),
        FileKind.NUMPY: f"gpualign cluster {parameter('distances')}, tree and plot read it",
        FileKind.INDEX: "to search it, give the file itself, uncompressed, after the queries: gpualign sw QUERY INDEX",
        FileKind.PAIRS: f"gpualign cluster {parameter('edges')} reads it",
        FileKind.CLUSTERS: f"gpualign cluster {parameter('verify')} checks them",
    }
    raise InputError(f"{source} is {kind.value}; expected FASTA or FASTQ" + (f"; {advice[kind]}" if kind in advice else ""))


class _ParallelScan:
    """Scans most records of an uncompressed regular file with several threads.

    The threads take ordinary records up to the first one that is not, and never the last record. The stream continues with the next record,
    so that everything unusual is read, or refused, as in a single thread. After a while, the threads try again.

    file: stream that reads the file
    text: location of the text in the file
    stream: stream of the text from which records are scanned otherwise
    kinds: kinds of the letters in all the scanner's records
    """

    def __init__(
        self,
        file: BinaryIO,
        text: PlainText,
        stream: WatchedStream,
        threads: int,
        scanner: RecordScanner,
        kinds: LetterKinds,
        encoded: EagerEncoding | None,
    ) -> None:
        self._file, self._text, self._stream = file, text, stream
        self._threads = min(threads, _MAX_THREADS)
        self._scanner, self._kinds, self._encoded = scanner, kinds, encoded
        self._next_attempt = 0

    def advance(self, start: int) -> bool:
        """Scan records from position `start` on, if that saves time. If it does, the stream continues after them, and the result is True.

        start: position of a record after the last one that was scanned; the kinds of all earlier records must have been counted
        """
        threads = min(self._threads, (self._text.stop - start) // MIN_THREAD_BYTES)
        if threads < 2 or start < self._next_attempt:
            return False
        table = None if self._encoded is None else self._encoded.encoding
        blocked = False
        while not blocked:
            start, blocked, kinds = self._scanner.scan_file(
                self._text.descriptor,
                start,
                self._text.stop,
                *LETTER_KIND_DEFINITIONS,
                table,
                INVALID_CODE,
                PIECE_BYTES,
                threads,
            )
            self._kinds.add(kinds)
        if self._encoded is not None:
            if table is None:
                self._encoded.end()
            else:
                self._encoded.extend(self._scanner, self._kinds)
        # More than the threads may have scanned in vain, so that many unusual records do not waste much time.
        self._next_attempt = start + threads * CHUNK_BYTES
        self._stream.continue_in(self._file, start)
        return True


def _records_of_list(sequences: StringColumn, is_unterminated: bool) -> Records:
    letters, no_text = sequences.text, StringColumn(sequences.text[:0], np.zeros_like(sequences.offsets))
    own_copy = StringColumn(letters.copy(), sequences.offsets)
    return Records(sequences, own_copy, no_text, is_plain_list=True, is_unterminated=is_unterminated)


def _take_records(scanner: RecordScanner, kinds: LetterKinds, with_descriptions: bool, encoded: EagerEncoding | None = None) -> Records:
    ids, letters, (text, ends) = scanner.take()
    if not with_descriptions:
        return Records(StringColumn(*ids), StringColumn(*letters), letter_kinds=kinds, eager_encoding=encoded)
    text[(text < ord(" ")) | (text == _DELETE_CHARACTER)] = ord(" ")  # a tab would be another column
    return Records(StringColumn(*ids), StringColumn(*letters), StringColumn(text, ends), letter_kinds=kinds, eager_encoding=encoded)


def _scan(stream: WatchedStream, scanner: RecordScanner, source: str, fastq: bool, parallel: _ParallelScan | None) -> Iterator[None]:
    """Pass a whole stream to a scanner. Text that the scanner does not accept is passed to Biopython instead.

    parallel: scans records with several threads, if possible

    Yields from time to time, so that the caller can process the records scanned so far.
    """
    buffer, held, last = np.empty(CHUNK_BYTES, dtype=np.uint8), 0, False
    while not last:
        if parallel is not None and held and parallel.advance(stream.position - held):
            held = 0
        if held == len(buffer):
            buffer = np.concatenate((buffer, np.empty_like(buffer)))
        count = stream.readinto(buffer[held:].data)
        held, last = held + count, not count
        text = buffer[:held]
        taken, strange = scanner.feed(text, last)
        if fastq and taken != strange:  # everything that follows goes to Biopython
            remaining, before = text[taken:].tobytes(), scanner.records
            try:
                for number, (title, letters) in enumerate(_parse_fastq(PrefixedStream(remaining, cast(BinaryIO, stream)))):
                    _append_record(scanner, title, letters)
                    if number % _RECORDS_PER_YIELD == 0:
                        yield
            except InputError:
                raise
            except ValueError as error:
                wrong = _describe_quality_mismatch(remaining) if scanner.records == before else None
                raise InputError(f"{source}: bad FASTQ: record {scanner.records + 1}: {wrong or error}") from None
            return
        while taken != strange:
            for title, letters in _parse_fasta(io.BytesIO(text[taken:strange].tobytes())):
                _append_record(scanner, title, letters)
            taken, strange = (strange + more for more in scanner.feed(text[strange:], last))
        held -= taken
        buffer[:held] = buffer[taken : taken + held].copy()  # parsed again with the text that follows
        yield


def _text_stream(stream: io.RawIOBase | io.BytesIO) -> io.TextIOWrapper:
    buffered = io.BufferedReader(cast(io.RawIOBase, stream), 1 << 20)
    return io.TextIOWrapper(buffered, encoding="utf-8", errors="surrogateescape")


def _parse_fasta(stream: io.BytesIO) -> Iterator[tuple[str, str]]:
    # Imported only when needed, since importing Biopython takes longer than a small job.
    from Bio.SeqIO.FastaIO import SimpleFastaParser

    yield from SimpleFastaParser(_text_stream(stream))  # type: ignore[no-untyped-call,unused-ignore]


def _parse_fastq(stream: io.RawIOBase) -> Iterator[tuple[str, str]]:
    from Bio.SeqIO.QualityIO import FastqGeneralIterator

    for title, letters, _ in FastqGeneralIterator(_text_stream(stream)):
        yield title, letters


def _describe_quality_mismatch(record: bytes) -> str | None:
    """Describe the fault in a four-line record that has too few or too many qualities; None for any other fault.

    Biopython would count the lines that follow the record as qualities.
    """
    lines = [line.strip() for line in record.split(b"\n", 4)]
    title, letters, separator, qualities, following = lines + [b""] * (5 - len(lines))
    if (
        separator[:1] != b"+"
        or len(letters) == len(qualities)
        or following[:1] not in (b"", b"@")
        or len((letters + qualities).split()) > 1
    ):
        return None
    name = (title[1:].split(None, 1) or [b""])[0].decode("utf-8", "backslashreplace")
    return f"{name!r} has {len(letters)} letters and {len(qualities)} qualities"


def _append_record(scanner: RecordScanner, title: str, letters: str) -> None:
    name, *more = title.split(None, 1) or [""]
    body = letters.encode("utf-8", "surrogateescape").translate(None, b" \t\r\n\x0b\x0c")
    scanner.append(name.encode("utf-8", "surrogateescape"), body, "".join(more).strip().encode("utf-8", "surrogateescape"))
