"""Opens files that somebody names."""

from __future__ import annotations

from os import PathLike
from typing import BinaryIO

from gpualign.core.errors import InputError


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
