"""How large a matrix is, before it is read."""

from __future__ import annotations

import math
import os
import zipfile
from typing import BinaryIO

import numpy as np

from gpualign.cli.inputs.numpy_files import NPY_MAGIC, NPZ_MAGIC
from gpualign.core.common.errors import InputError
from gpualign.core.common.memory import free_memory
from gpualign.core.common.units import format_bytes
from gpualign.core.files.decompression import unpack
from gpualign.core.files.delimiters import delimiter_of
from gpualign.core.files.paths import open_file
from gpualign.core.files.phylip_matrix import is_count


def check_size(path: str, bytes_of_pair: int) -> None:
    """Raises `InputError` for a matrix whose pairs, of so many bytes each, are more than the memory that this process may still have.

    The size is that of the headers of .npy and .npz, of the first line of text. Pipes, which can be read once, triangles of text and what
    is damaged are left to whoever reads them.
    """
    if not os.path.isfile(path) or (there := free_memory()) is None:
        return
    try:
        with open_file(path) as stream:
            rows, columns = _shape(stream, path)
    # As for `parse_npz`: damaged files raise whatever their readers do.
    except Exception:
        return
    if (needed := rows * columns * bytes_of_pair) > there:
        raise InputError(
            f"{path}: {rows:,} x {columns:,} values take about {format_bytes(needed)} of memory to draw, and this process may have"
            f" {format_bytes(there)}; draw fewer records, as one of each cluster (gpualign cluster), or take a machine with more memory"
        )


def _shape(stream: BinaryIO, source: str) -> tuple[int, int]:
    """(rows, columns) of the square that a stored matrix becomes."""
    start = stream.read(len(NPY_MAGIC))
    stream.seek(0)
    if start == NPY_MAGIC:
        return _square(_shape_of_array(stream))
    if start.startswith(NPZ_MAGIC):
        with zipfile.ZipFile(stream) as archive:
            shapes = []
            for member in archive.infolist():
                with archive.open(member) as array:
                    shapes.append(_square(_shape_of_array(array)))
        return max(shapes, key=math.prod)
    unpacked = unpack(stream, source)[1]
    first, second = unpacked.readline(), unpacked.readline()
    if is_count(first):
        return int(first), int(first)
    mark = delimiter_of(first, second).encode()
    columns = len(first.split()) if mark == b" " else first.count(mark)
    return columns, columns


def _shape_of_array(stream: object) -> tuple[int, ...]:
    read = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
    return read[np.lib.format.read_magic(stream)](stream)[0]  # type: ignore[arg-type]


def _square(shape: tuple[int, ...]) -> tuple[int, int]:
    """Of a vector the square of which it is the pairs i < j; lists of ids, which are vectors as well, make small ones."""
    if len(shape) == 2:
        return shape
    side = (1 + math.isqrt(1 + 8 * math.prod(shape))) // 2
    return side, side
