"""Pairs as a sparse matrix: an .npz file for `scipy.sparse.load_npz`."""

from __future__ import annotations

from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from gpualign.core.alignment.task import Task
from gpualign.core.common.arrays import Booleans, Integers
from gpualign.core.output.matrix_files import IdentifiedRecords, NumberType, open_member, write_id_members, write_member
from gpualign.core.output.matrix_value import MatrixValueKind
from gpualign.core.output.pairs import PairsSink
from gpualign.core.output.writer import NullWriter
from gpualign.core.results.blocks import Block
from gpualign.core.results.filter import Filter

_CHUNK_VALUES = 1 << 18
"""Number of values that are copied together."""

MAX_INT32 = np.iinfo(np.int32).max
"""Largest value of a 32-bit index."""


SPOOL_NAMES = ("counts", "indices", "data")
"""Names of the files of a growing sparse matrix. `counts` holds, as int64, the number of a query and how many of its targets follow;
`indices` holds the indices of targets, as int32; `data` holds the values + 1."""

SpoolFiles = tuple[BinaryIO, BinaryIO, BinaryIO]


class CsrSpoolWriter:
    """Writes rows of a sparse matrix to the files ("w+b") listed in `SPOOL_NAMES`. Pairs are added in input order; the files grow until all
    pairs are known.

    The stored number is a pair's value + 1, so that a value of 0 (two equal sequences) differs from an absent pair.
    """

    def __init__(self, spools: SpoolFiles, dtype: NumberType) -> None:
        """dtype: type of the stored numbers, which are values + 1."""
        self._counts, self._indices, self._data = spools
        self.dtype = dtype

    def add(self, queries: Integers, targets: Integers, values: npt.NDArray[Any]) -> None:
        """Add pairs: queries, targets and values, each [pairs]. The pairs of a query are consecutive, with targets in ascending order."""
        if not len(queries):
            return
        lasts = np.append(np.flatnonzero(queries[1:] != queries[:-1]), len(queries) - 1)  # last pair of each query
        self._counts.write(np.column_stack((queries[lasts], np.diff(lasts, prepend=-1))).data)
        self._indices.write(targets.astype(np.int32).data)  # records in memory are fewer than 2^31
        self._data.write(np.add(values, 1, dtype=self.dtype).data)


def write_csr(stream: BinaryIO, spools: SpoolFiles, dtype: NumberType, queries: IdentifiedRecords, targets: IdentifiedRecords) -> None:
    """Write the matrix [queries][targets] in the format of scipy.sparse.save_npz, with the ids of queries and targets.

    spools: files written by `CsrSpoolWriter`
    dtype: type of the stored values + 1
    """
    import zipfile

    rows, indices, data = spools
    counts = np.zeros(len(queries.ids), dtype=np.int64)
    rows.seek(0)
    while chunk := rows.read(_CHUNK_VALUES * 16):
        numbers, added = np.frombuffer(chunk, dtype=np.int64).reshape(-1, 2).T
        np.add.at(counts, numbers, added)
    starts = np.concatenate(([0], np.cumsum(counts)))
    count = int(starts[-1])
    index = np.dtype(np.int32 if count <= MAX_INT32 else np.int64)
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_STORED, allowZip64=True) as archive:
        _copy_vector(archive, "indices", indices, np.dtype(np.int32), index, count)
        write_member(archive, "indptr", starts.astype(index))
        write_member(archive, "format", np.array(b"csr"))
        write_member(archive, "shape", np.array((len(queries.ids), len(targets.ids)), dtype=np.int64))
        _copy_vector(archive, "data", data, dtype, dtype, count)
        write_id_members(archive, queries, targets)


def _copy_vector(archive: Any, name: str, spool: BinaryIO, stored_dtype: np.dtype[Any], written_dtype: np.dtype[Any], count: int) -> None:
    """Copy a vector of `count` numbers from a file of dtype `stored_dtype` to a member of dtype `written_dtype`."""
    spool.seek(0)
    with open_member(archive, name) as member:
        header = {"descr": np.lib.format.dtype_to_descr(written_dtype), "fortran_order": False, "shape": (count,)}
        np.lib.format.write_array_header_1_0(member, header)
        while chunk := spool.read(_CHUNK_VALUES * stored_dtype.itemsize):
            member.write(np.frombuffer(chunk, dtype=stored_dtype).astype(written_dtype, copy=False).data)


class CsrSink(PairsSink):
    """Writes a value for each pair to the temporary files `spools`, which `write_csr` packs into one file. The attribute `dtype` is the
    type of the stored numbers, which are values + 1."""

    def __init__(self, spools: SpoolFiles, task: Task, value: MatrixValueKind, filter: Filter | None = None) -> None:
        super().__init__(NullWriter(), task, filter, value.identity_definition)
        self._value = value
        self._rows = CsrSpoolWriter(spools, stored_dtype(value.dtype(task), task))
        self.dtype = self._rows.dtype

    def write_block(self, block: Block, mask: Booleans | None) -> None:
        numbers = block.query_record_numbers, block.target_record_numbers
        self._rows.add(*block.written_values(mask, *numbers, self._value.block_values(block)))


def stored_dtype(dtype: NumberType, task: Task) -> NumberType:
    """Return the type that holds values + 1 if the task's values have type `dtype`."""
    longest = task.queries.max_length, task.targets.max_length
    return np.dtype(np.int64) if dtype == np.int32 and task.scoring.score_bounds(*longest)[1] >= MAX_INT32 else dtype
