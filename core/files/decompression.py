"""Plain and compressed files alike, from a binary stream; what a file is, its content says."""

from __future__ import annotations

import codecs
import io
import os
import stat
import sys
from collections.abc import Callable
from importlib import import_module
from typing import BinaryIO, cast

from gpualign.core.common.dataclass import dataclass
from gpualign.core.common.errors import InputError
from gpualign.core.files.paths import open_file

_PEEK = 4096
_LARGE = 8 << 20
"""Bytes of a compressed file that are worth another thread: they take 25 ms or more to unpack, `concurrent.futures` 5 to load."""
_PACKED = 16
"""Bytes of text for one of a compressed file, rather too many: DNA of many species has 4, genes of one family 6 to 9."""
_UTF16 = codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE


def _gzip(stream: BinaryIO) -> BinaryIO:
    try:
        gzip = import_module("isal.igzip")  # two to three times as fast
    except ImportError:
        gzip = import_module("gzip")
    return cast(BinaryIO, gzip.GzipFile(fileobj=stream))


def _bzip2(stream: BinaryIO) -> BinaryIO:
    from bz2 import BZ2File

    return cast(BinaryIO, BZ2File(stream))


def _xz(stream: BinaryIO) -> BinaryIO:
    from lzma import LZMAFile

    return cast(BinaryIO, LZMAFile(stream))


def _zstd(stream: BinaryIO) -> BinaryIO:
    if sys.version_info >= (3, 14):
        from compression.zstd import ZstdFile
    else:
        from backports.zstd import ZstdFile
    return cast(BinaryIO, ZstdFile(stream))


_COMPRESSIONS: dict[bytes, tuple[str, Callable[[BinaryIO], BinaryIO]]] = {
    b"\x1f\x8b": ("gzip", _gzip),
    b"BZh": ("bzip2", _bzip2),
    b"\xfd7zXZ": ("xz", _xz),
    b"\x28\xb5\x2f\xfd": ("zstd", _zstd),
}
"""By the bytes that files begin with. Opened where they are met: each library takes time to import."""
_MAGIC = 6
"""Bytes that tell a compression."""


def compression_of(path: str) -> str | None:
    """gzip, bzip2, xz or zstd, if a regular file is compressed with it."""
    with open_file(path) as stream:
        first = stream.read(_MAGIC)
    return next((kind for magic, (kind, _) in _COMPRESSIONS.items() if first.startswith(magic)), None)


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


class _Decompressed(io.RawIOBase):
    """What is in a compressed stream. Raises `InputError` where it is damaged."""

    def __init__(self, stream: BinaryIO, kind: str, source: str) -> None:
        self._stream = cast(io.BufferedIOBase, stream)
        self._kind, self._source = kind, source

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: object) -> int:
        try:
            return self._stream.readinto(buffer)  # type: ignore[arg-type]
        except EOFError:
            # So few bytes behind the end of a gzip file could be the beginning of another one.
            other = ", or there is something else behind its end" if self._kind == "gzip" else ""
            raise InputError(f"{self._source}: truncated {self._kind} file{other}; copy or download it again") from None
        except Exception as error:  # each library has its own; some are an OSError without a number
            if isinstance(error, OSError) and error.errno is not None:
                raise
            if str(error).startswith("Not a gzipped file"):  # whose first bytes said that it is one
                raise InputError(
                    f"{self._source}: there is something else behind the end of this gzip file; copy or download it again"
                ) from None
            raise InputError(f"{self._source}: damaged {self._kind} file ({error})") from None


def _peek(stream: BinaryIO) -> tuple[bytes, BinaryIO]:
    first = b""
    while len(first) < _PEEK:
        more = stream.read(_PEEK - len(first))
        if not more:
            break
        first += more
    return first, cast(BinaryIO, io.BufferedReader(Prefixed(first, stream), 1 << 20))


@dataclass(frozen=True)
class PlainText:
    """Of a regular file that is not compressed: bytes start .. stop of a descriptor, without the byte order mark of UTF-8."""

    descriptor: int
    start: int
    stop: int


def _in_file(stream: BinaryIO) -> tuple[int, int, int] | None:
    """Where the bytes are that a stream has left of a regular file: its descriptor, the first and behind the last; None where it is
    something else."""
    # Other classes have descriptors too, of files whose bytes are not those of the stream.
    if type(stream) is not io.BufferedReader or type(stream.raw) is not io.FileIO:
        return None
    descriptor = stream.fileno()
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode):
        return None
    start = stream.tell()
    return (descriptor, start, status.st_size) if start < status.st_size else None  # files of /proc have no size


def is_regular(stream: BinaryIO) -> bool:
    """Whether a stream is of a regular file, whose end the file system knows; pipes, sockets and devices are not."""
    try:
        return stat.S_ISREG(os.fstat(stream.fileno()).st_mode)
    except OSError:  # no file at all
        return False


def text_to_come(stream: BinaryIO) -> int:
    """About how many bytes of text a stream has left, at least as many as it has of a plain file; 0 where that is not known."""
    if (found := _in_file(stream)) is None:
        return 0
    descriptor, start, stop = found
    if not os.pread(descriptor, _MAGIC, start).startswith(tuple(_COMPRESSIONS)):
        return stop - start
    return (stop - start) * _PACKED if _addresses_are_free() else 0


def _addresses_are_free() -> bool:
    """Whether room that is asked for and not used takes nothing from others, as it does under `ulimit -v`."""
    import resource

    return resource.getrlimit(resource.RLIMIT_AS)[0] == resource.RLIM_INFINITY


def plain_text(stream: BinaryIO) -> PlainText | None:
    """What a stream has left of a regular file, which any number of threads may read; None where it is something else. Reads nothing
    from the stream, which must stay open as long as the descriptor is used."""
    if (found := _in_file(stream)) is None:
        return None
    descriptor, start, stop = found
    first = os.pread(descriptor, _MAGIC, start)
    if first.startswith(tuple(_COMPRESSIONS)):
        return None
    return PlainText(descriptor, start + (len(codecs.BOM_UTF8) if first.startswith(codecs.BOM_UTF8) else 0), stop)


def _ahead(packed: io.RawIOBase) -> io.RawIOBase:
    from gpualign.core.files.prefetch import PrefetchingReader

    return PrefetchingReader(packed)


def unpack(stream: BinaryIO, source: str) -> tuple[bytes, BinaryIO]:
    """The first bytes of a file, unpacked if it is compressed with gzip, bzip2, xz or zstd, and a stream of all of it, both without the
    byte order mark of UTF-8.

    Large compressed files are unpacked by a thread of their own. Raises `InputError` for zip archives and UTF-16; so does the stream
    where a compressed file is damaged.
    """
    found = _in_file(stream)
    large = found is not None and found[2] - found[1] >= _LARGE
    first, stream = _peek(stream)
    for magic, (kind, opened) in _COMPRESSIONS.items():
        if first.startswith(magic):
            try:
                packed = _Decompressed(opened(stream), kind, source)
                first, stream = _peek(cast(BinaryIO, io.BufferedReader(_ahead(packed) if large else packed)))
            except ImportError as error:  # an interpreter that was built without, or a package that is gone
                lacks = f"this Python cannot read that ({error})"
                raise InputError(f"{source}: compressed with {kind}; {lacks}; unpack it first, or install what is missing") from None
            break
    if first.startswith(_UTF16):
        raise InputError(f"{source}: text in UTF-16; gpualign reads UTF-8, so save it as that (iconv -f UTF-16 -t UTF-8)")
    if first.startswith(b"PK\x03\x04"):
        raise InputError(f"{source}: a zip archive; unpack it first (unzip -p FILE | gpualign ... -)")
    if first.startswith(codecs.BOM_UTF8):
        stream.read(len(codecs.BOM_UTF8))
        first = first.removeprefix(codecs.BOM_UTF8)
    return first, stream
