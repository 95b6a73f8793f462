"""Kernel family interface, and the types for laying out and launching a batch. Pure, apart from what a `Launcher` does."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Protocol

import numpy as np
import numpy.typing as npt

from gpualign.core.alignment.task import Task
from gpualign.core.common.dataclass import dataclass
from gpualign.core.planning.tile_plan import MIN_DIAGONAL_BANDS
from gpualign.gpu.alignment.batch_layout import DeviceCapacity, Layout, shared_arrays
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
    """Traceback step that follows each launch of an alignment kernel."""

    def trace(self, struct: np.dtype[np.void], forward_arguments: np.void, unit_count: int, **more: int) -> None:
        """Trace the paths of a launch with the arguments `forward_arguments`.

        struct: argument type of the variant's kernel `trace`; unit_count: units of the traceback's work, each for at most one block; more:
        kernel arguments in addition to `forward_arguments` and the path.
        """


@dataclass(frozen=True)
class DeviceBatch:
    """Batch with allocated memory; all addresses are device addresses.

    array_addresses: addresses of the layout's arrays, and of the codes and offsets of queries and targets
    packed_targets: memory for the targets as packed by pack.cu
    carries: carries for `slot_count` slots
    checkpoints: checkpoints for `slot_count` slots
    slot_count: carry buffers per launch
    progress_flags: progress flags of all strips
    max_blocks: maximum number of blocks
    """

    batch: Batch
    layout: Layout
    recipe: Recipe
    array_addresses: dict[str, int]
    packed_targets: int
    carries: int
    checkpoints: int
    slot_count: int
    scores: int
    queue: int
    progress_flags: int
    max_blocks: int

    @property
    def query_count(self) -> int:
        return len(self.batch.query_rows)

    @property
    def target_count(self) -> int:
        return len(self.batch.targets)

    def addresses(self, *names: str) -> dict[str, int]:
        """Return the addresses of the named arrays."""
        return {name: self.array_addresses[name] for name in names}

    @property
    def shared_arguments(self) -> dict[str, int]:
        """Arguments shared by all alignment kernels."""
        return {
            **self.addresses("query_codes", "query_offsets", "queries", "rows"),
            "carries": self.carries,
            "scores": self.scores,
            "target_count": self.target_count,
            "edges": self.checkpoints,
            "edge_stride": self.layout.checkpoint_stride,
        }


@dataclass(frozen=True)
class BatchDimensions:
    """Targets of a batch, and the sizes of its matrices.

    targets: record numbers of the targets, in tile order
    target_lengths: lengths of these targets
    query_strips: number of strips of each query
    """

    targets: npt.NDArray[np.int64]
    target_lengths: npt.NDArray[np.int64]
    query_strips: npt.NDArray[np.int64]


@dataclass(frozen=True)
class Variant(ABC):
    """A kernel with the properties that the host needs.

    title: human-readable name
    pairs_per_thread: targets per thread
    carry_count: values per column passed to the next strip
    carry_value_bytes: size of one of these values
    strip_rows: rows per strip (for one thread or lane)
    cells_per_clock: cells per clock per multiprocessor at full load
    clocks_per_row: clocks per row for one thread
    needs_clear_scores: whether scores must be 0 before the kernel runs
    trace_kernel: traceback kernel, if paths are requested
    checkpoint_interval: columns between two checkpoints
    direction_words: words of directions in memory per column of a strip; 0 if they are in shared memory
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
        """Return the estimated time for all pairs in a rectangle, in clocks.

        query_lengths, target_lengths: lengths; `target_lengths` in the order in which targets share items.
        """

    @abstractmethod
    def checkpoint_bytes(self, query_length: int, target_length: int, hardware: Hardware) -> int:
        """Return the bytes per block for the path checkpoints of alignments of these lengths; 0 if a block keeps only one pair's."""

    @abstractmethod
    def usable_slots(self, layout: Layout, nbytes: int) -> int:
        """Return how many carry buffers a launch uses within `nbytes` bytes; 0 if too few would fit."""

    @abstractmethod
    def lay_out_items(self, arrays: NamedArrays, dimensions: BatchDimensions, recipe: Recipe, capacity: DeviceCapacity) -> Layout:
        """Return the layout of a batch, with the family's own arrays in addition to `arrays`."""

    @abstractmethod
    def launch(self, device_batch: DeviceBatch, launcher: Launcher, traceback: Traceback) -> None:
        """Launch all kernels for a batch, up to the scores or paths."""

    def diagonal_band_count(self, cells: float, max_target_length: int, hardware: Hardware) -> int:
        """Return the minimum number of bands for one set with `cells` cells whose longest target has `max_target_length` columns."""
        return MIN_DIAGONAL_BANDS

    def diagonal_group_size(self) -> int:
        """Return how many of an item's targets are skipped together if a query needs none of them; 0 if none are skipped (`TileLimits`)."""
        return 0

    def trace_threads(self, layout: Layout) -> int:
        """Return the number of threads per traceback block."""
        return layout.threads

    def matrix_locations(self, batch: Batch, layout: Layout) -> tuple[npt.NDArray[np.int64], tuple[npt.NDArray[np.int64], ...]]:
        """Return the locations of the selected pairs' directions, int64[pairs][5] as expected by `walk_matrices`, and the pairs' rows and
        columns in the results.

        Implemented only by families with variants for host_traceback recipes.
        """
        raise NotImplementedError(self.title)

    def lay_out(self, batch: Batch, recipe: Recipe, task: Task, capacity: DeviceCapacity) -> Layout:
        """Return the layout of a batch, which includes the sequences if they are not on the device."""
        strips = -(-task.queries.lengths[batch.queries] // self.strip_rows)
        extent = BatchDimensions(batch.targets, task.targets.lengths[batch.targets], strips)
        return self.lay_out_items(shared_arrays(batch, recipe, task, capacity.sequences_resident), extent, recipe, capacity)

    def checkpoint_values(self, columns: int) -> int:
        """Return the number of values per thread in the checkpoints at the left edges of one strip's tiles."""
        return -(-columns // self.checkpoint_interval) * self.strip_rows * self.carry_count


class Family(Protocol):
    """Kernel family: a module of this package."""

    def variants(self, recipe: Recipe, max_query_length: int, max_target_length: int) -> Iterator[Variant]:
        """Yield the family's kernels that compute pairs of up to these lengths exactly, if any."""


def best_strip_rows(query_lengths: tuple[Lengths, Lengths], candidates: tuple[int, ...]) -> int:
    """Return the strip height from `candidates` that is fastest for the queries. query_lengths: (lengths, number of queries per length)."""
    lengths, counts = query_lengths

    def cost(rows: int) -> float:
        return float((-(-lengths // rows) * counts).sum()) * (rows + _STRIP_OVERHEAD_ROWS)

    return min(candidates, key=cost)
