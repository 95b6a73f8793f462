"""Parts shared by the kernel families in chain.cu and chain_edit.cu, in which a chain of warps computes each pair, one warp per strip."""

from __future__ import annotations

from abc import abstractmethod

from gpualign.core.common.dataclass import dataclass
from gpualign.gpu.alignment.batch_layout import BatchLayout, DeviceCapacity
from gpualign.gpu.alignment.families.base import BatchDimensions, DeviceBatch, KernelVariant, Launcher, Traceback
from gpualign.gpu.alignment.recipe import Lengths, Recipe
from gpualign.gpu.kernels import argument_structs as structs
from gpualign.gpu.kernels.argument_structs import QUEUE_BYTES, NamedArrays, pack_arguments
from gpualign.gpu.kernels.kernel import Hardware

DEFAULT_SHARED_BYTES = 48 << 10
"""Shared memory, in bytes, that a block may use without a request to the driver."""

MAX_STRIPS_PER_LAUNCH = 10**9  # strips of a launch: they are counted in 32 bits, and a counter that has been told to stop is larger


@dataclass(frozen=True)
class WarpChainBaseVariant(KernelVariant):
    """Variant with one warp per strip of a pair.

    warps_per_block: warps per block
    blocks_per_sm: blocks per multiprocessor
    lane_lag: columns by which a lane trails the preceding lane
    strip_gap: columns by which the first lane of a strip trails the last lane of the strip above
    """

    warps_per_block: int = 1
    blocks_per_sm: int = 1
    lane_lag: int = 1
    strip_gap: int = 0

    @abstractmethod
    def carry_words(self, columns: int) -> int:
        """Return the size, in 32-bit words, of the carries that a pair's strips hand down.

        Each strip overwrites the carries that it has read.
        """

    def max_useful_blocks(self, pairs: int, strips: int, multiprocessor_count: int) -> int:
        """Return how many blocks can work concurrently on `pairs` pairs of up to `strips` strips."""
        return min(self.blocks_per_sm * multiprocessor_count, -(-pairs * strips // self.warps_per_block))

    def estimate_clocks(self, query_lengths: Lengths, target_lengths: Lengths, hardware: Hardware) -> float:
        """Return the larger of two estimates: the time of all strips at full rate, and the time of the longest pair, in which each strip
        trails the strip above."""
        height = hardware.warp_lanes * self.strip_rows
        strips = -(-query_lengths // height)
        columns = float(strips.sum()) * float(target_lengths.sum() + len(target_lengths) * hardware.warp_lanes * self.lane_lag)
        chain = int(target_lengths.max()) + int(strips.max()) * (hardware.warp_lanes * self.lane_lag + self.strip_gap)
        return max(columns * height / (self.cells_per_clock * hardware.multiprocessor_count), chain * self.strip_rows * self.clocks_per_row)

    def min_slot_bytes(self, query_length: int, target_length: int, hardware: Hardware) -> int:
        """Return 0, because a block computes only one pair at a time."""
        return 0

    def usable_slot_count(self, layout: BatchLayout, nbytes: int) -> int:
        """Return the number of pairs whose slots fit in `nbytes` bytes. The remaining pairs need additional launches."""
        return max(0, min(layout.slot_count, nbytes // layout.slot_bytes, MAX_STRIPS_PER_LAUNCH // layout.max_strips))

    def lay_out_items(self, arrays: NamedArrays, dimensions: BatchDimensions, recipe: Recipe, capacity: DeviceCapacity) -> BatchLayout:
        strips = int(-(-self.strip_counts(dimensions.query_lengths).max() // capacity.warp_lanes))
        columns = -(-int(dimensions.target_lengths.max()) // capacity.warp_lanes) * capacity.warp_lanes
        stored_strips = strips if recipe.needs_paths else 0
        edges = strips * capacity.warp_lanes * self.checkpoint_value_count(columns) if recipe.needs_paths else 0
        pairs = len(dimensions.query_lengths) * len(dimensions.targets)
        return BatchLayout(
            arrays,
            0,
            self.warps_per_block * capacity.warp_lanes,
            total_strips=pairs * strips,
            max_strips=strips,
            carry_stride=columns,
            carry_bytes=stored_strips * columns * self.carry_count * self.carry_value_bytes + 4 * self.carry_words(columns),
            slot_count=pairs,
            progress_bytes=0,
            checkpoint_stride=edges,
            checkpoint_bytes=edges * self.carry_value_bytes,
        )

    def launch(self, device_batch: DeviceBatch, launcher: Launcher, traceback: Traceback) -> None:
        """Launch the kernel as often as necessary to compute all pairs. Each launch computes one pair per slot."""
        layout, pairs = device_batch.layout, device_batch.slot_count
        handed_bytes = 4 * self.carry_words(layout.carry_stride)
        handed_down = device_batch.carries_address + pairs * (layout.carry_bytes - handed_bytes)
        for first in range(0, layout.slot_count, pairs):
            count = min(pairs, layout.slot_count - first)
            launcher.fill(handed_down, 0, count * handed_bytes)
            if first:
                launcher.fill(device_batch.queue_address, 0, QUEUE_BYTES)
            filled = pack_arguments(
                structs.CHAIN_ARGS,
                **device_batch.shared_arguments,
                **device_batch.addresses("first_targets", "target_codes", "target_offsets", "targets", "target_numbers"),
                next_item=device_batch.queue_address,
                carry_stride=layout.carry_stride,
                # Not every kernel has these.
                **{name: device_batch.array_addresses.get(name, 0) for name in ("table", "columns", "query_windows", "target_windows")},
                target_window_count=len(layout.arrays["targets"]),
                handed_down=handed_down,
                first_pair=first,
                pairs=count,
                strips=layout.max_strips,
                one=1,
            )
            grid = min(device_batch.max_blocks, self.max_useful_blocks(count, layout.max_strips, launcher.multiprocessor_count))
            launcher.launch(self.kernel, grid, layout.threads, filled)
            traceback.trace(structs.TRACE_CHAIN_ARGS, filled, count)
