"""Plain and gzip files alike, from a binary stream; what a file is, its content says."""

from __future__ import annotations

import codecs
import gzip
import io
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO, cast

from gpualign.core.errors import InputError

_PEEK = 4096
_UTF16 = codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE
_COMPRESSIONS = {b"BZh": "bzip2", b"\xfd7zXZ": "xz", b"\x28\xb5\x2f\xfd": "zstd", b"PK\x03\x04": "zip"}


class Prefixed(io.RawIOBase):
    """A stream with bytes put back in front, for streams that cannot seek."""

    def __init__(self, first: bytes, rest: BinaryIO) -> None:
        self._first = first
        self._rest = rest

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: object) -> int:
        view = memoryview(buffer)  # type: ignore[arg-type]
        if self._first:
            count = min(len(view), len(self._first))
            view[:count] = self._first[:count]
            self._first = self._first[count:]
            return count
        if isinstance(self._rest, io.BufferedIOBase):
            return self._rest.readinto(view)
        data = self._rest.read(len(view))
        view[: len(data)] = data
        return len(data)


def _peek(stream: BinaryIO) -> tuple[bytes, BinaryIO]:
    first = b""
    while len(first) < _PEEK:
        more = stream.read(_PEEK - len(first))
        if not more:
            break
        first += more
    return first, cast(BinaryIO, io.BufferedReader(Prefixed(first, stream), 1 << 20))


@contextmanager
def decompressing(source: str) -> Iterator[None]:
    """Errors of a gzip file that is being read name that file."""
    try:
        yield
    except EOFError:
        raise InputError(f"{source}: truncated gzip file; copy or download it again") from None
    except (gzip.BadGzipFile, zlib.error) as error:
        raise InputError(f"{source}: damaged gzip file ({error})") from None


def unpack(stream: BinaryIO, source: str) -> tuple[bytes, BinaryIO]:
    """The first bytes of a file, unpacked if it is gzip, and a stream of all of it, both without the byte order mark of UTF-8.

    Raises `InputError` for other compressions and for UTF-16.
    """
    with decompressing(source):
        first, stream = _peek(stream)
        if first.startswith(b"\x1f\x8b"):
            first, stream = _peek(cast(BinaryIO, gzip.GzipFile(fileobj=stream)))
    if first.startswith(_UTF16):
        raise InputError(f"{source}: text in UTF-16; gpualign reads UTF-8, so save it as that (iconv -f UTF-16 -t UTF-8)")
    for magic, name in _COMPRESSIONS.items():
        if first.startswith(magic):
            raise InputError(f"{source}: compressed with {name}; gpualign reads plain text and gzip, so unpack it into a pipe first")
    if first.startswith(codecs.BOM_UTF8):
        stream.read(len(codecs.BOM_UTF8))
        first = first.removeprefix(codecs.BOM_UTF8)
    return first, stream
