"""Interface of a family of kernels, and the types with which it lays out and launches a batch. Pure, apart from what a `Launcher` does."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Protocol

import numpy as np
import numpy.typing as npt

from gpualign.core.alignment.task import Task
from gpualign.core.common.dataclass import dataclass
from gpualign.core.planning.tile_plan import DIAGONAL_BANDS
from gpualign.gpu.alignment.batch_layout import DeviceCapacity, Layout, shared_arrays
from gpualign.gpu.alignment.batches import Batch
from gpualign.gpu.alignment.recipe import Lengths, Recipe
from gpualign.gpu.kernels.argument_structs import Arrays
from gpualign.gpu.kernels.kernel import Hardware, Kernel

_STRIP_OVERHEAD = 3.0  # of a strip, in rows: its loads, stores and waiting


class Launcher(Protocol):
    """Stream of a device."""

    @property
    def multiprocessors(self) -> int: ...

    def fill(self, address: int, byte: int, nbytes: int) -> None: ...

    def launch(self, kernel: Kernel, grid: int, threads: int, filled: np.void) -> None: ...


class Traceback(Protocol):
    """Step after the launch of an alignment kernel."""

    def trace(self, struct: np.dtype[np.void], forward: np.void, units: int, **more: int) -> None:
        """Trace the paths of a launch with the arguments `forward`.

        struct: type of the arguments of the variant's kernel `trace`; units: units of its work, each for at most one block; more:
        arguments of that kernel in addition to `forward` and the path.
        """


@dataclass(frozen=True)
class DeviceBatch:
    """Batch whose memory is allocated, with addresses on the device.

    arrays: addresses of each array of the layout, and of the codes and offsets of queries and targets
    packed: memory for the targets as packed by pack.cu
    carries: carries of `slots` slots
    edges: checkpoints of `slots` slots
    slots: carry buffers of a launch
    progress: flags of all strips
    grid: largest number of blocks
    """

    batch: Batch
    layout: Layout
    recipe: Recipe
    arrays: dict[str, int]
    packed: int
    carries: int
    edges: int
    slots: int
    scores: int
    queue: int
    progress: int
    grid: int

    @property
    def query_count(self) -> int:
        return len(self.batch.rows)

    @property
    def target_count(self) -> int:
        return len(self.batch.targets)

    def of(self, *names: str) -> dict[str, int]:
        """Return the addresses of the named arrays."""
        return {name: self.arrays[name] for name in names}

    @property
    def shared(self) -> dict[str, int]:
        """Arguments that all alignment kernels share."""
        return {
            **self.of("query_codes", "query_offsets", "queries", "rows"),
            "carries": self.carries,
            "scores": self.scores,
            "target_count": self.target_count,
            "edges": self.edges,
            "edge_stride": self.layout.edge_stride,
        }


@dataclass(frozen=True)
class Extent:
    """Extent of a batch.

    targets: records of its targets, in the order of its tile
    columns: lengths of these targets
    strips: strips of each of its queries
    """

    targets: npt.NDArray[np.int64]
    columns: npt.NDArray[np.int64]
    strips: npt.NDArray[np.int64]


@dataclass(frozen=True)
class Variant(ABC):
    """A kernel with its properties that the host needs.

    title: human-readable name
    pairs: targets of a thread
    carries: values that a column hands to the next strip
    carry_bytes: size of one of these values
    rows: rows of a strip (of one thread or lane)
    rate: cells per clock of one multiprocessor at full load
    latency: clocks of a thread from one row to the next
    clears: whether scores must be 0 before the kernel runs
    trace: with paths, the kernel of the traceback
    tile: columns between two checkpoints
    words: words of directions in memory per column of a strip; 0 if they are in shared memory
    """

    kernel: Kernel
    title: str
    pairs: int
    carries: int
    carry_bytes: int
    rows: int
    rate: float
    latency: float
    clears: bool
    trace: Kernel | None = None
    tile: int = 1
    words: int = 0

    @abstractmethod
    def clocks(self, queries: Lengths, targets: Lengths, hardware: Hardware) -> float:
        """Return the estimated time of all pairs of a rectangle, in clocks.

        queries, targets: lengths; `targets` in the order in which they share items.
        """

    @abstractmethod
    def checkpoint_bytes(self, query: int, target: int, hardware: Hardware) -> int:
        """Return the bytes that a block keeps for the paths of alignments of these lengths, beyond those of one pair."""

    @abstractmethod
    def slots(self, layout: Layout, nbytes: int) -> int:
        """Return how many carry buffers a launch uses within `nbytes` bytes; 0 if too few would fit."""

    @abstractmethod
    def arrange(self, arrays: Arrays, extent: Extent, recipe: Recipe, capacity: DeviceCapacity) -> Layout:
        """Return the layout of a batch, with the family's own arrays in addition to `arrays`."""

    @abstractmethod
    def launch(self, device_batch: DeviceBatch, launcher: Launcher, traceback: Traceback) -> None:
        """Launch all kernels of a batch, up to its scores or its paths."""

    def diagonal_bands(self, cells: float, longest: int, hardware: Hardware) -> int:
        """Return the least number of bands of one set with `cells` cells, whose longest target has `longest` columns."""
        return DIAGONAL_BANDS

    def diagonal_group(self) -> int:
        """Return how many targets of an item are left out together if a query needs none of them; 0 if no targets are (`Limits`)."""
        return 0

    def trace_threads(self, layout: Layout) -> int:
        """Return the threads of a block of the traceback."""
        return layout.threads

    def matrix_places(self, batch: Batch, layout: Layout) -> tuple[npt.NDArray[np.int64], tuple[npt.NDArray[np.int64], ...]]:
        """Return where the directions of the selected pairs are: int64[pairs][5] as `walk_matrices` takes them, and the pairs' rows and
        columns in the results.

        Only families with variants for a recipe with host_traceback implement it.
        """
        raise NotImplementedError(self.title)

    def lay_out(self, batch: Batch, recipe: Recipe, task: Task, capacity: DeviceCapacity) -> Layout:
        """Return the layout of a batch. If the sequences are not on the device, the batch brings its own."""
        strips = -(-task.queries.lengths[batch.queries] // self.rows)
        extent = Extent(batch.targets, task.targets.lengths[batch.targets], strips)
        return self.arrange(shared_arrays(batch, recipe, task, capacity.resident), extent, recipe, capacity)

    def edge_values(self, columns: int) -> int:
        """Return how many values the checkpoints at the left edges of one strip's tiles have, for one thread."""
        return -(-columns // self.tile) * self.rows * self.carries


class Family(Protocol):
    """Module of this package."""

    def variants(self, recipe: Recipe, longest_query: int, longest_target: int) -> Iterator[Variant]:
        """Yield its kernels that compute pairs up to these lengths exactly, if any."""


def best_rows(queries: tuple[Lengths, Lengths], candidates: tuple[int, ...]) -> int:
    """Return the strip height, of `candidates`, that computes the queries in the least time. queries: (lengths, queries of each length)."""
    lengths, counts = queries

    def cost(rows: int) -> float:
        return float((-(-lengths // rows) * counts).sum()) * (rows + _STRIP_OVERHEAD)

    return min(candidates, key=cost)
