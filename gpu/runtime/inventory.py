"""Lists the CUDA devices on this machine that PyCUDA sees, and determines whether kernels can be compiled for them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from gpualign.core.common.dataclass import dataclass
from gpualign.core.common.errors import InputError, RunError, parameter
from gpualign.core.common.suggestions import did_you_mean
from gpualign.gpu.runtime.prestart import start_cuda

if TYPE_CHECKING:
    from gpualign.gpu.runtime.pycuda_device import CudaDevice

_MIN_COMPUTE_CAPABILITY = (7, 0)


@dataclass(frozen=True)
class DeviceProperties:
    """Properties of a device.

    memory_bytes: total device memory
    compute_capability: (major, minor)
    """

    name: str
    memory_bytes: int
    compute_capability: tuple[int, int]


@dataclass(frozen=True)
class Inventory:
    """All CUDA devices on this machine, and the reason if none can be used.

    driver: CUDA version that the driver supports, e.g. "13.0", or None
    reason: why no device can be used, or None
    remedy: what to do, as a command if one command is enough, or None
    gpu_expected: whether the user may expect a GPU to be used, because the machine has a GPU or PyCUDA is installed
    """

    devices: list[DeviceProperties]
    driver: str | None
    reason: str | None
    remedy: str | None = None
    gpu_expected: bool = True

    @property
    def usable_devices(self) -> list[int]:
        """Indices of the devices that are new enough."""
        return [n for n, device in enumerate(self.devices) if device.compute_capability >= _MIN_COMPUTE_CAPABILITY]


def detect_devices(with_remedy: bool = True) -> Inventory:
    """Return the devices on this machine, without creating a CUDA context.

    with_remedy: whether the caller will report the remedy for unusable devices; choosing it may require starting the driver
    """
    from gpualign.gpu.runtime.install_hints import OTHER_DEVICE_HINT, RESTART_DRIVER_HINT, SHOW_DEVICE_HINT, format_cuda_version

    try:
        import pycuda.driver as driver
    except ImportError as error:
        return _inventory_without_pycuda(error, with_remedy)
    try:
        driver.init()
        version = int(driver.get_driver_version())
        native = [driver.Device(i) for i in range(driver.Device.count())]
        devices = [DeviceProperties(d.name(), d.total_memory(), tuple(d.compute_capability())) for d in native]
    except Exception as error:  # PyCUDA has classes of its own for the failures of the driver
        return Inventory([], None, f"the CUDA driver cannot be used: {error}", RESTART_DRIVER_HINT)
    from gpualign.gpu.runtime.kernel_cache import architecture, cache_folder

    supports = format_cuda_version(version)
    if not devices:
        return Inventory([], supports, "the CUDA driver reports no device", SHOW_DEVICE_HINT)
    usable = Inventory(devices, supports, None).usable_devices
    if not usable:
        return Inventory(devices, supports, "no device has compute capability 7.0 or newer", OTHER_DEVICE_HINT)
    if not any(cache_folder().glob("*.cubin")):  # a cache with some kernels may have all that are needed, and searching takes time
        from gpualign.gpu.runtime.compilers.selection import NoCompiler, choose_compiler

        try:
            choose_compiler(architecture(devices[usable[0]].compute_capability), version // 1000)
        except NoCompiler as error:
            return Inventory(devices, supports, error.reason, error.remedy)
    return Inventory(devices, supports, None)


def _inventory_without_pycuda(error: ImportError, with_remedy: bool) -> Inventory:
    """Return the inventory of a machine on which PyCUDA cannot be imported. If the driver is missing or too old, only this is reported.

    error: the exception from the import
    with_remedy: as for `detect_devices`
    """
    from gpualign.gpu.runtime.install_hints import INSTALL_DRIVER_HINT, NO_DRIVER_MESSAGE, find_driver, has_volta, pycuda_build_command

    absent = isinstance(error, ModuleNotFoundError) and (error.name or "").partition(".")[0] == "pycuda"
    expected = not absent or _has_nvidia_device()
    driver = find_driver()
    if driver is None:
        return Inventory([], None, NO_DRIVER_MESSAGE, INSTALL_DRIVER_HINT, expected)
    from gpualign.gpu.runtime.compilers.base import MIN_CUDA_VERSION

    if driver.version < MIN_CUDA_VERSION * 1000:
        reason = f"the NVIDIA driver is for CUDA {driver.title}, and {MIN_CUDA_VERSION}.0 or newer is needed"
        return Inventory([], driver.title, reason, "update NVIDIA's driver", expected)
    reason = "PyCUDA is not installed" if absent else f"PyCUDA cannot be loaded: {error}"
    volta = with_remedy and driver.version >= 13000 and has_volta()  # with a driver of CUDA 12 the answer makes no difference
    return Inventory([], driver.title, reason, pycuda_build_command(driver, not absent, volta), expected)


def _has_nvidia_device() -> bool:
    """Return whether /dev has a device file of the NVIDIA driver or, if Linux runs inside Windows, of the Windows driver."""
    return any(Path("/dev", name).exists() for name in ("nvidia0", "nvidiactl", "dxg"))


def parse_selection(selection: str) -> tuple[str | None, bool]:
    """Parse a device selection: a comma-separated list, in any order, or "all".

    Returns (the GPUs: "cuda", "cuda:all", numbers as in "cuda:0,2", or None; whether the CPU is selected). Raises `InputError` for
    unknown names and for devices named twice.
    """
    if selection == "all":
        return "cuda:all", True
    cpus, whole, numbers, in_list = 0, list[str](), list[int](), False
    for name in selection.split(","):
        # A number without a prefix continues a list: the 2 of cuda:0,2.
        number = name.removeprefix("cuda:")
        in_list = number.isdecimal() and (in_list or number != name)
        if in_list:
            numbers.append(int(number))
        elif name in ("cuda", "cuda:all"):
            whole.append(name)
        elif name == "cpu":
            cpus += 1
        else:
            raise InputError(
                f"{parameter('device', selection)}: expected auto, cpu, cuda, cuda:all, numbers as in cuda:0,1, all, or a list such as "
                f"cpu,cuda:0; {name!r} is none of these{_suggestion(name, is_whole_selection=name == selection)}"
            )
    if cpus > 1 or len(whole) + bool(numbers) > 1 or len(set(numbers)) < len(numbers):
        raise InputError(f"{parameter('device', selection)}: a device is named twice; name each once")
    gpus = f"cuda:{','.join(map(str, numbers))}" if numbers else None
    return whole[0] if whole else gpus, cpus == 1


def _suggestion(name: str, is_whole_selection: bool) -> str:
    """Return a "did you mean" question, or "" if no device has a similar name.

    is_whole_selection: whether `name` is the only name in the selection
    """
    number = "".join(letter for letter in name if letter.isdecimal())
    names = ["cpu", "cuda", "cuda:all", *(["auto", "all"] if is_whole_selection else []), *([f"cuda:{number}"] if number else [])]
    return did_you_mean(name.lower().replace("gpu", "cuda"), names)


def check_selection(selection: str) -> None:
    """Raise `InputError` if the text is not a valid device selection."""
    parse_selection(selection)


def _device_numbers(selection: str) -> list[int]:
    """Return the device numbers in a selection such as "cuda:0,2"."""
    return [int(number) for number in selection.partition(":")[2].split(",")]


def start_selected_devices(selection: str) -> None:
    """Start CUDA in the background, before the inventory is taken. selection: a validated selection, or "auto".

    For "cuda", device 0 is started, because that is most likely the device to be used. If all devices are selected, or for "auto", which
    may need no device, only the driver is started.
    """
    gpus = None if selection == "auto" else parse_selection(selection)[0]
    if _has_nvidia_device():
        start_cuda([0] if gpus == "cuda" else [] if gpus in (None, "cuda:all") else _device_numbers(gpus))


def selected_devices(selection: str, inventory: Inventory) -> list[CudaDevice]:
    """Return the selected GPUs, whose contexts are created in the background. selection: GPUs as returned by `parse_selection`.

    Raises `RunError` if a device does not exist or is too old.
    """
    from gpualign.gpu.runtime.pycuda_device import CudaDevice

    usable = inventory.usable_devices
    numbers = usable if selection == "cuda:all" else usable[:1] if selection == "cuda" else _device_numbers(selection)
    for number in numbers:
        if number >= len(inventory.devices):
            raise RunError(f"there is no CUDA device {number}; this machine has {len(inventory.devices)}, numbered from 0")
        if number not in usable:
            major, minor = inventory.devices[number].compute_capability
            raise RunError(f"CUDA device {number} has compute capability {major}.{minor}; 7.0 or newer is needed")
    start_cuda(numbers)
    return [CudaDevice(number) for number in numbers]


def first_selected_device(selection: str, inventory: Inventory) -> CudaDevice:
    """Return the first (or only) device in a selection. Raises `RunError` if a device does not exist or is too old."""
    return selected_devices(selection, inventory)[0]
