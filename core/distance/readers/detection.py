"""Detects the kind of a call file from its content, and reads the file."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterable
from enum import Enum
from itertools import chain
from pathlib import Path
from typing import BinaryIO

from gpualign.core.common.dataclass import dataclass
from gpualign.core.common.errors import InputError, parameter, quoted
from gpualign.core.distance.readers.alignment import AlignmentText, read_alignments
from gpualign.core.distance.readers.base import Source
from gpualign.core.distance.readers.plink_bed import read_bed_filesets
from gpualign.core.distance.readers.plink_fileset import SITE_MAJOR_MODE
from gpualign.core.distance.readers.plink_pgen import pvar_of, read_pgen_filesets
from gpualign.core.distance.readers.table import read_tables
from gpualign.core.distance.tables.options import CallOptions, TableType
from gpualign.core.files.decompression import PlainText, compression_of, open_decompressed, plain_text
from gpualign.core.files.delimiters import carriage_returns_error
from gpualign.core.files.kinds import CONVERSIONS, PLINK_MAGIC, FileKind, kind_of
from gpualign.core.files.paths import descriptor_of
from gpualign.core.files.scratch import ScratchFiles
from gpualign.core.files.watched_stream import CUT_NOTE, WatchedStream, watch_line_end


@dataclass(frozen=True)
class CallFile:
    """A file of calls, open for reading.

    stream: bytes of the input
    source: name for messages
    path: path of the file; None if there is none, as for standard input
    joins_previous: whether the samples belong to the same set as the samples of the previous file
    """

    stream: BinaryIO
    source: str
    path: str | None = None
    joins_previous: bool = False


class InputKind(Enum):
    """Kinds of input that `read_calls` distinguishes."""

    ALIGNMENT = "an alignment"
    TABLE = "a table"
    VARIANTS = "VCF or BCF"
    FILESET = "a PLINK fileset"
    FILESET2 = "a PLINK 2 fileset"


@dataclass(frozen=True)
class _DetectedInput:
    """An input whose kind is known.

    path: path of the file; None for standard input and open files
    source: name for messages
    kind: kind of input, which decides how it is read
    format: file format detected from the content; None for a table
    stream: the decompressed file
    joins_previous: whether the input belongs to the same set as the previous one
    plain_text: location of the same bytes in a file; None if the input had to be decompressed
    watched: the stream below `stream`, which records whether the text ends with a line end; None for regular files and binary formats
    """

    path: str | None
    source: str
    kind: InputKind
    format: FileKind | None
    stream: BinaryIO
    joins_previous: bool
    plain_text: PlainText | None
    watched: WatchedStream | None


_INPUT_KINDS = {
    FileKind.FASTA: InputKind.ALIGNMENT,
    FileKind.CLUSTAL: InputKind.ALIGNMENT,
    FileKind.PHYLIP: InputKind.ALIGNMENT,
    FileKind.VCF: InputKind.VARIANTS,
    FileKind.BCF: InputKind.VARIANTS,
}

_FASTA_COMMENT = re.compile(rb"(\s*;[^\n]*\n)+>[^\n;]*\n|\s*>[^\n;]*\n;")
"""Pattern of FASTA with comments above or below the header of its first record, which is no table with semicolons."""

_LATE_FASTA = re.compile(rb"\n>[^\n]*\r?\n\s*([A-Za-z*?.-]+[ \r]*\n|[A-Za-z*?.-]{1000})")
"""Pattern of the first record of FASTA after lines of other text. A line of letters alone is no row of a table, which has two cells."""

_PLINK_TEXT_ADVICE = "make a fileset that gpualign dist reads: plink {} NAME --make-bed --out NAME"

_ADVICE_BY_FILE_KIND = {
    FileKind.PED: _PLINK_TEXT_ADVICE.format("--file"),
    FileKind.TPED: _PLINK_TEXT_ADVICE.format("--tfile"),
    FileKind.FASTQ: "expected an alignment (FASTA) or a table of calls; gpualign nw compares reads",
    FileKind.VCF_WITHOUT_VERSION: "put that line before it",
    **CONVERSIONS,
    FileKind.PHYLIP_MATRIX: f"gpualign tree makes a tree of it, gpualign cluster with {parameter('distances')} makes clusters",
    FileKind.NEWICK: "expected calls of samples at sites",
    FileKind.NUMPY: f"gpualign cluster with {parameter('distances')}, tree and plot read it",
    FileKind.SAMPLE_SET: "name it alone as a file, neither compressed nor in a list or a pipe",
    FileKind.INDEX: "gpualign sw searches it",
    FileKind.NEIGHBOUR_COUNTS: "expected calls of samples at sites",
    FileKind.CLUSTERS: f"gpualign cluster with {parameter('verify')} checks them",
    FileKind.PAIRS: f"gpualign cluster with {parameter('edges')} makes clusters of it",
}
"""Advice on each kind of file that holds no calls, or holds calls that cannot be read."""


def _detect_kinds(first: bytes, source: str) -> tuple[FileKind | None, InputKind]:
    """Return (file format, or None if the content does not reveal it; kind of input). Raises `InputError` if the file holds no calls."""
    if not first.removeprefix(b"\xef\xbb\xbf").strip():
        raise InputError(f"{source}: empty file; expected a table, an alignment, a VCF, a .bed or a .pgen file")
    kind = kind_of(first)
    if _FASTA_COMMENT.match(first.removeprefix(b"\xef\xbb\xbf")):
        raise InputError(f"{source}: a line begins with ';', as comments of FASTA do; delete such lines")
    if kind in (FileKind.FASTA, FileKind.VCF) and b"\r" in first and b"\n" not in first:
        raise carriage_returns_error(source)
    if kind is FileKind.PLINK:
        return kind, InputKind.FILESET if first[len(PLINK_MAGIC) :][:1] <= bytes([SITE_MAJOR_MODE]) else InputKind.FILESET2
    if kind in _INPUT_KINDS:
        return kind, _INPUT_KINDS[kind]
    if kind is not None:
        raise InputError(f"{source} is {kind.value}; {_ADVICE_BY_FILE_KIND[kind]}")
    if b"\0" in first:
        raise InputError(f"{source}: a binary file that is neither BCF nor a PLINK .bed or .pgen")
    if late := _LATE_FASTA.search(first):
        before = first[: late.start()].removeprefix(b"\xef\xbb\xbf")
        number = before.count(b"\n", 0, len(before) - len(before.lstrip())) + 1
        line, record_number = quoted(before.strip().splitlines()[0].decode("utf-8", "replace")), before.count(b"\n") + 2
        raise InputError(
            f"{source}: line {number} ({line}) comes before the first '>', which is in line {record_number}; delete the text before it"
        )
    from gpualign.core.sequences.record_tables import is_receptor_table  # only tables need it

    if is_receptor_table(first):
        raise InputError(f"{source} is a table of immune receptors; gpualign nw and cluster compare them")
    return None, InputKind.TABLE


_FILESET_SUFFIXES = {".bim": ".bed", ".fam": ".bed", ".pvar": ".pgen", ".pvar.zst": ".pgen", ".psam": ".pgen"}
"""Suffixes of the tables in PLINK filesets, each mapped to the suffix of the calls file that the table belongs to."""


def fileset_path(path: str) -> str:
    """Return the path of the .bed or .pgen of a PLINK fileset, given the prefix of the fileset or any of its files. Any other path is
    returned unchanged."""
    for table, calls in _FILESET_SUFFIXES.items():
        if path.endswith(table):
            candidate = path.removesuffix(table) + calls
            return candidate if Path(candidate).is_file() else path
    if Path(path).exists() and not Path(path).is_dir():
        return path
    return next((path + calls for calls in dict.fromkeys(_FILESET_SUFFIXES.values()) if Path(path + calls).is_file()), path)


def fileset_files(path: str) -> list[str]:
    """Return the path itself and, if it names a PLINK fileset, the files of the fileset."""
    calls = fileset_path(path)
    tables: list[Path] = []
    if calls.endswith(".bed"):
        tables = [Path(calls).with_suffix(suffix) for suffix in (".bim", ".fam")]
    elif calls.endswith(".pgen"):
        tables = [pvar_of(Path(calls)), Path(calls).with_suffix(".psam")]
    return [path, calls, *map(str, tables)]


def _detect_format(file: CallFile) -> _DetectedInput:
    """Return the input together with its detected format. Raises `InputError` if it holds no calls, or if it is a PLINK fileset that is
    compressed or comes from a stream."""
    plain = plain_text(file.stream)
    first, unpacked = open_decompressed(file.stream, file.source)
    format, kind = _detect_kinds(first, file.source)
    if kind in (InputKind.FILESET, InputKind.FILESET2):
        calls, tables = (".bed", ".bim and .fam") if kind is InputKind.FILESET else (".pgen", ".pvar and .psam")
        if file.path is None or not Path(file.path).is_file():
            raise InputError(f"a {calls} file needs its {tables} in the same folder: name it instead of {file.path or '-'}")
        with open(file.path, "rb") as raw:
            if raw.read(len(PLINK_MAGIC)) != PLINK_MAGIC:
                raise InputError(f"{file.source}: a compressed {calls}; unpack it first")
    watched = None
    if kind in (InputKind.ALIGNMENT, InputKind.TABLE) or format is FileKind.VCF:
        unpacked, watched = watch_line_end(file.stream, unpacked)
    return _DetectedInput(file.path, file.source, kind, format, unpacked, file.joins_previous, plain, watched)


def read_calls(
    inputs: Iterable[CallFile],
    options: CallOptions,
    memory: int,
    files: ScratchFiles,
    warn: Callable[[str], None],
    threads: int = 1,
) -> Source:
    """Read one input, or two with the same sites; each alignment may be split over several files.

    Inputs are requested one after another (an alignment only after the previous one has been read), and are not needed once this returns.
    Raises `InputError` naming the file, the record and the reason if an input cannot be read.

    memory: approximate maximum memory held, in bytes
    warn: receives notes on assumptions made, on ignored parts of a table, and on calls read as missing
    threads: threads for inputs that can be read in parallel
    """
    detected: list[_DetectedInput] = []
    source = _read_detected(inputs, detected, options, memory, files, warn, threads)
    for one in detected:
        if one.watched is not None and not one.watched.at_line_end:
            warn(f"{one.source}: {CUT_NOTE}")
    return source


def _read_detected(
    inputs: Iterable[CallFile],
    detected: list[_DetectedInput],
    options: CallOptions,
    memory: int,
    files: ScratchFiles,
    warn: Callable[[str], None],
    threads: int,
) -> Source:
    """Read inputs as `read_calls` does. detected: list to which each input is added once its format is known"""

    def detect(file: CallFile) -> _DetectedInput:
        detected.append(_detect_format(file))
        return detected[-1]

    opened = iter(inputs)
    first = detect(next(opened))
    _check_options(options, first)
    others = (_require_alike(detect(file), first) for file in opened)
    if first.kind is InputKind.ALIGNMENT:
        texts = (_as_alignment(one, files, warn) for one in chain([first], others))
        return read_alignments(texts, options, memory, files.new_scratch, threads)
    alike = [first, *others]
    if first.kind in (InputKind.FILESET, InputKind.FILESET2):
        read_filesets = read_bed_filesets if first.kind is InputKind.FILESET else read_pgen_filesets
        paths = [Path(one.path) for one in alike if one.path is not None]
        return read_filesets(paths, options.allow_duplicates, options.nonfounders)
    if first.kind is InputKind.VARIANTS:
        from gpualign.core.distance.readers.vcf import read_variants

        named_paths = [(_path_for_library(one, files), one.source) for one in alike]
        return read_variants(named_paths, options.allow_duplicates, memory, files.new_scratch, warn)
    return read_tables([(one.stream, one.source) for one in alike], options, memory, files.new_scratch, warn)


def _as_alignment(file: _DetectedInput, files: ScratchFiles, warn: Callable[[str], None]) -> AlignmentText:
    """Return the text of an alignment, converted to FASTA if it has another format."""
    if file.format is FileKind.FASTA:
        return AlignmentText(file.stream, file.source, file.plain_text, file.joins_previous)
    from gpualign.core.distance.readers.alignment_formats import as_fasta

    assert file.format is not None
    fasta = as_fasta(file.stream, file.format, file.source, files.new_scratch, warn)
    return AlignmentText(fasta, file.source, None, file.joins_previous)


def _require_alike(other: _DetectedInput, first: _DetectedInput) -> _DetectedInput:
    """Check that two inputs can be read together, and return `other`. Raises `InputError` if they cannot."""
    inputs = "files of a list" if other.joins_previous else "two inputs"
    if other.kind is not first.kind:
        raise InputError(f"{other.source} is {other.kind.value}, {first.source} is {first.kind.value}; {inputs} must be of one kind")
    if other.joins_previous and other.kind is not InputKind.ALIGNMENT:
        raise InputError(f"{other.source} is {other.kind.value}; a list of several files can only name alignments: join other files first")
    return other


def _check_options(options: CallOptions, file: _DetectedInput) -> None:
    """Raise `InputError` for options that do not apply to this kind of input, or that contradict each other."""
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
    if options.all_letters and file.kind not in (InputKind.TABLE, InputKind.ALIGNMENT):
        raise InputError(f"{every} is for alignments and tables of letters; {file.source} is {file.kind.value}")
    options.check()


def _path_for_library(file: _DetectedInput, files: ScratchFiles) -> str:
    """Return a path for a library that opens files itself and handles only gzip. Input compressed any other way, or readable only once, is
    first copied to a scratch file."""
    path = file.path
    if path is not None and descriptor_of(path) is None and Path(path).is_file() and compression_of(path) in (None, "gzip"):
        return path
    scratch, path = files.named_scratch(".vcf")
    shutil.copyfileobj(file.stream, scratch, 1 << 20)
    scratch.flush()
    return path
