"""FASTA and FASTQ, plain or gzip, from a binary stream. What a file is, its content says, never its name."""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import BinaryIO

from gpualign.core.alphabet import ALPHABETS, Alphabet, Census
from gpualign.core.errors import InputError
from gpualign.core.ids import number_repeated
from gpualign.core.sequences import SequenceSet, encode
from gpualign.core.unpack import decompressing, unpack


def _biopython_records(first: bytes, text: io.TextIOWrapper, source: str) -> Iterator[tuple[str, str]]:
    # Imported here: Biopython and NumPy cost start-up time that `--help` need not pay.
    from Bio.SeqIO.FastaIO import SimpleFastaParser
    from Bio.SeqIO.QualityIO import FastqGeneralIterator

    body = first.lstrip()
    if not body:
        raise InputError(f"{source}: empty file; expected FASTA or FASTQ records")
    if body.startswith(b">"):
        yield from SimpleFastaParser(text)  # type: ignore[no-untyped-call,unused-ignore]
    elif body.startswith(b"@"):
        # Biopython's iterator wants the first record on the first line; FASTA's parser skips blank lines by itself.
        skip = first[: len(first) - len(body)].replace(b"\r\n", b"\n").replace(b"\r", b"\n").count(b"\n")
        for _ in range(skip):
            text.readline()
        for title, letters, _ in FastqGeneralIterator(text):
            yield title, letters
    else:
        start = body.splitlines()[0][:40].decode("utf-8", "backslashreplace")
        raise InputError(f"{source}: neither FASTA (a line starting with '>') nor FASTQ ('@'); the file starts with {start!r}")


def read_records(stream: BinaryIO, source: str) -> Iterator[tuple[str, str]]:
    """(title line, letters) of each record. Raises `InputError` for anything that is not a whole FASTA or FASTQ file."""
    first, stream = unpack(stream, source)
    if b"\0" in first:
        raise InputError(f"{source}: a binary file; expected FASTA or FASTQ text")
    try:
        with decompressing(source):
            text = io.TextIOWrapper(stream, encoding="utf-8", errors="surrogateescape")
            yield from _biopython_records(first, text, source)
    except InputError:
        raise
    except ValueError as error:
        raise InputError(f"{source}: bad FASTQ: {error}") from None


@dataclass
class Gaps:
    """Gaps that were removed, - and . alike: how many, and of how many records."""

    letters: int = 0
    records: int = 0

    def remove(self, letters: bytes) -> bytes:
        """The letters of a record without gaps, which are counted."""
        left = letters.translate(None, b"-.")
        self.letters += len(letters) - len(left)
        self.records += len(letters) > len(left)
        return left


@dataclass(frozen=True)
class RawRecords:
    """Records as read: `letters[i]` are ASCII bytes in the case of the file. empty: ids of records that were left out. gaps: what
    was removed."""

    source: str
    ids: list[str]
    letters: list[bytes]
    empty: list[str]
    gaps: Gaps = field(default_factory=Gaps)


def clean_record(title: str, text: str, number: int, source: str) -> tuple[str, bytes]:
    """(id, letters) of a record: its title up to the first white space, and its letters without any. Raises `InputError` where there
    is no id."""
    words = title.split(None, 1)
    if not words:
        raise InputError(f"{source}: record {number} has no id behind its '>' or '@'")
    return words[0], text.encode("utf-8", "surrogateescape").translate(None, b" \t\r\n\x0b\x0c")


def read_raw(stream: BinaryIO, source: str, allow_duplicates: bool = False, allow_empty: bool = False, degap: bool = False) -> RawRecords:
    """Read a whole file.

    Raises `InputError` for a record without id or letters, and for repeated ids. With `allow_empty` records without letters are left
    out; with `allow_duplicates` repeated ids are numbered; with `degap` gaps are removed, before anything else is asked of the letters.
    """
    ids: list[str] = []
    letters: list[bytes] = []
    seen: dict[str, int] = {}
    repeated: list[int] = []
    empty: list[str] = []
    gaps = Gaps()
    for number, (title, text) in enumerate(read_records(stream, source), 1):
        name, body = clean_record(title, text, number, source)
        if degap:
            body = gaps.remove(body)
        if not body and allow_empty:
            empty.append(name)
            continue
        if not body:
            raise InputError(f"{source}: record {name!r} (number {number}) has no letters")
        if name in seen:
            if not allow_duplicates:
                raise InputError(
                    f"{source}: records {seen[name]} and {number} have the same id {name!r}; "
                    "make ids unique, or number repeated ones with --allow-duplicates"
                )
            repeated.append(len(ids))
        else:
            seen[name] = number
        ids.append(name)
        letters.append(body)
    if not ids:
        raise InputError(f"{source}: no records" + (" with letters" if empty else ""))
    number_repeated(ids, repeated)
    return RawRecords(source, ids, letters, empty, gaps)


def encode_all(inputs: list[RawRecords], alphabet: str) -> tuple[Alphabet, list[SequenceSet]]:
    """Encode the inputs of one run in one alphabet: "dna", "protein" or "auto" (as `alphabet.detect` finds it from all of them)."""
    if alphabet == "auto":
        census = Census()
        for raw in inputs:
            file = f"{raw.source}: " if len(inputs) > 1 else ""
            census.take(raw.ids, raw.letters, partial("{}record {!r}".format, file))
        chosen = census.alphabet()
    else:
        chosen = ALPHABETS[alphabet]
    return chosen, [encode(raw.source, raw.ids, raw.letters, chosen) for raw in inputs]
