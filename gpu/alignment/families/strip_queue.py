"""Parts shared by the kernel families in threads.cu and bitsliced.cu, whose blocks take the strips of items from a queue
(cuda_src/alignment/pipeline.cuh) and read packed targets."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from gpualign.core.common.dataclass import dataclass
from gpualign.gpu.alignment.batch_layout import BatchLayout
from gpualign.gpu.alignment.families.base import DeviceBatch, KernelVariant, Launcher
from gpualign.gpu.alignment.recipe import Lengths
from gpualign.gpu.alignment.strip_schedule import Schedule
from gpualign.gpu.kernels import argument_structs as structs
from gpualign.gpu.kernels.argument_structs import NamedArrays, pack_arguments
from gpualign.gpu.kernels.kernel import Hardware, Kernel

_CHUNK_COLUMNS = 128  # columns by which a strip follows the one above it (cuda_src/alignment/pipeline.cuh); with waiting twice as many
_RESIDENT_THREADS_PER_SM = 512  # threads of a multiprocessor that work on strips (approximate)
_STRIP_LAG_FRACTION = 1 / 50  # fraction of a wave by which a strip ends after the one above it, as measured (benchmarks/log: G-033)
_PADDING_FRACTION = 1 / 10  # padding of groups of targets on the diagonal, for 32 neighbours among genes of 16S rRNA
_MIN_BANDS, _MAX_BANDS = 4, 64
_PACK_BLOCK_THREADS = 256


@dataclass(frozen=True)
class StripQueueVariant(KernelVariant):
    """KernelVariant in which each block computes many pairs together, strip by strip."""

    @abstractmethod
    def target_group_size(self, warp_lanes: int) -> int:
        """Return how many adjacent targets are computed together. Computing them takes as long as computing the longest of them.

        warp_lanes: threads per warp
        """

    @abstractmethod
    def min_block_threads(self, warp_lanes: int) -> int:
        """Return the minimum number of threads per block. warp_lanes: threads per warp"""

    def estimate_clocks(self, query_lengths: Lengths, target_lengths: Lengths, hardware: Hardware) -> float:
        size = self.target_group_size(hardware.warp_lanes)
        strips = -(-query_lengths // self.strip_rows)
        padded = float(group_maxima(target_lengths, size).sum()) * size * float(strips.sum()) * self.strip_rows
        columns = int(target_lengths.max()) + int(strips.max()) * 2 * _CHUNK_COLUMNS
        return max(padded / (self.cells_per_clock * hardware.multiprocessor_count), columns * self.strip_rows * self.clocks_per_row)

    def min_slot_bytes(self, query_length: int, target_length: int, hardware: Hardware) -> int:
        """Return the size, in bytes, of the carries and path checkpoints of all pairs in a block of the minimum size."""
        strips, columns = -(-query_length // self.strip_rows), target_length + 4
        values = strips * (columns * self.carry_count + self.checkpoint_value_count(columns))
        return values * self.carry_value_bytes * self.min_block_threads(hardware.warp_lanes)

    def diagonal_band_count(self, cells: float, max_target_length: int, hardware: Hardware) -> int:
        """Return the number of bands with which the least work is wasted.

        With b bands, the squares on the diagonal contain 1/b of all DP cells. The lower half of each square is wasted or, if groups of
        adjacent targets are skipped, only the padding of these groups. This waste is p/b of all work. At the end of a batch, strips wait
        for each other and leave parts of the device idle. The more strips an item has, the longer this lasts. If c waves of strips are lost
        per band, out of w waves in total, this waste is c b/w of all work. The sum of both is lowest for b = sqrt(p w/c).
        """
        wave = hardware.multiprocessor_count * _RESIDENT_THREADS_PER_SM * self.pairs_per_thread * self.strip_rows * max_target_length
        lost = max_target_length / self.strip_rows * _STRIP_LAG_FRACTION
        lost_on_diagonal = _PADDING_FRACTION if self.diagonal_group_size() else 1
        return min(max(_MIN_BANDS, round(math.sqrt(lost_on_diagonal * cells / wave / lost))), _MAX_BANDS)

    def usable_slot_count(self, layout: BatchLayout, nbytes: int) -> int:
        return layout.slot_count if layout.slot_count * layout.slot_bytes <= nbytes else 0

    def lay_out_queue(self, arrays: NamedArrays, packed_bytes: int, threads: int, max_columns: int, schedule: Schedule) -> BatchLayout:
        """Return the layout of a batch whose items are computed in the order of a schedule.

        arrays: arrays to upload, to which this method adds the arrays of the schedule
        packed_bytes: size of the packed targets
        threads: threads per block
        max_columns: number of columns of the longest item
        """
        strips = int(schedule.queued_strips[:, 1].max(initial=0)) + 1
        stride, edges, min_slots = max_columns * self.carry_count * threads, 0, 2
        if self.trace_kernel is not None:
            # Every item keeps its carries, `stride` values per strip, and its checkpoints.
            schedule = _assign_own_slots(schedule)
            stride, edges, min_slots = strips * stride, strips * self.checkpoint_value_count(max_columns) * threads, schedule.slot_count
        arrays["units"], arrays["slots"], arrays["before"] = schedule.queued_strips, schedule.item_slots, schedule.previous_items
        return BatchLayout(
            arrays,
            packed_bytes,
            threads,
            total_strips=len(schedule.queued_strips),
            max_strips=strips,
            carry_stride=stride,
            carry_bytes=stride * self.carry_value_bytes,
            slot_count=schedule.slot_count,
            progress_bytes=4 * (strips + 1) * len(schedule.item_slots),
            min_slots=min_slots,
            checkpoint_stride=edges,
            checkpoint_bytes=edges * self.carry_value_bytes,
        )


def _assign_own_slots(schedule: Schedule) -> Schedule:
    """Return the schedule with a slot of its own for every item, because the traceback needs the carries of all items."""
    count = len(schedule.item_slots)  # 0 if no pair of a batch is selected
    slots, before = np.arange(count, dtype=np.int32), np.full(count, -1, dtype=np.int32)
    return replace(schedule, item_slots=slots, previous_items=before, slot_count=max(1, count))


def group_maxima(numbers: npt.NDArray[np.int64], size: int) -> npt.NDArray[np.int64]:
    """Return the maximum of each group of `size` consecutive numbers."""
    return np.maximum.reduceat(numbers, np.arange(0, len(numbers), size))


def group_offsets(counts: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Return the offset of each group in an array that stores the groups consecutively, followed by the total number of elements.

    counts: number of elements per group
    """
    return np.concatenate(([0], np.cumsum(counts))).astype(np.int64)


def selected_items(arrays: NamedArrays, targets: npt.NDArray[np.int64], block_size: int) -> npt.NDArray[np.int32]:
    """Return the numbers of the items (query, block of targets) that contain a selected pair, with the longest queries and targets first.

    Items are numbered block * query_count + query. A block of targets is computed by one block of threads.

    block_size: targets per block
    """
    first = arrays["first_targets"]
    last = group_maxima(targets, block_size)
    # Most blocks are selected for all queries, so only the others are examined.
    partial = np.flatnonzero(last < int(first.max()))[::-1]
    pieces, stop = [], len(last)
    for block in partial.tolist():
        pieces += [
            _descending_items(block + 1, stop, len(first)),
            _descending_items(block, block + 1, len(first))[(first <= last[block])[::-1]],
        ]
        stop = block
    return np.concatenate([*pieces, _descending_items(0, stop, len(first))])


def _descending_items(first_block: int, stop_block: int, query_count: int) -> npt.NDArray[np.int32]:
    """Return the numbers of all items (query, block of targets) of the target blocks `first_block` .. `stop_block` - 1, in descending
    order. Items are numbered as in `selected_items`.

    query_count: number of queries
    """
    return np.arange(stop_block * query_count - 1, first_block * query_count - 1, -1, dtype=np.int32)


def pipeline_arguments(device_batch: DeviceBatch) -> np.void:
    """Return the arguments with which blocks take the units of a batch from the queue, as a `PIPELINE_ARGS` struct."""
    layout = device_batch.layout
    return pack_arguments(
        structs.PIPELINE_ARGS,
        next_unit=device_batch.queue_address,
        progress=device_batch.progress_flags_address,
        carry_stride=layout.carry_stride,
        unit_count=layout.total_strips,
        strips=layout.max_strips,
        **device_batch.addresses("units", "slots", "before"),
    )


def launch_packing(
    device_batch: DeviceBatch, launcher: Launcher, kernel: Kernel, struct: np.dtype[np.void], unit_count: int, **values: int
) -> None:
    """Launch a kernel of pack.cu, which packs the targets of a batch for the alignment kernel.

    struct: type of the kernel's arguments
    unit_count: maximum number of blocks that can share the work
    values: arguments in addition to the targets and their codes
    """
    filled = pack_arguments(
        struct,
        codes=device_batch.array_addresses["target_codes"],
        offsets=device_batch.array_addresses["target_offsets"],
        targets=device_batch.array_addresses["targets"],
        target_count=device_batch.target_count,
        **values,
    )
    launcher.launch(kernel, min(unit_count, 8 * launcher.multiprocessor_count), _PACK_BLOCK_THREADS, filled)
