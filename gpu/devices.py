"""Which CUDA devices this machine has, as far as PyCUDA can tell, and whether kernels can be had for them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from gpualign.core.dataclass import dataclass
from gpualign.core.errors import InputError, RunError
from gpualign.gpu.start import start_cuda

if TYPE_CHECKING:
    from gpualign.gpu.distance import CudaDistanceEngine
    from gpualign.gpu.driver import CudaDevice
    from gpualign.gpu.engine import CudaEngine

_LEAST_CAPABILITY = (7, 0)


@dataclass(frozen=True)
class DeviceFacts:
    """name; memory in bytes; compute capability as (major, minor)."""

    name: str
    memory: int
    compute_capability: tuple[int, int]


@dataclass(frozen=True)
class Inventory:
    """All CUDA devices, the CUDA version that the driver supports ("13.0"), and why no device can be used, or None."""

    devices: list[DeviceFacts]
    driver: str | None
    reason: str | None
    expected: bool = True
    """Whether somebody would expect a GPU to be used: there is one, or PyCUDA is installed."""

    @property
    def usable(self) -> list[int]:
        """Numbers of the devices that are new enough."""
        return [n for n, device in enumerate(self.devices) if device.compute_capability >= _LEAST_CAPABILITY]


def take_inventory() -> Inventory:
    """Look at this machine; starts no context."""
    try:
        import pycuda.driver as driver
    except ImportError as error:
        if isinstance(error, ModuleNotFoundError) and (error.name or "").partition(".")[0] == "pycuda":
            reason = "PyCUDA is not installed (pip install 'gpualign[cuda]', which needs the CUDA toolkit)"
            return Inventory([], None, reason, expected=_has_nvidia_device())
        return Inventory([], None, f"PyCUDA cannot be loaded: {error}")
    try:
        driver.init()
        version = int(driver.get_driver_version())
        found = [driver.Device(i) for i in range(driver.Device.count())]
        devices = [DeviceFacts(d.name(), d.total_memory(), tuple(d.compute_capability())) for d in found]
    except Exception as error:  # pycuda raises its own classes for every driver failure
        return Inventory([], None, f"the CUDA driver cannot be used: {error}")
    from gpualign.gpu.cubins import cache_folder, find_nvcc

    supports = f"{version // 1000}.{version % 1000 // 10}"
    if not devices:
        return Inventory([], supports, "the CUDA driver reports no device")
    if not Inventory(devices, supports, None).usable:
        return Inventory(devices, supports, "no device has compute capability 7.0 or newer")
    if find_nvcc() is None and not any(cache_folder().glob("*.cubin")):
        return Inventory(devices, supports, "the CUDA compiler nvcc was not found, and no compiled kernels are in the cache")
    return Inventory(devices, supports, None)


def _has_nvidia_device() -> bool:
    """By what the driver, or that of Windows below Linux, puts among the devices."""
    return any(Path("/dev", name).exists() for name in ("nvidia0", "nvidiactl", "dxg"))


def check_selection(text: str) -> None:
    """Raises `InputError` for what is neither "cuda", "cuda:all" nor distinct numbers as in "cuda:0,2"."""
    if text in ("cuda", "cuda:all"):
        return
    kind, _, numbers = text.partition(":")
    parts = numbers.split(",")
    if kind != "cuda" or not all(p.isdecimal() for p in parts) or len(set(parts)) != len(parts):
        raise InputError(f"--device {text}: expected auto, cpu, cuda, cuda:all, or numbers as in cuda:0,1")


def _numbers(text: str) -> list[int]:
    """Of "cuda:0,2"."""
    return [int(part) for part in text.partition(":")[2].split(",")]


def start_selected(text: str) -> None:
    """Let CUDA start beside what comes before a checked selection, or "auto", is looked at: "cuda" is the first device, in all likelihood;
    for "auto", which may not come to need one, the driver alone."""
    if _has_nvidia_device():
        start_cuda([0] if text == "cuda" else _numbers(text) if text not in ("auto", "cuda:all") else [])


def _selected(text: str, inventory: Inventory) -> list[CudaDevice]:
    """Devices of a checked selection, whose contexts start meanwhile. Raises `RunError` for a missing or too old one."""
    from gpualign.gpu.driver import CudaDevice

    usable = inventory.usable
    numbers = usable if text == "cuda:all" else usable[:1] if text == "cuda" else _numbers(text)
    for number in numbers:
        if number >= len(inventory.devices):
            raise RunError(f"there is no CUDA device {number}; this machine has {len(inventory.devices)}, numbered from 0")
        if number not in usable:
            major, minor = inventory.devices[number].compute_capability
            raise RunError(f"CUDA device {number} has compute capability {major}.{minor}; 7.0 or newer is needed")
    start_cuda(numbers)
    return [CudaDevice(number) for number in numbers]


def make_engine(text: str, inventory: Inventory, host_traceback: bool = False, note: Callable[[str], None] | None = None) -> CudaEngine:
    """The engine for a checked selection; host_traceback and note as in `CudaEngine`.

    Raises `RunError` for a missing or too old device.
    """

    from gpualign.gpu.engine import CudaEngine

    return CudaEngine(_selected(text, inventory), host_traceback=host_traceback, note=note)


def make_distance_engine(text: str, inventory: Inventory, threads: int) -> CudaDistanceEngine:
    """The engine of distances for a checked selection; threads: of the host. Raises `RunError` likewise."""
    from gpualign.gpu.distance import CudaDistanceEngine

    return CudaDistanceEngine(_selected(text, inventory), threads)


def the_device(text: str, inventory: Inventory) -> CudaDevice:
    """The one device of a checked selection. Raises `RunError` likewise."""
    return _selected(text, inventory)[0]
