"""Base classes of the papers' engines."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import field

from gpualign.core.alignment.task import Task
from gpualign.core.alignment.tile_results import TileResult
from gpualign.core.common.dataclass import dataclass
from gpualign.core.planning.tile_plan import Tile, TileLimits
from gpualign.gpu.papers.session import Log
from gpualign.gpu.runtime.device import Device


@dataclass(frozen=True)
class PaperPrepared:
    """Implements `gpualign.core.execution.engine.Prepared`.

    compute: yields the results of tiles, one at a time
    """

    task: Task
    limits: TileLimits
    kernel: str
    hardware: str
    compute: Callable[[Iterator[Tile]], Iterator[TileResult]] = field(repr=False)

    def run(self, tiles: Iterator[Tile]) -> Iterator[TileResult]:
        return self.compute(tiles)


class OneDevice:
    """Base class for alignment and distance engines that run on one device."""

    def __init__(self, device: Device, log: Log | None) -> None:
        self._device = device
        self._log = log

    def describe(self) -> str:
        return f"cuda ({self._device.name})"
