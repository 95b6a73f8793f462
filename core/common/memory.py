"""Memory available to this process: the machine's memory or the limit of its control group."""

from __future__ import annotations

import os

from gpualign.core.common.cgroups import own_limits
from gpualign.core.common.units import format_bytes


def physical_memory() -> int | None:
    """Return the number of bytes of RAM, or None if the system does not report it."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError, AttributeError):
        return None


def usable_memory() -> int | None:
    """Return the total RAM, or the memory limit of this process's control group if that is less, in bytes; None if neither is known."""
    return min((size for size in (physical_memory(), own_limits().memory_bytes) if size is not None), default=None)


def free_memory() -> int | None:
    """Return the total RAM, or what is free within the limit of this process's control group if that is less, in bytes.

    Returns None if neither is known.
    """
    return min((size for size in (physical_memory(), own_limits().free_bytes) if size is not None), default=None)


def describe_limit() -> str:
    """Return a message that states how much memory this process may use and what limits it; "" if the amount is unknown."""
    usable, physical = usable_memory(), physical_memory()
    if usable is None:
        return ""
    source = " (its control group's limit)" if physical is None or usable < physical else ""
    return f"this process may have {format_bytes(usable)}{source}"


def exceeds_half_of_free_memory(needed_bytes: int) -> bool:
    """Return whether `needed_bytes` exceeds half of the free memory. A run that uses this much might exhaust the memory."""
    free = free_memory()
    return free is not None and needed_bytes > free // 2


def address_space_is_unlimited() -> bool:
    """Return whether the address space of this process is unlimited. Under `ulimit -v`, memory counts towards the limit even if it is not
    used."""
    import resource

    return resource.getrlimit(resource.RLIMIT_AS)[0] == resource.RLIM_INFINITY
