"""Starts CUDA beside other work: the driver takes about 0.1 s, the context of a device as long again, and a job has files to read.

Contexts stay until the process ends: a command ends with its job, and the next call from Python need not wait again.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Iterable

_begun: set[int] = set()  # devices of which a context is there, or on its way
_lock = threading.Lock()


def start_cuda(devices: Iterable[int]) -> threading.Thread:
    """Start the driver and the primary contexts of these devices in a thread, each once; the driver makes who comes later wait for them.
    What fails is silent: whoever uses the device is told."""
    with _lock:
        new = [ordinal for ordinal in devices if ordinal not in _begun]
        _begun.update(new)
    thread = threading.Thread(target=_start, args=(new,), name="gpualign-cuda-start")
    thread.start()
    return thread


def has_begun() -> bool:
    """Whether a context is there, or on its way."""
    return bool(_begun)


def _start(devices: list[int]) -> None:
    # ctypes, because other threads of Python run while it calls, and a context that has no object needs none to be destroyed in order.
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
