"""Which CUDA devices this machine has, as far as PyCUDA can tell."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Device:
    """name; memory in bytes; compute capability as (major, minor)."""

    name: str
    memory: int
    compute_capability: tuple[int, int]


def find_devices() -> tuple[list[Device], str | None]:
    """All CUDA devices, and one plain sentence why there are none."""
    try:
        import pycuda.driver as driver
    except ImportError as error:
        if isinstance(error, ModuleNotFoundError) and (error.name or "").partition(".")[0] == "pycuda":
            return [], "PyCUDA is not installed (pip install 'gpualign[cuda]', which needs the CUDA toolkit)"
        return [], f"PyCUDA cannot be loaded: {error}"
    try:
        driver.init()
        found = [driver.Device(i) for i in range(driver.Device.count())]
        devices = [Device(d.name(), d.total_memory(), tuple(d.compute_capability())) for d in found]
    except Exception as error:  # pycuda raises its own classes for every driver failure
        return [], f"the CUDA driver cannot be used: {error}"
    return devices, None if devices else "the CUDA driver reports no device"


def unavailable_reason() -> str:
    """Why `--device cuda` cannot be used, in one plain sentence."""
    _, reason = find_devices()
    return reason or "this version of gpualign has no CUDA kernels yet"
