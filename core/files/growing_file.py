"""File of arrays that grows by atomic commits: whenever a process is killed, the file holds what the last commit held, or this one's.

Layout, all numbers little-endian. The first page of 4,096 bytes holds a magic number of 8 bytes, the format version (uint32), and two
commit records, at the bytes 512 and 1024:
  number of the commit, start and length of its contents in bytes (uint64 each), CRC-32 of the contents, CRC-32 of this record (uint32 each)
Then come arrays and contents, each on a page of its own. The contents of a commit are JSON: they say where its arrays are (`StoredArray`).
A commit writes new arrays and contents behind those of the commit before, waits until they are on the disk, and only then overwrites the
older one of the two records, so that one of them is always whole. Readers take the record with the higher number.
"""

from __future__ import annotations

import json
import os
import struct
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from gpualign.core.common.dataclass import dataclass
from gpualign.core.common.errors import InputError, RunError
from gpualign.core.common.threads import map_in_order

_PAGE_BYTES = 4096
_RECORD_STARTS = (512, 1024)
_RECORD = struct.Struct("<QQQI")
_CHECK = struct.Struct("<I")
_MAGIC_BYTES = 8
_VERSION = struct.Struct("<I")
_CHECKSUM_CHUNK_BYTES = 16 << 20
_MAX_CONTENTS_BYTES = 1 << 30
_TYPES = frozenset({"|u1", "<u4", "<i8", "<u8"})


class DamagedFile(Exception):
    """Raised if a file is damaged. Its text is a human-readable description of the fault."""


@dataclass(frozen=True)
class StoredArray:
    """Location of an array in a file, as the contents of a commit describe it.

    start: first byte
    dtype: type of the elements, as NumPy writes it
    shape: lengths of the dimensions
    checks: CRC-32 of each 16 MiB
    """

    start: int
    dtype: str
    shape: tuple[int, ...]
    checks: tuple[int, ...]

    @property
    def nbytes(self) -> int:
        """Number of bytes."""
        size = np.dtype(self.dtype).itemsize
        for length in self.shape:  # Python's integers do not overflow
            size *= length
        return size

    def as_json(self) -> dict[str, object]:
        """Return the description that the contents of a commit hold."""
        return {"start": self.start, "dtype": self.dtype, "shape": list(self.shape), "checks": list(self.checks)}

    @classmethod
    def from_json(cls, entry: object, dtype: str, dimensions: int) -> StoredArray:
        """Return the array that a description names. Raises `DamagedFile` unless it has this type and number of dimensions."""
        fields = entry if isinstance(entry, dict) else {}
        start, shape, checks = fields.get("start"), fields.get("shape"), fields.get("checks")
        if fields.get("dtype") != dtype or dtype not in _TYPES or type(start) is not int or start < _PAGE_BYTES or start % _PAGE_BYTES:
            raise DamagedFile("its contents describe an array that cannot be in it")
        if not isinstance(shape, list) or len(shape) != dimensions or any(type(length) is not int or length < 0 for length in shape):
            raise DamagedFile("its contents describe an array of no valid shape")
        found = cls(start, dtype, tuple(shape), ())
        if (
            not isinstance(checks, list)
            or len(checks) != -(-found.nbytes // _CHECKSUM_CHUNK_BYTES)
            or any(type(c) is not int for c in checks)
        ):
            raise DamagedFile("its contents have no valid checksums")
        return cls(start, dtype, tuple(shape), tuple(checks))


@dataclass(frozen=True)
class Commit:
    """State of a file.

    path: path of the file
    number: number of the commit, from 1
    contents: what the commit holds: JSON
    stop: end of what belongs to it, in bytes
    """

    path: str
    number: int
    contents: dict[str, Any]
    stop: int

    def map(self, array: StoredArray) -> npt.NDArray[Any]:
        """Return an array, which stays on disk until it is used. Raises `DamagedFile` if it is not within the file."""
        if array.start + array.nbytes > self.stop:
            raise DamagedFile("its contents describe an array beyond its end")
        try:
            if not array.nbytes:
                return np.empty(array.shape, dtype=array.dtype)
        except ValueError:
            raise DamagedFile("its contents describe an array of no valid shape") from None
        return np.memmap(self.path, dtype=array.dtype, mode="r", offset=array.start, shape=array.shape)

    def read(self, array: StoredArray) -> npt.NDArray[Any]:
        """Return an array after checking it. Raises `DamagedFile`."""
        values = self.map(array)
        self.check(array, values, 1)
        return np.asarray(values)

    def check(self, array: StoredArray, values: npt.NDArray[Any], threads: int) -> None:
        """Raise `DamagedFile` if the bytes of a mapped array are not those that were written."""
        data = values.reshape(-1).view(np.uint8)
        pieces = (data[start : start + _CHECKSUM_CHUNK_BYTES] for start in range(0, len(data), _CHECKSUM_CHUNK_BYTES))
        for number, check in enumerate(map_in_order(lambda piece: zlib.crc32(piece.data), pieces, threads)):
            if check != array.checks[number]:
                raise DamagedFile(f"the checksum of the bytes from {array.start + number * _CHECKSUM_CHUNK_BYTES:,} on is wrong")


def read_commit(path: str, magic: bytes, version: int, what: str) -> Commit:
    """Return the last commit of a file.

    magic: first bytes of such files
    version: version of the format that is read
    what: name of such files, for messages

    Raises `InputError` for another kind of file or version, and `DamagedFile` if no commit is whole.
    """
    with open(path, "rb") as stream:
        return _read_last_commit(stream, path, magic, version, what)


def _read_last_commit(stream: BinaryIO, path: str, magic: bytes, version: int, what: str) -> Commit:
    size = stream.seek(0, os.SEEK_END)
    stream.seek(0)
    page = stream.read(_PAGE_BYTES)
    if not page.startswith(magic):
        from gpualign.core.files.kinds import FileKind, kind_of  # compiles patterns

        index = f" but {FileKind.INDEX.value}, which cannot be changed; build it again" if kind_of(page) is FileKind.INDEX else ""
        raise InputError(f"{path}: not {what}{index}")
    if len(page) < _PAGE_BYTES:
        raise DamagedFile(f"it is truncated: expected at least {_PAGE_BYTES:,} bytes, found {len(page):,}")
    (found,) = _VERSION.unpack_from(page, _MAGIC_BYTES)
    if found != version:
        hint = "it was made by a newer gpualign, so update this one" if found > version else "make it again"
        raise InputError(f"{path}: {what} of version {found}; this gpualign reads version {version} ({hint})")
    records = []
    for start in _RECORD_STARTS:
        record = page[start : start + _RECORD.size]
        if _CHECK.unpack_from(page, start + _RECORD.size)[0] == zlib.crc32(record):
            records.append(_RECORD.unpack(record))
    if not records:
        raise DamagedFile("the checksums of its first page are wrong")
    number, start, length, check = max(records)
    if length > _MAX_CONTENTS_BYTES or start + length > size:
        raise DamagedFile(f"it is truncated: expected {start + length:,} bytes, found {size:,}")
    stream.seek(start)
    text = stream.read(length)
    if zlib.crc32(text) != check:
        raise DamagedFile(f"the checksum of the bytes from {start:,} on is wrong")
    try:
        contents = json.loads(text)
    except (ValueError, RecursionError):
        contents = None
    if not isinstance(contents, dict):
        raise DamagedFile("its contents are not JSON")
    return Commit(path, number, contents, start + length)


class CommitWriter:
    """Writes the arrays of one commit behind those of the commit before, and then the commit itself."""

    def __init__(self, file: BinaryIO, number: int, start: int) -> None:
        """Create a writer. number: number of the commit; start: first byte that is free."""
        self._file, self._number, self._end = file, number, start
        self.has_committed = False
        """True once what was written may have become the state of the file."""

    def add(self, values: npt.NDArray[Any]) -> dict[str, object]:
        """Write an array, and return its description for the contents."""
        return self.add_blocks([values], values.shape)

    def add_blocks(self, blocks: Iterable[npt.NDArray[Any]], shape: tuple[int, ...]) -> dict[str, object]:
        """Write an array that comes in blocks along its first dimension, and return its description. There is at least one block."""
        start = self._end = -(-self._end // _PAGE_BYTES) * _PAGE_BYTES
        self._file.seek(start)
        checks, check, held, dtype = list[int](), 0, 0, ""
        for block in blocks:
            dtype = block.dtype.str
            if not block.size:
                continue
            data = np.ascontiguousarray(block).reshape(-1).view(np.uint8).data.cast("B")
            self._file.write(data)
            self._end += len(data)
            while len(data):
                some = data[: _CHECKSUM_CHUNK_BYTES - held]
                check, held, data = zlib.crc32(some, check), held + len(some), data[len(some) :]
                if held == _CHECKSUM_CHUNK_BYTES:
                    checks.append(check)
                    check = held = 0
        return StoredArray(start, dtype, shape, tuple([*checks, check] if held else checks)).as_json()

    def commit(self, contents: dict[str, Any]) -> None:
        """Make what was written the state of the file."""
        start = -(-self._end // _PAGE_BYTES) * _PAGE_BYTES
        text = json.dumps(contents, separators=(",", ":")).encode()
        self._file.seek(start)
        self._file.write(text)
        self._wait_for_disk()  # the record must not reach the disk before what it points to
        record = _RECORD.pack(self._number, start, len(text), zlib.crc32(text))
        self.has_committed = True
        self._file.seek(_RECORD_STARTS[self._number % 2])
        self._file.write(record + _CHECK.pack(zlib.crc32(record)))
        self._wait_for_disk()

    def _wait_for_disk(self) -> None:
        self._file.flush()
        os.fsync(self._file.fileno())


def begin_file(file: BinaryIO, magic: bytes, version: int) -> CommitWriter:
    """Return the writer of the first commit of a new file, which is open for writing. magic: 8 bytes."""
    file.write((magic + _VERSION.pack(version)).ljust(_PAGE_BYTES, b"\0"))
    return CommitWriter(file, 1, _PAGE_BYTES)


@contextmanager
def append_commit(path: str, magic: bytes, version: int, what: str) -> Iterator[tuple[Commit, CommitWriter]]:
    """Yield (the last commit of a file, the writer of the next one). No other process appends to the file meanwhile. If the context is left
    with an error, the file is cut back to the last commit.

    Raises the same errors as `read_commit`, and `RunError` if another process is appending to the file, or it cannot be written.
    """
    import fcntl

    try:
        file = open(path, "r+b")  # noqa: SIM115  closed below
    except OSError as error:
        raise RunError(f"cannot write {Path(path)}: {error.strerror or error}") from None
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise RunError(f"{path}: another process is writing to it; try again when it has ended") from None
        last = _read_last_commit(file, path, magic, version, what)
        writer = CommitWriter(file, last.number + 1, last.stop)
        try:
            yield last, writer
        except BaseException:
            if not writer.has_committed:
                with suppress(OSError):
                    file.truncate(last.stop)
            raise
