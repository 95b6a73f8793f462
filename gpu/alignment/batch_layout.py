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
from gpualign.gpu.kernels.argument_structs import Arrays, aligned


@dataclass(frozen=True)
class Layout:
    """A batch in the format that a kernel family reads.

    In a chain of warps, an item is a pair, and each pair has its own slot; a launch processes as many pairs as fit.

    arrays: arrays that the host builds and uploads
    packed_bytes: size of the targets as packed by pack.cu
    threads: threads per block
    units: number of strips of all items
    strips: number of strips of the longest item
    carry_stride: carries per slot, in the kernel's units
    carry_bytes: carries per slot, bytes
    slots: number of carry buffers
    progress_bytes: size of the progress flags of all strips
    min_slots: minimum number of slots that the kernel needs
    edge_stride: checkpoints per slot, kept for paths in addition to the carries, in the kernel's units
    edge_bytes: checkpoints per slot, bytes
    matrices: number of direction matrices, if the host traces
    matrix_stride: words per matrix
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
    def slot_bytes(self) -> int:
        return self.carry_bytes + self.edge_bytes

    @property
    def matrix_bytes(self) -> int:
        return 4 * self.matrices * self.matrix_stride

    @property
    def nbytes(self) -> int:
        """Device memory for a batch in addition to carries and results, bytes."""
        return sum(aligned(size) for size in (*(array.nbytes for array in self.arrays.values()), self.packed_bytes, self.progress_bytes))


@dataclass(frozen=True)
class DeviceCapacity:
    """Device capacity for a batch.

    blocks: returns how many blocks run at a time, given the threads per block
    memory: bytes
    lanes: threads per warp
    resident: whether the task's sequences are already on the device
    """

    blocks: Callable[[int], int]
    memory: int
    lanes: int
    resident: bool

    def scheduled(self, strips: npt.NDArray[np.int64], columns: npt.NDArray[np.int64], threads: int, carry_bytes: int) -> Schedule:
        """Return the schedule for a batch's items, with no more carry buffers than fit in half of the memory."""
        return make_schedule(strips, columns, max(1, min(self.blocks(threads), self.memory // (4 * carry_bytes))))


def shared_arrays(batch: Batch, recipe: Recipe, task: Task, resident: bool) -> Arrays:
    """Return the arrays that every family reads, including the batch's sequences if the sequences are not on the device."""
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
