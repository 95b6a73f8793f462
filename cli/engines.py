"""Picks the engine that --device asks for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpualign.cli.messages import Messages
from gpualign.core.errors import RunError

if TYPE_CHECKING:
    from gpualign.core.distance.engine import DistanceEngine
    from gpualign.core.engine import Engine


def check_device(device: str) -> None:
    """Raises `InputError` for what --device does not take, before anything is read."""
    if device not in ("auto", "cpu"):
        from gpualign.gpu.devices import check_selection

        check_selection(device)


def pick_engine(device: str, threads: int | None, messages: Messages, host_traceback: bool = False) -> Engine:
    """The engine for a checked --device; host_traceback is for CUDA alone. Raises `RunError` where CUDA is asked for and cannot be had."""
    from gpualign.cpu.engine import CpuEngine

    if device == "cpu":
        return CpuEngine(threads)
    from gpualign.gpu.devices import make_engine, take_inventory

    inventory = take_inventory()
    if inventory.reason is None:
        return make_engine("cuda" if device == "auto" else device, inventory, host_traceback)
    if device != "auto":
        raise RunError(f"--device {device}: {inventory.reason}; use --device cpu or auto")
    messages.note(f"using the CPU: {inventory.reason}")
    return CpuEngine(threads)


def pick_distance_engine(device: str, threads: int | None, messages: Messages) -> DistanceEngine:
    """Likewise for distances."""
    from gpualign.cpu.distance import CpuDistanceEngine
    from gpualign.cpu.machine import usable_cpus

    if device == "cpu":
        return CpuDistanceEngine(threads)
    from gpualign.gpu.devices import make_distance_engine, take_inventory

    inventory = take_inventory()
    if inventory.reason is None:
        return make_distance_engine("cuda" if device == "auto" else device, inventory, threads or usable_cpus())
    if device != "auto":
        raise RunError(f"--device {device}: {inventory.reason}; use --device cpu or auto")
    messages.note(f"using the CPU: {inventory.reason}")
    return CpuDistanceEngine(threads)
