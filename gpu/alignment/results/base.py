"""Common interface for all kinds of output: the output of a tile, and the output of each of the tile's batches."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from gpualign.core.alignment.tile_results import TileResult
from gpualign.core.common._placing import copy_rows
from gpualign.core.common.dataclass import dataclass
from gpualign.core.common.scatter import copy_bytes
from gpualign.gpu.alignment.batch_layout import BatchLayout
from gpualign.gpu.alignment.batches import Batch
from gpualign.gpu.alignment.families.base import DeviceBatch, KernelVariant, Traceback
from gpualign.gpu.runtime.device import Event
from gpualign.gpu.runtime.stream_buffers import StreamBuffers


@dataclass(frozen=True)
class HostResources:
    """Host resources for collecting results.

    thread_count: number of threads in `pool`
    wait_for_event: waits for an event; returns True once the event has happened, or False if the run is stopped first
    """

    pool: ThreadPoolExecutor
    thread_count: int
    wait_for_event: Callable[[Event], bool]

    def copy(self, target: npt.NDArray[np.uint8], source: npt.NDArray[np.uint8]) -> None:
        """Copy bytes with several threads, because copying with a single thread takes longer than aligning short pairs."""
        copy_bytes(target, source, self.thread_count)

    def copy_results(self, target: npt.NDArray[Any], batch: Batch, source: npt.NDArray[Any]) -> None:
        """Copy a batch's results to their places in the tile's results, with several threads.

        target, source: results of the tile and of the batch, [rows][targets] or [rows][targets][fields], both of the same dtype; or target
            is int32, and source is uint8 or int16
        """
        rows, columns = batch.result_slices
        if isinstance(rows, slice):
            fields = source[0, 0].size
            copy_rows(
                target.reshape(len(target), -1), source.reshape(len(source), -1), rows.start, columns.start * fields, self.thread_count
            )
        else:
            target[rows, columns] = source


class BatchOutput(ABC):
    """Output of one batch, copied back through the buffers of a stream."""

    @property
    @abstractmethod
    def host_bytes(self) -> int:
        """Pinned memory, in bytes, for the results that are downloaded after the kernels."""

    @property
    @abstractmethod
    def device_bytes(self) -> int:
        """Device memory for the results, in bytes."""

    @abstractmethod
    def reserve(self, stream: StreamBuffers) -> int:
        """Allocate memory for the results, and return the address to which the alignment kernel writes scores. Raises `OutOfMemory` if too
        little memory is left."""

    def traceback(self, stream: StreamBuffers, variant: KernelVariant, device_batch: DeviceBatch) -> Traceback:
        """Allocate memory for the traceback, and return the step to run after each launch of the alignment kernel.

        Raises `OutOfMemory` if too little memory is left.
        """
        return NoTraceback()

    @abstractmethod
    def clear(self, stream: StreamBuffers, kernel_needs_zeros: bool) -> None:
        """Set results to 0 before the kernels run. kernel_needs_zeros: whether the alignment kernel requires it."""

    def finish(self, stream: StreamBuffers, device_batch: DeviceBatch) -> None:
        """Launch the kernels that follow the alignment kernels of the whole batch."""
        return

    @abstractmethod
    def download(self, stream: StreamBuffers) -> None:
        """Queue the copies of the results to the host on the stream."""

    @abstractmethod
    def collect(self, stream: StreamBuffers, host: HostResources) -> bool:
        """Merge a finished batch into its tile. Returns False if the run was stopped.

        Results are copied, because the next batch uses the stream's buffers.
        """


class NoTraceback:
    """Implements `Traceback` for outputs without paths. It does nothing."""

    def trace(self, struct: np.dtype[np.void], forward_arguments: np.void, unit_count: int, **more: int) -> None:
        return


class TileOutput(Protocol):
    """Output of one tile, however the tile is split into batches."""

    def result_bytes(self, batch: Batch) -> int:
        """Return the pinned memory, in bytes, that a batch needs regardless of the kernel."""

    def make_batch_output(self, batch: Batch, variant: KernelVariant, layout: BatchLayout) -> BatchOutput:
        """Return the output for a batch; `BatchOutput.collect` merges results into this tile output."""

    def result(self) -> TileResult:
        """Return the results of the tile. Called when all batches have been collected."""
