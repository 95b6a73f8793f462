"""Memory that a run may use, and what remains of it once the sequences are loaded."""

from __future__ import annotations

import sys

from gpualign.core.alignment.task import Task
from gpualign.core.common.errors import TooLittleMemory, parameter
from gpualign.core.common.memory import free_memory
from gpualign.core.planning.memory_budget import Budget

_MAX_DEFAULT_BYTES = 2 << 30

_TEXT_BYTES_PER_THREAD = 8 << 20
"""Memory, in bytes, that a thread needs to format results as text: for two blocks with CIGARs, one of them being formatted."""


def default_memory(sequence_bytes: int = 0) -> int:
    """Return the memory that a run may use by default, in bytes: 2 GiB beside its sequences, but at most half of the machine's memory, and
    half of the memory free in the control group. sequence_bytes: memory that the sequences take"""
    free, most = free_memory(), _MAX_DEFAULT_BYTES + sequence_bytes
    return most if free is None else min(most, free // 2)


def sequence_bytes(task: Task) -> int:
    """Return the memory that a task's sequences take, in bytes."""
    return task.queries.memory_bytes + (task.targets.memory_bytes if task.targets is not task.queries else 0)


_RAISE_MEMORY = f"raise {parameter('memory')}"


def remaining_memory(
    task: Task,
    memory: int | None,
    held_bytes: int = 0,
    advice: str = _RAISE_MEMORY,
    default_extra: int = 0,
    reserved_bytes: int = 0,
) -> int:
    """Return the memory, in bytes, that remains once a task's sequences and `held_bytes` additional bytes are held.

    memory: all memory that the run may use, in bytes; None: `default_memory`
    default_extra: number of bytes by which the default is larger, because the run keeps more of each sequence than its letters
    advice: what the user can do if nothing is left
    reserved_bytes: number of bytes that the user gave in addition to `memory`, for the message

    Raises `TooLittleMemory` if nothing is left.
    """
    taken = sequence_bytes(task) + held_bytes
    total = memory or default_memory(taken + default_extra)
    left = total - taken
    if left <= 0:
        given = f"{total:,} of {total + reserved_bytes:,} are left for them" if reserved_bytes else f"of {total:,}"
        problem = f"the memory budget is too small: the sequences alone take {taken:,} bytes{', ' if reserved_bytes else ' '}{given}"
        raise TooLittleMemory(problem, taken + 1, advice, available_bytes=total)
    return left


def text_thread_count(budget: Budget, threads: int) -> int:
    """Return how many of `threads` threads may format results as text at the same time: as many as the budget allows, but at least one,
    even if the budget is too small for one."""
    return max(1, min(threads, budget.text_bytes // _TEXT_BYTES_PER_THREAD))


def peak_memory() -> int | None:
    """Return this process's peak RAM use in bytes, or None if the system does not report it."""
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
