"""Picks the engine that --device asks for."""

from __future__ import annotations

from gpualign.cli.messages import Messages
from gpualign.core.engine import Engine
from gpualign.core.errors import RunError


def pick_engine(device: str, threads: int | None, messages: Messages) -> Engine:
    """The engine for "auto", "cpu", or CUDA devices as `gpualign.gpu.devices.check_selection` reads them.

    Raises `InputError` for anything else, `RunError` where CUDA is asked for and cannot be had.
    """
    from gpualign.cpu.engine import CpuEngine

    if device == "cpu":
        return CpuEngine(threads)
    from gpualign.gpu.devices import check_selection, make_engine, take_inventory

    selection = "cuda" if device == "auto" else device
    check_selection(selection)
    inventory = take_inventory()
    if inventory.reason is None:
        return make_engine(selection, inventory)
    if device != "auto":
        raise RunError(f"--device {device}: {inventory.reason}; use --device cpu or auto")
    messages.note(f"using the CPU: {inventory.reason}")
    return CpuEngine(threads)
