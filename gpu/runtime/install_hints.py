"""What a machine lacks to use its GPU from Python, and the one command that installs it."""

from __future__ import annotations

import ctypes
import os
from pathlib import Path
from typing import Any

from gpualign.core.common.dataclass import dataclass

_LIBRARY = "libcuda.so.1"
NO_DRIVER = f"no NVIDIA driver was found ({_LIBRARY})"
_IN_CONTAINER = "start the container with the GPU (docker run --gpus all, apptainer exec --nv)"
INSTALL_DRIVER = f"where there is a GPU, install its driver, or {_IN_CONTAINER}"
RESTART_DRIVER = f"{_IN_CONTAINER}, or restart the machine if its driver was updated; nvidia-smi says whether the driver works"
SHOW_DEVICE = f"{_IN_CONTAINER}, or unset CUDA_VISIBLE_DEVICES if it hides the GPU; nvidia-smi -L lists the devices"
OTHER_DEVICE = "use a machine with a Volta (2017) or a newer GPU"


@dataclass(frozen=True)
class Driver:
    """version: of CUDA, as the driver counts, 13020 for 13.2; folder: where its library is."""

    version: int
    folder: str

    @property
    def title(self) -> str:
        """Such as 13.2."""
        return version_text(self.version)


def version_text(version: int) -> str:
    """13.2 of 13020."""
    return f"{version // 1000}.{version % 1000 // 10}"


_CAPABILITY_MAJOR, _CAPABILITY_MINOR = 75, 76
"""Of CUdevice_attribute."""


def find_driver() -> Driver | None:
    """Without PyCUDA; starts nothing."""
    try:
        library = ctypes.CDLL(_LIBRARY)
    except OSError:
        return None
    version = ctypes.c_int()
    if library.cuDriverGetVersion(ctypes.byref(version)):
        return None  # a toolkit's stub
    return Driver(version.value, _folder_of(library.cuDriverGetVersion))


class _Where(ctypes.Structure):
    """Dl_info of dladdr(3)."""

    _fields_ = (("file", ctypes.c_char_p), ("base", ctypes.c_void_p), ("symbol", ctypes.c_char_p), ("address", ctypes.c_void_p))


def _folder_of(function: Any) -> str:
    """Where the library lies that a function is of."""
    found = _Where()
    ctypes.CDLL(None).dladdr(ctypes.cast(function, ctypes.c_void_p), ctypes.byref(found))
    return str(Path(os.fsdecode(found.file)).absolute().parent)


def has_volta() -> bool:
    """Whether a device is a Volta (7.0 or 7.2), for which CUDA 13 has no compiler. Without PyCUDA; starts the driver."""
    try:
        library = ctypes.CDLL(_LIBRARY)
    except OSError:
        return False
    count = ctypes.c_int()
    if library.cuInit(0) or library.cuDeviceGetCount(ctypes.byref(count)):
        return False
    return any((7, 0) <= _capability(library, ordinal) < (7, 5) for ordinal in range(count.value))


def _capability(library: ctypes.CDLL, ordinal: int) -> tuple[int, ...]:
    """Compute capability; what the driver does not tell is 0."""
    device, value, found = ctypes.c_int(), ctypes.c_int(), []
    library.cuDeviceGet(ctypes.byref(device), ordinal)
    for attribute in (_CAPABILITY_MAJOR, _CAPABILITY_MINOR):
        failed = library.cuDeviceGetAttribute(ctypes.byref(value), attribute, device)
        found.append(0 if failed else value.value)
    return tuple(found)


def build_command(driver: Driver, anew: bool = False, volta: bool = False) -> str:
    """What builds PyCUDA, anew: in place of one that cannot be loaded. CUDA's headers come as packages of the driver's version, for PyCUDA
    is to ask the driver for nothing that it lacks; volta: those of CUDA 12 in any case, with the last compiler that knows such a device.
    No toolkit is looked for. Random numbers (cuRAND), which we do not use, are left out.
    """
    import sysconfig

    packages = Path(sysconfig.get_path("purelib"), "nvidia")
    if volta or driver.version < 13000:
        extra, folders = "cuda12", ["cuda_runtime", "cuda_profiler_api"]
    else:
        extra, folders = "cuda13", ["cu13"]
    settings = [
        f"CUDA_INC_DIR={[str(packages / folder / 'include') for folder in folders]}",
        f"CUDADRV_LIB_DIR={[driver.folder]}",
        f"CUDADRV_LIBNAME={[f':{_LIBRARY}']}",
        "CUDA_ENABLE_CURAND=False",
    ]
    options = " ".join(f'-C--global-option="--conf:{setting}"' for setting in settings)
    remove = "pip uninstall -y pycuda && " if anew else ""
    # pip would take what it has built before, with whatever settings.
    return f"{remove}pip install 'gpualign[{extra}]' && pip install --no-cache-dir pycuda {options}"
