"""What every kind of output has: of a tile, and of each of its batches."""

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

_COPIED = 4096
"""Bytes that are copied as a row."""


@dataclass(frozen=True)
class Host:
    """What there is to collect results with: `threads` threads of a pool, and `wait`, which waits for an event and says whether it has
    happened, or the run was stopped before."""

    pool: ThreadPoolExecutor
    threads: int
    wait: Callable[[Event], bool]

    def copy(self, target: npt.NDArray[np.uint8], source: npt.NDArray[np.uint8]) -> None:
        """Bytes. With several threads: one alone copies more slowly than short pairs are aligned. Not by threads of Python: each would wait
        for the one that lays out the next batch, twice."""
        whole = len(source) // _COPIED * _COPIED
        copy_rows(target[:whole].reshape(-1, _COPIED), source[:whole].reshape(-1, _COPIED), 0, 0, self.threads)
        target[whole:] = source[whole:]

    def put(self, target: npt.NDArray[Any], batch: Batch, source: npt.NDArray[Any]) -> None:
        """Results of a batch among those of its tile, [rows][targets] or [rows][targets][fields]; likewise. For types see `copy_rows`."""
        rows, columns = batch.place
        if isinstance(rows, slice):
            fields = source[0, 0].size
            copy_rows(target.reshape(len(target), -1), source.reshape(len(source), -1), rows.start, columns.start * fields, self.threads)
        else:
            target[rows, columns] = source


class BatchOutput(ABC):
    """What comes back of one batch, through the buffers of a slot."""

    @property
    @abstractmethod
    def host_bytes(self) -> int:
        """Pinned memory of what is downloaded behind the kernels."""

    @property
    @abstractmethod
    def device_bytes(self) -> int:
        """Memory on the device."""

    @abstractmethod
    def reserve(self, slot: StreamBuffers) -> int:
        """Make room; the address of the scores that the alignment kernel is to write. Raises `OutOfMemory`."""

    def way_back(self, slot: StreamBuffers, variant: Variant, placed: DeviceBatch) -> Traceback:
        """What follows each launch of the alignment kernel; makes room for it. Raises `OutOfMemory`."""
        return NoWayBack()

    @abstractmethod
    def clear(self, slot: StreamBuffers, needed: bool) -> None:
        """Before the kernels. needed: by the alignment kernel."""

    def finish(self, slot: StreamBuffers, placed: DeviceBatch) -> None:
        """Launch what follows the alignment kernels of the whole batch."""
        return

    @abstractmethod
    def download(self, slot: StreamBuffers) -> None:
        """Put the copies on the stream."""

    @abstractmethod
    def collect(self, slot: StreamBuffers, host: Host) -> bool:
        """Merge a batch that has finished into its tile; copies, as the slot's buffers are for the next. False: the run was stopped."""


class NoWayBack:
    """Implements `Traceback`: scores alone are wanted."""

    def trace(self, struct: np.dtype[np.void], forward: np.void, units: int, **more: int) -> None:
        return


class TileOutput(Protocol):
    """What comes back of one tile, in whatever batches it is computed."""

    def result_bytes(self, batch: Batch) -> int:
        """Pinned memory that a batch takes, whichever kernel computes it."""

    def of(self, batch: Batch, variant: Variant, layout: Layout) -> BatchOutput:
        """What comes back of a batch, which `collect` merges into this."""

    def result(self) -> TileResult:
        """When all batches have been collected."""
