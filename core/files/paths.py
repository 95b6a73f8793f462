"""Opens files named by the user, and recognises index files (core/sequences/database_index.py)."""

from __future__ import annotations

import fcntl
import io
import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike
from pathlib import PurePath
from typing import Any, BinaryIO

from gpualign.core.common.errors import InputError, RunError

_DESCRIPTOR_NUMBER = re.compile("0|[1-9][0-9]{0,8}")
"""Pattern of a descriptor number. It has at most nine digits, because larger numbers do not occur."""

_MAX_SYMLINKS = 40
"""Maximum length of a chain of symbolic links. The operating system has the same limit."""

STDIO = "-"
"""Name by which users specify standard input or standard output."""

STDIN_NAME = "standard input"
"""Name of standard input in messages."""

INDEX_MAGIC = b"gpualign"
"""First bytes of every index file."""

SAMPLE_SET_MAGIC = b"gpasites"
"""First bytes of every set of samples."""


@contextmanager
def translate_read_errors(source: str) -> Iterator[None]:
    """Turn an OS error of reading, such as that of a failing disk, into a `RunError` that names the input. source: name for messages"""
    try:
        yield
    except OSError as error:
        raise RunError(f"{source}: cannot be read ({error.strerror or error})") from None


class InputFile(io.FileIO):
    """A file that is named if it cannot be read."""

    def readinto(self, buffer: Any) -> int:
        with translate_read_errors(os.fsdecode(self.name)):
            return super().readinto(buffer)

    def readall(self) -> bytes:
        with translate_read_errors(os.fsdecode(self.name)):
            return super().readall()


def open_file(path: str | PathLike[str]) -> BinaryIO:
    """Open a file as a binary stream. If it cannot be opened, raise `InputError` with the reason."""
    try:
        file = InputFile(path)
        return io.BufferedReader(file, max(io.DEFAULT_BUFFER_SIZE, os.fstat(file.fileno()).st_blksize))
    except FileNotFoundError:
        raise InputError(f"{path}: no such file") from None
    except IsADirectoryError:
        raise InputError(f"{path}: expected a file, found a directory") from None
    except PermissionError:
        raise InputError(f"{path}: no permission to read it") from None
    except (OSError, ValueError) as error:  # ValueError: a name with a null character
        raise InputError(f"{path}: cannot be opened ({getattr(error, 'strerror', None) or error})") from None


def input_name(path: str) -> str:
    """Return the name of an input for messages: its path, or "standard input" for "-"."""
    return STDIN_NAME if path == STDIO else path


@contextmanager
def open_input(path: str) -> Iterator[tuple[BinaryIO, str]]:
    """Yield (binary stream, name for messages) for a file or, for "-", standard input. Raises `InputError` if opening fails."""
    if path == STDIO:
        if fcntl.fcntl(0, fcntl.F_GETFL) & os.O_ACCMODE == os.O_WRONLY:  # also if it was closed (entry_point.py)
            raise InputError(f"{STDIN_NAME}: closed, or open only for writing; pipe the input into gpualign, or name a file")
        yield sys.stdin.buffer, STDIN_NAME
        return
    with open_file(path) as stream:
        yield stream, path


def descriptor_of(path: str | PathLike[str]) -> int | None:
    """Return the descriptor of this process to which a path leads, directly or through links, such as 3 for /dev/fd/3 or /proc/self/fd/3.

    Returns None for the path of a file. The difference matters because the same number means a different descriptor in another process, and
    because a temporary file must not be renamed to the path of a descriptor.
    """
    descriptor_folders = ("/dev/fd", os.path.realpath("/proc/self/fd"))
    name = os.fspath(path)
    for _ in range(_MAX_SYMLINKS):
        folder, last = os.path.split(os.path.abspath(name))
        if _DESCRIPTOR_NUMBER.fullmatch(last) and (folder in descriptor_folders or os.path.realpath(folder) in descriptor_folders):
            return int(last)
        try:
            name = os.path.join(folder, os.readlink(name))
        except (OSError, ValueError):
            return None
    return None


def has_gzip_suffix(path: PurePath) -> bool:
    """Return whether text written to this path is to be compressed: whether its suffix is .gz, in lower or upper case."""
    return path.suffix.lower() == ".gz"


def is_index(path: str) -> bool:
    """Return whether a file begins like an index. A pipe is never read, because it cannot be an index and the bytes read would be lost."""
    return _begins_with(path, INDEX_MAGIC)


def is_sample_set(path: str) -> bool:
    """Return whether a file begins like a set of samples. A pipe is never read, because it cannot be one and the bytes read would be
    lost."""
    return _begins_with(path, SAMPLE_SET_MAGIC)


def _begins_with(path: str, magic: bytes) -> bool:
    if not os.path.isfile(path):
        return False
    try:
        with open(path, "rb") as stream:
            return stream.read(len(magic)) == magic
    except OSError:
        return False  # the code that opens it for reading reports the error
