"""How much memory a run may take, and what is left of it beside the sequences."""

from __future__ import annotations

import os

from gpualign.core.engine import Task
from gpualign.core.errors import RunError

_DEFAULT = 2 << 30


def physical_memory() -> int | None:
    """Bytes of RAM, or None where the system does not tell."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError, AttributeError):
        return None


def default_memory() -> int:
    """2 GiB, or half of a smaller machine's memory."""
    total = physical_memory()
    return _DEFAULT if total is None else min(_DEFAULT, total // 2)


def sequence_bytes(task: Task) -> int:
    """Memory of a task's sequences."""
    return task.queries.nbytes + (task.targets.nbytes if task.targets is not task.queries else 0)


def memory_left(task: Task, memory: int | None) -> int:
    """Memory beside the sequences; None: the default. Raises `RunError` if there is none."""
    total = memory or default_memory()
    left = total - sequence_bytes(task)
    if left <= 0:
        raise RunError(
            f"the memory budget is too small: the sequences alone take {sequence_bytes(task):,} bytes of {total:,}; raise --memory"
        )
    return left
