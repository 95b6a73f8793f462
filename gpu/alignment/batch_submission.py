"""A batch on its way to the device: how much room it takes, and the order of its copies and kernels."""

from __future__ import annotations

from collections.abc import Mapping

from gpualign.core.common.dataclass import dataclass
from gpualign.gpu.alignment.batch_layout import Layout
from gpualign.gpu.alignment.batches import Batch
from gpualign.gpu.alignment.families.base import DeviceBatch, Variant
from gpualign.gpu.alignment.outputs.base import BatchOutput
from gpualign.gpu.alignment.recipe import Recipe
from gpualign.gpu.kernels.argument_structs import QUEUE_BYTES
from gpualign.gpu.runtime.device import OutOfMemory
from gpualign.gpu.runtime.stream_buffers import StreamBuffers


@dataclass(frozen=True)
class Job:
    """A batch and all that its kernel needs to know. resident: addresses of arrays that lie on the device for the whole task: the codes
    and offsets of all sequences, or none where the batch brings its own."""

    batch: Batch
    layout: Layout
    variant: Variant
    recipe: Recipe
    resident: Mapping[str, int]
    output: BatchOutput

    @property
    def fixed_bytes(self) -> int:
        """Device memory beside carries and checkpoints."""
        return self.layout.nbytes + self.output.device_bytes + QUEUE_BYTES

    @property
    def min_bytes(self) -> int:
        """Device memory that the batch takes at least."""
        return self.fixed_bytes + self.layout.fewest_slots * self.layout.slot_bytes

    def submit(self, slot: StreamBuffers, memory: int) -> None:
        """Put the batch on the slot's stream, within `memory` bytes. Raises `OutOfMemory`, with nothing launched.

        The slot marks when upload, kernels and download begin, and when the last ends.
        """
        layout, variant, output = self.layout, self.variant, self.output
        grid = min(slot.blocks(variant.kernel, layout.threads), max(1, layout.units))
        slots = variant.slots(layout, memory - self.fixed_bytes)
        if slots < 1:
            raise OutOfMemory(f"{memory:,} bytes do not hold a batch")
        carry_bytes, edge_bytes = slots * layout.carry_bytes, slots * layout.edge_bytes
        room = (memory - self.fixed_bytes) / max(1, carry_bytes + edge_bytes)  # for each byte of these
        placed = DeviceBatch(
            self.batch,
            layout,
            self.recipe,
            {**self.resident, **slot.stage(layout.arrays)},
            packed=slot.address("packed", layout.packed_bytes),
            carries=slot.address("carries", carry_bytes, most=int(room * carry_bytes)),
            edges=slot.address("edges", edge_bytes, most=int(room * edge_bytes)),
            slots=slots,
            scores=output.reserve(slot),
            queue=slot.address("queue", QUEUE_BYTES),
            progress=slot.address("progress", layout.progress_bytes),
            grid=grid,
        )
        way_back = output.way_back(slot, variant, placed)

        slot.begin()
        slot.upload("arrays", layout.upload_bytes)
        slot.fill(placed.queue, 0, QUEUE_BYTES)
        if layout.progress_bytes:
            slot.fill(placed.progress, 0, layout.progress_bytes)
        output.clear(slot, variant.clears)
        slot.mark()
        variant.launch(placed, slot, way_back)
        output.finish(slot, placed)
        slot.mark()
        output.download(slot)
        slot.mark()
