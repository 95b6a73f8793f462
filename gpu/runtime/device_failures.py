"""What is told of a device that fails while others take over its work."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gpualign.core.common.errors import RunError
from gpualign.gpu.runtime.device import Device

Lost = Callable[[int, RunError], None]
"""Told of a device, by its place among those of an engine, and of its error."""


def failure_reporter(devices: Sequence[Device], note: Callable[[str], None] | None) -> Lost:
    """note: told of it in words for people."""

    def lost(number: int, error: RunError) -> None:
        if note is not None:
            note(f"GPU {number + 1} of {len(devices)} ({devices[number].name}) is left out, the others do its work: {error.message}")

    return lost
