"""Pairs as a sparse matrix: an .npz file that `scipy.sparse.load_npz` opens."""

from __future__ import annotations

from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from gpualign.core.alignment.task import Task
from gpualign.core.common.arrays import Booleans, Integers
from gpualign.core.output.matrix_files import Named, NumberType, open_member, write_id_members, write_member
from gpualign.core.output.matrix_value import Value
from gpualign.core.output.pairs import PairsSink
from gpualign.core.output.writer import Nowhere
from gpualign.core.results.blocks import Block
from gpualign.core.results.filter import Filter

_CHUNK = 1 << 18
"""NumberType that are copied at a time."""

_LARGEST = np.iinfo(np.int32).max
"""Of what 32-bit indices can count."""


SPOOLS = ("counts", "indices", "data")
"""What grows of a sparse matrix: int64 pairs of a query and how many of its targets follow; their int32 numbers; their values + 1."""

Spools = tuple[BinaryIO, BinaryIO, BinaryIO]


class CsrRows:
    """Rows of a sparse matrix, whose pairs are added in input order, in the files ("w+b") of `SPOOLS`, which grow until all is known.

    What is stored is the value of a pair + 1, so that the 0 of two equal sequences is not the 0 of a pair that is not there.
    """

    def __init__(self, spools: Spools, dtype: NumberType) -> None:
        """dtype: of value + 1."""
        self._counts, self._indices, self._data = spools
        self.dtype = dtype

    def add(self, queries: Integers, targets: Integers, values: npt.NDArray[Any]) -> None:
        """Pairs of records [pairs], those of one query one after the other, its targets in ascending order."""
        if not len(queries):
            return
        first = int(queries[0])
        found = np.bincount(queries - first)
        there = np.flatnonzero(found)
        self._counts.write(np.column_stack((first + there, found[there])).astype(np.int64).data)
        self._indices.write(targets.astype(np.int32).data)  # records in memory are fewer than 2^31
        self._data.write(np.add(values, 1, dtype=self.dtype).data)


def pack_csr(stream: BinaryIO, spools: Spools, dtype: NumberType, queries: Named, targets: Named) -> None:
    """All pairs [queries][targets] are in the spools, with values + 1 of this type: pack them as scipy.sparse.save_npz does, with the ids,
    as in any .npz of a matrix."""
    import zipfile

    rows, indices, data = spools
    counts = np.zeros(len(queries.ids), dtype=np.int64)
    rows.seek(0)
    while part := rows.read(_CHUNK * 16):
        numbers, found = np.frombuffer(part, dtype=np.int64).reshape(-1, 2).T
        np.add.at(counts, numbers, found)
    starts = np.concatenate(([0], np.cumsum(counts)))
    count = int(starts[-1])
    index = np.dtype(np.int32 if count <= _LARGEST else np.int64)
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_STORED, allowZip64=True) as archive:
        _copy(archive, "indices", indices, np.dtype(np.int32), index, count)
        write_member(archive, "indptr", starts.astype(index))
        write_member(archive, "format", np.array(b"csr"))
        write_member(archive, "shape", np.array((len(queries.ids), len(targets.ids)), dtype=np.int64))
        _copy(archive, "data", data, dtype, dtype, count)
        write_id_members(archive, queries, targets)


def _copy(archive: Any, name: str, spool: BinaryIO, stored: np.dtype[Any], wanted: np.dtype[Any], count: int) -> None:
    """A vector of `count` numbers from a file to a member, as another type."""
    spool.seek(0)
    with open_member(archive, name) as member:
        header = {"descr": np.lib.format.dtype_to_descr(wanted), "fortran_order": False, "shape": (count,)}
        np.lib.format.write_array_header_1_0(member, header)
        while part := spool.read(_CHUNK * stored.itemsize):
            member.write(np.frombuffer(part, dtype=stored).astype(wanted).data)


class CsrSink(PairsSink):
    """Writes a value of each pair to spools, of which `pack_csr` makes a file. dtype: of values + 1."""

    def __init__(self, spools: Spools, task: Task, value: Value, filter: Filter | None = None) -> None:
        super().__init__(Nowhere(), task, filter, value.identity_definition)
        self._value = value
        self._rows = CsrRows(spools, stored_dtype(value.dtype(task), task))
        self.dtype = self._rows.dtype

    def write_block(self, block: Block, mask: Booleans | None) -> None:
        self._rows.add(*block.written_records(mask), self._value.of(block)[block.selected(mask)])


def stored_dtype(dtype: NumberType, task: Task) -> NumberType:
    """The type of values + 1, where those of a task have this type."""
    longest = task.queries.longest, task.targets.longest
    return np.dtype(np.int64) if dtype == np.int32 and task.scoring.bounds(*longest)[1] >= _LARGEST else dtype
