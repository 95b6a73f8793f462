"""The form in which a kernel family reads a batch: what is uploaded, and how much room the kernel takes. Pure."""

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
    """A batch in the form of a kernel family.

    arrays: what the host makes and uploads; packed_bytes: targets as pack.cu makes them; threads: of a block; units: strips of
    all items; strips: of the longest item; carry_stride, carry_bytes: of one slot, in the kernel's units and bytes; slots: carry
    buffers, of which the kernel needs fewest_slots; progress_bytes: flags of all strips; edge_stride, edge_bytes: of one slot,
    checkpoints of paths beside the carries. In a chain of warps an item is a pair, and so is a slot, of which a launch takes as
    many as fit. Where the host traces, matrices: of directions, and matrix_stride: words of one.
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
    fewest_slots: int = 2
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
        """Device memory of a batch beside its carries and results."""
        return sum(aligned(part) for part in (self.upload_bytes, self.packed_bytes, self.progress_bytes))


@dataclass(frozen=True)
class Room:
    """What a device offers a batch: blocks that run at a time (a function of their threads), bytes, lanes of a warp, and whether
    the task's sequences are already there."""

    blocks: Callable[[int], int]
    memory: int
    lanes: int
    resident: bool

    def scheduled(self, strips: npt.NDArray[np.int64], columns: npt.NDArray[np.int64], threads: int, carry_bytes: int) -> Schedule:
        """Of a batch's items, with no more carry buffers than half of the memory holds."""
        return make_schedule(strips, columns, max(1, min(self.blocks(threads), self.memory // (4 * carry_bytes))))


def shared_arrays(batch: Batch, recipe: Recipe, task: Task, resident: bool) -> Arrays:
    """What every family reads of a batch. Where the sequences are not on the device, it brings its own."""
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
