"""Parts shared by the kernel families in threads.cu and bitsliced.cu: blocks that take the strips of items from a queue
(cuda_src/alignment/pipeline.cuh), and packed targets."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from gpualign.core.common.dataclass import dataclass
from gpualign.gpu.alignment.batch_layout import Layout
from gpualign.gpu.alignment.families.base import DeviceBatch, Launcher, Variant
from gpualign.gpu.alignment.recipe import Lengths
from gpualign.gpu.alignment.strip_schedule import Schedule
from gpualign.gpu.kernels import argument_structs as structs
from gpualign.gpu.kernels.argument_structs import Arrays, arguments
from gpualign.gpu.kernels.kernel import Hardware, Kernel

_CHUNK_COLUMNS = 128  # columns by which a strip follows the one above it (cuda_src/alignment/pipeline.cuh); with waiting twice as many
_RESIDENT_THREADS = 512  # threads of a multiprocessor that work on strips (approximate)
_STRIP_LAG = 1 / 50  # fraction of a wave by which a strip ends after the one above it, as measured (benchmarks/LOG.md)
_PADDING_FRACTION = 1 / 10  # padding of groups of targets on the diagonal, for 32 neighbours among genes of 16S rRNA
_MIN_BANDS, _MAX_BANDS = 4, 64
_PACK_THREADS = 256


@dataclass(frozen=True)
class StripQueueVariant(Variant):
    """Variant whose blocks compute many pairs at a time, strip by strip."""

    @abstractmethod
    def group_size(self, lanes: int) -> int:
        """Return how many targets run together, for as long as the longest, with `lanes` lanes per warp."""

    @abstractmethod
    def min_threads(self, lanes: int) -> int:
        """Return the minimum number of threads per block."""

    def clocks(self, queries: Lengths, targets: Lengths, hardware: Hardware) -> float:
        size = self.group_size(hardware.lanes)
        strips = -(-queries // self.rows)
        padded = float(group_maxima(targets, size).sum()) * size * float(strips.sum()) * self.rows
        columns = int(targets.max()) + int(strips.max()) * 2 * _CHUNK_COLUMNS
        return max(padded / (self.rate * hardware.multiprocessors), columns * self.rows * self.latency)

    def checkpoint_bytes(self, query: int, target: int, hardware: Hardware) -> int:
        """Return the bytes per block: the carries and checkpoints for all of the block's alignments."""
        strips, columns = -(-query // self.rows), target + 4
        values = strips * (columns * self.carry_count + self.edge_values(columns))
        return values * self.carry_bytes * self.min_threads(hardware.lanes)

    def diagonal_bands(self, cells: float, longest: int, hardware: Hardware) -> int:
        """Return the number of bands that minimises the lost work.

        With b bands, the squares on the diagonal are 1/b of all cells. Their lower halves are lost or, if groups of neighbouring targets
        are skipped, only the padding of these groups: p/b of all work. A batch ends with strips that wait for each other and leave parts of
        the device idle, for longer if an item has more strips: with w waves of strips in total, c b/w is lost. The sum of both losses is
        lowest for b = sqrt(p w/c).
        """
        wave = hardware.multiprocessors * _RESIDENT_THREADS * self.pairs_per_thread * self.rows * longest
        lost = longest / self.rows * _STRIP_LAG
        lost_on_diagonal = _PADDING_FRACTION if self.diagonal_group() else 1
        return min(max(_MIN_BANDS, round(math.sqrt(lost_on_diagonal * cells / wave / lost))), _MAX_BANDS)

    def slots(self, layout: Layout, nbytes: int) -> int:
        return layout.slots if layout.slots * layout.slot_bytes <= nbytes else 0

    def lay_out_queue(self, arrays: Arrays, packed: int, threads: int, columns: int, schedule: Schedule) -> Layout:
        """Return the layout for items in schedule order. packed: bytes of the packed targets; columns: columns of the longest item."""
        strips = int(schedule.units[:, 1].max(initial=0)) + 1
        stride, edges, min_slots = columns * self.carry_count * threads, 0, 2
        if self.trace_kernel is not None:
            # Every item keeps its carries, `stride` values per strip, and its checkpoints.
            schedule = _own_slots(schedule)
            stride, edges, min_slots = strips * stride, strips * self.edge_values(columns) * threads, schedule.slot_count
        arrays["units"], arrays["slots"], arrays["before"] = schedule.units, schedule.slots, schedule.before
        return Layout(
            arrays,
            packed,
            threads,
            units=len(schedule.units),
            strips=strips,
            carry_stride=stride,
            carry_bytes=stride * self.carry_bytes,
            slots=schedule.slot_count,
            progress_bytes=4 * (strips + 1) * len(schedule.slots),
            min_slots=min_slots,
            edge_stride=edges,
            edge_bytes=edges * self.carry_bytes,
        )


def _own_slots(schedule: Schedule) -> Schedule:
    """Return the schedule with a separate slot for every item."""
    count = len(schedule.slots)  # 0 if no pair of a batch is selected
    slots, before = np.arange(count, dtype=np.int32), np.full(count, -1, dtype=np.int32)
    return replace(schedule, slots=slots, before=before, slot_count=max(1, count))


def group_maxima(numbers: npt.NDArray[np.int64], size: int) -> npt.NDArray[np.int64]:
    """Return the highest number in each group of `size` neighbours."""
    return np.maximum.reduceat(numbers, np.arange(0, len(numbers), size))


def group_offsets(counts: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Return the offsets of consecutive groups with these counts, followed by the total."""
    return np.concatenate(([0], np.cumsum(counts))).astype(np.int64)


def selected_items(arrays: Arrays, targets: npt.NDArray[np.int64], size: int) -> npt.NDArray[np.int32]:
    """Return block * queries + query for each (query, block of `size` targets) with a selected pair, longest queries and targets first."""
    first = arrays["first_targets"]
    last = group_maxima(targets, size)
    # Most blocks are selected for all queries, so only the others are examined.
    partial = np.flatnonzero(last < first.max())[::-1]
    pieces, stop = [], len(last)
    for block in partial.tolist():
        pieces += [_backwards(block + 1, stop, len(first)), _backwards(block, block + 1, len(first))[(first <= last[block])[::-1]]]
        stop = block
    return np.concatenate([*pieces, _backwards(0, stop, len(first))])


def _backwards(block: int, stop: int, queries: int) -> npt.NDArray[np.int32]:
    """Return all items of blocks `block` .. `stop` - 1, in descending order."""
    return np.arange(stop * queries - 1, block * queries - 1, -1, dtype=np.int32)


def pipeline(device_batch: DeviceBatch) -> np.void:
    """Return the pipeline arguments."""
    layout = device_batch.layout
    return arguments(
        structs.PIPELINE,
        next_unit=device_batch.queue,
        progress=device_batch.progress,
        carry_stride=layout.carry_stride,
        unit_count=layout.units,
        strips=layout.strips,
        **device_batch.addresses("units", "slots", "before"),
    )


def pack(device_batch: DeviceBatch, launcher: Launcher, kernel: Kernel, struct: np.dtype[np.void], units: int, **values: int) -> None:
    """Launch a kernel of pack.cu on the batch's targets."""
    filled = arguments(
        struct,
        codes=device_batch.arrays["target_codes"],
        offsets=device_batch.arrays["target_offsets"],
        targets=device_batch.arrays["targets"],
        target_count=device_batch.target_count,
        **values,
    )
    launcher.launch(kernel, min(units, 8 * launcher.multiprocessors), _PACK_THREADS, filled)
