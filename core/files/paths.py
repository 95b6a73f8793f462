"""Opens files that somebody names, and tells which of them is an index (core/sequences/database_index.py)."""

from __future__ import annotations

import os
import re
from os import PathLike
from typing import BinaryIO

from gpualign.core.common.errors import InputError

_NUMBER = re.compile("0|[1-9][0-9]{0,8}")
"""Of a descriptor; of larger ones there is none."""

_MOST_LINKS = 40
"""In a row; the system follows no more."""

INDEX_MAGIC = b"gpualign"
"""Begins every index."""


def open_file(path: str | PathLike[str]) -> BinaryIO:
    """A binary stream of a file. Raises `InputError` that says why there is none."""
    try:
        return open(path, "rb")
    except FileNotFoundError:
        raise InputError(f"{path}: no such file") from None
    except IsADirectoryError:
        raise InputError(f"{path}: a directory; a file is wanted") from None
    except PermissionError:
        raise InputError(f"{path}: no permission to read it") from None
    except (OSError, ValueError) as error:  # ValueError: a name with a null character
        raise InputError(f"{path}: cannot be opened ({getattr(error, 'strerror', None) or error})") from None


def descriptor_of(path: str | PathLike[str]) -> int | None:
    """The number of a descriptor of this process, where a path, or what it is a link to, is a name of one: /dev/stdin, /dev/fd/3,
    /proc/self/fd/3. None for names of files. Another process has something else by these names, and a file that is written aside must
    not take their place."""
    open_here = ("/dev/fd", os.path.realpath("/proc/self/fd"))
    name = os.fspath(path)
    for _ in range(_MOST_LINKS):
        folder, last = os.path.split(os.path.abspath(name))
        if _NUMBER.fullmatch(last) and (folder in open_here or os.path.realpath(folder) in open_here):
            return int(last)
        try:
            name = os.path.join(folder, os.readlink(name))
        except (OSError, ValueError):
            return None
    return None


def is_index(path: str) -> bool:
    """Whether a file begins as an index does. A pipe is none, and what is read of it would be lost."""
    if not os.path.isfile(path):
        return False
    try:
        with open(path, "rb") as stream:
            return stream.read(len(INDEX_MAGIC)) == INDEX_MAGIC
    except OSError:
        return False  # whoever opens it for reading says what is wrong
