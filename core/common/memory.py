"""Memory available to this process: the machine's memory or the limit of its control group."""

from __future__ import annotations

import os

from gpualign.core.common.cgroups import own_limits
from gpualign.core.common.units import format_bytes


def physical_memory() -> int | None:
    """Bytes of RAM, or None if the system does not report them."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError, AttributeError):
        return None


def usable_memory() -> int | None:
    """Bytes of RAM or the limit of this process's control group, whichever is smaller; None if neither is known."""
    return min((size for size in (physical_memory(), own_limits().memory_bytes) if size is not None), default=None)


def free_memory() -> int | None:
    """Bytes of RAM or bytes free in this process's control group, whichever is smaller; None if neither is known."""
    return min((size for size in (physical_memory(), own_limits().free_bytes) if size is not None), default=None)


def describe_limit() -> str:
    """Human-readable amount of memory that this process may use, and the source of the limit; "" if unknown."""
    usable, physical = usable_memory(), physical_memory()
    if usable is None:
        return ""
    source = " (its control group's limit)" if physical is None or usable < physical else ""
    return f"this process may have {format_bytes(usable)}{source}"


def exceeds_half_of_free_memory(needed_bytes: int) -> bool:
    """Return whether `needed_bytes` exceeds half of the free memory: a budget this large might exhaust the memory."""
    free = free_memory()
    return free is not None and needed_bytes > free // 2
