"""Reads matrices that gpualign writes."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from gpualign.cli.files import open_input
from gpualign.core.errors import InputError
from gpualign.core.unpack import decompressing, unpack

Matrix = npt.NDArray[Any]


def read_matrix(path: str) -> tuple[Matrix, list[str]]:
    """(square matrix of numbers, ids) of a .npy, .npz or text file; a condensed one is unfolded. Raises `InputError`."""
    with open_input(path) as (stream, source):
        raw = stream.read(4) if path != "-" else b""
        if raw.startswith((b"\x93NUM", b"PK")):
            stream.seek(0)
            values, ids = _npy(stream, source) if raw.startswith(b"\x93NUM") else _npz(stream, source)
        else:
            if raw:
                stream.seek(0)
            values, ids = _text(stream, source)
    if values.ndim == 1:
        values = _square(values, source)
    if values.ndim != 2 or values.shape[0] != values.shape[1] or not values.size:
        raise InputError(f"{source}: a matrix of {' x '.join(map(str, values.shape))}; a square one is drawn")
    if values.dtype.kind not in "iuf":
        raise InputError(f"{source}: an array of {values.dtype}; numbers are drawn")
    if ids and len(ids) != len(values):
        raise InputError(f"{source}: {len(values):,} rows, but {len(ids):,} ids")
    return values, ids or [str(k) for k in range(1, len(values) + 1)]


def _square(values: Matrix, source: str) -> Matrix:
    count = round((1 + np.sqrt(1 + 8 * len(values))) / 2)
    if count * (count - 1) // 2 != len(values):
        raise InputError(f"{source}: a vector of {len(values):,} values is no condensed matrix")
    out: Matrix = np.zeros((count, count), dtype=values.dtype)
    out[np.triu_indices(count, 1)] = values
    out += out.T.copy()
    return out


def _npy(stream: BinaryIO, source: str) -> tuple[Matrix, list[str]]:
    try:
        values = np.load(stream, allow_pickle=False)
    except (ValueError, EOFError) as error:
        raise InputError(f"{source}: damaged .npy file ({error})") from None
    path = Path(source)
    beside = path.with_name(f"{path.stem}.ids.txt")
    if not beside.is_file():
        return values, []
    return values, beside.read_text(encoding="utf-8", errors="surrogateescape").splitlines()


def _npz(stream: BinaryIO, source: str) -> tuple[Matrix, list[str]]:
    try:
        with np.load(stream, allow_pickle=False) as archive:
            names = [name for name in archive.files if name not in ("ids", "query_ids", "target_ids", "compared")]
            if len(names) != 1:
                raise InputError(f"{source}: holds {', '.join(archive.files)}; one matrix is wanted")
            return archive[names[0]], [str(name) for name in archive["ids"]] if "ids" in archive.files else []
    except (ValueError, EOFError, zipfile.BadZipFile) as error:
        raise InputError(f"{source}: damaged .npz file ({error})") from None


def _text(stream: BinaryIO, source: str) -> tuple[Matrix, list[str]]:
    """A header of ids behind an empty or any cell, then a row a record; or PHYLIP's square form, which begins with the count."""
    _, unpacked = unpack(stream, source)
    with decompressing(source):
        lines = io.TextIOWrapper(unpacked, encoding="utf-8", errors="surrogateescape").read().splitlines()
    lines = [line for line in lines if line.strip()]
    if not lines:
        raise InputError(f"{source}: empty file; a matrix is wanted")
    phylip = lines[0].strip().isdigit()
    separator = None if phylip else "\t" if "\t" in lines[0] else ","
    ids, rows = [], []
    for number, line in enumerate(lines[1:], 2):
        name, *cells = line.split(separator)
        try:
            rows.append([float(cell) for cell in cells])
        except ValueError as error:
            raise InputError(f"{source}: line {number}: {error}; a matrix of numbers is wanted") from None
        if len(cells) != len(lines) - 1:
            raise InputError(f"{source}: line {number} has {len(cells)} values; a square matrix of {len(lines) - 1} rows is wanted")
        ids.append(name)
    return np.array(rows), ids
