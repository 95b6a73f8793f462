"""CPUs and instruction sets that this process may use."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from math import ceil

from gpualign.core.common.cgroups import own_limits
from gpualign.core.common.errors import InputError


def usable_cpu_count() -> int:
    """Return the number of CPUs that this process may use: the CPUs that it may run on, limited by its control group's quota."""
    if hasattr(os, "process_cpu_count"):  # Python 3.13 and later; PYTHON_CPU_COUNT overrides it
        count = os.process_cpu_count()
    elif hasattr(os, "sched_getaffinity"):
        count = len(os.sched_getaffinity(0))
    else:
        count = os.cpu_count()
    quota = own_limits().cpu_count
    # A quota of 1.5 CPUs leaves half a CPU for a second thread, which is more than nothing.
    return max(1, min(count or 1, ceil(quota) if quota is not None else sys.maxsize))


def pick_instruction_set(supported: Sequence[str], requested: str | None) -> str:
    """Return the instruction set to use.

    supported: instruction sets supported on this machine, fastest first
    requested: the instruction set to use; None: the value of the environment variable GPUALIGN_INSTRUCTION_SET if it is set, otherwise the
        fastest

    Raises `InputError` if the requested instruction set is not supported on this machine.
    """
    requested = requested or os.environ.get("GPUALIGN_INSTRUCTION_SET")
    if requested is not None and requested not in supported:
        raise InputError(f"this machine has no kernels for the instruction set {requested!r}; it has {', '.join(supported)}")
    return requested or supported[0]


def describe_cpu(instruction_set: str, threads: int) -> str:
    """Return a human-readable description of the CPU engine."""
    return f"cpu ({instruction_set}, {'1 thread' if threads == 1 else f'{threads} threads'})"
