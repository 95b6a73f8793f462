"""Cuts a tile into batches that fit the device, and lays out a batch as a kernel family reads it. Pure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from gpualign.core.engine import Task
from gpualign.core.plan import Tile
from gpualign.gpu.kernels import SLICE_THREADS, Recipe, Shape, Variant, last_of_each
from gpualign.gpu.schedule import Schedule, make_schedule

Arrays = dict[str, npt.NDArray[np.generic]]

THREADS_A_BLOCK = 64
"""Of threads.cu: small blocks leave few lanes idle where targets are few."""


@dataclass(frozen=True)
class Batch:
    """Part of a tile: `rows` (query numbers less tile.query_start, in order of length) against tile.targets[start:stop].

    Scores come back with the rows in their order in the tile.
    """

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
    def is_whole_tile(self) -> bool:
        return (len(self.rows), self.stop - self.start) == self.tile.shape

    @property
    def pairs(self) -> int:
        return len(self.rows) * (self.stop - self.start)

    def halves(self, fewest_targets: int = 1) -> tuple[Batch, Batch] | None:
        """Two batches that make up this one, or None for a single pair. Targets are halved before queries, down to `fewest_targets`."""
        targets, rows = self.stop - self.start, len(self.rows)
        if targets > 1 and (targets > fewest_targets or rows == 1):
            middle = (self.start + self.stop) // 2
            return replace(self, stop=middle), replace(self, start=middle)
        if rows > 1:
            middle = rows // 2
            return replace(self, rows=self.rows[:middle]), replace(self, rows=self.rows[middle:])
        return None


def whole_tile(tile: Tile, query_lengths: npt.NDArray[np.int64]) -> Batch:
    """A tile as one batch. Queries of similar length are neighbours, because the lanes of a warp may take one each."""
    lengths = query_lengths[tile.query_start : tile.query_stop]
    return Batch(tile, np.argsort(lengths, kind="stable"), 0, len(tile.targets))


@dataclass(frozen=True)
class Layout:
    """A batch in the form of a kernel family.

    arrays: what the host makes and uploads; packed_bytes: targets as pack.cu makes them; threads: of a block; units: strips of
    all items; strips: of the longest item; carry_stride, carry_bytes: of one slot, in the kernel's units and bytes; slots: carry
    buffers; progress_bytes: flags of all strips; edge_stride, edge_bytes: of one slot, checkpoints of paths beside the carries. In
    a chain of warps an item is a pair, and so is a slot, of which a launch takes as many as fit.
    """

    arrays: Arrays
    packed_bytes: int
    threads: int
    units: int
    strips: int
    carry_stride: int
    carry_bytes: int
    slots: int
    progress_bytes: int
    edge_stride: int = 0
    edge_bytes: int = 0

    @property
    def upload_bytes(self) -> int:
        return sum(aligned(a.nbytes) for a in self.arrays.values())

    @property
    def slot_bytes(self) -> int:
        return self.carry_bytes + self.edge_bytes


def aligned(nbytes: int) -> int:
    """Rounded up, so that arrays one after the other stay aligned."""
    return -(-nbytes // 256) * 256


def _wanted_items(arrays: Arrays, targets: npt.NDArray[np.int64], size: int) -> npt.NDArray[np.int32]:
    """block * queries + query of every query and block of `size` targets with a wanted pair, the longest of both first."""
    first = arrays["first_targets"]
    last = np.maximum.reduceat(targets, np.arange(0, len(targets), size))
    backwards = np.arange(len(last) * len(first) - 1, -1, -1, dtype=np.int32)
    if first.max() <= last.min():
        return backwards
    wanted = last[:, np.newaxis] >= first[np.newaxis, :]
    return backwards[wanted.reshape(-1)[::-1]]


def _starts(counts: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    return np.concatenate(([0], np.cumsum(counts))).astype(np.int64)


@dataclass(frozen=True)
class Room:
    """What a device offers a batch: blocks that run at a time (a function of their threads), bytes, lanes of a warp, and whether
    the task's sequences are already there."""

    blocks: Callable[[int], int]
    memory: int
    lanes: int
    resident: bool

    def scheduled(self, strips: npt.NDArray[np.int64], columns: npt.NDArray[np.int64], threads: int, carry_bytes: int) -> Schedule:
        """Of a batch's items, with no more carry buffers than half of the memory holds."""
        return make_schedule(strips, columns, max(1, min(self.blocks(threads), self.memory // (4 * carry_bytes))))


def lay_out(batch: Batch, variant: Variant, recipe: Recipe, task: Task, room: Room) -> Layout:
    """The layout of a batch for a variant. Where the sequences are not on the device, it brings its own."""
    tile, targets = batch.tile, batch.targets
    query_lengths, target_lengths = task.queries.lengths, task.targets.lengths
    lengths = target_lengths[targets]
    arrays: Arrays = {
        "queries": batch.queries.astype(np.int32),
        "rows": np.argsort(np.argsort(batch.rows)).astype(np.int32),
        "targets": targets.astype(np.int32),
        "first_targets": np.array([tile.pairing.first_target(int(query)) for query in batch.queries], dtype=np.int32),
        "target_lengths": lengths.astype(np.int32),
        "target_numbers": targets.astype(np.int32),
    }
    if task.top is not None:
        arrays["ranks"] = task.targets.ranks[targets].astype(np.int32)
    if recipe.usable is not None:
        arrays["usable"] = recipe.usable[[*range(recipe.letters), -1]]
    if not room.resident:
        for name, sequences, records in (("query", task.queries, batch.queries), ("target", task.targets, targets)):
            panel = sequences.gather(records)
            arrays[f"{name}_codes"], arrays[f"{name}_offsets"] = panel.text, panel.offsets
        arrays["queries"] = np.arange(len(batch.queries), dtype=np.int32)
        arrays["targets"] = np.arange(len(targets), dtype=np.int32)
    if recipe.form is not None:
        arrays["table"] = recipe.table()
    heights = -(-query_lengths[batch.queries] // variant.rows)
    if variant.shape is Shape.THREADS:
        return _threads_layout(arrays, variant, targets, lengths, heights, room)
    if variant.shape is Shape.SLICES:
        return _slices_layout(arrays, variant, recipe.planes, targets, lengths, heights, room)
    strips = int(-(-heights.max() // room.lanes))
    columns = -(-int(lengths[-1]) // room.lanes) * room.lanes
    kept = strips if recipe.paths else 1
    carry_bytes = kept * columns * variant.carries * variant.carry_bytes + 4 * strips
    edges = strips * room.lanes * variant.edge_values(columns) if recipe.paths else 0
    units = batch.pairs * strips
    edge_bytes = edges * variant.carry_bytes
    return Layout(arrays, 0, room.lanes, units, strips, columns, carry_bytes, batch.pairs, 0, edges, edge_bytes)


def _scheduled(arrays: Arrays, packed: int, threads: int, stride: int, value_bytes: int, schedule: Schedule) -> Layout:
    arrays["units"], arrays["slots"], arrays["before"] = schedule.units, schedule.slots, schedule.before
    strips = int(schedule.units[:, 1].max(initial=0)) + 1
    progress = 4 * (strips + 1) * len(schedule.slots)
    return Layout(arrays, packed, threads, len(schedule.units), strips, stride, stride * value_bytes, schedule.slot_count, progress)


def _threads_layout(
    arrays: Arrays,
    variant: Variant,
    targets: npt.NDArray[np.int64],
    lengths: npt.NDArray[np.int64],
    heights: npt.NDArray[np.int64],
    room: Room,
) -> Layout:
    needed = -(-len(targets) // variant.pairs)
    threads = min(THREADS_A_BLOCK, -(-needed // room.lanes) * room.lanes)
    size = threads * variant.pairs
    in_word = 4 // variant.pairs
    columns = -(-lengths[last_of_each(len(targets), size)] // in_word) * in_word
    words = _starts(columns // in_word * threads)
    items = _wanted_items(arrays, targets, size)
    arrays["items"] = items
    arrays["block_letters"] = words
    arrays["block_columns"] = columns.astype(np.int32)
    stride = int(columns.max()) * variant.carries * threads
    strips = heights[items % len(heights)]
    schedule = room.scheduled(strips, columns[items // len(heights)], threads, stride * variant.carry_bytes)
    # The kernel reads one word of letters ahead.
    packed = (int(words[-1]) + threads) * 4
    if variant.trace is None:
        return _scheduled(arrays, packed, threads, stride, variant.carry_bytes, schedule)
    return _kept(arrays, packed, threads, stride, int(columns.max()), variant, schedule)


def _kept(arrays: Arrays, packed: int, threads: int, stride: int, columns: int, variant: Variant, schedule: Schedule) -> Layout:
    """With paths every item keeps what it hands down, `stride` values a strip, and the edges of its tiles."""
    count = len(schedule.slots)  # none, where no pair of a batch is wanted
    own = replace(schedule, slots=np.arange(count, dtype=np.int32), before=np.full(count, -1, dtype=np.int32), slot_count=max(1, count))
    strips = int(schedule.units[:, 1].max(initial=0)) + 1
    edges = strips * variant.edge_values(columns) * threads
    layout = _scheduled(arrays, packed, threads, strips * stride, variant.carry_bytes, own)
    return replace(layout, edge_stride=edges, edge_bytes=edges * variant.carry_bytes)


def _slices_layout(
    arrays: Arrays,
    variant: Variant,
    planes: int,
    targets: npt.NDArray[np.int64],
    lengths: npt.NDArray[np.int64],
    heights: npt.NDArray[np.int64],
    room: Room,
) -> Layout:
    columns = lengths[last_of_each(len(targets), 32)]
    words = _starts(columns * (planes + 1))
    wanted = _wanted_items(arrays, targets, 32)
    lanes = np.full((-(-len(wanted) // SLICE_THREADS), SLICE_THREADS), -1, dtype=np.int32)
    lanes.reshape(-1)[: len(wanted)] = wanted
    # The first lane has the longest targets.
    longest = columns[lanes[:, 0] // len(heights)]
    same = heights[0] == heights[-1]  # they are in order
    strips = np.full(len(lanes), heights[0]) if same else heights[lanes % len(heights)].max(axis=1, initial=1)
    arrays["lanes"] = lanes
    arrays["item_strips"] = strips.astype(np.int32)
    arrays["group_planes"] = words
    arrays["group_columns"] = columns.astype(np.int32)
    stride = int(columns.max()) * variant.carries * SLICE_THREADS
    schedule = room.scheduled(strips, longest, SLICE_THREADS, stride * variant.carry_bytes)
    # A lane reads on behind its own targets while other lanes of the item have longer ones.
    packed = (int(words[-1]) + (int(columns.max()) + 1) * (planes + 1)) * 4
    if variant.trace is not None:
        return _kept(arrays, packed, SLICE_THREADS, stride, int(columns.max()), variant, schedule)
    return _scheduled(arrays, packed, SLICE_THREADS, stride, variant.carry_bytes, schedule)


def batch_bytes(layout: Layout) -> int:
    """Device memory of a batch beside its carries and results."""
    return sum(aligned(part) for part in (layout.upload_bytes, layout.packed_bytes, layout.progress_bytes))
