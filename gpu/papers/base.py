"""What the papers' engines share."""

from __future__ import annotations

from gpualign.gpu.device import Device
from gpualign.gpu.papers.session import Log


class OneDevice:
    """What is the same for every engine, of alignments or distances, that runs on one device."""

    name = "cuda"

    def __init__(self, device: Device, log: Log | None) -> None:
        self._device = device
        self._log = log

    def unavailable_reason(self) -> str | None:
        return None

    def describe(self) -> str:
        return f"cuda ({self._device.name})"
