"""Determines what a machine lacks for using its GPU from Python, and the command that installs what is missing."""

from __future__ import annotations

import ctypes
import os
from pathlib import Path
from typing import Any

from gpualign.core.common.dataclass import dataclass

_DRIVER_LIBRARY = "libcuda.so.1"
NO_DRIVER_MESSAGE = f"no NVIDIA driver was found ({_DRIVER_LIBRARY})"
_CONTAINER_HINT = "start the container with the GPU (docker run --gpus all, apptainer exec --nv)"
INSTALL_DRIVER_HINT = f"if this machine has a GPU, install its driver, or {_CONTAINER_HINT}"
RESTART_DRIVER_HINT = f"{_CONTAINER_HINT}, or restart the machine if its driver was updated; nvidia-smi says whether the driver works"
SHOW_DEVICE_HINT = f"{_CONTAINER_HINT}, or unset CUDA_VISIBLE_DEVICES if it hides the GPU; nvidia-smi -L lists the devices"
OTHER_DEVICE_HINT = "use a machine with a Volta (2017) or a newer GPU"


@dataclass(frozen=True)
class Driver:
    """Installed NVIDIA driver.

    version: newest CUDA version that the driver supports, in the driver's notation: 13020 for 13.2
    folder: folder of the driver's library
    """

    version: int
    folder: str

    @property
    def title(self) -> str:
        """CUDA version as text, e.g. 13.2."""
        return format_cuda_version(self.version)


def format_cuda_version(version: int) -> str:
    """Return a CUDA version as text: 13.2 for 13020."""
    return f"{version // 1000}.{version % 1000 // 10}"


_CAPABILITY_MAJOR, _CAPABILITY_MINOR = 75, 76
"""Attributes of a device's compute capability: values of the enum CUdevice_attribute in the driver's interface."""


def find_driver() -> Driver | None:
    """Return the installed driver, or None if there is none. Needs no PyCUDA, and does not initialise the driver."""
    try:
        library = ctypes.CDLL(_DRIVER_LIBRARY)
    except OSError:
        return None
    version = ctypes.c_int()
    if library.cuDriverGetVersion(ctypes.byref(version)):
        return None  # a toolkit's stub
    return Driver(version.value, _library_folder(library.cuDriverGetVersion))


class _DlInfo(ctypes.Structure):
    """Struct `Dl_info`, which dladdr(3) fills."""

    _fields_ = (("file", ctypes.c_char_p), ("base", ctypes.c_void_p), ("symbol", ctypes.c_char_p), ("address", ctypes.c_void_p))


def _library_folder(function: Any) -> str:
    """Return the folder of the library that defines this function."""
    info = _DlInfo()
    ctypes.CDLL(None).dladdr(ctypes.cast(function, ctypes.c_void_p), ctypes.byref(info))
    return str(Path(os.fsdecode(info.file)).absolute().parent)


def has_volta() -> bool:
    """Return whether any device is a Volta (compute capability 7.0 or 7.2), for which CUDA 13 cannot compile. Needs no PyCUDA, but
    initialises the driver."""
    try:
        library = ctypes.CDLL(_DRIVER_LIBRARY)
    except OSError:
        return False
    count = ctypes.c_int()
    if library.cuInit(0) or library.cuDeviceGetCount(ctypes.byref(count)):
        return False
    return any((7, 0) <= _compute_capability(library, ordinal) < (7, 5) for ordinal in range(count.value))


def _compute_capability(library: ctypes.CDLL, ordinal: int) -> tuple[int, ...]:
    """Return the compute capability of a device; numbers that the driver does not report are 0."""
    device, value, numbers = ctypes.c_int(), ctypes.c_int(), []
    library.cuDeviceGet(ctypes.byref(device), ordinal)
    for attribute in (_CAPABILITY_MAJOR, _CAPABILITY_MINOR):
        failed = library.cuDeviceGetAttribute(ctypes.byref(value), attribute, device)
        numbers.append(0 if failed else value.value)
    return tuple(numbers)


def pycuda_build_command(driver: Driver, replaces_pycuda: bool = False, supports_volta: bool = False) -> str:
    """Return the command that builds PyCUDA.

    The CUDA headers are installed as packages for the driver's version, so that PyCUDA uses no function that the driver lacks. PyCUDA's
    build does not search for a toolkit. cuRAND is disabled, because we do not use random numbers.

    replaces_pycuda: whether to uninstall the existing PyCUDA first, because it cannot be loaded
    supports_volta: whether to use the headers of CUDA 12 with any driver, because its compiler is the last one to support Volta
    """
    import sysconfig

    packages = Path(sysconfig.get_path("purelib"), "nvidia")
    if supports_volta or driver.version < 13000:
        extra, folders = "cuda12", ["cuda_runtime", "cuda_profiler_api"]
    else:
        extra, folders = "cuda13", ["cu13"]
    settings = [
        f"CUDA_INC_DIR={[str(packages / folder / 'include') for folder in folders]}",
        f"CUDADRV_LIB_DIR={[driver.folder]}",
        f"CUDADRV_LIBNAME={[f':{_DRIVER_LIBRARY}']}",
        "CUDA_ENABLE_CURAND=False",
    ]
    options = " ".join(f'-C--global-option="--conf:{setting}"' for setting in settings)
    remove = "pip uninstall -y pycuda && " if replaces_pycuda else ""
    # Without --no-cache-dir, pip would take an earlier build with other settings.
    return f"{remove}pip install 'gpualign[{extra}]' && pip install --no-cache-dir pycuda {options}"
