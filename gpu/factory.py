"""Creates engines for the GPUs that a user has selected."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from gpualign.gpu.runtime.inventory import Inventory, selected_devices

if TYPE_CHECKING:
    from gpualign.gpu.alignment.engine import CudaEngine
    from gpualign.gpu.distance.engine import CudaDistanceEngine


def make_engine(
    selection: str, inventory: Inventory, host_traceback: bool = False, note: Callable[[str], None] | None = None
) -> CudaEngine:
    """Return the engine for the GPUs in a selection, as returned by `parse_selection`; host_traceback and note as in `CudaEngine`.

    Raises `RunError` for a missing or too old device.
    """

    from gpualign.gpu.alignment.engine import CudaEngine

    return CudaEngine(selected_devices(selection, inventory), host_traceback=host_traceback, note=note)


def make_distance_engines(selection: str, inventory: Inventory, threads: int) -> list[CudaDistanceEngine]:
    """Return the distance engines for the GPUs in a selection, one per device. threads: host threads, shared among the engines.

    Raises `RunError` for a missing or too old device.
    """
    from gpualign.gpu.distance.engine import CudaDistanceEngine

    devices = selected_devices(selection, inventory)
    return [CudaDistanceEngine(device, max(1, threads // len(devices))) for device in devices]
