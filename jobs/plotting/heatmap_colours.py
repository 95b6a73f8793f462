"""Colours of a heat map's cells."""

from __future__ import annotations

from typing import Any

from gpualign.core.common.errors import InputError, parameter
from gpualign.jobs.plotting.heatmap import SIMILARITY_KINDS, ColourScale, Heatmap

DIAGONAL_COLOUR = (204, 204, 204, 255)
MISSING_COLOUR = (255, 255, 255, 255)
"""`DIAGONAL_COLOUR` is for cells that compare a record with itself, `MISSING_COLOUR` for pairs that have no value. No colour map contains
either of them."""


def check_colour_map(name: str | None) -> None:
    """Raise `InputError` if matplotlib has no colour map of this name."""
    from difflib import get_close_matches

    import matplotlib

    names = list(matplotlib.colormaps)
    if name is not None and name not in names:
        near = ", ".join(get_close_matches(name, names, 3)) or "viridis, cividis, magma"
        raise InputError(f"{parameter('cmap', name)}: matplotlib has no colours of this name; it has for instance {near}")


def make_colour_map(heat: Heatmap, cmap: str | None, scale: ColourScale) -> Any:
    """Return the mapping from values to colours. By default, the dark end means similar records."""
    import matplotlib
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import Normalize

    name = cmap or ("viridis_r" if heat.value_kind in SIMILARITY_KINDS else "viridis")
    return ScalarMappable(Normalize(scale.low, scale.high), matplotlib.colormaps[name])
