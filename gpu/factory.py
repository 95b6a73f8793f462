"""Creates engines for the GPUs that a user has selected."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from gpualign.gpu.runtime.inventory import Inventory, selected_devices

if TYPE_CHECKING:
    from gpualign.gpu.alignment.engine import CudaEngine
    from gpualign.gpu.alignment.pair_list import CudaPairEngine, HostPairEngine
    from gpualign.gpu.distance.engine import CudaDistanceEngine
    from gpualign.gpu.runtime.pycuda_device import CudaDevice


def make_engine(
    selection: str, inventory: Inventory, host_traceback: bool = False, note: Callable[[str], None] | None = None
) -> CudaEngine:
    """Return the alignment engine for the selected GPUs.

    selection: GPUs as returned by `parse_selection`, e.g. "cuda:0,2"
    host_traceback: whether the host traces paths in direction matrices copied from the device
    note: called with a message about a failed device whose work the remaining devices take over

    Raises `RunError` if a device does not exist or is too old.
    """

    from gpualign.gpu.alignment.engine import CudaEngine

    return CudaEngine(selected_devices(selection, inventory), host_traceback=host_traceback, note=note)


def make_pair_engine(
    selection: str, find_inventory: Callable[[], Inventory | None], host: HostPairEngine, note: Callable[[str], None]
) -> CudaPairEngine:
    """Return the engine that aligns listed pairs on the selected GPUs, which other engines may use at the same time.

    selection: GPUs as returned by `parse_selection`, e.g. "cuda:0,2"
    find_inventory: returns the GPUs of this machine, or None if the host is to align all pairs; called for the first long list
    host: engine for short lists and for pairs that the GPUs cannot align
    note: called with a message about a failed device whose pairs the host aligns
    """
    from gpualign.gpu.alignment.pair_list import CudaPairEngine

    def find_devices() -> list[CudaDevice]:
        inventory = find_inventory()
        return [] if inventory is None else selected_devices(selection, inventory)

    return CudaPairEngine(find_devices, host, note)


def make_distance_engines(selection: str, inventory: Inventory, threads: int) -> list[CudaDistanceEngine]:
    """Return the distance engines for the selected GPUs, one per device.

    selection: GPUs as returned by `parse_selection`, e.g. "cuda:0,2"
    threads: number of host threads, which the engines divide among themselves

    Raises `RunError` if a device does not exist or is too old.
    """
    from gpualign.gpu.distance.engine import CudaDistanceEngine

    devices = selected_devices(selection, inventory)
    return [CudaDistanceEngine(device, max(1, threads // len(devices))) for device in devices]
