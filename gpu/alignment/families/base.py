"""Interface of kernel families, and the types for laying out and launching a batch. Pure, apart from what a `Launcher` does."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Protocol

import numpy as np
import numpy.typing as npt

from gpualign.core.alignment.task import Task
from gpualign.core.common.dataclass import dataclass
from gpualign.core.planning.tile_plan import MIN_DIAGONAL_BANDS
from gpualign.gpu.alignment.batch_layout import BatchLayout, DeviceCapacity, shared_arrays
from gpualign.gpu.alignment.batches import Batch
from gpualign.gpu.alignment.recipe import Lengths, Recipe
from gpualign.gpu.kernels.argument_structs import NamedArrays
from gpualign.gpu.kernels.kernel import Hardware, Kernel

_STRIP_OVERHEAD_ROWS = 3.0  # of a strip, in rows: its loads, stores and waiting


class Launcher(Protocol):
    """Fills memory and launches kernels on a device stream."""

    @property
    def multiprocessor_count(self) -> int: ...

    def fill(self, address: int, byte: int, nbytes: int) -> None: ...

    def launch(self, kernel: Kernel, grid: int, threads: int, arguments: np.void) -> None: ...


class Traceback(Protocol):
    """Step that traces paths after each launch of an alignment kernel."""

    def trace(self, struct: np.dtype[np.void], forward_arguments: np.void, unit_count: int, **more: int) -> None:
        """Trace the paths of the pairs that the last launch has computed.

        struct: type of the traceback kernel's arguments
        forward_arguments: arguments of the alignment kernel in that launch
        unit_count: maximum number of blocks that can share the work
        more: arguments of the traceback kernel in addition to `forward_arguments` and the path arguments
        """


@dataclass(frozen=True)
class DeviceBatch:
    """Batch with allocated memory; all addresses are device addresses.

    array_addresses: addresses of the layout's arrays, and of the codes and offsets of queries and targets
    packed_targets_address: memory for the targets as packed by pack.cu
    carries_address: carries of all slots
    checkpoints_address: path checkpoints of all slots
    slot_count: number of slots that a launch uses
    scores_address: memory to which the alignment kernel writes scores
    queue_address: counter of the units that blocks have taken
    progress_flags_address: progress flags of all strips
    max_blocks: maximum number of blocks per launch
    """

    batch: Batch
    layout: BatchLayout
    recipe: Recipe
    array_addresses: dict[str, int]
    packed_targets_address: int
    carries_address: int
    checkpoints_address: int
    slot_count: int
    scores_address: int
    queue_address: int
    progress_flags_address: int
    max_blocks: int

    @property
    def query_count(self) -> int:
        return len(self.batch.query_rows)

    @property
    def target_count(self) -> int:
        return len(self.batch.targets)

    def addresses(self, *names: str) -> dict[str, int]:
        """Return the addresses of the named arrays, by name."""
        return {name: self.array_addresses[name] for name in names}

    @property
    def shared_arguments(self) -> dict[str, int]:
        """Arguments that all alignment kernels take."""
        return {
            **self.addresses("query_codes", "query_offsets", "queries", "rows"),
            "carries": self.carries_address,
            "scores": self.scores_address,
            "target_count": self.target_count,
            "edges": self.checkpoints_address,
            "edge_stride": self.layout.checkpoint_stride,
        }


@dataclass(frozen=True)
class BatchDimensions:
    """Targets of a batch, and the sizes of its pairs' matrices.

    targets: record numbers of the targets, in tile order
    target_lengths: lengths of these targets
    query_lengths: length of each query
    """

    targets: npt.NDArray[np.int64]
    target_lengths: npt.NDArray[np.int64]
    query_lengths: npt.NDArray[np.int64]


@dataclass(frozen=True)
class KernelVariant(ABC):
    """A kernel with the properties that the host needs.

    title: human-readable name
    pairs_per_thread: targets per thread
    carry_count: number of values per column that a strip passes to the next strip
    carry_value_bytes: size of one of these values
    strip_rows: rows per strip (for one thread or lane)
    cells_per_clock: DP cells per clock per multiprocessor at full load
    clocks_per_row: clocks per row for one thread
    needs_clear_scores: whether scores must be 0 before the kernel runs
    trace_kernel: traceback kernel, if paths are requested
    checkpoint_interval: columns between two path checkpoints
    direction_words: 32-bit words of device memory for the traceback directions of one column of a strip; 0 if directions are kept in
        shared memory
    """

    kernel: Kernel
    title: str
    pairs_per_thread: int
    carry_count: int
    carry_value_bytes: int
    strip_rows: int
    cells_per_clock: float
    clocks_per_row: float
    needs_clear_scores: bool
    trace_kernel: Kernel | None = None
    checkpoint_interval: int = 1
    direction_words: int = 0

    @abstractmethod
    def estimate_clocks(self, query_lengths: Lengths, target_lengths: Lengths, hardware: Hardware) -> float:
        """Return the estimated time for all pairs of the queries and the targets, in clocks.

        query_lengths: length of each query
        target_lengths: length of each target, in tile order; an item contains adjacent targets
        """

    @abstractmethod
    def min_slot_bytes(self, query_length: int, target_length: int, hardware: Hardware) -> int:
        """Return the device memory, in bytes, that one block needs for the carries and path checkpoints of its pairs.

                Kernel variants in which a block computes only one pair at a time return 0.

        query_length, target_length: maximum lengths of the pairs
        """

    @abstractmethod
    def usable_slot_count(self, layout: BatchLayout, nbytes: int) -> int:
        """Return how many slots a launch uses if `nbytes` bytes are available; 0 if this is too little for the kernel."""

    @abstractmethod
    def lay_out_items(self, arrays: NamedArrays, dimensions: BatchDimensions, recipe: Recipe, capacity: DeviceCapacity) -> BatchLayout:
        """Return the layout of a batch, with the family's own arrays in addition to `arrays`."""

    @abstractmethod
    def launch(self, device_batch: DeviceBatch, launcher: Launcher, traceback: Traceback) -> None:
        """Launch all kernels that compute the scores and, if requested, the paths of a batch."""

    def diagonal_band_count(self, cells: float, max_target_length: int, hardware: Hardware) -> int:
        """Return the minimum number of bands for comparing one set with itself.

        cells: total number of DP cells
        max_target_length: length of the longest target
        """
        return MIN_DIAGONAL_BANDS

    def diagonal_group_size(self) -> int:
        """Return the number of adjacent targets that are skipped together if a query needs none of them; 0 if the kernel never skips
        targets.

        Used as `TileLimits.diagonal_group_size`.
        """
        return 0

    def trace_threads(self, layout: BatchLayout) -> int:
        """Return the number of threads per traceback block."""
        return layout.threads

    def matrix_locations(self, batch: Batch, layout: BatchLayout) -> tuple[npt.NDArray[np.int64], tuple[npt.NDArray[np.int64], ...]]:
        """Return (locations of the direction matrices of the selected pairs, (rows, columns) of these pairs in the results).

        The first array is int64[pairs][5]: query record, target record, first word of the matrix, thread in the block, columns of the item.
        Implemented only by kernel variants that support `Recipe.host_traceback`.
        """
        raise NotImplementedError(self.title)

    def lay_out(self, batch: Batch, recipe: Recipe, task: Task, capacity: DeviceCapacity) -> BatchLayout:
        """Return the layout of a batch, which includes the batch's sequences unless the task's sequences are already on the device."""
        extent = BatchDimensions(batch.targets, task.targets.lengths[batch.targets], task.queries.lengths[batch.queries])
        return self.lay_out_items(shared_arrays(batch, recipe, task, capacity.sequences_resident), extent, recipe, capacity)

    def strip_counts(self, query_lengths: Lengths) -> Lengths:
        """Return the number of strips of each query, for one thread or lane."""
        return -(-query_lengths // self.strip_rows)

    def checkpoint_value_count(self, columns: int) -> int:
        """Return how many values one thread stores in the path checkpoints of a strip with `columns` columns."""
        return -(-columns // self.checkpoint_interval) * self.strip_rows * self.carry_count


class KernelFamily(Protocol):
    """Kernel family: a module of this package."""

    def kernel_variants(self, recipe: Recipe, max_query_length: int, max_target_length: int) -> Iterator[KernelVariant]:
        """Yield the family's kernels that compute pairs of up to these lengths exactly, if any."""


def best_strip_rows(query_lengths: tuple[Lengths, Lengths], candidates: tuple[int, ...]) -> int:
    """Return the strip height from `candidates` that is fastest for the queries. query_lengths: (lengths, number of queries per length)."""
    lengths, counts = query_lengths

    def cost(rows: int) -> float:
        return float((-(-lengths // rows) * counts).sum()) * (rows + _STRIP_OVERHEAD_ROWS)

    return min(candidates, key=cost)
