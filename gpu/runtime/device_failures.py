"""Reports a failed device whose work is taken over by the remaining devices."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gpualign.core.common.errors import RunError
from gpualign.core.execution.worker_pool import describe_failed_device
from gpualign.gpu.runtime.device import Device

OnDeviceFailure = Callable[[int, RunError], None]
"""Called with the index of a failed device among the engine's devices, and with the error."""


def failure_reporter(devices: Sequence[Device], note: Callable[[str], None] | None) -> OnDeviceFailure:
    """Return a callback that reports a failed device. note: called with a human-readable message (None: nothing is reported)."""

    def report(number: int, error: RunError) -> None:
        if note is not None:
            note(describe_failed_device(f"GPU {number + 1} of {len(devices)} ({devices[number].name})", error))

    return report
