"""Reads matrices that gpualign writes: arrays, tables of text and PHYLIP's, square, condensed or of two sets."""

from __future__ import annotations

import io
import math
import shlex
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from gpualign.cli.inputs.arrays import NPY_MAGIC, NPZ_MAGIC, parse_npy, parse_npz
from gpualign.cli.outputs.files import STDIO, open_input
from gpualign.core.dataclass import dataclass
from gpualign.core.distance.sources.filesets import MAGIC
from gpualign.core.errors import InputError, quoted
from gpualign.core.separators import separator_of_text
from gpualign.core.unpack import unpack

Matrix = npt.NDArray[Any]

_BESIDE = ("ids", "query_ids", "target_ids", "compared")
"""Arrays of an .npz that are not its matrix."""

_LARGEST = 1e100
"""Beyond it sums of the values would no longer be numbers."""


@dataclass(frozen=True)
class StoredMatrix:
    """values: numbers as they stand in the file, [rows][columns], or the vector of pairs i < j of a condensed matrix.

    one_set: rows and columns are the same records. name: what the file says that it holds (of .npz the array's name), or None. numbered:
    it names no records; they are 1, 2, ...
    """

    values: Matrix
    rows: list[str]
    columns: list[str]
    one_set: bool
    name: str | None
    numbered: bool


@dataclass(frozen=True)
class _Found:
    """What a file holds before it was checked. ids: lists of rows and of columns, None where there are none."""

    values: Matrix
    ids: tuple[list[str] | None, list[str] | None]
    name: str | None = None


def read_matrix(path: str) -> StoredMatrix:
    """The matrix of an .npy, .npz or text file, or of standard input (-). Raises `InputError` for all that is none."""
    with open_input(path) as (stream, source):
        raw = stream.read()
    if raw.startswith(NPY_MAGIC):
        values = parse_npy(raw, source)
        found = _Found(values, _ids_beside(Path(path), values) if path != STDIO else (None, None))
    elif raw.startswith(NPZ_MAGIC):
        found = _of_npz(parse_npz(raw, source), source)
    else:
        found = _text(raw, source, "FILE" if path == STDIO else shlex.quote(path))
    return _checked(found, source)


def _checked(found: _Found, source: str) -> StoredMatrix:
    values = found.values
    if values.dtype.kind not in "iuf":
        raise InputError(f"{source}: an array of {values.dtype}; numbers are wanted")
    if values.ndim not in (1, 2) or not values.size:
        raise InputError(f"{source}: an array of {_by(values.shape)}; a matrix is wanted, or the vector of its pairs i < j")
    if not np.all((largest := np.abs(values[np.isfinite(values)].astype(np.float64))) <= _LARGEST):
        raise InputError(f"{source}: holds {largest.max():g}; values up to {_LARGEST:g} are taken")
    counts = (_records_of_vector(values, source),) * 2 if values.ndim == 1 else values.shape
    lists = []
    for what, ids, count in zip(("rows", "columns"), found.ids, counts, strict=True):
        if ids is not None and len(ids) != count:
            raise InputError(f"{source}: {count:,} {what}, but {len(ids):,} ids; write the matrix again, or remove its lists of ids")
        lists.append(ids if ids is not None else [str(k) for k in range(1, count + 1)])
    rows, columns = lists
    one_set = values.ndim == 1 or (rows == columns and _is_symmetric(values))
    return StoredMatrix(values, rows, columns, one_set, found.name, found.ids == (None, None))


def check_ids(ids: Sequence[str], source: str) -> None:
    """Raises `InputError` for records that their ids do not tell apart."""
    first: dict[str, int] = {}
    for number, name in enumerate(ids, 1):
        if not name:
            raise InputError(f"{source}: record {number:,} has an empty id")
        if first.setdefault(name, number) != number:
            raise InputError(f"{source}: records {first[name]:,} and {number:,} have the same id {quoted(name)}")


def _is_symmetric(values: Matrix) -> bool:
    return np.allclose(values, values.T, rtol=1e-9, atol=0, equal_nan=values.dtype.kind == "f")


def _records_of_vector(values: Matrix, source: str) -> int:
    count = (1 + math.isqrt(1 + 8 * len(values))) // 2
    if count * (count - 1) // 2 != len(values):
        pairs = count * (count - 1) // 2
        raise InputError(f"{source}: a vector of {len(values):,} values is no condensed matrix: {count:,} records have {pairs:,} pairs")
    return count


def _by(shape: Sequence[int]) -> str:
    return " x ".join(map(str, shape)) if shape else "one value"


def _ids_beside(path: Path, values: Matrix) -> tuple[list[str] | None, list[str] | None]:
    """The lists of ids that `nw` and `dist` write beside NAME.npy: of one set, or of two; of both those whose lengths are right."""

    def read(what: str) -> list[str] | None:
        beside = path.with_name(f"{path.stem}.{what}.txt")
        if not beside.is_file():
            return None
        return beside.read_bytes().decode("utf-8", "surrogateescape").splitlines()

    ids, two_sets = read("ids"), (read("query_ids"), read("target_ids"))
    fits = all(listed is None or values.ndim != 2 or len(listed) == count for listed, count in zip(two_sets, values.shape, strict=False))
    if ids is None or (values.ndim == 2 and values.shape != (len(ids),) * 2 and two_sets != (None, None) and fits):
        return two_sets
    return ids, ids


def _of_npz(arrays: dict[str, Matrix], source: str) -> _Found:
    names = [name for name in arrays if name not in _BESIDE]
    if {"indices", "indptr"} <= set(names):
        raise InputError(
            f"{source}: a sparse matrix (csr), which lacks pairs; write a whole one; cluster and tree also take a list, with --edges"
        )
    if len(names) != 1:
        raise InputError(f"{source}: holds {', '.join(map(repr, arrays)) or 'no arrays'}; one matrix is wanted")

    def ids(name: str) -> list[str] | None:
        if name not in arrays:
            return None
        if arrays[name].dtype.kind != "U" or arrays[name].ndim != 1:
            raise InputError(f"{source}: the array {name!r} is {_by(arrays[name].shape)} {arrays[name].dtype}; a list of text is wanted")
        try:
            return [str(one) for one in arrays[name]]
        except ValueError as error:
            raise InputError(f"{source}: damaged .npz file (the array {name!r}: {error})") from None

    lists = (ids("ids"), ids("ids")) if "ids" in arrays else (ids("query_ids"), ids("target_ids"))
    return _Found(arrays[names[0]], lists, names[0])


def _refuse_records(start: bytes, source: str, name: str) -> None:
    """Raises `InputError` for the beginning of a file that a matrix is made of. name: of the file, for a shell."""
    body = start.lstrip()
    of_letters, of_sites = f"gpualign nw {name} --value distance -o x.npz", f"gpualign dist {name} -o x.npz"
    if body.startswith(b">"):
        raise InputError(f"{source} is FASTA; make a matrix first: {of_letters}, or for an alignment {of_sites}")
    if body.startswith(b"@") and b"\n+" in body:
        raise InputError(f"{source} is FASTQ; make a matrix first: {of_letters}")
    if body.startswith((b"##fileformat=VCF", b"BCF", MAGIC)):
        kind = "of PLINK" if body.startswith(MAGIC) else "VCF or BCF"
        raise InputError(f"{source} is {kind}; make a matrix first: {of_sites}")


def _text(raw: bytes, source: str, name: str) -> _Found:
    """A header of ids behind an empty or any cell, then a row a record; or PHYLIP's square form, which begins with the count. name: of the
    file, for a shell."""
    start, unpacked = unpack(io.BytesIO(raw), source)
    _refuse_records(start, source, name)
    text = io.TextIOWrapper(unpacked, encoding="utf-8-sig", errors="surrogateescape").read()
    if "\0" in text:
        raise InputError(f"{source}: a binary file that is neither .npy nor .npz; a matrix that gpualign wrote is wanted")
    lines = [(number, line) for number, line in enumerate(text.split("\n"), 1) if line.strip()]
    if not lines:
        raise InputError(f"{source}: empty file; a matrix is wanted")
    first, rest = lines[0][1], lines[1:]
    _refuse_lists_and_trees(first, source, name)
    if first.strip().isascii() and first.strip().isdecimal():
        ids, values = _rows(_cut(rest, None, source), len(rest), source)
        if first.strip().lstrip("0") != str(len(rest)):
            raise InputError(f"{source}: line 1 says {quoted(first.strip())} records, but {len(rest):,} follow")
        return _Found(values, (ids, ids), "distance")  # PHYLIP's form is of distances
    separator = separator_of_text(first, rest[0][1] if rest else "")
    cut = _cut(lines, separator, source)
    columns = next(cut)[1][1:]
    if not columns:
        raise InputError(
            f"{source}: line 1 is {quoted(first)}; a matrix is wanted: a line of ids behind an empty cell, separated by tabs, commas or"
            " semicolons"
        )
    ids, values = _rows(cut, len(columns), source)
    return _Found(values, (ids, columns))


def _refuse_lists_and_trees(first: str, source: str, name: str) -> None:
    """Raises `InputError` for what else gpualign writes as text, by its first line."""
    if first.replace(",", "\t").startswith("query\ttarget\t"):
        raise InputError(
            f"{source} is a list of pairs, and a matrix is wanted: write one, as by gpualign nw FILE --value distance -o x.npz; of lists,"
            f" gpualign tree --edges {name} --method mst makes a spanning tree, and gpualign cluster --edges {name} clusters"
        )
    if first.lstrip().startswith("("):
        raise InputError(f"{source} is a tree, and a matrix is wanted; gpualign plot MATRIX --tree {name} draws both")


def _cut(lines: list[tuple[int, str]], separator: str | None, source: str) -> Iterator[tuple[int, list[str]]]:
    """Numbered lines in cells; None: at white space. Those between commas or semicolons may be quoted."""
    if separator in (None, "\t"):
        yield from ((number, line.split(separator)) for number, line in lines)
        return
    import csv

    try:
        yield from ((number, next(csv.reader([line], delimiter=separator))) for number, line in lines)
    except csv.Error as error:
        raise InputError(f"{source}: no table that {separator!r} separates ({error})") from None


def _rows(lines: Iterable[tuple[int, list[str]]], count: int, source: str) -> tuple[list[str], Matrix]:
    """(ids, float64[rows][count]) of numbered lines in cells."""
    ids, rows = [], []
    for number, (name, *cells) in lines:
        if len(cells) != count:
            raise InputError(f"{source}: line {number} has {len(cells):,} values; {count:,} are wanted, as many as there are columns")
        try:
            row = np.array(cells, dtype=np.float64)
        except ValueError:
            row = None
        if row is None or "_" in "".join(cells):  # which Python takes for a separator of thousands
            wrong = next((cell for cell in cells if not _is_number(cell)), "")
            raise InputError(f"{source}: line {number}: {quoted(wrong)} is no number; a matrix of numbers is wanted")
        ids.append(name)
        rows.append(row)
    if not rows:
        raise InputError(f"{source}: a header and no rows; a matrix is wanted")
    return ids, np.array(rows)


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return "_" not in cell
