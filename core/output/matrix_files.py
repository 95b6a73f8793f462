"""Matrix files: memory-mapped .npy, .npz, and text."""

from __future__ import annotations

import io
import math
import os
from collections.abc import Callable, Sequence
from typing import IO, TYPE_CHECKING, Any, BinaryIO, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from gpualign.core.common.condensed_form import condensed_start
from gpualign.core.common.errors import InputError, parameter
from gpualign.core.common.units import FRACTION_DECIMALS
from gpualign.core.files.file_pieces import StridedRange
from gpualign.core.output.preallocation import DiskPreallocation
from gpualign.core.output.writer import ByteWriter, keep_freed_memory, row_blocks
from gpualign.core.results._rows import format_matrix_rows
from gpualign.core.sequences.string_column import StringColumn

if TYPE_CHECKING:
    import zipfile

NumberType: TypeAlias = "np.dtype[np.signedinteger] | np.dtype[np.float64]"

_MIN_BLOCK_CELLS = 1 << 20
_MAX_IN_MEMORY_BYTES = 4 << 20

_ZIP_TIMESTAMP = (1980, 1, 1, 0, 0, 0)
"""Timestamp written to every .npz, so that equal results give equal bytes."""


PieceLocator = Callable[[int, int], StridedRange]
"""Function that maps queries [start, stop) to the position of their values in an array, in units of values. The position leaves out values
that change after they have been written."""


class IdentifiedRecords(Protocol):
    """Records with ids, represented by rows or columns of a matrix."""

    @property
    def ids(self) -> Sequence[str]: ...

    @property
    def id_column(self) -> StringColumn: ...


class NpyArray:
    """An .npy array backed by an open binary file ("w+b"). The array is filled through a memory map; a small array is filled in memory and
    written by `flush`.

    The file is empty or was partly filled by an earlier run. Raises `InputError` if it holds anything else.
    """

    locator: PieceLocator | None = None

    def __init__(self, file: BinaryIO, shape: tuple[int, ...], dtype: NumberType) -> None:
        head = io.BytesIO()
        np.lib.format.write_array_header_1_0(head, {"descr": np.lib.format.dtype_to_descr(dtype), "fortran_order": False, "shape": shape})
        header = head.getvalue()
        self._offset = len(header)
        nbytes = math.prod(shape) * dtype.itemsize
        self._file = file
        self._row_bytes = math.prod(shape[1:]) * dtype.itemsize
        self._reservation: DiskPreallocation | None = None
        self.values: npt.NDArray[Any]
        filled = file.seek(0, os.SEEK_END)
        file.seek(0)
        if filled and (filled != self._offset + nbytes or file.read(self._offset) != header):
            raise InputError(f"the existing part of the matrix belongs to another run; start without {parameter('resume')}")
        if not filled:
            file.write(header)
        if nbytes <= _MAX_IN_MEMORY_BYTES:  # an empty file could not be mapped anyway
            self.values = np.zeros(shape, dtype=dtype) if not filled else np.frombuffer(bytearray(file.read()), dtype=dtype).reshape(shape)
        else:
            self._reservation = DiskPreallocation(file, self._offset + nbytes)
            self.values = np.memmap(file, dtype=dtype, mode="r+", offset=self._offset, shape=shape)

    def reserve(self, stop: int) -> None:
        """Reserve disk space for values[:stop]. Raises `OSError` if the disk is full."""
        if self._reservation is not None:
            self._reservation.reserve_up_to(self._offset + stop * self._row_bytes)

    def flush(self) -> None:
        """Write all values so far to the file. A mapped array needs no write: every reader of the file already sees the values, and the
        system writes them to disk on its own schedule."""
        if not isinstance(self.values, np.memmap):
            self._file.seek(self._offset)
            self._file.write(self.values.data)
            self._file.flush()

    def locate_bytes(self, queries: tuple[int, int] | None) -> StridedRange:
        """Return where the values of queries [start, stop) are in the file, in bytes. If `queries` is None, return where the header is."""
        if queries is None or self.locator is None:
            return StridedRange(0, self._offset if queries is None else 0)
        return self.locator(*queries).scaled_to_bytes(self.values.itemsize, self._offset)


class ArrayMaker(Protocol):
    """Creates an array that a sink fills and then flushes."""

    def __call__(self, shape: tuple[int, ...], dtype: NumberType, /) -> FilledArray: ...


class FilledArray(Protocol):
    """An array backed by a file or held in memory.

    values: the array
    locator: maps queries to the positions of their values; set by the sink when it starts
    """

    values: npt.NDArray[Any]
    locator: PieceLocator | None

    def reserve(self, stop: int) -> None:
        """Prepare for writes to values[:stop]. Values from `stop` on must not be written yet."""

    def flush(self) -> None:
        """Write the values; call once all values are complete."""


def condensed_locator(start: int, count: int) -> PieceLocator:
    """Return the `PieceLocator` for a condensed matrix of `count` records that begins with row `start`."""

    def places(first: int, stop: int) -> StridedRange:
        at = condensed_start(first, count)
        return StridedRange(at - condensed_start(start, count), condensed_start(stop, count) - at)

    return places


def matrix_locator(start: int, columns: int, mirrored: bool) -> PieceLocator:
    """Return the `PieceLocator` for a matrix of whole rows that begins with row `start`. mirrored: whether the matrix has all of its rows,
    and its lower triangle is written later"""

    def places(first: int, stop: int) -> StridedRange:
        if mirrored:
            return StridedRange(first * (columns + 1), columns - first, stop - first, columns + 1, 1)
        return StridedRange((first - start) * columns, (stop - first) * columns)

    return places


def id_list_names(one_set: bool) -> tuple[str, ...]:
    """Return the names of the lists of ids that accompany a matrix: one if rows and columns are the same records, else two."""
    return ("ids",) if one_set else ("query_ids", "target_ids")


def id_lists(queries: IdentifiedRecords, targets: IdentifiedRecords) -> dict[str, IdentifiedRecords]:
    """Return the records in each list of ids (`id_list_names`), keyed by the name of the list."""
    return dict(zip(id_list_names(targets is queries), (queries, targets), strict=False))


def write_ids(stream: ByteWriter, records: IdentifiedRecords) -> None:
    """Write one id per line, in matrix order."""
    stream.write(records.id_column.lines.tobytes())


def write_matrix_text(
    stream: ByteWriter,
    matrix: npt.NDArray[Any],
    queries: IdentifiedRecords,
    targets: IdentifiedRecords,
    separator: str = "\t",
    decimals: int = FRACTION_DECIMALS,
    threads: int = 1,
) -> None:
    """Write a header line (an empty cell and the target ids), then one line per query: id and values.

    separator: cell separator; with a comma, ids are quoted
    threads: formatting threads
    """
    header = "".join(f"{separator}{name}" for name in _id_cells(targets, separator))
    stream.write((header + "\n").encode("utf-8", "surrogateescape"))
    write_matrix_rows(stream, matrix, _id_cells(queries, separator), separator, decimals, threads)


def _id_cells(records: IdentifiedRecords, separator: str) -> StringColumn:
    return records.id_column.csv_quoted if separator == "," else records.id_column


def write_phylip(
    stream: ByteWriter, matrix: npt.NDArray[Any], records: IdentifiedRecords, decimals: int = FRACTION_DECIMALS, threads: int = 1
) -> None:
    """Write a square distance matrix in PHYLIP format with ids of any length ("relaxed"). threads: formatting threads."""
    stream.write(f"{len(records.ids)}\n".encode())
    write_matrix_rows(stream, matrix, records.id_column, " ", decimals, threads)


def write_matrix_rows(
    stream: ByteWriter,
    matrix: npt.NDArray[Any],
    ids: StringColumn,
    separator: str,
    decimals: int,
    threads: int,
    undefined_text: str = "nan",
    lower_triangle: bool = False,
) -> None:
    """Write one line per row: id and values.

    threads: formatting threads
    undefined_text: text for NaN
    lower_triangle: whether only the lower triangle is written
    """
    keep_freed_memory()
    for start, stop in row_blocks(matrix.shape, _MIN_BLOCK_CELLS, threads):
        rows, names = np.ascontiguousarray(matrix[start:stop]), ids.offsets[start : stop + 1]
        triangle = start if lower_triangle else None
        for piece in format_matrix_rows(ids.text, names, rows, separator, decimals, undefined_text, triangle, threads):
            stream.write(piece)


def open_member(archive: zipfile.ZipFile, name: str) -> IO[bytes]:
    """Open a new array in an .npz; the caller writes and closes it."""
    import zipfile

    return archive.open(zipfile.ZipInfo(f"{name}.npy", _ZIP_TIMESTAMP), "w", force_zip64=True)


def write_member(archive: zipfile.ZipFile, name: str, values: npt.NDArray[Any]) -> None:
    """Write an in-memory array of at most one dimension to an .npz."""
    contiguous = np.ascontiguousarray(values)
    with open_member(archive, name) as member:
        np.lib.format.write_array_header_1_0(member, np.lib.format.header_data_from_array_1_0(values))
        member.write(contiguous.reshape(-1).view(np.uint8).data)  # NumPy's `write_array` takes four times as long for texts


def write_id_members(archive: zipfile.ZipFile, queries: IdentifiedRecords, targets: IdentifiedRecords) -> None:
    """Write the ids to an .npz, under the names in `id_lists`."""
    for name, records in id_lists(queries, targets).items():
        write_member(archive, name, records.id_column.to_array())


def write_npz(stream: BinaryIO, arrays: dict[str, BinaryIO], queries: IdentifiedRecords, targets: IdentifiedRecords) -> None:
    """Write an .npz that contains the ids and the finished .npy files in `arrays`, each under its key."""
    import shutil
    import zipfile

    with zipfile.ZipFile(stream, "w", zipfile.ZIP_STORED, allowZip64=True) as archive:
        for name, npy in arrays.items():
            npy.seek(0)
            with open_member(archive, name) as member:
                shutil.copyfileobj(npy, member, 1 << 20)
        write_id_members(archive, queries, targets)
