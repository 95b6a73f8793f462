"""Numbers for people."""

from __future__ import annotations


def format_bytes(count: int) -> str:
    """With the unit that leaves one to four digits."""
    size = float(count)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if size < 1024:
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1024
    return f"{size:.1f} TiB"
