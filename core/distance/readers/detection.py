"""Detects from its content which kind of file calls are in, and reads it."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable
from enum import Enum
from itertools import chain
from pathlib import Path
from typing import BinaryIO

from gpualign.core.common.dataclass import dataclass
from gpualign.core.common.errors import InputError, parameter
from gpualign.core.distance.readers.alignment import AlignmentText, read_alignments
from gpualign.core.distance.readers.base import Source
from gpualign.core.distance.readers.plink_bed import read_filesets
from gpualign.core.distance.readers.plink_fileset import SITE_MAJOR
from gpualign.core.distance.readers.plink_pgen import pvar_of, read_pgen_filesets
from gpualign.core.distance.readers.table import read_tables
from gpualign.core.distance.tables.options import CallOptions, TableType
from gpualign.core.files.decompression import PlainText, compression_of, plain_text, unpack
from gpualign.core.files.kinds import PLINK_MAGIC, FileKind, kind_of
from gpualign.core.files.paths import descriptor_of
from gpualign.core.files.scratch import ScratchFiles


@dataclass(frozen=True)
class CallFile:
    """An open input.

    stream: its bytes
    source: its name for messages
    path: its path; None if it has none, such as standard input
    joins: whether its samples belong to the same set as those of the file before it
    """

    stream: BinaryIO
    source: str
    path: str | None = None
    joins: bool = False


class InputKind(Enum):
    """Kinds of input that `read_calls` distinguishes."""

    ALIGNMENT = "an alignment"
    TABLE = "a table"
    VARIANTS = "VCF or BCF"
    FILESET = "a PLINK fileset"
    FILESET2 = "a PLINK 2 fileset"


@dataclass(frozen=True)
class _Known:
    """An input whose kind is known.

    path: path of its file; None for standard input and open files
    source: its name for messages
    kind: decides how it is read
    format: file format that its content shows; None for a table
    stream: the unpacked file
    joins: whether it belongs to the same set as the one before
    plain: place of the same bytes in a file; None if the file had to be unpacked
    """

    path: str | None
    source: str
    kind: InputKind
    format: FileKind | None
    stream: BinaryIO
    joins: bool
    plain: PlainText | None


_KINDS = {
    FileKind.FASTA: InputKind.ALIGNMENT,
    FileKind.CLUSTAL: InputKind.ALIGNMENT,
    FileKind.PHYLIP: InputKind.ALIGNMENT,
    FileKind.VCF: InputKind.VARIANTS,
    FileKind.BCF: InputKind.VARIANTS,
}

_ADVICE = {
    FileKind.FASTQ: "it holds reads; distances are between rows of an alignment (FASTA) or of a table",
    FileKind.VCF_WITHOUT_VERSION: "put that line before it",
    FileKind.STOCKHOLM: "write the alignment as FASTA, for instance with esl-reformat afa",
    FileKind.NEXUS: "write its alignment as FASTA or PHYLIP",
    FileKind.MSF: "write the alignment as FASTA",
    FileKind.MEGA: "write its alignment as FASTA",
    FileKind.PHYLIP_MATRIX: f"gpualign tree makes a tree of it, gpualign cluster with {parameter('distances')} makes clusters",
    FileKind.NEWICK: "expected calls of samples at sites",
    FileKind.PAIRS: f"gpualign cluster with {parameter('edges')} makes clusters of it",
}
"""Advice for files that hold no calls, or none that can be read."""


def _kind(first: bytes, source: str) -> tuple[FileKind | None, InputKind]:
    """Return (the format, None if the content does not show it; the kind of input). Raises `InputError` for a file that holds no calls."""
    if not first.removeprefix(b"\xef\xbb\xbf").strip():
        raise InputError(f"{source}: empty file; expected a table, an alignment, a VCF, a .bed or a .pgen file")
    kind = kind_of(first)
    if kind is FileKind.PLINK:
        return kind, InputKind.FILESET if first[len(PLINK_MAGIC) :][:1] <= bytes([SITE_MAJOR]) else InputKind.FILESET2
    if kind in _KINDS:
        return kind, _KINDS[kind]
    if kind is not None:
        raise InputError(f"{source} is {kind.value}; {_ADVICE[kind]}")
    if b"\0" in first:
        raise InputError(f"{source}: a binary file that is neither BCF nor a PLINK .bed or .pgen")
    return None, InputKind.TABLE


_TABLES = {".bim": ".bed", ".fam": ".bed", ".pvar": ".pgen", ".pvar.zst": ".pgen", ".psam": ".pgen"}
"""Suffixes of the tables of PLINK's filesets, each with the suffix of the calls that it belongs to."""


def fileset_path(path: str) -> str:
    """Return the .bed or .pgen of a PLINK fileset that is named by its prefix or by one of its other files; any other path unchanged."""
    for table, calls in _TABLES.items():
        if path.endswith(table):
            candidate = path.removesuffix(table) + calls
            return candidate if Path(candidate).is_file() else path
    if Path(path).exists() and not Path(path).is_dir():
        return path
    return next((path + calls for calls in dict.fromkeys(_TABLES.values()) if Path(path + calls).is_file()), path)


def fileset_files(path: str) -> list[str]:
    """Return the input of this name, and the files that a PLINK fileset of it would have."""
    calls = fileset_path(path)
    tables: list[Path] = []
    if calls.endswith(".bed"):
        tables = [Path(calls).with_suffix(suffix) for suffix in (".bim", ".fam")]
    elif calls.endswith(".pgen"):
        tables = [pvar_of(Path(calls)), Path(calls).with_suffix(".psam")]
    return [path, calls, *map(str, tables)]


def _look(file: CallFile) -> _Known:
    plain = plain_text(file.stream)
    first, unpacked = unpack(file.stream, file.source)
    format, kind = _kind(first, file.source)
    if kind in (InputKind.FILESET, InputKind.FILESET2):
        calls, tables = (".bed", ".bim and .fam") if kind is InputKind.FILESET else (".pgen", ".pvar and .psam")
        if file.path is None or not Path(file.path).is_file():
            raise InputError(f"a {calls} file needs its {tables} in the same folder: name it instead of {file.path or '-'}")
        with open(file.path, "rb") as raw:
            if raw.read(len(PLINK_MAGIC)) != PLINK_MAGIC:
                raise InputError(f"{file.source}: a compressed {calls}; unpack it first")
    return _Known(file.path, file.source, kind, format, unpacked, file.joins, plain)


def read_calls(
    inputs: Iterable[CallFile],
    options: CallOptions,
    memory: int,
    files: ScratchFiles,
    warn: Callable[[str], None],
    threads: int = 1,
) -> Source:
    """Read one input, or two with the same sites; each alignment may be in several files.

    Inputs are taken one after the other, an alignment after the one before has been read, and are not needed after this returns. Raises
    `InputError` naming file, record and reason.

    memory: approximate maximum memory that is held, bytes
    warn: receives assumptions that were made, and the parts of a table that are not read
    threads: threads that read inputs that several can read
    """
    opened = iter(inputs)
    first = _look(next(opened))
    _check_options(options, first)
    others = (_alike(_look(file), first) for file in opened)
    if first.kind is InputKind.ALIGNMENT:
        texts = (_alignment(known, files, warn) for known in chain([first], others))
        return read_alignments(texts, options.every_letter, options.allow_duplicates, memory, files.scratch, threads)
    known = [first, *others]
    if first.kind is InputKind.FILESET:
        return read_filesets([Path(k.path) for k in known if k.path is not None], options.allow_duplicates, options.nonfounders)
    if first.kind is InputKind.FILESET2:
        return read_pgen_filesets([Path(k.path) for k in known if k.path is not None], options.allow_duplicates, options.nonfounders)
    if first.kind is InputKind.VARIANTS:
        from gpualign.core.distance.readers.vcf import read_variants

        return read_variants([(_named(k, files), k.source) for k in known], options.allow_duplicates, memory, files.scratch)
    return read_tables([(k.stream, k.source) for k in known], options, memory, files.scratch, warn)


def _alignment(known: _Known, files: ScratchFiles, warn: Callable[[str], None]) -> AlignmentText:
    """Return the text of an alignment of any format as FASTA."""
    if known.format is FileKind.FASTA:
        return AlignmentText(known.stream, known.source, known.plain, known.joins)
    from gpualign.core.distance.readers.alignment_formats import as_fasta

    assert known.format is not None
    return AlignmentText(as_fasta(known.stream, known.format, known.source, files.scratch, warn), known.source, None, known.joins)


def _alike(other: _Known, first: _Known) -> _Known:
    """Return `other`. Raises `InputError` for inputs that cannot be read together."""
    inputs = "files of a list" if other.joins else "two inputs"
    if other.kind is not first.kind:
        raise InputError(f"{other.source} is {other.kind.value}, {first.source} is {first.kind.value}; {inputs} must be of one kind")
    if other.joins and other.kind is not InputKind.ALIGNMENT:
        raise InputError(f"{other.source} is {other.kind.value}; a list of several files can only name alignments: join other files first")
    return other


def _check_options(options: CallOptions, file: _Known) -> None:
    """Raise `InputError` for options that are not for inputs of this kind, or contradict each other."""
    types = {one: parameter("type", one.value) for one in (TableType.ALLELES, TableType.CENTRED, TableType.ABH)}
    for_tables = {
        parameter("transpose"): options.transpose,
        parameter("no_header"): options.no_header,
        **{name: options.type is one for one, name in types.items()},
        parameter("missing_code"): options.missing_codes,
        parameter("ploidy"): options.ploidy is not None,
        parameter("columns"): options.columns is not None,
        parameter("ignore_columns"): options.ignore_columns,
    }
    if file.kind is not InputKind.TABLE:
        for name, is_set in for_tables.items():
            if is_set:
                raise InputError(f"{name} is for tables; {file.source} is {file.kind.value}")
    if options.nonfounders and file.kind not in (InputKind.FILESET, InputKind.FILESET2):
        raise InputError(f"{parameter('nonfounders')} is for PLINK filesets, which name parents; {file.source} is {file.kind.value}")
    every = parameter("all_letters")
    if options.every_letter and file.kind not in (InputKind.TABLE, InputKind.ALIGNMENT):
        raise InputError(f"{every} is for alignments and tables of letters; {file.source} is {file.kind.value}")
    options.check()


def _named(known: _Known, files: ScratchFiles) -> str:
    """Return a path for a library that opens files itself, and unpacks gzip only. An input that is packed otherwise, or that can be read
    only once, is copied to a scratch file first."""
    path = known.path
    if path is not None and descriptor_of(path) is None and Path(path).is_file() and compression_of(path) in (None, "gzip"):
        return path
    file, path = files.named_scratch(".vcf")
    shutil.copyfileobj(known.stream, file, 1 << 20)
    file.flush()
    return path
