"""Reads the part files to be merged, and checks that they belong together. shard_file.py describes the format."""

from __future__ import annotations

import json
import math
import struct
import tokenize
import zipfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import repeat
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from gpualign.core.common.errors import InputError, parameter
from gpualign.core.files.journal import identity_of
from gpualign.core.output.formats.registry import FORMATS
from gpualign.core.planning.sharding import MAX_SHARDS
from gpualign.jobs.output.shard_file import COPY_BYTES, DESCRIPTION, LAYOUT, MATRIX, ROWS, SPARSE, Description

_MAX_DESCRIPTION = 1 << 20
_MAX_DECIMALS = 17

_DAMAGES = (
    *(ValueError, TypeError, KeyError, AttributeError, ArithmeticError, EOFError, RuntimeError, SyntaxError),
    *(zipfile.BadZipFile, struct.error, tokenize.TokenError),
)
"""Exceptions that zipfile, json and NumPy raise for damaged files."""


class PartFileReader:
    """A part file from an earlier run. The file is open only while being read, so that any number of files can be merged.

    Raises `InputError` if the file is not a part file, or is damaged.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        try:
            with zipfile.ZipFile(path) as archive:
                self._members = {member.filename for member in archive.infolist() if member.compress_type == zipfile.ZIP_STORED}
                raw = archive.open(DESCRIPTION).read(_MAX_DESCRIPTION)
            fields = json.loads(raw)
            layout = fields.pop("gpualign part")
            if layout != LAYOUT:
                raise InputError(f"{path}: a part file of layout {layout}; this gpualign merges layout {LAYOUT}")
            identity = identity_of(fields.pop("identity"))
            values: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in fields.items()}
            self.description = Description(identity, **values)
            _check(self.description)
        except InputError:
            raise
        except OSError as error:
            raise InputError(f"{path}: {error.strerror or error}") from None
        except _DAMAGES:
            raise InputError(f"{path}: not a part file that {parameter('shard')} wrote, or a damaged one; write it again") from None

    def has(self, name: str) -> bool:
        """Return whether the part file has a member with this name."""
        return name in self._members

    def _pieces(self, name: str, sizes: Callable[[IO[bytes]], Iterator[int]]) -> Iterator[bytes]:
        """Yield the content of a member in pieces. A short piece marks the end of the member.

        sizes: yields the size of each piece; may itself read from the member first, for example a header
        """
        if not self.has(name):
            raise InputError(f"{self.path}: damaged: {name!r} is missing; write it again")
        try:
            with zipfile.ZipFile(self.path) as archive, archive.open(name) as member:
                for size in sizes(member):
                    yield member.read(size)
        except InputError:
            raise
        except OSError as error:
            raise InputError(f"{self.path}: {error.strerror or error}") from None
        except _DAMAGES:
            raise self._damaged(name) from None

    def _damaged(self, name: str) -> InputError:
        return InputError(f"{self.path}: damaged: {name!r} has changed since it was written; write it again")

    def chunks(self, name: str, skip: int = 0) -> Iterator[bytes]:
        """Yield the content of a member without the first `skip` bytes."""
        for data in self._pieces(name, lambda member: repeat(COPY_BYTES)):
            if not data:
                return
            yield data[skip:]
            skip = max(0, skip - len(data))

    def lines(self, name: str) -> list[str]:
        """Return the lines of a text member."""
        return b"".join(self.chunks(name)).decode("utf-8", "surrogateescape").split("\n")[:-1]

    def array_type(self, name: str) -> tuple[tuple[int, ...], np.dtype[Any]]:
        """Return (shape, type) of an array member."""
        heads = []

        def look(member: IO[bytes]) -> Iterator[int]:
            heads.append(_array_head(member))
            yield 0

        for _ in self._pieces(name, look):
            pass
        return heads[0]

    def rows(self, name: str, shape: tuple[int, ...], dtype: np.dtype[Any], nbytes: int) -> Iterator[tuple[int, npt.NDArray[Any]]]:
        """Yield (first row, rows) of an array member in blocks of about `nbytes`. Raises `InputError` for a different shape or type."""
        row_bytes = math.prod(shape[1:]) * dtype.itemsize
        step = max(1, nbytes // max(1, row_bytes))
        starts = range(0, shape[0], step)

        def sizes(member: IO[bytes]) -> Iterator[int]:
            if _array_head(member) != (shape, dtype):
                raise ValueError("another array")
            for start in starts:
                yield min(step, shape[0] - start) * row_bytes
            yield 1  # reading on checks the checksum

        for start, raw in zip((*starts, None), self._pieces(name, sizes), strict=True):
            if start is None:
                if raw:
                    raise self._damaged(name)
            elif len(raw) != (count := min(step, shape[0] - start)) * row_bytes:
                raise self._damaged(name)
            else:
                yield start, np.frombuffer(raw, dtype).reshape(count, *shape[1:])


def _array_head(member: IO[bytes]) -> tuple[tuple[int, ...], np.dtype[Any]]:
    if np.lib.format.read_magic(member) != (1, 0):
        raise ValueError("version")
    shape, fortran, dtype = np.lib.format.read_array_header_1_0(member)
    if fortran or dtype not in (np.int32, np.int64, np.float64) or len(shape) not in (1, 2):
        raise ValueError("no matrix")
    return shape, dtype


def _check(d: Description) -> None:
    """Raise one of `_DAMAGES` if the description contradicts itself."""
    (number, count), (start, stop) = d.shard, d.span
    numbers = number, count, start, stop, d.header, d.decimals
    consistent = (
        all(type(number) is int and number >= 0 for number in numbers)
        and 1 <= number <= count <= MAX_SHARDS
        and start <= stop <= d.identity.rows
        and d.content in (ROWS, MATRIX, SPARSE)
        and d.format in FORMATS
        and d.decimals <= _MAX_DECIMALS
        and len(d.names) == len(d.titles) <= 2
        and all(isinstance(text, str) for text in (*d.names, *d.titles))
        and (d.content != MATRIX or len(d.names) > d.beside)
        and (d.content != SPARSE or np.dtype(d.dtype) in (np.int32, np.int64, np.float64))
    )
    if not consistent:
        raise ValueError("out of range")


def order_parts(parts: Sequence[PartFileReader]) -> list[PartFileReader]:
    """Return all parts of a job in order. Raises `InputError` if a part is missing, a duplicate, or from a different job."""
    first = parts[0].description
    by_number: dict[int, PartFileReader] = {}
    for part in parts:
        description = part.description
        first.identity.check(description.identity, part.path, "merge parts of one command and one input")
        same_job = replace(description, identity=first.identity, shard=(1, description.shard[1]), span=first.span)
        if same_job != replace(first, shard=(1, first.shard[1])):
            one, other = (f"a part of {d.shard[1]:,}, as {d.format}" for d in (description, first))
            raise InputError(f"{part.path}: {one}; {parts[0].path} is {other}")
        if (twin := by_number.get(description.shard[0])) is not None:
            number, count = description.shard
            raise InputError(f"{part.path}: the same part, {number:,} of {count:,}, is {twin.path}; expected each once")
        by_number[description.shard[0]] = part
    count = first.shard[1]
    if missing := [number for number in range(1, count + 1) if number not in by_number]:
        shown = ", ".join(map(str, missing[:10])) + (" ..." if len(missing) > 10 else "")
        raise InputError(f"{len(missing):,} of {count:,} parts {'is' if len(missing) == 1 else 'are'} missing: {shown}")
    ordered = [by_number[number] for number in range(1, count + 1)]
    stops = [0, *(part.description.span[1] for part in ordered)]
    if any(part.description.span[0] != stop for part, stop in zip(ordered, stops, strict=False)) or stops[-1] != first.identity.rows:
        raise InputError(f"{parts[0].path}: damaged: the parts together do not hold every query; write them again")
    return ordered
