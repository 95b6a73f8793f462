"""What this machine lets the process use."""

from __future__ import annotations

import os
from collections.abc import Sequence

from gpualign.core.errors import InputError


def usable_cpus() -> int:
    """CPUs that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def pick_instruction_set(usable: Sequence[str], wanted: str | None) -> str:
    """The wanted one of those that run here, fastest first; None: GPUALIGN_INSTRUCTION_SET, else the first. Raises `InputError`."""
    wanted = wanted or os.environ.get("GPUALIGN_INSTRUCTION_SET")
    if wanted is not None and wanted not in usable:
        raise InputError(f"this machine has no kernels for the instruction set {wanted!r}; it has {', '.join(usable)}")
    return wanted or usable[0]


def describe_cpu(instruction_set: str, threads: int) -> str:
    """For people."""
    return f"cpu ({instruction_set}, {'1 thread' if threads == 1 else f'{threads} threads'})"
