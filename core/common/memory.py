"""Memory that this process may have: that of the machine, or what its control group gives."""

from __future__ import annotations

import os

from gpualign.core.common.cgroups import own_limits
from gpualign.core.common.units import format_bytes


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


def describe_limit() -> str:
    """What this process may have, for people, and whose limit that is; "" where nothing is known."""
    there, physical = usable_memory(), physical_memory()
    if there is None:
        return ""
    whose = " (its control group's limit)" if physical is None or there < physical else ""
    return f"this process may have {format_bytes(there)}{whose}"


def is_scarce(needed: int) -> bool:
    """Tell whether so many bytes are more than half of what is free, so that the limit matters to who raises the budget for them."""
    free = free_memory()
    return free is not None and needed > free // 2
