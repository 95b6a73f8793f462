"""Record pairs in a temporary file, for more pairs than fit into memory."""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO

import numpy as np

from gpualign.core.clustering.edges import CHUNK_PAIRS, PAIR_BYTES, Chunk, EdgeList, Indices, PairKeys
from gpualign.core.common.arrays import Integers, Reals
from gpualign.core.files.scratch import MakeScratch, translate_scratch_errors

_ROW = np.dtype([("i", np.int32), ("j", np.int32), ("distance", np.float64)])


class EdgeWriter:
    """Writes pairs to a temporary file: blocks of `CHUNK_PAIRS` pairs, the last of which may have fewer. A block is its first records
    (int32), its second records (int32), and its distances (float64).

    scratch: creates the file
    """

    def __init__(self, scratch: MakeScratch) -> None:
        self._scratch = scratch
        with translate_scratch_errors():
            self._file = scratch()
        self._i, self._j = np.empty(CHUNK_PAIRS, dtype=np.int32), np.empty(CHUNK_PAIRS, dtype=np.int32)
        self._distance = np.empty(CHUNK_PAIRS, dtype=np.float64)
        self._pending = 0
        self._written = 0

    def __len__(self) -> int:
        """Number of pairs so far."""
        return self._written + self._pending

    def write(self, i: Indices, j: Indices, distance: Reals) -> None:
        """Append pairs. Raises `RunError` if they cannot be written, as on a full disk."""
        start = 0
        while start < len(i):
            some = slice(start, start + CHUNK_PAIRS - self._pending)
            place = slice(self._pending, self._pending + len(i[some]))
            self._i[place], self._j[place], self._distance[place] = i[some], j[some], distance[some]
            start, self._pending = some.stop, place.stop
            if self._pending == CHUNK_PAIRS:
                self._write_block()

    def finish(self, record_count: int, part_pairs: int) -> StoredEdges:
        """Return all pairs. No pairs can be added afterwards. part_pairs: as in `StoredEdges`."""
        self._write_block()
        with translate_scratch_errors():
            self._file.flush()
        return StoredEdges(record_count, self._file, self._written, part_pairs, self._scratch)

    def _write_block(self) -> None:
        with translate_scratch_errors():
            for column in (self._i, self._j, self._distance):
                self._file.write(column[: self._pending].tobytes())
        self._written += self._pending
        self._pending = 0


class StoredEdges(EdgeList):
    """Record pairs in a temporary file.

    record_count: number of records
    file: file of an `EdgeWriter`
    pair_count: number of pairs in it
    part_pairs: number of pairs to process in memory together
    scratch: creates further temporary files
    """

    def __init__(self, record_count: int, file: BinaryIO, pair_count: int, part_pairs: int, scratch: MakeScratch) -> None:
        self.record_count = record_count
        self._file = file
        self._pair_count = pair_count
        self._part_pairs = part_pairs
        self._scratch = scratch

    def __len__(self) -> int:
        return self._pair_count

    @property
    def nbytes(self) -> int:
        return 0

    @property
    def part_pairs(self) -> int:
        return max(CHUNK_PAIRS, self._part_pairs)

    def chunks(self) -> Iterator[Chunk]:
        for start in range(0, self._pair_count, CHUNK_PAIRS):
            count = min(CHUNK_PAIRS, self._pair_count - start)
            with translate_scratch_errors():
                self._file.seek(start * PAIR_BYTES)  # the other iterators read the same file
                block = self._file.read(count * PAIR_BYTES)
            i, j = np.frombuffer(block, np.int32, 2 * count).reshape(2, count)
            yield i, j, np.frombuffer(block, np.float64, count, 8 * count)

    def _split(self, key: PairKeys, bounds: Integers, counts: Integers) -> Iterator[Iterator[Chunk]]:
        """Write the pairs of each part to a region of another temporary file, so that two passes are enough for any number of parts."""
        if len(counts) <= 2:
            yield from super()._split(key, bounds, counts)
            return
        starts = np.concatenate(([0], np.cumsum(counts)))
        with translate_scratch_errors():
            regions = self._scratch()
        try:
            ends = starts[:-1].copy()  # up to which each region is written
            for i, j, distance in self.chunks():
                keys = key(i, j)
                part = np.searchsorted(bounds, keys, side="right") - 1  # -1 where the key is -1
                order = np.argsort(part, kind="stable")
                order = order[np.searchsorted(part[order], 0) :]
                rows = np.empty(len(order), dtype=_ROW)
                rows["i"], rows["j"], rows["distance"] = i[order], j[order], distance[order]
                sizes = np.bincount(part[order], minlength=len(counts))
                first = np.cumsum(sizes) - sizes
                for number in np.flatnonzero(sizes).tolist():
                    with translate_scratch_errors():
                        regions.seek(int(ends[number]) * _ROW.itemsize)
                        regions.write(rows[first[number] : first[number] + sizes[number]].tobytes())
                ends += sizes
            for number in range(len(counts)):
                yield _read_rows(regions, int(starts[number]), int(starts[number + 1]))
        finally:
            regions.close()


def _read_rows(file: BinaryIO, start: int, stop: int) -> Iterator[Chunk]:
    for place in range(start, stop, CHUNK_PAIRS):
        with translate_scratch_errors():
            file.seek(place * _ROW.itemsize)
            block = file.read(min(CHUNK_PAIRS, stop - place) * _ROW.itemsize)
        rows = np.frombuffer(block, dtype=_ROW)
        yield rows["i"], rows["j"], rows["distance"]
