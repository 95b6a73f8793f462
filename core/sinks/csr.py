"""Pairs as a sparse matrix: an .npz file that `scipy.sparse.load_npz` opens."""

from __future__ import annotations

from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from gpualign.core.blocks import Block, Booleans
from gpualign.core.engine import Task
from gpualign.core.filter import Filter
from gpualign.core.identity import Integers
from gpualign.core.sinks.matrix import Value
from gpualign.core.sinks.matrix_files import Named, Numbers, open_member, write_id_members, write_member
from gpualign.core.sinks.pairs import PairsSink

_CHUNK = 1 << 18
"""Numbers that are copied at a time."""

_LARGEST = np.iinfo(np.int32).max
"""Of what 32-bit indices can count."""


SPOOLS = ("counts", "indices", "data")
"""What grows of a sparse matrix: int64 pairs of a query and how many of its targets follow; their int32 numbers; their values + 1."""

Spools = tuple[BinaryIO, BinaryIO, BinaryIO]


class CsrFile:
    """A matrix [queries][targets] in compressed rows, whose pairs are added in input order; beside it the ids, as in any .npz of a matrix.

    What is stored is the value of a pair + 1, so that the 0 of two equal sequences is not the 0 of a pair that is not there.
    spools: the files ("w+b") of `SPOOLS`, which grow until all is known.
    """

    def __init__(self, stream: BinaryIO, spools: Spools, queries: Named, targets: Named, dtype: Numbers) -> None:
        """dtype: of value + 1."""
        self._stream = stream
        self._counts, self._indices, self._data = spools
        self._queries, self._targets = queries, targets
        self._dtype = dtype

    def add(self, queries: Integers, targets: Integers, values: npt.NDArray[Any]) -> None:
        """Pairs of records [pairs], those of one query one after the other, its targets in ascending order."""
        if not len(queries):
            return
        first = int(queries[0])
        found = np.bincount(queries - first)
        there = np.flatnonzero(found)
        self._counts.write(np.column_stack((first + there, found[there])).astype(np.int64).data)
        self._indices.write(targets.astype(np.int32).data)  # records in memory are fewer than 2^31
        self._data.write(np.add(values, 1, dtype=self._dtype).data)

    def finish(self) -> None:
        """All pairs are there: pack them as scipy.sparse.save_npz does."""
        import zipfile

        counts = np.zeros(len(self._queries.ids), dtype=np.int64)
        self._counts.seek(0)
        while part := self._counts.read(_CHUNK * 16):
            rows, found = np.frombuffer(part, dtype=np.int64).reshape(-1, 2).T
            np.add.at(counts, rows, found)
        starts = np.concatenate(([0], np.cumsum(counts)))
        count = int(starts[-1])
        index = np.dtype(np.int32 if count <= _LARGEST else np.int64)
        with zipfile.ZipFile(self._stream, "w", zipfile.ZIP_STORED, allowZip64=True) as archive:
            _copy(archive, "indices", self._indices, np.dtype(np.int32), index, count)
            write_member(archive, "indptr", starts.astype(index))
            write_member(archive, "format", np.array(b"csr"))
            write_member(archive, "shape", np.array((len(self._queries.ids), len(self._targets.ids)), dtype=np.int64))
            _copy(archive, "data", self._data, self._dtype, self._dtype, count)
            write_id_members(archive, self._queries, self._targets)


def _copy(archive: Any, name: str, spool: BinaryIO, stored: np.dtype[Any], wanted: np.dtype[Any], count: int) -> None:
    """A vector of `count` numbers from a file to a member, as another type."""
    spool.seek(0)
    with open_member(archive, name) as member:
        header = {"descr": np.lib.format.dtype_to_descr(wanted), "fortran_order": False, "shape": (count,)}
        np.lib.format.write_array_header_1_0(member, header)
        while part := spool.read(_CHUNK * stored.itemsize):
            member.write(np.frombuffer(part, dtype=stored).astype(wanted).data)


class CsrSink(PairsSink):
    """Writes a value of each pair."""

    def __init__(self, stream: BinaryIO, spools: Spools, task: Task, value: Value, filter: Filter | None = None) -> None:
        super().__init__(stream, task, filter, value.identity_definition)
        self._value = value
        self._file = CsrFile(stream, spools, task.queries, task.targets, _stored(value.dtype(task), task))

    def write_block(self, block: Block, keep: Booleans | None) -> None:
        self._file.add(*block.written_records(keep), self._value.of(block)[block.wanted(keep)])

    def finish(self) -> None:
        self._file.finish()


def _stored(dtype: Numbers, task: Task) -> Numbers:
    """The type of values + 1, where those of a task have this type."""
    longest = task.queries.longest, task.targets.longest
    return np.dtype(np.int64) if dtype == np.int32 and task.scoring.bounds(*longest)[1] >= _LARGEST else dtype
