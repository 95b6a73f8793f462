"""What every family of kernels has, and what it is given to lay out and to launch a batch. Pure, apart from what a `Launcher` does."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Protocol

import numpy as np
import numpy.typing as npt

from gpualign.core.alignment.task import Task
from gpualign.core.common.dataclass import dataclass
from gpualign.core.planning.tile_plan import DIAGONAL_BANDS
from gpualign.gpu.alignment.batch_layout import Layout, Room, shared_arrays
from gpualign.gpu.alignment.batches import Batch
from gpualign.gpu.alignment.recipe import Lengths, Recipe
from gpualign.gpu.kernels.argument_structs import Arrays
from gpualign.gpu.kernels.kernel import Hardware, Kernel

_STRIP_OVERHEAD = 3.0  # of a strip, in rows: its share of loads, stores and waiting


class Launcher(Protocol):
    """A stream of a device."""

    @property
    def multiprocessors(self) -> int: ...

    def fill(self, address: int, byte: int, nbytes: int) -> None: ...

    def launch(self, kernel: Kernel, grid: int, threads: int, filled: np.void) -> None: ...


class Traceback(Protocol):
    """What follows the launch of an alignment kernel."""

    def trace(self, struct: np.dtype[np.void], forward: np.void, units: int, **more: int) -> None:
        """Trace what a launch with the arguments `forward` has left. struct: arguments of the variant's kernel `trace`, with `more`
        beside the path; units: of its work, at most a block each."""


@dataclass(frozen=True)
class DeviceBatch:
    """A batch whose memory is there: addresses on the device.

    arrays: of each array of the layout, and of the codes and offsets of queries and targets; packed: room for targets as pack.cu
    makes them; carries, edges: of `slots` slots; grid: blocks at most.
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
        """Addresses of some arrays, by name."""
        return {name: self.arrays[name] for name in names}

    @property
    def shared(self) -> dict[str, int]:
        """Arguments that all alignment kernels have."""
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
    """Of a batch: the records of its targets and their lengths, in the order of its tile, and the strips of each of its queries."""

    targets: npt.NDArray[np.int64]
    columns: npt.NDArray[np.int64]
    strips: npt.NDArray[np.int64]


@dataclass(frozen=True)
class Variant(ABC):
    """A kernel and what its host needs to know of it.

    pairs: targets of a thread; carries, carry_bytes: values that a column hands to the next strip, and the size of one; rows:
    of a strip (of one thread or lane); rate: cells a clock of one multiprocessor at full load; latency: clocks of a thread
    from one row to the next; clears: whether scores must be 0 before it; trace: with paths, the kernel of the way back; tile:
    columns between two checkpoints; words: of directions in memory that a column of a strip takes; 0 where
    they lie in shared memory.
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
        """Estimated time of all pairs of a rectangle, in clocks; `targets` are in the order in which they share items."""

    @abstractmethod
    def kept_bytes(self, query: int, target: int, hardware: Hardware) -> int:
        """With paths: what a block keeps of alignments of these lengths, beyond those of one pair."""

    @abstractmethod
    def slots(self, layout: Layout, nbytes: int) -> int:
        """Carry buffers for a launch within so many bytes; 0 where too few would fit."""

    @abstractmethod
    def arrange(self, arrays: Arrays, extent: Extent, recipe: Recipe, room: Room) -> Layout:
        """The layout of a batch, with the family's own arrays beside `arrays`."""

    @abstractmethod
    def launch(self, placed: DeviceBatch, launcher: Launcher, way_back: Traceback) -> None:
        """All kernels of a batch up to its scores, or its paths."""

    def diagonal_bands(self, cells: float, longest: int, hardware: Hardware) -> int:
        """Bands at least of one set with so many cells, whose longest target has so many columns."""
        return DIAGONAL_BANDS

    def diagonal_group(self) -> int:
        """Targets of an item, all of which a query does without if it wants none of them; 0 where an item has one."""
        return 0

    def trace_threads(self, layout: Layout) -> int:
        """Of a block on the way back."""
        return layout.threads

    def matrix_places(self, batch: Batch, layout: Layout) -> tuple[npt.NDArray[np.int64], tuple[npt.NDArray[np.int64], ...]]:
        """Where the host finds the wanted pairs' directions: int64[pairs][5] as `walk_matrices` takes them, and the pairs' rows and
        columns in the results. Only families have it that have variants for a recipe with host_traceback."""
        raise NotImplementedError(self.title)

    def lay_out(self, batch: Batch, recipe: Recipe, task: Task, room: Room) -> Layout:
        """The layout of a batch. Where the sequences are not on the device, it brings its own."""
        strips = -(-task.queries.lengths[batch.queries] // self.rows)
        extent = Extent(batch.targets, task.targets.lengths[batch.targets], strips)
        return self.arrange(shared_arrays(batch, recipe, task, room.resident), extent, recipe, room)

    def edge_values(self, columns: int) -> int:
        """Values of the checkpoints on the left edges of one strip's tiles, for one thread."""
        return -(-columns // self.tile) * self.rows * self.carries


class Family(Protocol):
    """A module of this package."""

    def variants(self, recipe: Recipe, longest_query: int, longest_target: int) -> Iterator[Variant]:
        """Its kernels that compute pairs up to these lengths exactly, if any."""


def best_rows(queries: tuple[Lengths, Lengths], candidates: tuple[int, ...]) -> int:
    """The strip height that computes queries in the least time, of which there are so many of each of these lengths."""
    lengths, counts = queries

    def cost(rows: int) -> float:
        return float((-(-lengths // rows) * counts).sum()) * (rows + _STRIP_OVERHEAD)

    return min(candidates, key=cost)
