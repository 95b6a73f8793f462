"""Files that calls write."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path as FilePath
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from gpualign._sequences import Path
from gpualign.core.common.errors import InputError, RunError
from gpualign.core.output.matrix_files import ArrayMaker, FilledArray, NpyArray
from gpualign.core.output.memory import MemoryArray


def checked_output(out: Path, *inputs: object) -> FilePath:
    """The path of the file to write. Raises `InputError` for what is none, and where it is one of the inputs, by whatever name; inputs that
    are no files are none of them, but for arrays that are mapped from one."""
    name = os.fspath(out) if isinstance(out, (str, os.PathLike)) else None
    if not isinstance(name, str) or not FilePath(name).name:
        raise InputError(f"out {out!r}: the path of a file is wanted")
    try:
        there = os.stat(name)
    except OSError:
        return FilePath(name)  # no file yet, or what `new_file` tells of
    except ValueError:  # a null character, or what no name can be encoded as
        raise InputError(f"out {out!r}: the path of a file is wanted") from None
    for one in inputs:
        try:
            found = _status(_mapped_file(one) if isinstance(one, np.ndarray) else one)
        except (AttributeError, OSError, TypeError, ValueError):
            continue
        if os.path.samestat(found, there):
            raise InputError(f"the output {out} is also an input and would overwrite it; choose another name")
    return FilePath(name)


def _status(given: Any) -> os.stat_result:
    return os.stat(given) if isinstance(given, (str, os.PathLike)) else os.fstat(given.fileno())


def _mapped_file(array: Any) -> Any:
    """The file that an array is a part of, or None."""
    while array is not None and not isinstance(array, np.memmap):
        array = getattr(array, "base", None)
    return getattr(array, "filename", None)


@contextmanager
def new_file(path: FilePath) -> Iterator[BinaryIO]:
    """A file, readable and writable, that takes its name when it is complete; after an error it is gone. Errors of the system become
    `RunError`."""
    part = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
    try:
        with open(part, "x+b") as stream:
            yield stream
        os.replace(part, path)
    except OSError as error:
        raise RunError(f"cannot write {path}: {error.strerror or error}") from None
    finally:
        part.unlink(missing_ok=True)


def filled_values(path: FilePath | None, fill: Callable[[ArrayMaker], FilledArray]) -> npt.NDArray[Any]:
    """The values of the array that `fill` has made and filled: in memory, or mapped from the new .npy file of this path. Raises `RunError`
    where that cannot be written."""
    if path is None:
        return fill(MemoryArray).values
    with new_file(path) as stream:
        fill(partial(NpyArray, stream))
    values: npt.NDArray[Any] = np.load(path, mmap_mode="r")
    return values
