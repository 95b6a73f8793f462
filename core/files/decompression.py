"""Reads files from binary streams, and decompresses them if their content shows that they are compressed."""

from __future__ import annotations

import codecs
import io
import os
import re
import stat
import sys
from collections.abc import Callable
from importlib import import_module
from typing import BinaryIO, Protocol, cast

from gpualign.core.common.dataclass import dataclass
from gpualign.core.common.errors import InputError
from gpualign.core.common.memory import address_space_is_unlimited
from gpualign.core.files.bgzf_blocks import CUT_BETWEEN_BLOCKS, BgzfBlockStream
from gpualign.core.files.foreign_formats import refuse_foreign_format
from gpualign.core.files.paths import InputFile, open_file

_PEEK_BYTES = 4096
_CHUNK_BYTES = 1 << 13
"""Number of compressed bytes passed to a decompressor in one step. With 64 kB, the system would have to provide new memory for each step's
output."""
_MIN_PREFETCH_BYTES = 8 << 20
"""Minimum compressed size, in bytes, of files that are decompressed in a separate thread. Such a file takes at least 25 ms to decompress,
and `concurrent.futures` takes 5 ms to load."""
_MAX_COMPRESSION_RATIO = 16
"""Generous estimate of the compression ratio. DNA of many species reaches a ratio of 4, and genes of one family reach 6 to 9."""
_OTHER_ENCODINGS = {
    "UTF-32LE": (codecs.BOM_UTF32_LE, rb"([\t\n\r -~]\0\0\0){4}"),
    "UTF-32BE": (codecs.BOM_UTF32_BE, rb"(\0\0\0[\t\n\r -~]){4}"),
    "UTF-16LE": (codecs.BOM_UTF16_LE, rb"([\t\n\r -~]\0){4}"),
    "UTF-16BE": (codecs.BOM_UTF16_BE, rb"(\0[\t\n\r -~]){4}"),
}
"""(byte order mark, pattern of the first characters without one) of encodings of text that are not read, as they are named in iconv."""


class _Decompressor(Protocol):
    """Interface shared by the libraries' decompressors. Each decompresses one member, that is, one of the compressed streams that make up a
    file."""

    @property
    def eof(self) -> bool: ...
    @property
    def needs_input(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: bytes, max_length: int) -> bytes: ...


class _TrailingData(Exception):
    """Raised if a member of a compressed file is followed by data that is not another member."""


class _MemberReader(io.RawIOBase):
    """Stream of the decompressed content of all members of a file. Zero bytes between members are padding.

    magic: byte strings with which a member may begin
    make_decompressor: returns a decompressor for one member

    The file classes of Python's standard library mistake a damaged later member for unrelated data, and stop there without an error.
    """

    def __init__(self, stream: BinaryIO, magic: tuple[bytes, ...], make_decompressor: Callable[[], _Decompressor]) -> None:
        self._stream, self._magic, self._make_decompressor = stream, magic, make_decompressor
        self._member = make_decompressor()

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: object) -> int:
        view = memoryview(buffer)  # type: ignore[arg-type]
        data = b""
        while not data:
            if self._member.eof:
                if not (packed := self._next_member()):
                    return 0
            elif self._member.needs_input:
                if not (packed := self._stream.read(_CHUNK_BYTES)):
                    raise EOFError
            else:
                packed = b""
            data = self._member.decompress(packed, len(view))
        view[: len(data)] = data
        return len(data)

    def _next_member(self) -> bytes:
        """Create a decompressor for the next member and return the member's first bytes; b"" at the end of the file."""
        packed = self._member.unused_data.lstrip(b"\0")
        while len(packed) < _MAX_MAGIC_BYTES and (more := self._stream.read(_CHUNK_BYTES)):
            packed = (packed + more).lstrip(b"\0")
        if packed:
            if not packed.startswith(self._magic):
                raise _TrailingData
            self._member = self._make_decompressor()
        return packed


class _MissingEndBlock(Exception):
    """Raised at the end of a BGZF file that was cut between two of its blocks."""


class _GzipReader(io.RawIOBase):
    """Stream of the decompressed content of a gzip file.

    The empty block at the end of a BGZF file may be missing if the text ends with a line end: bcl2fastq never writes it. A file that was
    cut between two blocks nearly always ends within a line.
    """

    def __init__(self, stream: BinaryIO) -> None:
        try:
            gzip = import_module("isal.igzip")  # two to three times as fast
        except ImportError:
            gzip = import_module("gzip")
        self._blocks = BgzfBlockStream(stream)
        self._content = gzip.GzipFile(fileobj=self._blocks)
        self._last = b"\n"

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: object) -> int:
        view = memoryview(buffer)  # type: ignore[arg-type]
        count: int = self._content.readinto(view)
        if count:
            self._last = bytes(view[count - 1 : count])
        elif self._last not in b"\r\n" and self._blocks.lacks_end:
            raise _MissingEndBlock
        return count


def _open_gzip(stream: BinaryIO, _: bytes) -> io.BufferedIOBase:
    return io.BufferedReader(_GzipReader(stream))


def _open_bzip2(stream: BinaryIO, magic: bytes) -> io.BufferedIOBase:
    from bz2 import BZ2Decompressor

    return io.BufferedReader(_MemberReader(stream, (magic,), BZ2Decompressor))


def _open_xz(stream: BinaryIO, magic: bytes) -> io.BufferedIOBase:
    from lzma import FORMAT_XZ, LZMADecompressor

    return io.BufferedReader(_MemberReader(stream, (magic,), lambda: LZMADecompressor(FORMAT_XZ)))


def _open_zstd(stream: BinaryIO, _: bytes) -> io.BufferedIOBase:
    if sys.version_info >= (3, 14):
        from compression.zstd import ZstdDecompressor
    else:
        from backports.zstd import ZstdDecompressor
    return io.BufferedReader(_MemberReader(stream, _ZSTD_MAGIC, ZstdDecompressor))


_ZSTD_MAGIC = (b"\x28\xb5\x2f\xfd", *(bytes([first]) + b"\x2a\x4d\x18" for first in range(0x50, 0x60)))
"""First bytes of the frames of a zstd file. All but one begin frames to be skipped, which pzstd writes before each of the others."""

_COMPRESSIONS: dict[bytes, tuple[str, Callable[[BinaryIO, bytes], io.BufferedIOBase]]] = {
    b"\x1f\x8b": ("gzip", _open_gzip),
    b"BZh": ("bzip2", _open_bzip2),
    b"\xfd7zXZ": ("xz", _open_xz),
    **dict.fromkeys(_ZSTD_MAGIC, ("zstd", _open_zstd)),
}
"""(name of the compression format, function that opens a decompressed stream), keyed by a file's first bytes. Libraries are imported when
they are used, because each takes time to load."""
COMPRESSION_SUFFIXES = (".gz", ".bz2", ".xz", ".zst")
"""Suffixes of the names of compressed files."""
_MAX_MAGIC_BYTES = 6
"""Number of bytes needed to identify a compression format."""


def compression_of(path: str) -> str | None:
    """Return "gzip", "bzip2", "xz" or "zstd" if a regular file is compressed in that format, otherwise None."""
    with open_file(path) as stream:
        first = stream.read(_MAX_MAGIC_BYTES)
    return next((kind for magic, (kind, _) in _COMPRESSIONS.items() if first.startswith(magic)), None)


class PrefixedStream(io.RawIOBase):
    """Stream of the bytes `prefix`, followed by the content of the stream `remaining`. Used for streams that cannot seek."""

    def __init__(self, prefix: bytes, remaining: BinaryIO) -> None:
        self._prefix = prefix
        self._remaining = remaining

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: object) -> int:
        view = memoryview(buffer)  # type: ignore[arg-type]
        if self._prefix:
            count = min(len(view), len(self._prefix))
            view[:count] = self._prefix[:count]
            self._prefix = self._prefix[count:]
            return count
        if isinstance(self._remaining, io.BufferedIOBase):
            return self._remaining.readinto(view)
        data = self._remaining.read(len(view))
        view[: len(data)] = data
        return len(data)


class _DecompressedStream(io.RawIOBase):
    """Decompressed content of a stream. Once a read has reached damaged data, every read raises `InputError`.

    kind: name of the compression format
    source: name of the file, for messages
    """

    def __init__(self, stream: io.BufferedIOBase, kind: str, source: str) -> None:
        self._stream = stream
        self._kind, self._source = kind, source
        self._damage: str | None = None

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: object) -> int:
        if self._damage is None:
            try:
                return self._stream.readinto(buffer)  # type: ignore[arg-type]
            except Exception as error:  # each library has its own; some are an OSError without a number
                if isinstance(error, OSError) and error.errno is not None:
                    raise
                self._damage = self._describe(error)
        # The stream is not read again: libbz2 aborts the process if it is called after some of its errors.
        raise InputError(f"{self._source}: {self._damage}")

    def _describe(self, error: Exception) -> str:
        """Return what is wrong with the file, for a message."""
        if isinstance(error, _MissingEndBlock):
            return CUT_BETWEEN_BLOCKS
        if isinstance(error, EOFError):
            # A few bytes after the end of a gzip file could be the beginning of another one.
            other = ", or something else follows its end" if self._kind == "gzip" else ""
            return f"truncated {self._kind} file{other}; copy or download it again"
        if isinstance(error, _TrailingData) or str(error).startswith("Not a gzipped file"):  # although its first bytes are those of one
            return f"something else follows the end of this {self._kind} file; copy or download it again"
        return f"damaged {self._kind} file ({error})"


def _peek(stream: BinaryIO) -> tuple[bytes, BinaryIO]:
    """Return (first bytes of a stream, stream of all its bytes)."""
    first = b""
    while len(first) < _PEEK_BYTES:
        more = stream.read(_PEEK_BYTES - len(first))
        if not more:
            break
        first += more
    return first, cast(BinaryIO, io.BufferedReader(PrefixedStream(first, stream), 1 << 20))


@dataclass(frozen=True)
class PlainText:
    """Location of the text of an uncompressed regular file, without a UTF-8 byte order mark.

    descriptor: descriptor of the open file
    start, stop: the text is bytes [start, stop) of the file
    """

    descriptor: int
    start: int
    stop: int


def _file_range(stream: BinaryIO) -> tuple[int, int, int, bytes] | None:
    """Return (descriptor, start, stop, first bytes) of what a stream of a regular file has not read yet; None if there is nothing, if it is
    no such stream, or if the bytes cannot be read, which the stream reports."""
    # Other classes have descriptors too, but of files whose bytes differ from those of the stream.
    if type(stream) is not io.BufferedReader or type(stream.raw) not in (io.FileIO, InputFile):
        return None
    descriptor = stream.fileno()
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode):
        return None
    start = stream.tell()
    if start >= status.st_size:  # files of /proc have no size
        return None
    try:
        return descriptor, start, status.st_size, os.pread(descriptor, _MAX_MAGIC_BYTES, start)
    except OSError:
        return None


def is_regular_file(stream: BinaryIO) -> bool:
    """Return whether a stream reads a regular file, as opposed to a pipe, socket or device."""
    try:
        return stat.S_ISREG(os.fstat(stream.fileno()).st_mode)
    except OSError:  # the stream has no descriptor
        return False


def estimated_text_bytes(stream: BinaryIO) -> int:
    """Estimate how many bytes of text remain in a stream. The number is exact for a plain file, generous for a compressed file, and 0 if
    unknown."""
    if (location := _file_range(stream)) is None:
        return 0
    _, start, stop, first = location
    if not first.startswith(tuple(_COMPRESSIONS)):
        return stop - start
    return (stop - start) * _MAX_COMPRESSION_RATIO if address_space_is_unlimited() else 0


def plain_text(stream: BinaryIO) -> PlainText | None:
    """Return where in its file the remaining text of a stream is, so that several threads can read the text.

    Returns None if the stream does not read an uncompressed regular file. Nothing is read from the stream, which must stay open as long as
    the descriptor is used.
    """
    if (location := _file_range(stream)) is None:
        return None
    descriptor, start, stop, first = location
    if first.startswith(tuple(_COMPRESSIONS)):
        return None
    return PlainText(descriptor, start + (len(codecs.BOM_UTF8) if first.startswith(codecs.BOM_UTF8) else 0), stop)


def _prefetched(unpacked: io.RawIOBase) -> io.RawIOBase:
    from gpualign.core.files.prefetch import PrefetchingReader

    return PrefetchingReader(unpacked)


def _refuse_other_encodings(first: bytes, source: str) -> None:
    """Raise `InputError` for text in UTF-16 or UTF-32. first: first bytes of the text"""
    for encoding, (mark, characters) in _OTHER_ENCODINGS.items():
        if first.startswith(mark) or (b"\0" in first[:4] and re.match(characters, first)):
            name = encoding.removesuffix("LE").removesuffix("BE")
            raise InputError(f"{source}: expected text in UTF-8, found {name}; convert it (iconv -f {encoding} -t UTF-8)")


def open_decompressed(stream: BinaryIO, source: str, min_prefetch_bytes: int = _MIN_PREFETCH_BYTES) -> tuple[bytes, BinaryIO]:
    """Return (first bytes, stream of all bytes) of a file's content. Files compressed with gzip, bzip2, xz or zstd are decompressed.

    A UTF-8 byte order mark is removed.

    min_prefetch_bytes: compressed size from which a regular file is decompressed in a separate thread

    Raises `InputError` for text that is not UTF-8, and for formats that no command reads. Reading the stream raises `InputError` if a
    compressed file is damaged.
    """
    location = _file_range(stream)
    large = location is not None and location[2] - location[1] >= min_prefetch_bytes
    first, stream = _peek(stream)
    for magic, (kind, open_content) in _COMPRESSIONS.items():
        if first.startswith(magic):
            try:
                unpacked = _DecompressedStream(open_content(stream, magic), kind, source)
                first, stream = _peek(cast(BinaryIO, io.BufferedReader(_prefetched(unpacked) if large else unpacked)))
            except ImportError as error:  # Python was built without the library, or a package is missing
                reason = f"this Python cannot read that ({error})"
                raise InputError(f"{source}: compressed with {kind}; {reason}; unpack it first, or install what is missing") from None
            if first.startswith(tuple(_COMPRESSIONS)):
                raise InputError(f"{source}: compressed twice; unpack it once")
            break
    _refuse_other_encodings(first, source)
    if first.startswith(codecs.BOM_UTF8):
        stream.read(len(codecs.BOM_UTF8))
        first = first.removeprefix(codecs.BOM_UTF8)
    refuse_foreign_format(first, source)
    return first, stream
