"""Formats numbers in human-readable units, and with the decimals of all text outputs."""

from __future__ import annotations

FRACTION_DECIMALS = 6
"""Number of decimals of identities and other fractions in text. Distances by calls have more, see core/distance/output/base.py."""

_SI_PREFIXES = [(1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")]


def format_bytes(count: int) -> str:
    """Format a number of bytes with the unit that leaves one to four digits before the decimal point."""
    size = float(count)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if size < 1024:
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1024
    return f"{size:.1f} TiB"


def format_count(count: int, noun: str, spec: str = ",") -> str:
    """Format a count with its noun, which is in the plural unless the count is 1. spec: format of the number."""
    return f"{count:{spec}} {noun if count == 1 else noun + 's'}"


def format_duration(seconds: float) -> str:
    """Format a time in seconds, minutes, hours or days, with one or two units."""
    if seconds < 60:
        return f"{seconds:.0f} s" if seconds >= 10 else f"{seconds:.1f} s"
    minutes = round(seconds / 60)
    if minutes < 60:
        return f"{minutes} min"
    hours, rest = divmod(minutes, 60)
    return f"{hours} h {rest} min" if hours < 24 else f"{hours // 24} d {hours % 24} h"


def fitting_unit(number: float) -> tuple[float, str]:
    """Return the largest of 1, 10^3, 10^6, 10^9 and 10^12 that does not exceed a number, and its unit prefix: "", "k", "M", "G" or "T"."""
    return next(((size, prefix) for size, prefix in _SI_PREFIXES if number >= size), (1.0, ""))
