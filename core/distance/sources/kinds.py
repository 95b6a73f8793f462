"""Which kind of file calls are in, as its content says, and how it is read."""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from enum import Enum
from itertools import chain
from pathlib import Path
from typing import BinaryIO

from gpualign.core.dataclass import dataclass
from gpualign.core.distance.scratch import ScratchFiles
from gpualign.core.distance.sources.base import Source
from gpualign.core.distance.sources.bed import read_filesets
from gpualign.core.distance.sources.fasta import AlignmentText, read_alignments
from gpualign.core.distance.sources.filesets import MAGIC, SITE_MAJOR
from gpualign.core.distance.sources.pgen import pvar_of, read_pgen_filesets
from gpualign.core.distance.sources.table import TableType, read_tables
from gpualign.core.errors import InputError
from gpualign.core.opening import descriptor_of
from gpualign.core.unpack import PlainText, compression_of, plain_text, unpack


@dataclass(frozen=True)
class CallOptions:
    """How calls are read. transpose: in tables a row is a site; no_header: their first line is data. every_letter: as for
    `calls.letter_table`. allow_duplicates: repeated ids are numbered. type: what tables hold."""

    transpose: bool = False
    no_header: bool = False
    every_letter: bool = False
    allow_duplicates: bool = False
    type: TableType = TableType.AUTO


@dataclass(frozen=True)
class CallFile:
    """An input that is open. source: its name for messages; path: None where it has none, such as standard input. joins: whether its
    samples are of the same set as those of the file before it."""

    stream: BinaryIO
    source: str
    path: str | None = None
    joins: bool = False


class FileKind(Enum):
    """What `read_calls` tells apart."""

    ALIGNMENT = "an alignment"
    TABLE = "a table"
    VARIANTS = "VCF or BCF"
    FILESET = "a PLINK fileset"
    FILESET2 = "a PLINK 2 fileset"


@dataclass(frozen=True)
class _Known:
    """stream: unpacked; plain: where the same bytes lie in a file, if they do."""

    path: str | None
    source: str
    kind: FileKind
    stream: BinaryIO
    joins: bool
    plain: PlainText | None


def _kind(first: bytes, source: str) -> FileKind:
    body = first.removeprefix(b"\xef\xbb\xbf").lstrip()
    if not body:
        raise InputError(f"{source}: empty file; expected a table, an alignment, a VCF, a .bed or a .pgen file")
    if first.startswith(MAGIC):
        return FileKind.FILESET if first[len(MAGIC) :][:1] <= bytes([SITE_MAJOR]) else FileKind.FILESET2
    if body.startswith((b"##fileformat=VCF", b"BCF")):
        return FileKind.VARIANTS
    if body.startswith(b">"):
        return FileKind.ALIGNMENT
    if b"\0" in first:
        raise InputError(f"{source}: a binary file that is neither BCF nor a PLINK .bed or .pgen")
    if body.startswith(b"@") and b"\n+" in body:
        raise InputError(f"{source}: FASTQ holds reads; distances are between rows of an alignment (FASTA) or of a table")
    return FileKind.TABLE


_TABLES = {".bim": ".bed", ".fam": ".bed", ".pvar": ".pgen", ".pvar.zst": ".pgen", ".psam": ".pgen"}
"""Of PLINK's filesets, and the calls that they belong to."""


def fileset_path(path: str) -> str:
    """The .bed or .pgen of a PLINK fileset that goes by its prefix, or by its other files; any other path as it is."""
    for table, calls in _TABLES.items():
        if path.endswith(table):
            found = path.removesuffix(table) + calls
            return found if Path(found).is_file() else path
    if Path(path).exists():
        return path
    return next((path + calls for calls in dict.fromkeys(_TABLES.values()) if Path(path + calls).is_file()), path)


def fileset_files(path: str) -> list[str]:
    """The input of this name, and the files that a PLINK fileset of it would have."""
    found = fileset_path(path)
    beside: list[Path] = []
    if found.endswith(".bed"):
        beside = [Path(found).with_suffix(suffix) for suffix in (".bim", ".fam")]
    elif found.endswith(".pgen"):
        beside = [pvar_of(Path(found)), Path(found).with_suffix(".psam")]
    return [path, found, *map(str, beside)]


def _look(file: CallFile) -> _Known:
    plain = plain_text(file.stream)
    first, unpacked = unpack(file.stream, file.source)
    kind = _kind(first, file.source)
    if kind in (FileKind.FILESET, FileKind.FILESET2):
        calls, tables = (".bed", ".bim and .fam") if kind is FileKind.FILESET else (".pgen", ".pvar and .psam")
        if file.path is None or not Path(file.path).is_file():
            raise InputError(f"a {calls} file needs its {tables} beside it: name it instead of {file.path or '-'}")
        with open(file.path, "rb") as raw:
            if raw.read(len(MAGIC)) != MAGIC:
                raise InputError(f"{file.source}: a compressed {calls}; unpack it first")
    return _Known(file.path, file.source, kind, unpacked, file.joins, plain)


def read_calls(inputs: Iterable[CallFile], options: CallOptions, memory: int, files: ScratchFiles, threads: int = 1) -> Source:
    """Read one input, or two with the same sites, holding about `memory` bytes at most; alignments may be in several files each. threads:
    as many read what several can.

    Inputs are taken one after the other, alignments when the one before has been read, and are not needed when this returns. Raises
    `InputError` naming file, record and reason.
    """
    opened = iter(inputs)
    first = _look(next(opened))
    _check_options(options, first)
    others = (_alike(_look(file), first) for file in opened)
    if first.kind is FileKind.ALIGNMENT:
        texts = (AlignmentText(k.stream, k.source, k.plain, k.joins) for k in chain([first], others))
        return read_alignments(texts, options.every_letter, options.allow_duplicates, memory, files.scratch, threads)
    known = [first, *others]
    if first.kind is FileKind.FILESET:
        return read_filesets([Path(k.path) for k in known if k.path is not None], options.allow_duplicates)
    if first.kind is FileKind.FILESET2:
        return read_pgen_filesets([Path(k.path) for k in known if k.path is not None], options.allow_duplicates)
    if first.kind is FileKind.VARIANTS:
        from gpualign.core.distance.sources.vcf import read_variants

        return read_variants([(_named(k, files), k.source) for k in known], options.allow_duplicates, memory, files.scratch)
    streams = [(k.stream, k.source) for k in known]
    header = not options.no_header
    every_letter, duplicates = options.every_letter, options.allow_duplicates
    return read_tables(streams, options.transpose, every_letter, duplicates, memory, files.scratch, header, options.type)


def _alike(other: _Known, first: _Known) -> _Known:
    """Raises `InputError` for inputs that cannot be read together."""
    inputs = "files of a list" if other.joins else "two inputs"
    if other.kind is not first.kind:
        raise InputError(f"{other.source} is {other.kind.value}, {first.source} is {first.kind.value}; {inputs} are of one kind")
    if other.joins and other.kind is not FileKind.ALIGNMENT:
        raise InputError(f"{other.source} is {other.kind.value}; a list of several files is of alignments: join other files first")
    return other


def _check_options(options: CallOptions, file: _Known) -> None:
    if options.transpose and file.kind is not FileKind.TABLE:
        raise InputError(f"--transpose is for tables; {file.source} is {file.kind.value}")
    if options.no_header and file.kind is not FileKind.TABLE:
        raise InputError(f"--no-header is for tables; {file.source} is {file.kind.value}")
    if options.type is TableType.ALLELES and file.kind is not FileKind.TABLE:
        raise InputError(f"--type alleles is for tables; {file.source} is {file.kind.value}")
    if options.type is TableType.ALLELES and options.every_letter:
        raise InputError("--all-letters is for letters, not for --type alleles")
    if options.every_letter and file.kind in (FileKind.VARIANTS, FileKind.FILESET, FileKind.FILESET2):
        raise InputError(f"--all-letters is for alignments and tables of letters; {file.source} is {file.kind.value}")


def _named(known: _Known, files: ScratchFiles) -> str:
    """A path for a library that opens files itself, and unpacks gzip alone; what else is packed, or can be read only once, goes to a file
    first."""
    path = known.path
    if path is not None and descriptor_of(path) is None and Path(path).is_file() and compression_of(path) in (None, "gzip"):
        return path
    file, path = files.named_scratch(".vcf")
    shutil.copyfileobj(known.stream, file, 1 << 20)
    file.flush()
    return path
