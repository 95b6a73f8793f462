"""Cuts a tile into batches that fit the device, and lays out a batch as a kernel family reads it. Pure."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from gpualign.core.engine import Task
from gpualign.core.plan import Tile
from gpualign.core.sequences import SequenceSet
from gpualign.gpu.kernels import SLICE_THREADS, Recipe, Shape, Variant

Arrays = dict[str, npt.NDArray[np.generic]]

THREADS_A_BLOCK = 64
"""Of threads.cu: small blocks leave few lanes idle where targets are few."""


@dataclass(frozen=True)
class Batch:
    """Part of a tile: `rows` (query numbers less tile.query_start, in order of length) against tile.targets[start:stop]."""

    tile: Tile
    rows: npt.NDArray[np.int64]
    start: int
    stop: int

    @property
    def queries(self) -> npt.NDArray[np.int64]:
        """Query records."""
        return self.rows + self.tile.query_start

    @property
    def targets(self) -> npt.NDArray[np.int64]:
        """Target records, in order of length."""
        return self.tile.targets[self.start : self.stop]

    @property
    def pairs(self) -> int:
        return len(self.rows) * (self.stop - self.start)

    def halves(self) -> tuple[Batch, Batch] | None:
        """Two batches that make up this one, or None for a single pair."""
        if self.stop - self.start > 1:
            middle = (self.start + self.stop) // 2
            return replace(self, stop=middle), replace(self, start=middle)
        if len(self.rows) > 1:
            middle = len(self.rows) // 2
            return replace(self, rows=self.rows[:middle]), replace(self, rows=self.rows[middle:])
        return None


def whole_tile(tile: Tile, query_lengths: npt.NDArray[np.int64]) -> Batch:
    """A tile as one batch. Queries of similar length are neighbours, because the lanes of a warp may take one each."""
    lengths = query_lengths[tile.query_start : tile.query_stop]
    return Batch(tile, np.argsort(lengths, kind="stable"), 0, len(tile.targets))


@dataclass(frozen=True)
class Layout:
    """A batch in the form of a kernel family.

    arrays: what the host makes and uploads. packed_bytes: targets as pack.cu makes them. threads: of a block; items: work that
    the queue hands out; carry_stride: of one block, or of one pair in a chain, in the kernel's units; carry_bytes: the same in
    bytes; strips: of the longest query (chains).
    """

    arrays: Arrays
    packed_bytes: int
    threads: int
    items: int
    carry_stride: int
    carry_bytes: int
    strips: int = 0

    @property
    def upload_bytes(self) -> int:
        return sum(aligned(a.nbytes) for a in self.arrays.values())


def aligned(nbytes: int) -> int:
    """Rounded up, so that arrays one after the other stay aligned."""
    return -(-nbytes // 256) * 256


def _last_records(targets: npt.NDArray[np.int64], size: int) -> npt.NDArray[np.int32]:
    return np.maximum.reduceat(targets, np.arange(0, len(targets), size)).astype(np.int32)


def _starts(counts: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    return np.concatenate(([0], np.cumsum(counts))).astype(np.int64)


def _panel(sequences: SequenceSet, records: npt.NDArray[np.int64]) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.int64]]:
    """Codes and offsets of some records of a set, back to back."""
    lengths = sequences.lengths[records]
    starts = _starts(lengths)
    places = np.arange(starts[-1]) + np.repeat(sequences.offsets[records] - starts[:-1], lengths)
    return sequences.codes[places], starts


def lay_out(batch: Batch, variant: Variant, recipe: Recipe, task: Task, lanes: int, resident: bool) -> Layout:
    """The layout of a batch for a variant. Where the task's sequences are not `resident` on the device, it brings its own."""
    tile, targets = batch.tile, batch.targets
    query_lengths, target_lengths = task.queries.lengths, task.targets.lengths
    lengths = target_lengths[targets]
    arrays: Arrays = {
        "queries": batch.queries.astype(np.int32),
        "targets": targets.astype(np.int32),
        "first_targets": np.array([tile.pairing.first_target(int(query)) for query in batch.queries], dtype=np.int32),
        "target_lengths": lengths.astype(np.int32),
    }
    if not resident:
        arrays["query_codes"], arrays["query_offsets"] = _panel(task.queries, batch.queries)
        arrays["target_codes"], arrays["target_offsets"] = _panel(task.targets, targets)
        arrays["queries"] = np.arange(len(batch.queries), dtype=np.int32)
        arrays["targets"] = np.arange(len(targets), dtype=np.int32)
    if recipe.form is not None:
        arrays["table"] = recipe.table()
    if variant.shape is Shape.THREADS:
        return _threads_layout(arrays, variant, targets, lengths, len(batch.rows), lanes)
    if variant.shape is Shape.SLICES:
        return _slices_layout(arrays, variant, recipe.planes, targets, lengths, len(batch.rows))
    arrays["target_numbers"] = targets.astype(np.int32)
    strips = int(-(-query_lengths[batch.queries].max() // (lanes * variant.rows)))
    columns = -(-int(lengths[-1]) // lanes) * lanes
    return Layout(arrays, 0, lanes, batch.pairs * strips, columns, columns * variant.carries * variant.carry_bytes + 4 * strips, strips)


def _threads_layout(
    arrays: Arrays, variant: Variant, targets: npt.NDArray[np.int64], lengths: npt.NDArray[np.int64], queries: int, lanes: int
) -> Layout:
    needed = -(-len(targets) // variant.pairs)
    threads = min(THREADS_A_BLOCK, -(-needed // lanes) * lanes)
    size = threads * variant.pairs
    ends = np.minimum(np.arange(size - 1, len(targets) + size - 1, size), len(targets) - 1)
    in_word = 4 // variant.pairs
    columns = -(-lengths[ends] // in_word) * in_word
    words = _starts(columns // in_word * threads)
    arrays["block_letters"] = words
    arrays["block_columns"] = columns.astype(np.int32)
    arrays["block_last"] = _last_records(targets, size)
    # The kernel reads one word and one column ahead.
    stride = (int(columns.max()) + 1) * variant.carries * threads
    return Layout(arrays, (int(words[-1]) + threads) * 4, threads, len(columns) * queries, stride, stride * variant.carry_bytes)


def _slices_layout(
    arrays: Arrays, variant: Variant, planes: int, targets: npt.NDArray[np.int64], lengths: npt.NDArray[np.int64], queries: int
) -> Layout:
    ends = np.minimum(np.arange(31, len(targets) + 31, 32), len(targets) - 1)
    columns = lengths[ends]
    words = _starts(columns * (planes + 1))
    arrays["group_planes"] = words
    arrays["group_columns"] = columns.astype(np.int32)
    arrays["group_last"] = _last_records(targets, 32)
    stride = (int(columns.max()) + 1) * variant.carries * SLICE_THREADS
    items = -(-len(columns) * queries // SLICE_THREADS)
    return Layout(arrays, (int(words[-1]) + planes + 1) * 4, SLICE_THREADS, items, stride, stride * 4)


def batch_bytes(layout: Layout, batch: Batch, item_bytes: int) -> int:
    """Device memory of a batch beside its carries."""
    return layout.upload_bytes + aligned(layout.packed_bytes) + aligned(batch.pairs * item_bytes)
