"""What this machine lets the process use."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from math import ceil

from gpualign.core.common.cgroups import own_limits
from gpualign.core.common.errors import InputError


def usable_cpus() -> int:
    """CPUs that this process may use: as many as it may run on, but no more than the quota of its control group lasts for."""
    if hasattr(os, "process_cpu_count"):  # Python 3.13 and later; PYTHON_CPU_COUNT overrides it
        count = os.process_cpu_count()
    elif hasattr(os, "sched_getaffinity"):
        count = len(os.sched_getaffinity(0))
    else:
        count = os.cpu_count()
    quota = own_limits().cpus
    # Of 1.5 CPUs the second thread has half, which is more than none.
    return max(1, min(count or 1, ceil(quota) if quota is not None else sys.maxsize))


def pick_instruction_set(usable: Sequence[str], wanted: str | None) -> str:
    """The wanted one of those that run here, fastest first; None: GPUALIGN_INSTRUCTION_SET, else the first. Raises `InputError`."""
    wanted = wanted or os.environ.get("GPUALIGN_INSTRUCTION_SET")
    if wanted is not None and wanted not in usable:
        raise InputError(f"this machine has no kernels for the instruction set {wanted!r}; it has {', '.join(usable)}")
    return wanted or usable[0]


def describe_cpu(instruction_set: str, threads: int) -> str:
    """For people."""
    return f"cpu ({instruction_set}, {'1 thread' if threads == 1 else f'{threads} threads'})"
