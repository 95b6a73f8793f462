"""Checks the size of a matrix before it is read."""

from __future__ import annotations

import math
import os
import zipfile
from typing import BinaryIO

import numpy as np

from gpualign.cli.inputs.numpy_files import NPY_MAGIC, NPZ_MAGIC
from gpualign.core.files.decompression import open_decompressed
from gpualign.core.files.delimiters import delimiter_of
from gpualign.core.files.paths import open_file
from gpualign.core.files.phylip_matrix import is_record_count
from gpualign.jobs.matrix_memory import MatrixUse, check_memory

_SQUARE_ARRAY_BYTES, _SQUARE_ARCHIVE_BYTES, _TEXT_BYTES, _VECTOR_BYTES, _VECTOR_ARCHIVE_BYTES = 24, 32, 37, 5, 8
"""Memory needed for reading a matrix from each kind of file, in bytes per cell of the (expanded) square matrix, measured with 3,000
records."""


def check_matrix_size(path: str, use: MatrixUse) -> None:
    """Raise `RunError` for a matrix that needs more memory than is available to this process. use: what the
    matrix is for.

    The size is determined from the .npy and .npz headers, or from the first line of text. Pipes (which can be read only once), text
    triangles and damaged files are not checked here but by their readers.
    """
    if not os.path.isfile(path):
        return
    try:
        with open_file(path) as stream:
            rows, columns, reading = _shape_and_cell_bytes(stream, path)
    # As in `parse_npz`: readers of damaged files may raise anything.
    except Exception:
        return
    check_memory(use, path, rows, columns, reading)


def _shape_and_cell_bytes(stream: BinaryIO, source: str) -> tuple[int, int, int]:
    """Return (rows, columns, bytes per cell) of a stored matrix: its size after a condensed vector is expanded to a square, and the memory
    needed for reading it, per cell of that size."""
    start = stream.read(len(NPY_MAGIC))
    stream.seek(0)
    if start == NPY_MAGIC:
        shape = _read_array_shape(stream)
        return *_square_shape(shape), _SQUARE_ARRAY_BYTES if len(shape) == 2 else _VECTOR_BYTES
    if start.startswith(NPZ_MAGIC):
        with zipfile.ZipFile(stream) as archive:
            shapes = []
            for member in archive.infolist():
                with archive.open(member) as array:
                    shapes.append(_read_array_shape(array))
        largest = max(shapes, key=lambda shape: math.prod(_square_shape(shape)))
        return *_square_shape(largest), _SQUARE_ARCHIVE_BYTES if len(largest) == 2 else _VECTOR_ARCHIVE_BYTES
    unpacked = open_decompressed(stream, source)[1]
    first, second = unpacked.readline(), unpacked.readline()
    if is_record_count(first):
        return int(first), int(first), _TEXT_BYTES
    mark = delimiter_of(first, second).encode()
    columns = len(first.split()) if mark == b" " else first.count(mark)
    return columns, columns, _TEXT_BYTES


def _read_array_shape(stream: object) -> tuple[int, ...]:
    read = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
    return read[np.lib.format.read_magic(stream)](stream)[0]  # type: ignore[arg-type]


def _square_shape(shape: tuple[int, ...]) -> tuple[int, int]:
    """Return the shape of a matrix after expanding a condensed vector to a square.

    An array of ids, which is one-dimensional too, is mistaken for a condensed vector; this is harmless, as the implied square is small.
    """
    if len(shape) == 2:
        return shape
    side = (1 + math.isqrt(1 + 8 * math.prod(shape))) // 2
    return side, side
