"""Submits a batch to the device: allocates the memory needed, and queues copies and kernels in order."""

from __future__ import annotations

from collections.abc import Mapping

from gpualign.core.common.dataclass import dataclass
from gpualign.gpu.alignment.batch_layout import BatchLayout
from gpualign.gpu.alignment.batches import Batch
from gpualign.gpu.alignment.families.base import DeviceBatch, KernelVariant
from gpualign.gpu.alignment.recipe import Recipe
from gpualign.gpu.alignment.results.base import BatchOutput
from gpualign.gpu.kernels.argument_structs import QUEUE_BYTES
from gpualign.gpu.runtime.device import OutOfMemory
from gpualign.gpu.runtime.stream_buffers import StreamBuffers


@dataclass(frozen=True)
class BatchSubmission:
    """A batch with everything that the kernel needs.

    resident_addresses: addresses of arrays that stay on the device for the whole task: the codes and offsets of all sequences, or none if
      the batch includes its own sequences
    """

    batch: Batch
    layout: BatchLayout
    variant: KernelVariant
    recipe: Recipe
    resident_addresses: Mapping[str, int]
    output: BatchOutput

    @property
    def fixed_bytes(self) -> int:
        """Device memory for the batch, in bytes, excluding slots."""
        return self.layout.nbytes + self.output.device_bytes + QUEUE_BYTES

    @property
    def min_bytes(self) -> int:
        """Minimum device memory for the batch, in bytes."""
        return self.fixed_bytes + self.layout.min_slots * self.layout.slot_bytes

    def submit(self, stream: StreamBuffers, max_bytes: int) -> None:
        """Queue the batch on the stream, using at most `max_bytes` bytes.

        Raises `OutOfMemory`, before anything is launched, if there is too little memory.

        The stream records an event before the upload, before the kernels, before the download, and after the download.
        """
        layout, variant, output = self.layout, self.variant, self.output
        grid = min(stream.resident_blocks(variant.kernel, layout.threads), max(1, layout.total_strips))
        slots = variant.usable_slot_count(layout, max_bytes - self.fixed_bytes)
        if slots < 1:
            raise OutOfMemory(f"{max_bytes:,} bytes are too few for a batch")
        carry_bytes, edge_bytes = slots * layout.carry_bytes, slots * layout.checkpoint_bytes
        ratio = (max_bytes - self.fixed_bytes) / max(1, carry_bytes + edge_bytes)  # available bytes per byte of carries and checkpoints
        device_batch = DeviceBatch(
            self.batch,
            layout,
            self.recipe,
            {**self.resident_addresses, **stream.stage(layout.arrays)},
            packed_targets_address=stream.address("packed", layout.packed_bytes),
            carries_address=stream.address("carries", carry_bytes, max_bytes=int(ratio * carry_bytes)),
            checkpoints_address=stream.address("edges", edge_bytes, max_bytes=int(ratio * edge_bytes)),
            slot_count=slots,
            scores_address=output.reserve(stream),
            queue_address=stream.address("queue", QUEUE_BYTES),
            progress_flags_address=stream.address("progress", layout.progress_bytes),
            max_blocks=grid,
        )
        traceback = output.traceback(stream, variant, device_batch)

        stream.begin_batch()
        stream.upload_staged()
        stream.fill(device_batch.queue_address, 0, QUEUE_BYTES)
        if layout.progress_bytes:
            stream.fill(device_batch.progress_flags_address, 0, layout.progress_bytes)
        output.clear(stream, variant.needs_clear_scores)
        stream.mark_event()
        variant.launch(device_batch, stream, traceback)
        output.finish(stream, device_batch)
        stream.mark_event()
        output.download(stream)
        stream.mark_event()
