"""Parts shared by the kernel families in chain.cu and chain_edit.cu: chains of warps, one warp per strip of a pair, and their arguments."""

from __future__ import annotations

from abc import abstractmethod

from gpualign.core.common.dataclass import dataclass
from gpualign.gpu.alignment.batch_layout import DeviceCapacity, Layout
from gpualign.gpu.alignment.families.base import DeviceBatch, Extent, Launcher, Traceback, Variant
from gpualign.gpu.alignment.recipe import Lengths, Recipe
from gpualign.gpu.kernels import argument_structs as structs
from gpualign.gpu.kernels.argument_structs import QUEUE_BYTES, Arrays, arguments
from gpualign.gpu.kernels.kernel import Hardware

SHARED_BYTES = 48 << 10
"""Shared memory that a block has without requesting any, bytes."""

_MAX_UNITS = 10**9  # strips of a launch: they are counted in 32 bits, and a counter that has been told to stop is larger


@dataclass(frozen=True)
class WarpChainBase(Variant):
    """Variant with one warp per strip of a pair.

    warps: warps per block
    blocks: blocks per multiprocessor
    lag: columns by which a lane trails the preceding lane
    gap: columns by which the first lane of a strip trails the last lane of the strip above
    """

    warps: int = 1
    blocks: int = 1
    lag: int = 1
    gap: int = 0

    @abstractmethod
    def handed_down_words(self, columns: int) -> int:
        """Return the size of a pair's handed-down carries, in 32-bit words. Each strip overwrites the carries of the strip above."""

    def grid(self, pairs: int, strips: int, multiprocessors: int) -> int:
        """Return the maximum useful number of blocks for `pairs` pairs of up to `strips` strips."""
        return min(self.blocks * multiprocessors, -(-pairs * strips // self.warps))

    def clocks(self, queries: Lengths, targets: Lengths, hardware: Hardware) -> float:
        """Return the larger of two estimates: all strips at full rate, and the longest pair, with each strip trailing the strip above."""
        height = hardware.lanes * self.rows
        strips = -(-queries // height)
        columns = float(strips.sum()) * float(targets.sum() + len(targets) * hardware.lanes * self.lag)
        followers = min(int(strips.max()), self.warps * self.blocks * hardware.multiprocessors)
        chain = int(targets.max()) + followers * (hardware.lanes * self.lag + self.gap)
        return max(columns * height / (self.rate * hardware.multiprocessors), chain * self.rows * self.latency)

    def checkpoint_bytes(self, query: int, target: int, hardware: Hardware) -> int:
        """Return 0, because a block keeps only the checkpoints of one pair."""
        return 0

    def slots(self, layout: Layout, nbytes: int) -> int:
        """Return how many pairs fit in `nbytes` bytes; the rest need additional launches."""
        return max(0, min(layout.slots, nbytes // layout.slot_bytes, _MAX_UNITS // layout.strips))

    def arrange(self, arrays: Arrays, extent: Extent, recipe: Recipe, capacity: DeviceCapacity) -> Layout:
        strips = int(-(-extent.strips.max() // capacity.lanes))
        columns = -(-int(extent.columns.max()) // capacity.lanes) * capacity.lanes
        stored_strips = strips if recipe.paths else 0
        edges = strips * capacity.lanes * self.edge_values(columns) if recipe.paths else 0
        pairs = len(extent.strips) * len(extent.targets)
        return Layout(
            arrays,
            0,
            self.warps * capacity.lanes,
            units=pairs * strips,
            strips=strips,
            carry_stride=columns,
            carry_bytes=stored_strips * columns * self.carry_count * self.carry_bytes + 4 * self.handed_down_words(columns),
            slots=pairs,
            progress_bytes=0,
            edge_stride=edges,
            edge_bytes=edges * self.carry_bytes,
        )

    def launch(self, device_batch: DeviceBatch, launcher: Launcher, traceback: Traceback) -> None:
        """Launch the kernel several times, each time for as many pairs as there are slots."""
        layout, pairs = device_batch.layout, device_batch.slots
        handed_bytes = 4 * self.handed_down_words(layout.carry_stride)
        handed_down = device_batch.carries + pairs * (layout.carry_bytes - handed_bytes)
        total = device_batch.batch.pairs
        for first in range(0, total, pairs):
            count = min(pairs, total - first)
            launcher.fill(handed_down, 0, count * handed_bytes)
            if first:
                launcher.fill(device_batch.queue, 0, QUEUE_BYTES)
            filled = arguments(
                structs.CHAIN,
                **device_batch.shared_arguments,
                **device_batch.addresses("first_targets", "target_codes", "target_offsets", "targets", "target_numbers"),
                next_item=device_batch.queue,
                carry_stride=layout.carry_stride,
                table=device_batch.arrays.get("table", 0),  # edit distances have none
                handed_down=handed_down,
                first_pair=first,
                pairs=count,
                strips=layout.strips,
                one=1,
            )
            grid = min(device_batch.grid, self.grid(count, layout.strips, launcher.multiprocessors))
            launcher.launch(self.kernel, grid, layout.threads, filled)
            traceback.trace(structs.TRACE_CHAIN, filled, count)
