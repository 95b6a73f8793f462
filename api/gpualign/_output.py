"""Output files of functions, written completely or not at all, using the same code as the commands."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path as FilePath
from typing import Any

import numpy as np
import numpy.typing as npt

from gpualign._execution_options import LOG
from gpualign._sequences import StrPath
from gpualign.core.common.errors import InputError
from gpualign.core.output.formats.registry import FORMATS
from gpualign.core.output.matrix_files import ArrayMaker, FilledArray
from gpualign.core.output.memory import MemoryArray
from gpualign.jobs.output.atomic_files import OutputFiles, check_outputs, is_file_name, translate_output_errors


def checked_output_path(out: StrPath, *inputs: object) -> FilePath:
    """Return the path of the file to write. inputs: all inputs, such as paths, open files and arrays.

    Raises `InputError` if the path does not name a file but a device, for example. Also raises it if the file is an input as well, even
    under another name, or if an input array is memory-mapped from it.
    """
    wrong = InputError(f"out {out!r}: expected the path of a file")
    name = os.fspath(out) if isinstance(out, (str, os.PathLike)) else None
    if not isinstance(name, str) or not FilePath(name).name:
        raise wrong
    path = FilePath(name)
    try:
        os.stat(path)
    except OSError:
        return path  # no file yet, or an error that writing it will report
    except ValueError:  # a null character, or text that no name can be encoded from
        raise wrong from None
    if not (is_file_name(path) or path.is_dir()):  # writing will report a folder
        raise wrong
    check_outputs(map(_underlying_file, inputs), [path])
    return path


def checked_array_path(out: StrPath | None, *inputs: object) -> FilePath | None:
    """Return the path of the .npy file to write, or None for None. Raises the same errors as `checked_output_path`, and `InputError` for a
    name with the suffix of another format, such as .tsv."""
    if out is None:
        return None
    path = checked_output_path(out, *inputs)
    others = {suffix for one in FORMATS.values() for suffix in one.suffixes} - {".npy"}
    if path.suffix.lower() in {*others, ".gz"}:
        raise InputError(f"out {os.fspath(out)!r}: the file is an .npy array; choose a name that ends in .npy")
    return path


def _underlying_file(value: object) -> object:
    """Return the file that an input is read from: the mapped file for a memory-mapped array, None for other arrays, the path for text (even
    for "-"), and the input itself for anything else."""
    if isinstance(value, np.ndarray):
        return _mapped_file(value)
    return FilePath(value) if isinstance(value, str) else value


def _mapped_file(array: Any) -> Any:
    """Return the file from which an array is memory-mapped, or None."""
    while array is not None and not isinstance(array, np.memmap):
        array = getattr(array, "base", None)
    return getattr(array, "filename", None)


def make_filled_array(path: FilePath | None, fill: Callable[[ArrayMaker], FilledArray]) -> npt.NDArray[Any]:
    """Return the values of the array that `fill` builds and fills, in memory or mapped from the new .npy file at this path.

    Raises `RunError` if the file cannot be written.
    """
    if path is None:
        return fill(MemoryArray).values
    with OutputFiles(LOG.note) as files, translate_output_errors(path):
        make, _ = files.open_array("values", path, None)
        fill(make)
    values: npt.NDArray[Any] = np.load(path, mmap_mode="r")
    return values
