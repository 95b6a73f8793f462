"""From the paths of `gpualign dist` to its source of calls. What a file is, its content says."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import BinaryIO

from gpualign.cli.files import STDIO, OutputFiles, open_input
from gpualign.core.distance.sources.base import Source
from gpualign.core.distance.sources.bed import MAGIC, read_filesets
from gpualign.core.distance.sources.fasta import read_alignments
from gpualign.core.distance.sources.table import read_tables
from gpualign.core.errors import InputError
from gpualign.core.unpack import unpack


@dataclass(frozen=True)
class CallOptions:
    """How calls are read."""

    transpose: bool
    no_header: bool
    every_letter: bool
    allow_duplicates: bool


class _FileKind(Enum):
    ALIGNMENT = "an alignment"
    TABLE = "a table"
    VARIANTS = "VCF or BCF"
    FILESET = "a PLINK fileset"


@dataclass(frozen=True)
class _Opened:
    path: str
    source: str
    kind: _FileKind
    stream: BinaryIO


def _kind(first: bytes, source: str) -> _FileKind:
    body = first.removeprefix(b"\xef\xbb\xbf").lstrip()
    if not body:
        raise InputError(f"{source}: empty file; expected a table, an alignment, a VCF or a .bed file")
    if first.startswith(MAGIC):
        return _FileKind.FILESET
    if body.startswith((b"##fileformat=VCF", b"BCF")):
        return _FileKind.VARIANTS
    if body.startswith(b">"):
        return _FileKind.ALIGNMENT
    if b"\0" in first:
        raise InputError(f"{source}: a binary file that is neither BCF nor a PLINK .bed")
    if body.startswith(b"@") and b"\n+" in body:
        raise InputError(f"{source}: FASTQ holds reads; distances are between rows of an alignment (FASTA) or of a table")
    return _FileKind.TABLE


def _path_of(path: str) -> str:
    """A PLINK fileset may go by its prefix, or by its other files."""
    if path == STDIO or (Path(path).exists() and not path.endswith((".bim", ".fam"))):
        return path
    bed = Path(path).with_suffix(".bed") if path.endswith((".bim", ".fam")) else Path(path + ".bed")
    return str(bed) if bed.is_file() else path


def files_of(path: str) -> list[str]:
    """The input of this name, and the files that a PLINK fileset of it would have."""
    if path == STDIO:
        return [path]
    found = _path_of(path)
    return [path, found, *(str(Path(found).with_suffix(suffix)) for suffix in (".bim", ".fam") if found.endswith(".bed"))]


def _open(path: str, stack: ExitStack) -> _Opened:
    path = _path_of(path)
    stream, source = stack.enter_context(open_input(path))
    first, unpacked = unpack(stream, source)
    kind = _kind(first, source)
    if kind is _FileKind.FILESET:
        if path == STDIO:
            raise InputError("a .bed file needs its .bim and .fam beside it: name it instead of -")
        with open(path, "rb") as raw:
            if raw.read(len(MAGIC)) != MAGIC:
                raise InputError(f"{source}: a compressed .bed; unpack it first, it is mapped into memory")
    return _Opened(path, source, kind, unpacked)


def read_calls(paths: Sequence[str], options: CallOptions, memory: int, files: OutputFiles) -> Source:
    """Read one input, or two with the same sites, holding about `memory` bytes at most; scratch files are those of `files`.

    Raises `InputError` naming file, record and reason.
    """
    with ExitStack() as stack:
        opened = [_open(path, stack) for path in paths]
        kind = opened[0].kind
        for other in opened[1:]:
            if other.kind is not kind:
                raise InputError(f"{other.source} is {other.kind.value}, {opened[0].source} is {kind.value}; two inputs are of one kind")
        if options.transpose and kind is not _FileKind.TABLE:
            raise InputError(f"--transpose is for tables; {opened[0].source} is {kind.value}")
        if options.no_header and kind is not _FileKind.TABLE:
            raise InputError(f"--no-header is for tables; {opened[0].source} is {kind.value}")
        if options.every_letter and kind in (_FileKind.VARIANTS, _FileKind.FILESET):
            raise InputError(f"--all-letters is for alignments and tables of letters; {opened[0].source} is {kind.value}")

        def scratch() -> BinaryIO:
            return files.scratch(None)

        if kind is _FileKind.FILESET:
            return read_filesets([Path(o.path) for o in opened], options.allow_duplicates)
        if kind is _FileKind.VARIANTS:
            from gpualign.core.distance.sources.vcf import read_variants

            named = [(_named(o, files), o.source) for o in opened]
            return read_variants(named, options.allow_duplicates, memory, scratch)
        streams = [(o.stream, o.source) for o in opened]
        if kind is _FileKind.ALIGNMENT:
            return read_alignments(streams, options.every_letter, options.allow_duplicates, memory, scratch)
        header = not options.no_header
        return read_tables(streams, options.transpose, options.every_letter, options.allow_duplicates, memory, scratch, header)


def _named(opened: _Opened, files: OutputFiles) -> str:
    """A path for a library that opens files itself; what can be read only once goes to a file first."""
    if opened.path != STDIO and Path(opened.path).is_file():
        return opened.path
    file, path = files.named_scratch(".vcf")
    shutil.copyfileobj(opened.stream, file, 1 << 20)
    file.flush()
    return path
