"""Square and rectangular score matrices: .npy through a memory map, .npz, and text."""

from __future__ import annotations

import os
import shutil
import zipfile
from typing import BinaryIO

import numpy as np
import numpy.typing as npt

from gpualign.core._rows import format_matrix_rows
from gpualign.core.engine import Task, TileResult
from gpualign.core.plan import Band, Pairing, Plan
from gpualign.core.sequences import SequenceSet
from gpualign.core.sinks.base import Bands, Scores
from gpualign.core.sinks.table import ByteWriter

_ROW_BYTES = 8 << 20
_EPOCH = (1980, 1, 1, 0, 0, 0)
"""The same time stamp in every .npz, so that the same results are the same bytes."""


def _allocate(file: BinaryIO, size: int) -> None:
    """Give a file its full size on disk, so that a full disk is an OSError now and not a bus error in the memory map."""
    file.flush()
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(file.fileno(), 0, size)
        return
    file.seek(0, os.SEEK_END)
    zeros = bytes(1 << 20)
    while (left := size - file.tell()) > 0:
        file.write(zeros[:left])
    file.flush()


class NpyMatrix:
    """A two-dimensional .npy array on an open binary file ("w+b"), filled through a memory map."""

    def __init__(self, file: BinaryIO, shape: tuple[int, int], dtype: np.dtype[np.signedinteger]) -> None:
        header = {"descr": np.lib.format.dtype_to_descr(dtype), "fortran_order": False, "shape": shape}
        np.lib.format.write_array_header_1_0(file, header)
        offset = file.tell()
        _allocate(file, offset + shape[0] * shape[1] * dtype.itemsize)
        self.file = file
        self.scores: npt.NDArray[np.signedinteger] = np.memmap(file, dtype=dtype, mode="r+", offset=offset, shape=shape)

    def flush(self) -> None:
        assert isinstance(self.scores, np.memmap)
        self.scores.flush()


class MatrixSink:
    """Fills a score matrix, element [i][j] = query i, target j; for one set mirrored, the diagonal included.

    The plan's pairing must be ALL or ABOVE_OR_EQUAL, so that every element is computed or mirrored.
    """

    def __init__(self, file: BinaryIO, task: Task) -> None:
        self._file = file
        self._task = task

    def begin(self, plan: Plan) -> None:
        if plan.pairing is Pairing.ABOVE:
            raise ValueError("a matrix needs the diagonal")
        self._mirror = plan.pairing is Pairing.ABOVE_OR_EQUAL
        self.matrix = NpyMatrix(self._file, (plan.queries, plan.targets), self._task.dtype)
        self._bands = Bands(plan, self._task.dtype, self._write)

    def accept(self, result: TileResult) -> None:
        self._bands.accept(result)

    def _write(self, band: Band, scores: Scores) -> None:
        out = self.matrix.scores
        if not self._mirror:
            out[band.start : band.stop] = scores
            return
        rows = band.stop - band.start
        square = np.triu(scores[:, :rows])
        out[band.start : band.stop, band.start : band.stop] = square + np.triu(square, 1).T
        out[band.start : band.stop, band.stop :] = scores[:, rows:]
        out[band.stop :, band.start : band.stop] = scores[:, rows:].T

    def finish(self) -> None:
        self._bands.finish()
        self.matrix.flush()


def id_lists(task: Task) -> dict[str, SequenceSet]:
    """What the lists of ids are called, and whose they are: `ids`, or `query_ids` and `target_ids` for two sets."""
    return {"ids": task.queries} if task.targets is task.queries else {"query_ids": task.queries, "target_ids": task.targets}


def write_ids(stream: ByteWriter, sequences: SequenceSet) -> None:
    """One id a line, in matrix order."""
    stream.write("".join(f"{name}\n" for name in sequences.ids).encode("utf-8", "surrogateescape"))


def write_matrix_text(stream: ByteWriter, matrix: npt.NDArray[np.signedinteger], task: Task) -> None:
    """A header line of target ids behind an empty cell, then a line a query: its id and scores, tab-separated."""
    header = "".join(f"\t{name}" for name in task.targets.ids)
    stream.write((header + "\n").encode("utf-8", "surrogateescape"))
    step = max(1, _ROW_BYTES // max(1, 12 * matrix.shape[1]))
    ids = task.queries.id_column
    for row in range(0, matrix.shape[0], step):
        part = np.ascontiguousarray(matrix[row : row + step])
        stream.write(format_matrix_rows(ids.text, ids.offsets[row : row + len(part) + 1], part))


def write_npz(stream: BinaryIO, npy: BinaryIO, task: Task) -> None:
    """Pack a finished .npy file and the ids: array `scores` and those of `id_lists`."""
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_STORED, allowZip64=True) as archive:
        npy.seek(0)
        with archive.open(zipfile.ZipInfo("scores.npy", _EPOCH), "w", force_zip64=True) as member:
            shutil.copyfileobj(npy, member, 1 << 20)
        for name, sequences in id_lists(task).items():
            with archive.open(zipfile.ZipInfo(f"{name}.npy", _EPOCH), "w", force_zip64=True) as member:
                np.lib.format.write_array(member, np.array(sequences.ids, dtype=np.str_), allow_pickle=False)
