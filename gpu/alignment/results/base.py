"""Common interface for all kinds of output, for a tile and for each of the tile's batches."""

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
from gpualign.gpu.alignment.batch_layout import Layout
from gpualign.gpu.alignment.batches import Batch
from gpualign.gpu.alignment.families.base import DeviceBatch, Traceback, Variant
from gpualign.gpu.runtime.device import Event
from gpualign.gpu.runtime.stream_buffers import StreamBuffers

_COPY_ROW_BYTES = 4096
"""Bytes per row when bytes are copied as rows."""


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
        """Copy bytes with several threads, because a single thread copies more slowly than short pairs are aligned.

        These are not Python threads, because each Python thread would wait twice for the thread that lays out the next batch.
        """
        whole = len(source) // _COPY_ROW_BYTES * _COPY_ROW_BYTES
        copy_rows(target[:whole].reshape(-1, _COPY_ROW_BYTES), source[:whole].reshape(-1, _COPY_ROW_BYTES), 0, 0, self.thread_count)
        target[whole:] = source[whole:]

    def copy_results(self, target: npt.NDArray[Any], batch: Batch, source: npt.NDArray[Any]) -> None:
        """Copy a batch's results to its tile's, [rows][targets] or [rows][targets][fields], as in `copy`. For types, see `copy_rows`."""
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
        """Pinned memory for the results downloaded after the kernels, bytes."""

    @property
    @abstractmethod
    def device_bytes(self) -> int:
        """Device memory for the results, bytes."""

    @abstractmethod
    def reserve(self, stream: StreamBuffers) -> int:
        """Allocate memory, and return the address to which the alignment kernel writes scores. Raises `OutOfMemory`."""

    def traceback(self, stream: StreamBuffers, variant: Variant, device_batch: DeviceBatch) -> Traceback:
        """Return the step after each launch of the alignment kernel, with the step's memory allocated. Raises `OutOfMemory`."""
        return NoTraceback()

    @abstractmethod
    def clear(self, stream: StreamBuffers, kernel_needs_zeros: bool) -> None:
        """Set results to 0 before the kernels run. kernel_needs_zeros: whether the alignment kernel requires it."""

    def finish(self, stream: StreamBuffers, device_batch: DeviceBatch) -> None:
        """Launch the kernels that follow the alignment kernels of the whole batch."""
        return

    @abstractmethod
    def download(self, stream: StreamBuffers) -> None:
        """Queue the copies on the stream."""

    @abstractmethod
    def collect(self, stream: StreamBuffers, host: HostResources) -> bool:
        """Merge a finished batch into its tile. Returns False if the run was stopped.

        Results are copied, because the next batch uses the stream's buffers.
        """


class NoTraceback:
    """Implements `Traceback` if no paths are requested: does nothing."""

    def trace(self, struct: np.dtype[np.void], forward_arguments: np.void, unit_count: int, **more: int) -> None:
        return


class TileOutput(Protocol):
    """Output of one tile, however the tile is split into batches."""

    def result_bytes(self, batch: Batch) -> int:
        """Return the pinned memory that a batch needs with any kernel, in bytes."""

    def make_batch_output(self, batch: Batch, variant: Variant, layout: Layout) -> BatchOutput:
        """Return the output for a batch; `BatchOutput.collect` merges results into this tile output."""

    def result(self) -> TileResult:
        """Return the results of the tile. Called when all batches have been collected."""
