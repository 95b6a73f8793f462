"""Matrices of all pairs, square, rectangular or condensed: .npy through a memory map, .npz, and text."""

from __future__ import annotations

import math
import os
import shutil
import zipfile
from dataclasses import dataclass
from typing import Any, BinaryIO, TypeAlias

import numpy as np
import numpy.typing as npt

from gpualign.core._rows import format_matrix_rows
from gpualign.core.engine import Detail, Task, TileResult
from gpualign.core.fields import BlockData
from gpualign.core.identity import DEFAULT
from gpualign.core.plan import Pairing, Plan
from gpualign.core.sequences import SequenceSet
from gpualign.core.sinks.base import BandResults, Bands
from gpualign.core.sinks.pairs import ByteWriter

Numbers: TypeAlias = "np.dtype[np.signedinteger] | np.dtype[np.float64]"

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


class NpyArray:
    """An .npy array on an open binary file ("w+b"), filled through a memory map."""

    def __init__(self, file: BinaryIO, shape: tuple[int, ...], dtype: Numbers) -> None:
        header = {"descr": np.lib.format.dtype_to_descr(dtype), "fortran_order": False, "shape": shape}
        np.lib.format.write_array_header_1_0(file, header)
        offset = file.tell()
        nbytes = math.prod(shape) * dtype.itemsize
        _allocate(file, offset + nbytes)
        self.file = file
        # An empty file cannot be mapped.
        self.values: npt.NDArray[Any] = (
            np.memmap(file, dtype=dtype, mode="r+", offset=offset, shape=shape) if nbytes else np.zeros(shape, dtype=dtype)
        )

    def flush(self) -> None:
        if isinstance(self.values, np.memmap):
            self.values.flush()


@dataclass(frozen=True)
class Value:
    """What a matrix holds: "score" (int32 or int64), "identity" or "distance", which is 1 - identity (float64)."""

    name: str
    identity_definition: int

    @property
    def detail(self) -> Detail:
        return Detail.SCORE if self.name == "score" else Detail.STATISTICS

    @property
    def array_name(self) -> str:
        return "scores" if self.name == "score" else self.name

    def dtype(self, task: Task) -> Numbers:
        return task.dtype if self.name == "score" else np.dtype(np.float64)

    def of(self, task: Task, results: BandResults) -> npt.NDArray[Any]:
        """Values of a band's pairs: [queries][targets]."""
        if self.name == "score":
            return results.scores
        found = BlockData(task, results.band.start, results, self.identity_definition).identity_fraction
        return found if self.name == "identity" else 1 - found


SCORES = Value("score", DEFAULT)


class MatrixSink:
    """Fills a matrix, element [i][j] = query i, target j; for one set mirrored, the diagonal included.

    The plan's pairing must be ALL or ABOVE_OR_EQUAL, so that every element is computed or mirrored.
    """

    def __init__(self, file: BinaryIO, task: Task, value: Value = SCORES) -> None:
        self._file = file
        self._task = task
        self._value = value

    def begin(self, plan: Plan) -> None:
        if plan.pairing is Pairing.ABOVE:
            raise ValueError("a matrix needs the diagonal")
        self._mirror = plan.pairing is Pairing.ABOVE_OR_EQUAL
        self.matrix = NpyArray(self._file, (plan.queries, plan.targets), self._value.dtype(self._task))
        self._bands = Bands(plan, self._task, self._write)

    def accept(self, result: TileResult) -> None:
        self._bands.accept(result)

    def _write(self, results: BandResults) -> None:
        out, band = self.matrix.values, results.band
        values = self._value.of(self._task, results)
        queries, targets = slice(band.start, band.stop), slice(band.first_target, band.target_stop)
        if not self._mirror:
            out[queries, targets] = values
            return
        rows = band.stop - band.start
        if band.first_target == band.start:  # the square on the diagonal comes first; below the diagonal it holds anything
            square = np.triu(values[:, :rows])
            out[queries, queries] = square + np.triu(square, 1).T
            values, targets = values[:, rows:], slice(band.stop, band.target_stop)
        out[queries, targets] = values
        out[targets, queries] = values.T

    def finish(self) -> None:
        self._bands.finish()
        self.matrix.flush()


class CondensedSink:
    """Fills a vector of the pairs i < j of one set, row by row, as scipy.spatial.distance's condensed form has them.

    The plan's pairing must be ABOVE.
    """

    def __init__(self, file: BinaryIO, task: Task, value: Value = SCORES) -> None:
        self._file = file
        self._task = task
        self._value = value

    def begin(self, plan: Plan) -> None:
        if plan.pairing is not Pairing.ABOVE:
            raise ValueError("a condensed matrix holds the pairs above the diagonal")
        self._count = plan.queries
        self.matrix = NpyArray(self._file, (plan.pairs,), self._value.dtype(self._task))
        self._bands = Bands(plan, self._task, self._write)

    def accept(self, result: TileResult) -> None:
        self._bands.accept(result)

    def _write(self, results: BandResults) -> None:
        band = results.band
        values = self._value.of(self._task, results)
        for query in range(band.start, band.stop):
            first = max(query + 1, band.first_target)
            row_start = query * self._count - query * (query + 1) // 2  # pairs of earlier queries
            part = values[query - band.start, first - band.first_target :]
            start = row_start + first - query - 1
            self.matrix.values[start : start + len(part)] = part

    def finish(self) -> None:
        self._bands.finish()
        self.matrix.flush()


def id_lists(task: Task) -> dict[str, SequenceSet]:
    """What the lists of ids are called, and whose they are: `ids`, or `query_ids` and `target_ids` for two sets."""
    return {"ids": task.queries} if task.targets is task.queries else {"query_ids": task.queries, "target_ids": task.targets}


def write_ids(stream: ByteWriter, sequences: SequenceSet) -> None:
    """One id a line, in matrix order."""
    stream.write("".join(f"{name}\n" for name in sequences.ids).encode("utf-8", "surrogateescape"))


def write_matrix_text(stream: ByteWriter, matrix: npt.NDArray[Any], task: Task) -> None:
    """A header line of target ids behind an empty cell, then a line a query: its id and values, tab-separated."""
    header = "".join(f"\t{name}" for name in task.targets.ids)
    stream.write((header + "\n").encode("utf-8", "surrogateescape"))
    _write_rows(stream, matrix, task, "\t")


def write_phylip(stream: ByteWriter, matrix: npt.NDArray[Any], task: Task) -> None:
    """A square distance matrix as PHYLIP's programs read it, with ids of any length ("relaxed")."""
    stream.write(f"{len(task.queries)}\n".encode())
    _write_rows(stream, matrix, task, " ")


def _write_rows(stream: ByteWriter, matrix: npt.NDArray[Any], task: Task, separator: str) -> None:
    step = max(1, _ROW_BYTES // max(1, 12 * matrix.shape[1]))
    ids = task.queries.id_column
    for row in range(0, matrix.shape[0], step):
        part = np.ascontiguousarray(matrix[row : row + step])
        stream.write(format_matrix_rows(ids.text, ids.offsets[row : row + len(part) + 1], part, separator))


def write_npz(stream: BinaryIO, npy: BinaryIO, task: Task, name: str) -> None:
    """Pack a finished .npy file, under `name`, and the ids, under those of `id_lists`."""
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_STORED, allowZip64=True) as archive:
        npy.seek(0)
        with archive.open(zipfile.ZipInfo(f"{name}.npy", _EPOCH), "w", force_zip64=True) as member:
            shutil.copyfileobj(npy, member, 1 << 20)
        for list_name, sequences in id_lists(task).items():
            with archive.open(zipfile.ZipInfo(f"{list_name}.npy", _EPOCH), "w", force_zip64=True) as member:
                np.lib.format.write_array(member, np.array(sequences.ids, dtype=np.str_), allow_pickle=False)
