"""Layout of a batch for a kernel family: the arrays to upload, and the memory that the kernel needs. Pure."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from gpualign.core.alignment.task import Task
from gpualign.core.common.dataclass import dataclass
from gpualign.gpu.alignment.batches import Batch
from gpualign.gpu.alignment.recipe import Recipe
from gpualign.gpu.alignment.strip_schedule import Schedule, make_schedule
from gpualign.gpu.kernels.argument_structs import NamedArrays, aligned_bytes


@dataclass(frozen=True)
class BatchLayout:
    """A batch in the format that a kernel family reads.

    If the kernel uses chains of warps, each pair has its own slot. Memory then limits the number of slots, and thus the number of pairs per
    launch.

    arrays: arrays that the host builds and uploads
    packed_bytes: size of the targets as packed by pack.cu
    threads: threads per block
    total_strips: number of strips of all items
    max_strips: number of strips of the longest item
    carry_stride: carries per slot, in a unit that depends on the kernel
    carry_bytes: size of the carries of one slot
    slot_count: number of slots
    progress_bytes: size of the progress flags of all strips
    min_slots: minimum number of slots that the kernel needs
    checkpoint_stride: number of values in the path checkpoints of one slot
    checkpoint_bytes: size of the path checkpoints of one slot
    matrix_count: number of direction matrices if the host traces paths, otherwise 0
    matrix_stride: 32-bit words per direction matrix
    """

    arrays: NamedArrays
    packed_bytes: int
    threads: int
    total_strips: int
    max_strips: int
    carry_stride: int
    carry_bytes: int
    slot_count: int
    progress_bytes: int
    min_slots: int = 2
    checkpoint_stride: int = 0
    checkpoint_bytes: int = 0
    matrix_count: int = 0
    matrix_stride: int = 0

    @property
    def slot_bytes(self) -> int:
        return self.carry_bytes + self.checkpoint_bytes

    @property
    def matrix_bytes(self) -> int:
        return 4 * self.matrix_count * self.matrix_stride

    @property
    def nbytes(self) -> int:
        """Device memory for a batch, in bytes, excluding slots and results."""
        return sum(
            aligned_bytes(size) for size in (*(array.nbytes for array in self.arrays.values()), self.packed_bytes, self.progress_bytes)
        )


@dataclass(frozen=True)
class DeviceCapacity:
    """Capacity of a device for a batch.

    count_resident_blocks: returns how many blocks the device runs concurrently, given the threads per block
    memory_bytes: memory for the batch
    warp_lanes: threads per warp
    sequences_resident: whether the task's sequences are already on the device
    """

    count_resident_blocks: Callable[[int], int]
    memory_bytes: int
    warp_lanes: int
    sequences_resident: bool

    def schedule(self, strips: npt.NDArray[np.int64], columns: npt.NDArray[np.int64], threads: int, carry_bytes: int) -> Schedule:
        """Return the schedule for a batch's items, with no more slots than fit in half of the memory.

        strips, columns: number of strips and of columns of each item, in order of decreasing cost
        threads: threads per block
        carry_bytes: size of the carries of one slot
        """
        return make_schedule(strips, columns, max(1, min(self.count_resident_blocks(threads), self.memory_bytes // (4 * carry_bytes))))


def shared_arrays(batch: Batch, recipe: Recipe, task: Task, sequences_resident: bool) -> NamedArrays:
    """Return the arrays that every family reads, including the batch's sequences unless the task's sequences are already on the device."""
    tile, targets = batch.tile, batch.targets
    arrays: NamedArrays = {
        "queries": batch.queries.astype(np.int32),
        "rows": np.argsort(np.argsort(batch.query_rows)).astype(np.int32),
        "targets": targets.astype(np.int32),
        "first_targets": tile.pairing.first_targets(batch.queries).astype(np.int32),
        "target_lengths": task.targets.lengths[targets].astype(np.int32),
        "target_numbers": targets.astype(np.int32),
    }
    if task.top_count is not None:
        arrays["ranks"] = task.targets.file_positions[targets].astype(np.int32)
    if recipe.usable_pair_bits is not None:
        arrays["usable"] = recipe.usable_pair_bits[[*range(recipe.letter_count), -1]]
    if not sequences_resident:
        for name, sequences, records in (("query", task.queries, batch.queries), ("target", task.targets, targets)):
            panel = sequences.gather(records)
            arrays[f"{name}_codes"], arrays[f"{name}_offsets"] = panel.text, panel.offsets
        arrays["queries"] = np.arange(len(batch.queries), dtype=np.int32)
        arrays["targets"] = np.arange(len(targets), dtype=np.int32)
    if recipe.rebased_form is not None:
        arrays["table"] = recipe.make_score_table()
    return arrays
