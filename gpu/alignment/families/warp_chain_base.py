"""What chain.cu and chain_edit.cu share: warps that work on one pair, a strip each, and their struct of arguments."""

from __future__ import annotations

from abc import abstractmethod

from gpualign.core.common.dataclass import dataclass
from gpualign.gpu.alignment.batch_layout import Layout, Room
from gpualign.gpu.alignment.families.base import DeviceBatch, Extent, Launcher, Traceback, Variant
from gpualign.gpu.alignment.recipe import Lengths, Recipe
from gpualign.gpu.kernels import argument_structs as structs
from gpualign.gpu.kernels.argument_structs import QUEUE_BYTES, Arrays, arguments
from gpualign.gpu.kernels.kernel import Hardware

SHARED_BYTES = 48 << 10
"""Of a block, without asking for more."""

_MOST_UNITS = 10**9  # of a launch: they are counted in 32 bits, and a counter that was told to stop is larger


@dataclass(frozen=True)
class Chained(Variant):
    """A variant of which a pair has a warp a strip.

    warps: of a block; blocks: that a multiprocessor runs; lag: columns that a lane is behind the one before it; gap: columns that the first
    lane of a strip is behind the last of the strip above it.
    """

    warps: int = 1
    blocks: int = 1
    lag: int = 1
    gap: int = 0

    @abstractmethod
    def handed_words(self, columns: int) -> int:
        """What the strips of a pair hand down, in words of 32 bits: each takes the place of the one above it."""

    def grid(self, pairs: int, strips: int, multiprocessors: int) -> int:
        """Blocks at most, for so many pairs of up to so many strips."""
        return min(self.blocks * multiprocessors, -(-pairs * strips // self.warps))

    def clocks(self, queries: Lengths, targets: Lengths, hardware: Hardware) -> float:
        """What all strips take by turns, or the longest pair, of which strips follow each other."""
        height = hardware.lanes * self.rows
        strips = -(-queries // height)
        columns = float(strips.sum()) * float(targets.sum() + len(targets) * hardware.lanes * self.lag)
        followers = min(int(strips.max()), self.warps * self.blocks * hardware.multiprocessors)
        chain = int(targets.max()) + followers * (hardware.lanes * self.lag + self.gap)
        return max(columns * height / (self.rate * hardware.multiprocessors), chain * self.rows * self.latency)

    def kept_bytes(self, query: int, target: int, hardware: Hardware) -> int:
        """Nothing beyond the checkpoints of one pair."""
        return 0

    def slots(self, layout: Layout, nbytes: int) -> int:
        """As many pairs as fit; there may be several launches."""
        return max(0, min(layout.slots, nbytes // layout.slot_bytes, _MOST_UNITS // layout.strips))

    def arrange(self, arrays: Arrays, extent: Extent, recipe: Recipe, room: Room) -> Layout:
        strips = int(-(-extent.strips.max() // room.lanes))
        columns = -(-int(extent.columns.max()) // room.lanes) * room.lanes
        kept = strips if recipe.paths else 0
        edges = strips * room.lanes * self.edge_values(columns) if recipe.paths else 0
        pairs = len(extent.strips) * len(extent.targets)
        return Layout(
            arrays,
            0,
            self.warps * room.lanes,
            units=pairs * strips,
            strips=strips,
            carry_stride=columns,
            carry_bytes=kept * columns * self.carries * self.carry_bytes + 4 * self.handed_words(columns),
            slots=pairs,
            progress_bytes=0,
            edge_stride=edges,
            edge_bytes=edges * self.carry_bytes,
        )

    def launch(self, placed: DeviceBatch, launcher: Launcher, way_back: Traceback) -> None:
        """Launches of as many pairs as there are slots, one after the other."""
        layout, pairs = placed.layout, placed.slots
        handed_bytes = 4 * self.handed_words(layout.carry_stride)
        handed_down = placed.carries + pairs * (layout.carry_bytes - handed_bytes)
        total = placed.batch.pairs
        for first in range(0, total, pairs):
            count = min(pairs, total - first)
            launcher.fill(handed_down, 0, count * handed_bytes)
            if first:
                launcher.fill(placed.queue, 0, QUEUE_BYTES)
            filled = arguments(
                structs.CHAIN,
                **placed.shared,
                **placed.of("first_targets", "target_codes", "target_offsets", "targets", "target_numbers"),
                next_item=placed.queue,
                carry_stride=layout.carry_stride,
                table=placed.arrays.get("table", 0),  # edit distances have none
                handed_down=handed_down,
                first_pair=first,
                pairs=count,
                strips=layout.strips,
                one=1,
            )
            grid = min(placed.grid, self.grid(count, layout.strips, launcher.multiprocessors))
            launcher.launch(self.kernel, grid, layout.threads, filled)
            way_back.trace(structs.TRACE_CHAIN, filled, count)
