"""How much memory a run may take, and what is left of it beside the sequences."""

from __future__ import annotations

import os
import sys

from gpualign.core.alignment.task import Task
from gpualign.core.common.cgroups import own_limits
from gpualign.core.common.errors import RunError
from gpualign.core.common.units import format_bytes
from gpualign.core.planning.memory_budget import Budget

_DEFAULT = 2 << 30

_TEXT_BYTES = 8 << 20
"""That a thread which makes text of results takes: for two blocks with CIGARs, one of them in the making."""


def physical_memory() -> int | None:
    """Bytes of RAM, or None where the system does not tell."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError, AttributeError):
        return None


def usable_memory() -> int | None:
    """The same, or the limit of this process's control group where that is less."""
    return min((size for size in (physical_memory(), own_limits().memory) if size is not None), default=None)


def free_memory() -> int | None:
    """Bytes of RAM, or what is free in this process's control group where that is less; None where the system does not tell."""
    return min((size for size in (physical_memory(), own_limits().free) if size is not None), default=None)


def default_memory() -> int:
    """2 GiB, or half of a smaller machine's memory, or of what is free in the control group."""
    free = free_memory()
    return _DEFAULT if free is None else min(_DEFAULT, free // 2)


def describe_limit() -> str:
    """What this process may have, for people, and whose limit that is; "" where nothing is known."""
    there, physical = usable_memory(), physical_memory()
    if there is None:
        return ""
    whose = " (its control group's limit)" if physical is None or there < physical else ""
    return f"this process may have {format_bytes(there)}{whose}"


def sequence_bytes(task: Task) -> int:
    """Memory of a task's sequences."""
    return task.queries.nbytes + (task.targets.nbytes if task.targets is not task.queries else 0)


def memory_left(task: Task, memory: int | None, held: int = 0) -> int:
    """Memory beside the sequences, and others of so many bytes that are held; None: the default. Raises `RunError` if there is none."""
    total = memory or default_memory()
    taken = sequence_bytes(task) + held
    left = total - taken
    if left <= 0:
        # Of 2 GiB, or of what was asked for, there is more to be had; the machine or the group gives no more than it has.
        bounded = total < _DEFAULT if memory is None else total > (usable_memory() or total)
        limit = f"; {describe_limit()}" if bounded else ""
        raise RunError(f"the memory budget is too small: the sequences alone take {taken:,} bytes of {total:,}; raise --memory{limit}")
    return left


def text_threads(budget: Budget, threads: int) -> int:
    """How many of so many threads may make text of results at a time: one, which takes what it needs, or as many as the budget holds."""
    return max(1, min(threads, budget.text // _TEXT_BYTES))


def peak_memory() -> int | None:
    """Bytes of RAM that this process had at most, or None where the system does not tell."""
    try:
        # getrusage also counts what the process had that has started this one.
        with open("/proc/self/status", encoding="utf-8") as file:
            for line in file:
                if line.startswith("VmHWM:"):
                    return int(line.split()[1]) << 10
    except OSError:
        pass
    try:
        import resource
    except ImportError:
        return None
    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return used if sys.platform == "darwin" else used << 10
