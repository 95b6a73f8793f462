"""Part files: the outputs of shards, to be joined by `gpualign merge`. They are written and read here.

A part file begins with what a run of only the shard's queries would write: the rows, including the header, or the first matrix. When it is
complete, an uncompressed zip archive is appended, so that truncation and damage are detected. Members:

    part.json                    a `PartDescription`
    NAME.npy                     other matrices: [queries][targets needed by any of the queries], or the part of the condensed matrix
    counts, indices, data        for a sparse matrix, which has nothing before the archive: core/output/sparse.py
    ids, or query_ids and target_ids     for matrices: one id per line, in output format
"""

from __future__ import annotations

import io
import json
import math
import os
import shutil
import struct
import tokenize
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, field, replace
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, BinaryIO, cast

import numpy as np
import numpy.typing as npt

from gpualign.core.common.dataclass import dataclass
from gpualign.core.common.errors import InputError, parameter
from gpualign.core.files.journal import RunIdentity, parse_run_identity
from gpualign.core.files.paths import STDIO
from gpualign.core.output.formats.registry import FORMATS
from gpualign.core.output.matrix_files import IdentifiedRecords, id_lists, write_ids
from gpualign.core.output.resumable_files import TextFile
from gpualign.core.output.sparse import SPOOL_NAMES, SpoolFiles
from gpualign.core.planning.sharding import MAX_SHARDS
from gpualign.jobs.output.atomic_files import OutputFiles

if TYPE_CHECKING:
    from gpualign.core.output.matrix_files import ArrayMaker, NumberType
    from gpualign.jobs.output.specs import MatrixSpec

LAYOUT_VERSION = 2
DESCRIPTION_MEMBER = "part.json"

ROWS_CONTENT, MATRIX_CONTENT, SPARSE_CONTENT = "rows", "matrix", "sparse"

_COPY_BYTES = 1 << 22
_MAX_DESCRIPTION_BYTES = 1 << 20
_MAX_DECIMALS = 17

_DAMAGE_ERRORS = (
    *(ValueError, TypeError, KeyError, AttributeError, ArithmeticError, EOFError, RuntimeError, SyntaxError),
    *(zipfile.BadZipFile, struct.error, tokenize.TokenError),
)
"""Exceptions that zipfile, json and NumPy raise for damaged files."""


@dataclass(frozen=True)
class PartDescription:
    """Content of a part file.

    identity: identity of the whole job
    shard: (K, N) for part K of N
    span: range [start, stop) of the queries in the shard
    format: output format
    content: `ROWS_CONTENT`, `MATRIX_CONTENT` or `SPARSE_CONTENT`
    body: description of what precedes the archive: (name to use for it as a member, number of bytes, CRC-32)
    header: number of bytes before the first row, if there are rows
    names: array names, one per matrix
    titles: titles of the matrices
    decimals: decimal places for values that are not counts
    triangle: whether the matrices are of one set, so that a query has only later targets, and in a square matrix also itself
    beside: whether the second matrix is written to a file of its own
    dtype: value type of a sparse matrix
    """

    identity: RunIdentity
    shard: tuple[int, int]
    span: tuple[int, int]
    format: str
    content: str = ROWS_CONTENT
    body: tuple[str, int, int] = ("", 0, 0)
    header: int = 0
    names: tuple[str, ...] = ()
    titles: tuple[str, ...] = ()
    decimals: int = 0
    triangle: bool = False
    beside: bool = False
    dtype: str = ""


@dataclass
class PartFile:
    """A part file that is being written. A later run can resume it until the archive is appended.

    files: output files of the run
    path: path of the part file
    description: description of the part file, as far as it is known before the run
    """

    files: OutputFiles
    path: Path
    description: PartDescription
    _members: dict[str, BinaryIO] = field(default_factory=dict)

    @contextmanager
    def open_row_writer(self) -> Iterator[TextFile]:
        """Yield a row writer, and append the archive on exit."""
        with self.files.open_row_writer(self.path) as text:
            assert isinstance(text, TextFile)
            yield text
        self._append("rows", text.file, content=ROWS_CONTENT, header=text.header_bytes)

    def array_makers(self, names: Sequence[str]) -> list[ArrayMaker]:
        """Return a function for each named matrix that creates its array. The first matrix is written at the beginning of the part file
        itself, the others to temporary files that are appended later."""
        finals = [self.path, *[None] * (len(names) - 1)]
        made = [self.files.open_array(name if final is None else "", final, self.path) for name, final in zip(names, finals, strict=True)]
        self._members |= {f"{name}.npy": file for name, (_, file) in zip(names, made, strict=True)}
        return [make for make, _ in made]

    def open_spools(self) -> SpoolFiles:
        """Return the spool files for a sparse matrix."""
        counts, indices, data = (self.files.open_spool(name, self.path) for name in SPOOL_NAMES)
        self._members |= dict(zip(SPOOL_NAMES, (counts, indices, data), strict=True))
        return counts, indices, data

    def finish_matrices(self, spec: MatrixSpec, queries: IdentifiedRecords, targets: IdentifiedRecords) -> None:
        """Append the archive, once the matrices have been filled."""
        first = f"{spec.names[0]}.npy"
        self._add_ids(queries, targets)
        self._append(
            first,
            self._members.pop(first),
            content=MATRIX_CONTENT,
            names=spec.names,
            titles=spec.titles,
            decimals=spec.decimals,
            triangle=targets is queries,
            beside=spec.second_path is not None,
        )

    def finish_sparse(self, dtype: NumberType, queries: IdentifiedRecords, targets: IdentifiedRecords) -> None:
        """Write the part file, once the spools have been filled. dtype: type of the stored values."""
        self._add_ids(queries, targets)
        self._append("", self.files.open(self.path), content=SPARSE_CONTENT, dtype=dtype.str)

    def _add_ids(self, queries: IdentifiedRecords, targets: IdentifiedRecords) -> None:
        for name, records in id_lists(queries, targets).items():
            write_ids(ids := io.BytesIO(), records)
            self._members[name] = ids

    def _append(self, body: str, file: BinaryIO, **content: Any) -> None:
        """Append the archive to the part file. body: member name of what the file holds so far; content: fields of the description that are
        known only now."""
        file.flush()
        size = checksum = 0
        while data := os.pread(file.fileno(), _COPY_BYTES, size):
            size, checksum = size + len(data), zlib.crc32(data, checksum)
        file.seek(size)
        description = replace(self.description, body=(body, size, checksum), **content)
        with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED, allowZip64=True) as archive:
            archive.writestr(zipfile.ZipInfo(DESCRIPTION_MEMBER), json.dumps({"gpualign part": LAYOUT_VERSION, **asdict(description)}))
            for name, held in self._members.items():
                held.seek(0)
                with archive.open(zipfile.ZipInfo(name), "w", force_zip64=True) as member:
                    shutil.copyfileobj(held, member, _COPY_BYTES)


class PartFileReader:
    """A part file from an earlier run. The file is open only while being read, so that any number of files can be merged.

    Raises `InputError` if the file is not a part file, or is damaged.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        if path == STDIO or Path(path).is_fifo():
            raise InputError(f"{path}: expected a part file, found a pipe; write it to a file first")
        try:
            with zipfile.ZipFile(path) as archive:
                self._members = {member.filename for member in archive.infolist() if member.compress_type == zipfile.ZIP_STORED}
                raw = archive.open(DESCRIPTION_MEMBER).read(_MAX_DESCRIPTION_BYTES)
            fields = json.loads(raw)
            layout = fields.pop("gpualign part")
            if layout != LAYOUT_VERSION:
                raise InputError(
                    f"{path}: a part file of layout {layout}; this gpualign merges layout {LAYOUT_VERSION}: write it again, or merge with"
                    " the gpualign that wrote it"
                )
            identity = parse_run_identity(fields.pop("identity"))
            values: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in fields.items()}
            self.description = PartDescription(identity, **values)
            _check_description(self.description)
        except InputError:
            raise
        except FileNotFoundError:
            raise InputError(f"{path}: no such file") from None
        except IsADirectoryError:
            raise InputError(f"{path}: expected a file, found a directory") from None
        except OSError as error:
            raise InputError(f"{path}: {error.strerror or error}") from None
        except _DAMAGE_ERRORS:
            raise InputError(f"{path}: not a part file that {parameter('shard')} wrote, or a damaged one; write it again") from None

    def has_member(self, name: str) -> bool:
        """Return whether the part file has a member with this name."""
        return name in self._members or name == self.description.body[0]

    @contextmanager
    def _open_member(self, name: str) -> Iterator[IO[bytes]]:
        """Yield a member, whose checksum is checked at its end. Errors that are raised while it is being read become `InputError`."""
        if not self.has_member(name):
            raise InputError(f"{self.path}: damaged: {name!r} is missing; write it again")
        try:
            if name == self.description.body[0]:
                about = zipfile.ZipInfo(name)
                _, about.file_size, about.CRC = self.description.body
                about.compress_size = about.file_size
                with open(self.path, "rb") as file:
                    yield cast("IO[bytes]", zipfile.ZipExtFile(file, "r", about))
            else:
                with zipfile.ZipFile(self.path) as archive, archive.open(name) as member:
                    yield member
        except OSError as error:
            raise InputError(f"{self.path}: {error.strerror or error}") from None
        except _DAMAGE_ERRORS:
            raise InputError(f"{self.path}: damaged: {name!r} has changed since it was written; write it again") from None

    def read_chunks(self, name: str, skipped_bytes: int = 0) -> Iterator[bytes]:
        """Yield the content of a member without the first `skipped_bytes` bytes."""
        with self._open_member(name) as member:
            while data := member.read(_COPY_BYTES):
                yield data[skipped_bytes:]
                skipped_bytes = max(0, skipped_bytes - len(data))

    def read_lines(self, name: str) -> list[str]:
        """Return the lines of a text member."""
        return b"".join(self.read_chunks(name)).decode("utf-8", "surrogateescape").split("\n")[:-1]

    def array_header(self, name: str) -> tuple[tuple[int, ...], np.dtype[Any]]:
        """Return (shape, type) of an array member."""
        with self._open_member(name) as member:
            return _read_array_header(member)

    def read_row_blocks(
        self, name: str, shape: tuple[int, ...], dtype: np.dtype[Any], nbytes: int
    ) -> Iterator[tuple[int, npt.NDArray[Any]]]:
        """Yield (first row, rows) of an array member in blocks of about `nbytes`. Raises `InputError` for a different shape or type."""
        row_bytes = math.prod(shape[1:]) * dtype.itemsize
        step = max(1, nbytes // max(1, row_bytes))
        with self._open_member(name) as member:
            if _read_array_header(member) != (shape, dtype):
                raise ValueError("another array")
            for start in range(0, shape[0], step):
                count = min(step, shape[0] - start)
                yield start, np.frombuffer(member.read(count * row_bytes), dtype).reshape(count, *shape[1:])
            if member.read(1):  # which also checks the checksum
                raise ValueError("more values")


def _read_array_header(member: IO[bytes]) -> tuple[tuple[int, ...], np.dtype[Any]]:
    if np.lib.format.read_magic(member) != (1, 0):
        raise ValueError("version")
    shape, fortran, dtype = np.lib.format.read_array_header_1_0(member)
    if fortran or dtype not in (np.int32, np.int64, np.float64) or len(shape) not in (1, 2):
        raise ValueError("no matrix")
    return shape, dtype


def _check_description(d: PartDescription) -> None:
    """Raise one of `_DAMAGE_ERRORS` if the description contradicts itself."""
    (number, count), (start, stop), (body, size, checksum) = d.shard, d.span, d.body
    numbers = number, count, start, stop, size, checksum, d.header, d.decimals
    consistent = (
        all(type(number) is int and number >= 0 for number in numbers)
        and 1 <= number <= count <= MAX_SHARDS
        and start <= stop <= d.identity.rows
        and d.content in (ROWS_CONTENT, MATRIX_CONTENT, SPARSE_CONTENT)
        and d.format in FORMATS
        and d.decimals <= _MAX_DECIMALS
        and isinstance(body, str)
        and len(d.names) == len(d.titles) <= 2
        and all(isinstance(text, str) for text in (*d.names, *d.titles))
        and (d.content != MATRIX_CONTENT or len(d.names) > d.beside)
        and (d.content != SPARSE_CONTENT or np.dtype(d.dtype) in (np.int32, np.int64, np.float64))
    )
    if not consistent:
        raise ValueError("out of range")
