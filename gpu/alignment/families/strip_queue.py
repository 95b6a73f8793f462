"""What threads.cu and bitsliced.cu share: blocks that take the strips of items from a queue (cuda_src/alignment/pipeline.cuh), and packed
targets."""

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

_CHUNK = 128  # columns that a strip stays behind the one above it (cuda_src/alignment/pipeline.cuh), waiting included twice that
_RESIDENT = 512  # threads of a multiprocessor that work on strips, about
_STRIP_LAG = 1 / 50  # of a wave, that a strip ends behind the one above it, as measured (benchmarks/LOG.md)
_PADDING = 1 / 10  # of targets on the diagonal: 32 neighbours among genes of 16S rRNA
_FEWEST_BANDS, _MOST_BANDS = 4, 64
_PACK_THREADS = 256


@dataclass(frozen=True)
class Queued(Variant):
    """A variant of which a block computes many pairs at a time, strip by strip."""

    @abstractmethod
    def together(self, lanes: int) -> int:
        """Targets that run as long as the longest of them, where warps have so many lanes."""

    @abstractmethod
    def fewest_threads(self, lanes: int) -> int:
        """Of a block."""

    def clocks(self, queries: Lengths, targets: Lengths, hardware: Hardware) -> float:
        share = self.together(hardware.lanes)
        strips = -(-queries // self.rows)
        padded = float(greatest_of_each(targets, share).sum()) * share * float(strips.sum()) * self.rows
        columns = int(targets.max()) + int(strips.max()) * 2 * _CHUNK
        return max(padded / (self.rate * hardware.multiprocessors), columns * self.rows * self.latency)

    def kept_bytes(self, query: int, target: int, hardware: Hardware) -> int:
        """A block keeps the checkpoints of all its alignments."""
        strips, columns = -(-query // self.rows), target + 4
        values = strips * (columns * self.carries + self.edge_values(columns))
        return values * self.carry_bytes * self.fewest_threads(hardware.lanes)

    def diagonal_bands(self, cells: float, longest: int, hardware: Hardware) -> int:
        """Of b bands the squares on the diagonal are 1/b of all cells. Their lower halves are lost, or where groups of neighbouring targets
        are left out, what these are padded by. A batch ends with strips that run behind each other and leave parts of the device idle, the
        longer the more strips an item has: of w waves of strips in all, c b/w are lost. Where p/b is lost on the diagonal, both together
        are least where b is the root of p w/c."""
        wave = hardware.multiprocessors * _RESIDENT * self.pairs * self.rows * longest
        lost = longest / self.rows * _STRIP_LAG
        lost_on_diagonal = _PADDING if self.diagonal_group() else 1
        return min(max(_FEWEST_BANDS, round(math.sqrt(lost_on_diagonal * cells / wave / lost))), _MOST_BANDS)

    def slots(self, layout: Layout, nbytes: int) -> int:
        return layout.slots if layout.slots * layout.slot_bytes <= nbytes else 0

    def in_queue(self, arrays: Arrays, packed: int, threads: int, columns: int, schedule: Schedule) -> Layout:
        """The layout of items in the order of a schedule, `columns` of them the most."""
        strips = int(schedule.units[:, 1].max(initial=0)) + 1
        stride, edges, fewest = columns * self.carries * threads, 0, 2
        if self.trace is not None:
            # Every item keeps what it hands down, `stride` values a strip, and the edges of its tiles.
            schedule = _own_slots(schedule)
            stride, edges, fewest = strips * stride, strips * self.edge_values(columns) * threads, schedule.slot_count
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
            fewest_slots=fewest,
            edge_stride=edges,
            edge_bytes=edges * self.carry_bytes,
        )


def _own_slots(schedule: Schedule) -> Schedule:
    """A slot for every item."""
    count = len(schedule.slots)  # none, where no pair of a batch is wanted
    slots, before = np.arange(count, dtype=np.int32), np.full(count, -1, dtype=np.int32)
    return replace(schedule, slots=slots, before=before, slot_count=max(1, count))


def greatest_of_each(numbers: npt.NDArray[np.int64], size: int) -> npt.NDArray[np.int64]:
    """Of groups of `size` neighbours, the greatest of each."""
    return np.maximum.reduceat(numbers, np.arange(0, len(numbers), size))


def starts(counts: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Where each of these many things begins, and where the last ends."""
    return np.concatenate(([0], np.cumsum(counts))).astype(np.int64)


def selected_items(arrays: Arrays, targets: npt.NDArray[np.int64], size: int) -> npt.NDArray[np.int32]:
    """block * queries + query of every query and block of `size` targets with a wanted pair, the longest of both first."""
    first = arrays["first_targets"]
    last = greatest_of_each(targets, size)
    # Most blocks are wanted by all queries: only the others are looked at.
    partial = np.flatnonzero(last < first.max())[::-1]
    parts, stop = [], len(last)
    for block in partial.tolist():
        parts += [_backwards(block + 1, stop, len(first)), _backwards(block, block + 1, len(first))[(first <= last[block])[::-1]]]
        stop = block
    return np.concatenate([*parts, _backwards(0, stop, len(first))])


def _backwards(block: int, stop: int, queries: int) -> npt.NDArray[np.int32]:
    """All items of blocks `block` to before `stop`, from the last one on."""
    return np.arange(stop * queries - 1, block * queries - 1, -1, dtype=np.int32)


def pipeline(placed: DeviceBatch) -> np.void:
    """The arguments of the queue."""
    layout = placed.layout
    return arguments(
        structs.PIPELINE,
        next_unit=placed.queue,
        progress=placed.progress,
        carry_stride=layout.carry_stride,
        unit_count=layout.units,
        strips=layout.strips,
        **placed.of("units", "slots", "before"),
    )


def pack(placed: DeviceBatch, launcher: Launcher, kernel: Kernel, struct: np.dtype[np.void], units: int, **values: int) -> None:
    """Launch a kernel of pack.cu on the batch's targets."""
    filled = arguments(
        struct,
        codes=placed.arrays["target_codes"],
        offsets=placed.arrays["target_offsets"],
        targets=placed.arrays["targets"],
        target_count=placed.target_count,
        **values,
    )
    launcher.launch(kernel, min(units, 8 * launcher.multiprocessors), _PACK_THREADS, filled)
