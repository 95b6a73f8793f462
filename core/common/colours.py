"""Colours for categories. Pure."""

from __future__ import annotations

CATEGORY_COLOURS = ("#e69f00", "#56b4e9", "#009e73", "#f0e442", "#0072b2", "#d55e00", "#cc79a7", "#000000")
"""Colours from Okabe and Ito 2008, distinguishable even without colour vision."""


def half_way_to_white(colour: str) -> str:
    """Return the colour half way between a colour and white. Colours are as in `CATEGORY_COLOURS`."""
    channels = bytes.fromhex(colour.removeprefix("#"))
    return f"#{bytes((channel + 255) // 2 for channel in channels).hex()}"
