"""Base classes of the papers' engines, each of which uses one device."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import field

from gpualign.core.alignment.task import Task
from gpualign.core.alignment.tile_results import TileResult
from gpualign.core.common.dataclass import dataclass
from gpualign.core.common.errors import RunError, parameter
from gpualign.core.planning.tile_plan import Tile, TileLimits
from gpualign.gpu.runtime.device import Device, OutOfMemory
from gpualign.gpu.runtime.kernel_timing import KernelLog
from gpualign.gpu.runtime.stream_pipeline import StreamPipeline, open_pipeline


@contextmanager
def device_session(device: Device, stream_count: int = 0) -> Iterator[StreamPipeline]:
    """Open a device, with a stream for resident data and `stream_count` further streams. Raises `RunError` if device memory runs out."""
    try:
        with open_pipeline(device, stream_count) as pipeline:
            yield pipeline
    except OutOfMemory as error:
        raise RunError(
            f"the CUDA device has too little memory ({error}); lower {parameter('memory')}, which makes the work's pieces smaller"
        ) from None


@dataclass(frozen=True)
class PreparedPaperTask:
    """Task prepared for a paper's engine. Implements `gpualign.core.execution.engine.PreparedTask`.

    compute_tiles: yields the result of each tile, computed one after another
    """

    task: Task
    limits: TileLimits
    kernel: str
    hardware: str
    compute_tiles: Callable[[Iterator[Tile]], Iterator[TileResult]] = field(repr=False)

    def run(self, tiles: Iterator[Tile]) -> Iterator[TileResult]:
        return self.compute_tiles(tiles)


class SingleDeviceEngine:
    """Base class for alignment and distance engines that run on one device."""

    def __init__(self, device: Device, log: KernelLog | None) -> None:
        self._device = device
        self._log = log

    def describe_hardware(self) -> str:
        return f"cuda ({self._device.name})"
