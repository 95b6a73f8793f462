"""Picks the engine that --device asks for."""

from __future__ import annotations

from gpualign.cli.messages import Messages
from gpualign.core.engine import Engine
from gpualign.core.errors import RunError


def pick_engine(device: str, threads: int | None, messages: Messages) -> Engine:
    """The engine for "auto", "cpu" or "cuda". Raises `RunError` where "cuda" cannot be had."""
    from gpualign.cpu.engine import CpuEngine

    if device == "cpu":
        return CpuEngine(threads)
    from gpualign.gpu.devices import unavailable_reason

    reason = unavailable_reason()
    if device == "cuda":
        raise RunError(f"--device cuda: {reason}; use --device cpu or auto")
    messages.note(f"using the CPU: {reason}")
    return CpuEngine(threads)
