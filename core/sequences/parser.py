"""Records of FASTA and FASTQ text as columns of ids and letters. A compiled scanner takes the ordinary ones; what else a file may hold
goes through Biopython, record by record, and is read as it reads it."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import BinaryIO, cast

import numpy as np

from gpualign.core.common.dataclass import dataclass
from gpualign.core.common.errors import InputError
from gpualign.core.files.decompression import Prefixed, text_to_come, unpack
from gpualign.core.sequences._records import RecordScanner
from gpualign.core.sequences.alphabet import KINDS, Kinds
from gpualign.core.sequences.eager_encoding import EagerEncoding
from gpualign.core.sequences.string_column import StringColumn

_CHUNK = 1 << 20
"""Bytes of text in hand; more where one record is longer. New memory takes longer to be had than to be filled."""
_DELETE = 0x7F
_LONGEST_LISTED = 50
"""Letters: receptors' CDR3 have up to 40, sequences are wrapped at 60 or more."""
_COMMENTS = re.compile(rb"(?:[ \t]*#[^\r\n]*[\r\n]+|[ \t]*[\r\n]+)+(?=>)")
"""Lines before the first record that are none, as a3m has."""
_TAKEN_OVER = 1 << 12
"""Records that Biopython reads before those who wait for them are asked."""


@dataclass(frozen=True)
class Records:
    """Records as they were read, in file order. ids: the first words of titles, empty where there is none. letters: in the case of the
    file, without white space. descriptions: what follows ids, tabs as blanks; None where nobody asked for them.
    listed: whether they were a list, a sequence a line, which are their own ids. kinds: of all their letters, where they were counted.
    ahead: which letters are codes already, where they were to be. unended: whether they are the last of a file whose last line has no line
    end; there may be none of them then."""

    ids: StringColumn
    letters: StringColumn
    descriptions: StringColumn | None = None
    listed: bool = False
    kinds: Kinds | None = None
    ahead: EagerEncoding | None = None
    unended: bool = False

    def __len__(self) -> int:
        return len(self.ids)


def read_records(
    stream: BinaryIO, source: str, letters: int | None = None, described: bool = False, encode_ahead: bool = False
) -> Iterator[Records]:
    """The records of a file, in parts of this many letters or somewhat more; None: all at once. described: with their descriptions.
    encode_ahead: letters may be encoded, for those who take all records at once.

    A list of sequences, a line each, is all at once. Raises `InputError` for anything that is none, and no whole FASTA or FASTQ file.
    """
    size = text_to_come(stream)
    first, stream = unpack(stream, source)
    if b"\0" in first:
        raise InputError(f"{source}: a binary file; expected FASTA or FASTQ text")
    if (comments := _COMMENTS.match(first)) is not None:
        stream.read(comments.end())
        first = first[comments.end() :]
    body = first.lstrip()
    if not body:
        raise InputError(f"{source}: empty file; expected FASTA or FASTQ records")
    if body[:1] not in (b">", b"@"):
        if _listed(first) is not None and (listed := _listed(text := stream.read())) is not None:
            yield replace(listed, unended=text[-1:] not in (b"\r", b"\n"))
            return
        from gpualign.core.files.kinds import FileKind, kind_of

        if (kind := kind_of(first)) is not None:
            reads = ", which gpualign dist reads" if kind in (FileKind.VCF, FileKind.CLUSTAL, FileKind.PHYLIP) else ""
            raise InputError(f"{source} is {kind.value}{reads}; expected FASTA or FASTQ")
        start = body.splitlines()[0][:40].decode("utf-8", "backslashreplace")
        other = "; tables of SNPs are for gpualign dist" if "\t" in start else ""
        raise InputError(
            f"{source}: neither FASTA (a line starting with '>') nor FASTQ ('@'), nor a list of short sequences (two lines or more of 1 to"
            f" 50 capital letters each); the file starts with {start!r}{other}"
        )
    blank = first[: len(first) - len(body)]
    if blank and blank[-1:] not in (b"\n", b"\r"):
        raise InputError(f"{source}: white space before the first {body[:1].decode()!r}, with which its line has to start")
    stream.read(len(blank))
    fastq = body.startswith(b"@")
    scanner = RecordScanner(fastq, size if letters is None else 0, described)
    kinds, ahead = Kinds(), EagerEncoding() if encode_ahead and letters is None else None
    watched = _Watched(stream)
    for _ in _scan(watched, scanner, source, fastq):
        kinds.add(scanner.count_kinds(*KINDS))  # in the caches, and while the next block is unpacked
        if ahead is not None:
            ahead.go_on(scanner, kinds)
        if letters is not None and scanner.letters >= letters:
            yield _taken(scanner, kinds, described)
            kinds = Kinds()
    kinds.add(scanner.count_kinds(*KINDS))
    yield replace(_taken(scanner, kinds, described, ahead), unended=not watched.ended)


class _Watched(io.BufferedIOBase):
    """A stream that knows its last byte so far, when all of it is read into buffers."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = cast(io.BufferedReader, stream)
        self._last = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: object) -> int:
        view = memoryview(buffer)  # type: ignore[arg-type]
        if count := self._stream.readinto(view):
            self._last = view[count - 1]
        return count

    @property
    def ended(self) -> bool:
        """Whether that ends a line."""
        return self._last in b"\r\n"


def _listed(text: bytes) -> Records | None:
    """The records of a list of peptides or other short sequences: two lines or more, each of at most `_LONGEST_LISTED` capital letters
    (or *, a stop). None for all else: longer lines may be those of one sequence, and small letters are words."""
    data = np.frombuffer(text, dtype=np.uint8)
    ends_line = data == ord("\n")
    in_line = ~ends_line & (data != ord("\r"))
    letters = data[in_line]
    if not (((letters >= ord("A")) & (letters <= ord("Z"))) | (letters == ord("*"))).all():
        return None
    ends = np.append(np.cumsum(in_line, dtype=np.int64)[ends_line], len(letters))
    offsets = np.append(0, ends[np.diff(ends, prepend=0) > 0])  # without empty lines
    if len(offsets) < 3 or np.diff(offsets).max() > _LONGEST_LISTED:
        return None
    ids = StringColumn(letters, offsets)
    return Records(ids, StringColumn(letters.copy(), offsets), StringColumn(letters[:0], np.zeros_like(offsets)), listed=True)


def _taken(scanner: RecordScanner, kinds: Kinds, described: bool, ahead: EagerEncoding | None = None) -> Records:
    ids, letters, (text, ends) = scanner.take()
    if not described:
        return Records(StringColumn(*ids), StringColumn(*letters), kinds=kinds, ahead=ahead)
    text[(text < ord(" ")) | (text == _DELETE)] = ord(" ")  # a tab would be another column
    return Records(StringColumn(*ids), StringColumn(*letters), StringColumn(text, ends), kinds=kinds, ahead=ahead)


def _scan(stream: io.BufferedIOBase, scanner: RecordScanner, source: str, fastq: bool) -> Iterator[None]:
    """Gives all of a stream to a scanner, or to Biopython what it does not take; yields now and then."""
    buffer, held, last = np.empty(_CHUNK, dtype=np.uint8), 0, False
    while not last:
        if held == len(buffer):
            buffer = np.concatenate((buffer, np.empty_like(buffer)))
        count = stream.readinto(buffer[held:].data)
        held, last = held + count, not count
        text = buffer[:held]
        taken, strange = scanner.feed(text, last)
        if fastq and taken != strange:  # and all that follows
            rest, before = text[taken:].tobytes(), scanner.records
            try:
                for number, (title, letters) in enumerate(_fastq(Prefixed(rest, cast(BinaryIO, stream)))):
                    _append(scanner, title, letters)
                    if number % _TAKEN_OVER == 0:
                        yield
            except InputError:
                raise
            except ValueError as error:
                wrong = _wrong_number(rest) if scanner.records == before else None
                raise InputError(f"{source}: bad FASTQ: record {scanner.records + 1}: {wrong or error}") from None
            return
        while taken != strange:
            for title, letters in _fasta(io.BytesIO(text[taken:strange].tobytes())):
                _append(scanner, title, letters)
            taken, strange = (strange + more for more in scanner.feed(text[strange:], last))
        held -= taken
        buffer[:held] = buffer[taken : taken + held].copy()  # comes again, with more behind it
        yield


def _text(stream: io.RawIOBase | io.BytesIO) -> io.TextIOWrapper:
    buffered = io.BufferedReader(cast(io.RawIOBase, stream), 1 << 20)
    return io.TextIOWrapper(buffered, encoding="utf-8", errors="surrogateescape")


def _fasta(stream: io.BytesIO) -> Iterator[tuple[str, str]]:
    # Imported where it is needed, as Biopython takes longer to import than a small job takes.
    from Bio.SeqIO.FastaIO import SimpleFastaParser

    yield from SimpleFastaParser(_text(stream))  # type: ignore[no-untyped-call,unused-ignore]


def _fastq(stream: io.RawIOBase) -> Iterator[tuple[str, str]]:
    from Bio.SeqIO.QualityIO import FastqGeneralIterator

    for title, letters, _ in FastqGeneralIterator(_text(stream)):
        yield title, letters


def _wrong_number(record: bytes) -> str | None:
    """What is wrong with a record of four lines whose qualities are too few or too many; None where it is something else. Biopython counts
    what follows among them."""
    lines = [line.strip() for line in record.split(b"\n", 4)]
    title, letters, again, qualities, behind = lines + [b""] * (5 - len(lines))
    if again[:1] != b"+" or len(letters) == len(qualities) or behind[:1] not in (b"", b"@") or len((letters + qualities).split()) > 1:
        return None
    name = (title[1:].split(None, 1) or [b""])[0].decode("utf-8", "backslashreplace")
    return f"{name!r} has {len(letters)} letters and {len(qualities)} qualities"


def _append(scanner: RecordScanner, title: str, letters: str) -> None:
    name, *more = title.split(None, 1) or [""]
    body = letters.encode("utf-8", "surrogateescape").translate(None, b" \t\r\n\x0b\x0c")
    scanner.append(name.encode("utf-8", "surrogateescape"), body, "".join(more).strip().encode("utf-8", "surrogateescape"))
