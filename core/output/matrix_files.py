"""Files of matrices: .npy through a memory map, .npz, and text."""

from __future__ import annotations

import io
import math
import os
from collections.abc import Callable, Sequence
from typing import IO, TYPE_CHECKING, Any, BinaryIO, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from gpualign.core.common.errors import InputError, parameter
from gpualign.core.files.piece import Piece
from gpualign.core.output.preallocation import DiskPreallocation
from gpualign.core.output.writer import ByteWriter, keep_freed_memory, row_blocks, write_pieces
from gpualign.core.results._rows import format_matrix_rows
from gpualign.core.sequences.string_column import StringColumn

if TYPE_CHECKING:
    import zipfile

NumberType: TypeAlias = "np.dtype[np.signedinteger] | np.dtype[np.float64]"

_BLOCK_CELLS = 1 << 20
_IN_MEMORY = 4 << 20
DECIMALS = 6
"""Of identities and the like."""

_EPOCH = (1980, 1, 1, 0, 0, 0)
"""The same time stamp in every .npz, so that the same results are the same bytes."""


Places = Callable[[int, int], Piece]
"""Where an array has the values of queries [start, stop), those that do not change any more once they are written; counted in values."""


class Named(Protocol):
    """Records with ids: what a row or a column of a matrix stands for."""

    @property
    def ids(self) -> Sequence[str]: ...

    @property
    def id_column(self) -> StringColumn: ...


class NpyArray:
    """An .npy array on an open binary file ("w+b"): filled through a memory map, or a small one in memory and written by `flush`.

    The file is empty, or one that an earlier run has filled in part. Raises `InputError` where it is something else.
    """

    places: Places | None = None

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
            raise InputError(f"what is there of the matrix is of another run; start without {parameter('resume')}")
        if not filled:
            file.write(header)
        if nbytes <= _IN_MEMORY:  # an empty file could not be mapped anyway
            self.values = np.zeros(shape, dtype=dtype) if not filled else np.frombuffer(bytearray(file.read()), dtype=dtype).reshape(shape)
        else:
            self._reservation = DiskPreallocation(file, self._offset + nbytes)
            self.values = np.memmap(file, dtype=dtype, mode="r+", offset=self._offset, shape=shape)

    def reserve(self, stop: int) -> None:
        """Raises `OSError` where the disk is full."""
        if self._reservation is not None:
            self._reservation.up_to(self._offset + stop * self._row_bytes)

    def flush(self) -> None:
        """All values so far are in the file. What is mapped is the file to every reader already; the disk gets it in the system's own
        time."""
        if not isinstance(self.values, np.memmap):
            self._file.seek(self._offset)
            self._file.write(self.values.data)
            self._file.flush()

    def piece(self, queries: tuple[int, int] | None) -> Piece:
        """The bytes with the values of queries [start, stop); None: those before the first value."""
        if queries is None or self.places is None:
            return Piece(0, self._offset if queries is None else 0)
        return self.places(*queries).scaled(self.values.itemsize, self._offset)


class ArrayMaker(Protocol):
    """Makes an array that a sink fills and then flushes."""

    def __call__(self, shape: tuple[int, ...], dtype: NumberType, /) -> FilledArray: ...


class FilledArray(Protocol):
    """An array on a file, or in memory. places: what a sink tells of it, from its beginning on."""

    values: npt.NDArray[Any]
    places: Places | None

    def reserve(self, stop: int) -> None:
        """values[:stop] are about to be written; no others may be."""

    def flush(self) -> None:
        """All values are there."""


def condensed_start(row: int, count: int) -> int:
    """Where the pairs of a row begin in the condensed form of `count` records, as scipy.spatial.distance has it."""
    return row * count - row * (row + 1) // 2


def condensed_places(start: int, count: int) -> Places:
    """Of a condensed matrix of `count` records, from a row on."""

    def places(first: int, stop: int) -> Piece:
        at = condensed_start(first, count)
        return Piece(at - condensed_start(start, count), condensed_start(stop, count) - at)

    return places


def matrix_places(start: int, columns: int, mirrored: bool) -> Places:
    """Of a matrix of whole rows, from a row on. mirrored: it has all rows, and what is left of the diagonal is written later."""

    def places(first: int, stop: int) -> Piece:
        if mirrored:
            return Piece(first * (columns + 1), columns - first, stop - first, columns + 1, 1)
        return Piece((first - start) * columns, (stop - first) * columns)

    return places


def id_list_names(one_set: bool) -> tuple[str, ...]:
    """What the lists of ids of a matrix are called."""
    return ("ids",) if one_set else ("query_ids", "target_ids")


def id_lists(queries: Named, targets: Named) -> dict[str, Named]:
    """The lists of ids by name, and whose they are."""
    return dict(zip(id_list_names(targets is queries), (queries, targets), strict=False))


def write_ids(stream: ByteWriter, records: Named) -> None:
    """One id a line, in matrix order."""
    stream.write("".join(f"{name}\n" for name in records.ids).encode("utf-8", "surrogateescape"))


def write_matrix_text(
    stream: ByteWriter,
    matrix: npt.NDArray[Any],
    queries: Named,
    targets: Named,
    separator: str = "\t",
    decimals: int = DECIMALS,
    threads: int = 1,
) -> None:
    """A header line of target ids behind an empty cell, then a line a query: its id and values. Between commas ids are quoted.

    threads: that make text.
    """
    header = "".join(f"{separator}{name}" for name in _cells(targets, separator))
    stream.write((header + "\n").encode("utf-8", "surrogateescape"))
    write_matrix_rows(stream, matrix, _cells(queries, separator), separator, decimals, threads)


def _cells(records: Named, separator: str) -> StringColumn:
    return records.id_column.quoted if separator == "," else records.id_column


def write_phylip(stream: ByteWriter, matrix: npt.NDArray[Any], records: Named, decimals: int = DECIMALS, threads: int = 1) -> None:
    """A square distance matrix as PHYLIP's programs read it, with ids of any length ("relaxed"). threads: that make text."""
    stream.write(f"{len(records.ids)}\n".encode())
    write_matrix_rows(stream, matrix, records.id_column, " ", decimals, threads)


def write_matrix_rows(
    stream: ByteWriter,
    matrix: npt.NDArray[Any],
    ids: StringColumn,
    separator: str,
    decimals: int,
    threads: int,
    undefined: str = "nan",
    below: bool = False,
) -> None:
    """A line a row: its id and values, `undefined` in the place of a NaN; below: those left of the diagonal."""
    keep_freed_memory()
    for start, stop in row_blocks(matrix.shape, _BLOCK_CELLS, threads):
        part, names = np.ascontiguousarray(matrix[start:stop]), ids.offsets[start : stop + 1]
        triangle = start if below else None
        write_pieces(stream, format_matrix_rows(ids.text, names, part, separator, decimals, undefined, triangle, threads))


def open_member(archive: zipfile.ZipFile, name: str) -> IO[bytes]:
    """A new array of an .npz, to be written and closed."""
    import zipfile

    return archive.open(zipfile.ZipInfo(f"{name}.npy", _EPOCH), "w", force_zip64=True)


def write_member(archive: zipfile.ZipFile, name: str, values: npt.NDArray[Any]) -> None:
    """An array that is in memory."""
    with open_member(archive, name) as member:
        np.lib.format.write_array(member, values, allow_pickle=False)


def write_id_members(archive: zipfile.ZipFile, queries: Named, targets: Named) -> None:
    """The ids under the names of `id_lists`."""
    for name, records in id_lists(queries, targets).items():
        write_member(archive, name, np.array(list(records.ids), dtype=np.str_))


def write_npz(stream: BinaryIO, arrays: dict[str, BinaryIO], queries: Named, targets: Named) -> None:
    """Pack finished .npy files under their names, and the ids."""
    import shutil
    import zipfile

    with zipfile.ZipFile(stream, "w", zipfile.ZIP_STORED, allowZip64=True) as archive:
        for name, npy in arrays.items():
            npy.seek(0)
            with open_member(archive, name) as member:
                shutil.copyfileobj(npy, member, 1 << 20)
        write_id_members(archive, queries, targets)
