"""Layout of a batch for a kernel family: the arrays to upload, and the memory that the kernel takes. Pure."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from gpualign.core.alignment.task import Task
from gpualign.core.common.dataclass import dataclass
from gpualign.gpu.alignment.batches import Batch
from gpualign.gpu.alignment.recipe import Recipe
from gpualign.gpu.alignment.strip_schedule import Schedule, make_schedule
from gpualign.gpu.kernels.argument_structs import Arrays, aligned


@dataclass(frozen=True)
class Layout:
    """A batch in the form that a kernel family reads.

    In a chain of warps an item is a pair, and each pair has a slot of its own; a launch takes as many pairs as fit.

    arrays: arrays that the host makes and uploads
    packed_bytes: size of the targets as packed by pack.cu
    threads: threads of a block
    units: strips of all items
    strips: strips of the longest item
    carry_stride: carries of one slot, in the kernel's units
    carry_bytes: carries of one slot, bytes
    slots: carry buffers
    progress_bytes: size of the flags of all strips
    min_slots: slots that the kernel needs at least
    edge_stride: checkpoints of one slot, kept for paths in addition to the carries, in the kernel's units
    edge_bytes: checkpoints of one slot, bytes
    matrices: number of matrices of directions, if the host traces
    matrix_stride: words of one matrix
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
    min_slots: int = 2
    edge_stride: int = 0
    edge_bytes: int = 0
    matrices: int = 0
    matrix_stride: int = 0

    @property
    def upload_bytes(self) -> int:
        return sum(aligned(a.nbytes) for a in self.arrays.values())

    @property
    def slot_bytes(self) -> int:
        return self.carry_bytes + self.edge_bytes

    @property
    def matrix_bytes(self) -> int:
        return 4 * self.matrices * self.matrix_stride

    @property
    def nbytes(self) -> int:
        """Device memory of a batch in addition to its carries and results."""
        return sum(aligned(size) for size in (self.upload_bytes, self.packed_bytes, self.progress_bytes))


@dataclass(frozen=True)
class DeviceCapacity:
    """Capacity of a device for a batch.

    blocks: returns how many blocks run at a time, from the threads of a block
    memory: bytes
    lanes: threads of a warp
    resident: whether the task's sequences are already on the device
    """

    blocks: Callable[[int], int]
    memory: int
    lanes: int
    resident: bool

    def scheduled(self, strips: npt.NDArray[np.int64], columns: npt.NDArray[np.int64], threads: int, carry_bytes: int) -> Schedule:
        """Return the schedule of a batch's items, with no more carry buffers than fit in half of the memory."""
        return make_schedule(strips, columns, max(1, min(self.blocks(threads), self.memory // (4 * carry_bytes))))


def shared_arrays(batch: Batch, recipe: Recipe, task: Task, resident: bool) -> Arrays:
    """Return the arrays that every family reads. If the sequences are not on the device, they include those of the batch."""
    tile, targets = batch.tile, batch.targets
    arrays: Arrays = {
        "queries": batch.queries.astype(np.int32),
        "rows": np.argsort(np.argsort(batch.rows)).astype(np.int32),
        "targets": targets.astype(np.int32),
        "first_targets": tile.pairing.first_targets(batch.queries).astype(np.int32),
        "target_lengths": task.targets.lengths[targets].astype(np.int32),
        "target_numbers": targets.astype(np.int32),
    }
    if task.top is not None:
        arrays["ranks"] = task.targets.ranks[targets].astype(np.int32)
    if recipe.usable is not None:
        arrays["usable"] = recipe.usable[[*range(recipe.letters), -1]]
    if not resident:
        for name, sequences, records in (("query", task.queries, batch.queries), ("target", task.targets, targets)):
            panel = sequences.gather(records)
            arrays[f"{name}_codes"], arrays[f"{name}_offsets"] = panel.text, panel.offsets
        arrays["queries"] = np.arange(len(batch.queries), dtype=np.int32)
        arrays["targets"] = np.arange(len(targets), dtype=np.int32)
    if recipe.form is not None:
        arrays["table"] = recipe.table()
    return arrays
