"""Memory that a run may take, and what is left of it beside the sequences."""

from __future__ import annotations

import sys

from gpualign.core.alignment.task import Task
from gpualign.core.common.errors import TooLittleMemory
from gpualign.core.common.memory import free_memory
from gpualign.core.planning.memory_budget import Budget

_DEFAULT = 2 << 30

_TEXT_BYTES = 8 << 20
"""Bytes that a thread takes to make text of results: for two blocks with CIGARs, one of them being made."""


def default_memory() -> int:
    """Return 2 GiB, or half of the memory of a smaller machine, or half of what is free in the control group: bytes."""
    free = free_memory()
    return _DEFAULT if free is None else min(_DEFAULT, free // 2)


def sequence_bytes(task: Task) -> int:
    """Return the bytes of a task's sequences."""
    return task.queries.nbytes + (task.targets.nbytes if task.targets is not task.queries else 0)


def memory_left(task: Task, memory: int | None, held: int = 0) -> int:
    """Return the bytes that are left beside the sequences and `held` other bytes.

    memory: total bytes, None: the default

    Raises `TooLittleMemory` if nothing is left.
    """
    total = memory or default_memory()
    taken = sequence_bytes(task) + held
    left = total - taken
    if left <= 0:
        raise TooLittleMemory(f"the memory budget is too small: the sequences alone take {taken:,} bytes of {total:,}", taken)
    return left


def text_threads(budget: Budget, threads: int) -> int:
    """Return how many of `threads` threads may make text of results at a time: one, which takes what it needs, or as many as the budget
    allows."""
    return max(1, min(threads, budget.text // _TEXT_BYTES))


def peak_memory() -> int | None:
    """Return the largest number of bytes of RAM that this process had, or None if the system does not report it."""
    try:
        # getrusage also counts the memory of the process that started this one.
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
