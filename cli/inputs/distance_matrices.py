"""Reads matrices: NumPy arrays, text tables and PHYLIP; square, condensed, triangular, or of two sets."""

from __future__ import annotations

import io
import math
import re
import shlex
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import chain, islice
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from gpualign.cli.inputs.numpy_files import NPY_MAGIC, NPZ_MAGIC, parse_npy, parse_npz
from gpualign.core.common.dataclass import dataclass
from gpualign.core.common.errors import InputError, quoted
from gpualign.core.distance.readers.plink_fileset import sample_ids_of, split_at_blanks
from gpualign.core.files.decompression import COMPRESSION_SUFFIXES, is_regular_file, open_decompressed
from gpualign.core.files.delimited import open_delimited
from gpualign.core.files.kinds import FileKind, kind_of
from gpualign.core.files.matrix_text import WHOLE_PERCENT_NOTE, NumberedRow, TextMatrix, read_matrix_rows, read_plain_matrix
from gpualign.core.files.paths import STDIO, open_file, open_input
from gpualign.core.files.phylip_matrix import is_record_count, read_phylip_matrix
from gpualign.core.files.square_matrices import are_whole, is_symmetric, may_be_percent_identities, parse_number, without_rounding_errors
from gpualign.core.files.watched_stream import CUT_NOTE
from gpualign.core.sequences.ids import are_changed_by_r, refuse_control_characters

Matrix = npt.NDArray[Any]

_OTHER_ARRAY_NAMES = ("ids", "query_ids", "target_ids", "compared")
"""Names of arrays in an .npz other than the matrix."""


_OTHER_LAYOUTS = (
    (re.compile(rb"(#\s*)*Percent Identity\s+Matrix", re.IGNORECASE), "a percent identity matrix of Clustal"),
    (re.compile(rb"\s*Distance Matrix\r?\n-+\r?\n"), "a matrix of EMBOSS distmat"),
)
"""(pattern of the start, name) of matrices in layouts that are not read."""

_DECIMAL_PATTERN = re.compile(rb"(?<=;)-?[0-9]*\.[0-9]+(?=[ \r]*(?:;|$))", re.MULTILINE)
_POINT_BEFORE_THOUSANDS_PATTERN = re.compile(rb"[1-9][0-9]{0,2}\.[0-9]{3}")

_COMMENTS = re.compile(rb"(\xef\xbb\xbf)?([ \r\n]*#[^\n]*\n)+([ \t\r]*\n)*")
"""Pattern of comments above a matrix. The last one may be a header that begins like a comment."""

_EXAMINED_BYTES = 4096
"""Number of bytes at the start of a file from which its kind is recognised."""
_MAX_MAGNITUDE = 1e100
"""Maximum accepted value, so that sums of values stay finite."""


@dataclass(frozen=True)
class StoredMatrix:
    """A matrix read from a file.

    values: as stored in the file, [rows][columns], or for a condensed matrix the vector of the pairs i < j
    row_ids, column_ids: ids; "1", "2", ... if the file has no ids
    one_set: whether rows and columns are the same records
    value_name: kind of values according to the file (for .npz the array name), None if unknown
    notes: assumptions made when reading the file, and whether its end may be missing
    """

    values: Matrix
    row_ids: list[str]
    column_ids: list[str]
    one_set: bool
    value_name: str | None
    notes: list[str]


@dataclass(frozen=True)
class _UncheckedMatrix:
    """Contents of a matrix file before they are checked.

    row_ids, column_ids: None if the file has no ids
    assumption_note: assumption made when reading the file, None if the file was unambiguous
    is_unfinished: whether the file is text whose last line has no line end
    others: as in `StoredMatrix`
    """

    values: Matrix
    row_ids: list[str] | None
    column_ids: list[str] | None
    value_name: str | None = None
    assumption_note: str | None = None
    is_unfinished: bool = False


def read_matrix(path: str) -> StoredMatrix:
    """Read a matrix from an .npy, .npz or text file, or from standard input (-). Raises `InputError` for anything else."""
    with open_input(path) as (stream, source):
        raw, may_be_cut = stream.read(), not is_regular_file(stream)
    if raw.startswith(NPY_MAGIC):
        values = parse_npy(raw, source)
        rows, columns = _read_companion_ids(Path(path), values) if path != STDIO else (None, None)
        contents = _UncheckedMatrix(values, rows, columns)
    elif raw.startswith(NPZ_MAGIC) and (path.endswith(".npz") or kind_of(raw[:_EXAMINED_BYTES]) is FileKind.NUMPY):
        contents = _matrix_from_npz(parse_npz(raw, source), source)
    else:
        contents = _matrix_from_text_file(raw, path, source)
    return _check_matrix(contents, source, may_be_cut and contents.is_unfinished)


def _check_matrix(contents: _UncheckedMatrix, source: str, may_be_cut: bool) -> StoredMatrix:
    values = contents.values
    if values.dtype.kind not in "iuf":
        raise InputError(f"{source}: an array of {values.dtype}; expected numbers")
    of_one_record = values.shape == (0,) and contents.row_ids is not None  # which has no pairs
    if values.ndim not in (1, 2) or not (values.size or of_one_record):
        raise InputError(f"{source}: an array of {_format_shape(values.shape)}; expected a matrix, or the vector of its pairs i < j")
    if not np.all((largest := np.abs(values[np.isfinite(values)].astype(np.float64))) <= _MAX_MAGNITUDE):
        raise InputError(f"{source}: holds {largest.max():g}; expected values up to {_MAX_MAGNITUDE:g}")
    counts = (_record_count_of_vector(values, source),) * 2 if values.ndim == 1 else values.shape
    lists = []
    for what, ids, count in zip(("rows", "columns"), (contents.row_ids, contents.column_ids), counts, strict=True):
        if ids is not None and len(ids) != count:
            raise InputError(f"{source}: {count:,} {what}, but {len(ids):,} ids; write the matrix again, or remove its lists of ids")
        lists.append(ids if ids is not None else [str(k) for k in range(1, count + 1)])
    rows, columns = lists
    changed_note = None
    if are_changed_by_r(columns, rows):
        changed_note = (
            f"its columns are named as R changes names, such as {next(t for t, n in zip(columns, rows, strict=True) if t != n)!r}"
        )
        columns = rows
    for name in dict.fromkeys([*rows, *columns]):
        refuse_control_characters(name, source)
    one_set = values.ndim == 1 or (rows == columns and is_symmetric(values))
    if one_set and values.dtype.kind == "f":
        values = without_rounding_errors(values)
    numbered = "no ids in it or beside it; records are numbered from 1" if contents.row_ids is None else None
    notes = [
        contents.assumption_note,
        numbered,
        changed_note,
        WHOLE_PERCENT_NOTE if one_set and contents.value_name is None and _may_be_whole_percent_identities(values) else None,
        CUT_NOTE if may_be_cut else None,
    ]
    return StoredMatrix(values, rows, columns, one_set, contents.value_name, [note for note in notes if note])


def _may_be_whole_percent_identities(values: Matrix) -> bool:
    """Return whether values without a diagonal are taken for distances, because they are whole numbers, but may be percent identities."""
    has_diagonal = values.ndim == 2 and not np.isnan(np.diagonal(values)).all()
    return not has_diagonal and may_be_percent_identities(values) and are_whole(values)


def check_ids(ids: Sequence[str], source: str) -> None:
    """Raise `InputError` for empty or repeated ids."""
    first: dict[str, int] = {}
    for number, name in enumerate(ids, 1):
        if not name:
            raise InputError(f"{source}: record {number:,} has an empty id")
        if first.setdefault(name, number) != number:
            raise InputError(f"{source}: records {first[name]:,} and {number:,} have the same id {quoted(name)}")


def _record_count_of_vector(values: Matrix, source: str) -> int:
    count = (1 + math.isqrt(1 + 8 * len(values))) // 2
    if count * (count - 1) // 2 != len(values):
        pairs = count * (count - 1) // 2
        raise InputError(f"{source}: a vector of {len(values):,} values is not a condensed matrix: {count:,} records have {pairs:,} pairs")
    return count


def _format_shape(shape: Sequence[int]) -> str:
    return " x ".join(map(str, shape)) if shape else "one value"


def matrix_files(path: str | None) -> list[str | None]:
    """Return all files that are read for the matrix `path`: the matrix and, if it is an .npy array, the id lists beside it."""
    if path is None or not Path(path).is_file():
        return [path]
    with open_file(path) as stream:
        if stream.read(len(NPY_MAGIC)) != NPY_MAGIC:
            return [path]
    return [path, *(str(_id_list_beside(Path(path), what)) for what in ("ids", "query_ids", "target_ids"))]


def _id_list_beside(path: Path, what: str) -> Path:
    return path.with_name(f"{path.stem}.{what}.txt")


def _read_companion_ids(path: Path, values: Matrix) -> tuple[list[str] | None, list[str] | None]:
    """Return (row ids, column ids) from the id lists that `nw` and `dist` write next to NAME.npy; None for a list that does not exist. If
    there are lists for one set and for two, return those whose lengths match `values`."""

    def read(what: str) -> list[str] | None:
        id_list = _id_list_beside(path, what)
        if not id_list.is_file():
            return None
        return id_list.read_bytes().decode("utf-8-sig", "surrogateescape").splitlines()

    ids, two_sets = read("ids"), (read("query_ids"), read("target_ids"))
    fits = all(listed is None or values.ndim != 2 or len(listed) == count for listed, count in zip(two_sets, values.shape, strict=False))
    if ids is None or (values.ndim == 2 and values.shape != (len(ids),) * 2 and two_sets != (None, None) and fits):
        return two_sets
    return ids, ids


def _matrix_from_npz(arrays: dict[str, Matrix], source: str) -> _UncheckedMatrix:
    names = [name for name in arrays if name not in _OTHER_ARRAY_NAMES]
    if {"indices", "indptr"} <= set(names) or {"format", "shape"} <= set(names):  # of scipy
        raise InputError(f"{source}: a sparse matrix lacks pairs; write a full one; cluster and tree also read a list, with --edges")
    if len(names) != 1:
        raise InputError(f"{source}: holds {', '.join(map(repr, arrays)) or 'no arrays'}; expected one matrix")

    def ids(name: str) -> list[str] | None:
        if name not in arrays:
            return None
        if arrays[name].dtype.kind != "U" or arrays[name].ndim != 1:
            raise InputError(
                f"{source}: the array {name!r} is {_format_shape(arrays[name].shape)} {arrays[name].dtype}; expected a list of text"
            )
        try:
            return [str(one) for one in arrays[name]]
        except (ValueError, SystemError) as error:  # a number beyond the last code point
            raise InputError(f"{source}: damaged .npz file (the array {name!r}: {error})") from None

    rows, columns = (ids("ids"), ids("ids")) if "ids" in arrays else (ids("query_ids"), ids("target_ids"))
    return _UncheckedMatrix(arrays[names[0]], rows, columns, names[0])


def _matrix_from_text_file(raw: bytes, path: str, source: str) -> _UncheckedMatrix:
    """Parse a text matrix. path: the file, or - for standard input."""
    name = "FILE" if path == STDIO else shlex.quote(path)
    start, unpacked = open_decompressed(io.BytesIO(raw), source)
    if not start.strip():
        raise InputError(f"{source}: empty file; expected a matrix")
    kind = kind_of(start)
    if b"\0" in start and kind is None:
        raise InputError(f"{source}: a binary file that is neither .npy nor .npz; expected a matrix that gpualign wrote")
    ids, id_path = (None, None) if path == STDIO else _read_plink_ids(Path(path))
    text = unpacked.read()
    is_unfinished = not text.endswith((b"\n", b"\r"))
    try:
        contents = _parse_with_comments(text, source, None if ids is None else len(ids))
    except InputError:
        _refuse_other_layouts(start, source)
        if kind is None and _begins_list(start, source):
            kind = FileKind.PAIRS
        if kind not in (None, FileKind.PHYLIP_MATRIX):  # parsed first because an id may begin like a file of another kind
            _reject_file_kind(kind, source, name)
        raise
    if kind is FileKind.PAIRS and contents.row_ids != contents.column_ids:
        _reject_file_kind(kind, source, name)
    notes = [contents.assumption_note, _describe_thousands(text)]
    if contents.row_ids is None and contents.column_ids is None and ids is not None:
        if len(ids) != len(contents.values):
            raise InputError(f"{id_path}: {len(ids):,} ids, but {source} has {len(contents.values):,} records")
        notes.insert(0, f"its ids are taken from {id_path}")
        contents = replace(contents, row_ids=ids, column_ids=ids)
        is_unfinished = False  # the number of ids is right
    note = "; ".join(note for note in notes if note) or None
    return _UncheckedMatrix(contents.values, contents.row_ids, contents.column_ids, contents.name, note, is_unfinished)


def _refuse_other_layouts(start: bytes, source: str) -> None:
    """Raise `InputError` for a matrix in a layout of another program that is not read. start: the first bytes of the file."""
    for pattern, name in _OTHER_LAYOUTS:
        if pattern.match(start.removeprefix(b"\xef\xbb\xbf")):
            raise InputError(
                f"{source} is {name}; compute a matrix from the alignment, with gpualign dist or nw, or write a table whose first line and"
                " first column are the ids"
            )


def _begins_list(start: bytes, source: str) -> bool:
    """Return whether the first two rows are lines of a list without a header, each two words and a number."""
    rows = [cells for _, cells in islice(open_delimited(io.BytesIO(start), source).rows(), 2)]
    return all(
        len(cells) >= 3 and all(cell and parse_number(cell) is None for cell in cells[:2]) and parse_number(cells[2]) is not None
        for cells in rows
    )


def _parse_with_comments(text: bytes, source: str, count: int | None) -> TextMatrix:
    """Parse a text matrix below any lines of comments. Parameters are those of `_parse_text_matrix`."""
    try:
        return _parse_text_matrix(text, source, count)
    except InputError:
        if (comments := _COMMENTS.match(text)) is None:
            raise
        table = text[comments.end() :]
        below = b"\n" * comments[0].count(b"\n") + table
        if table.startswith((b"\t", b",", b";")):  # a header, so the last comment is not one
            return _parse_text_matrix(below, source, count)
        with suppress(InputError):
            matrix = _parse_text_matrix(below, source, count)
            if matrix.row_ids is not None and matrix.assumption_note is None:
                return matrix
        raise


def _parse_text_matrix(text: bytes, source: str, count: int | None) -> TextMatrix:
    """Parse a text matrix. count: number of records according to the id file, None if there is no id file."""

    def rows() -> Iterator[NumberedRow]:
        return open_delimited(io.BytesIO(text), source).rows()

    opened = open_delimited(io.BytesIO(text), source)
    first = next(opened.lines, b"")
    if not is_record_count(first) or count is not None:
        return read_plain_matrix(rows()) or read_matrix_rows(list(rows()), source, count)
    lines = (
        (number, line.decode("utf-8", "surrogateescape")) for number, line in enumerate(chain([first], opened.lines), opened.first_line)
    )
    try:
        return read_phylip_matrix([(number, line) for number, line in lines if line.strip()], source)
    except InputError as error:
        if int(first) != 1:
            with suppress(InputError):  # a triangle without ids begins with a single value
                return read_matrix_rows(list(rows()), source)
        raise error


def _describe_thousands(text: bytes) -> str | None:
    """Return a note on a table with semicolons in which each point may separate thousands, as where commas are decimal; None for others."""
    shown = None
    for match in _DECIMAL_PATTERN.finditer(text):
        if not _POINT_BEFORE_THOUSANDS_PATTERN.fullmatch(match[0]):
            return None
        shown = shown or match[0].decode()
    return shown and f"{shown} and the like are taken for decimals; if their points separate thousands, write {shown.replace('.', '')}"


def _read_plink_ids(path: Path) -> tuple[list[str] | None, Path | None]:
    """Return (ids, path) of the file FILE.id that PLINK writes next to a matrix, or (None, None) if there is no such file."""
    plain = path.with_suffix("") if path.suffix in COMPRESSION_SUFFIXES else path
    id_path = next((one for one in (path.with_name(f"{path.name}.id"), plain.with_name(f"{plain.name}.id")) if one.is_file()), None)
    if id_path is None:
        return None, None
    lines = [line for line in id_path.read_bytes().removeprefix(b"\xef\xbb\xbf").splitlines() if line.strip() and not line.startswith(b"#")]
    return sample_ids_of(
        [(cells[0] if len(cells) > 1 else "", cells[-1]) for cells in (split_at_blanks(line)[:2] for line in lines)]
    ), id_path


_ADVICE_BY_FILE_KIND = {
    FileKind.FASTA: "gpualign nw {name} --value distance -o x.npz, or for an alignment gpualign dist {name} -o x.npz",
    FileKind.FASTQ: "gpualign nw {name} --value distance -o x.npz",
    FileKind.VCF: "gpualign dist {name} -o x.npz",
    FileKind.BCF: "gpualign dist {name} -o x.npz",
    FileKind.PLINK: "gpualign dist {name} -o x.npz",
    FileKind.CLUSTAL: "gpualign dist {name} -o x.npz",
    FileKind.PHYLIP: "gpualign dist {name} -o x.npz",
}
"""Commands that compute a matrix from each kind of file."""


def _reject_file_kind(kind: FileKind, source: str, name: str) -> NoReturn:
    """Raise `InputError` for a file that is not a matrix. kind: kind of file that it is; name: shell-quoted path of the file."""
    if kind in _ADVICE_BY_FILE_KIND:
        raise InputError(f"{source} is {kind.value}; make a matrix first: {_ADVICE_BY_FILE_KIND[kind].format(name=name)}")
    if kind is FileKind.PAIRS:
        raise InputError(
            f"{source} is a list of pairs; expected a matrix: write one, as by gpualign nw FILE --value distance -o x.npz; from lists,"
            f" gpualign tree --edges {name} --method mst makes a spanning tree, gpualign plot --edges {name} --network draws it, and"
            f" gpualign cluster --edges {name} clusters"
        )
    if kind is FileKind.NUMPY:
        raise InputError(f"{source} is {kind.value} in a compressed file; decompress it first")
    if kind is FileKind.NEWICK:
        raise InputError(f"{source} is a tree; expected a matrix; gpualign plot MATRIX --tree {name} draws both")
    raise InputError(f"{source} is {kind.value}; expected a matrix: .npy, .npz, a text table or PHYLIP")
