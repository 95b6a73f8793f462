"""Starts CUDA in the background while a job reads files: the driver and the context of a device take about 0.1 s each.

Contexts are kept until the process ends. The process of a command ends with its job anyway, and in Python the next job does not have to
wait again.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Iterable

_started_devices: set[int] = set()  # devices whose context exists or is being made
_started_lock = threading.Lock()


def start_cuda(devices: Iterable[int]) -> threading.Thread:
    """Start the driver and create the primary contexts of these devices in a new thread. Return the thread.

    Devices whose context exists or is being created are left out. The driver makes later calls wait until startup has finished. Failures
    are ignored here and reported when the device is used.

    devices: device numbers
    """
    with _started_lock:
        new = [ordinal for ordinal in devices if ordinal not in _started_devices]
        _started_devices.update(new)
    thread = threading.Thread(target=_start_contexts, args=(new,), name="gpualign-cuda-start")
    thread.start()
    return thread


def context_started() -> bool:
    """Return whether any context exists or is being created."""
    return bool(_started_devices)


def _start_contexts(devices: list[int]) -> None:
    # ctypes lets other Python threads run during the calls, and creates no context objects, whose order of destruction would matter.
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return
    if driver.cuInit(0):
        return
    for ordinal in devices:
        device, context = ctypes.c_int(), ctypes.c_void_p()
        if not driver.cuDeviceGet(ctypes.byref(device), ordinal):
            driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), device)
